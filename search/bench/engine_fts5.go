package bench

import (
	"errors"
	"slices"
	"strings"

	"example.com/convmem/search/bench/corpus"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

type fts5Engine struct {
	conn         *sqlite3.Conn
	insert, find *sqlite3.Stmt
	stopWords    []string // sorted
}

// The table holds no text, as the other indexes do not.
const fts5Schema = `CREATE VIRTUAL TABLE messages USING fts5(text, content='', tokenize='porter unicode61')`

func openFTS5(string) (engine, error) {
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	e := &fts5Engine{conn: conn, stopWords: slices.Sorted(slices.Values(corpus.StopWords()))}
	if err := e.prepare(); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *fts5Engine) prepare() (err error) {
	if err = fts5.Register(e.conn); err != nil {
		return err
	}
	if err = e.conn.Exec(fts5Schema); err != nil {
		return err
	}
	if e.insert, _, err = e.conn.Prepare("INSERT INTO messages(rowid, text) VALUES (?, ?)"); err != nil {
		return err
	}
	e.find, _, err = e.conn.Prepare("SELECT rowid FROM messages WHERE messages MATCH ? ORDER BY rank LIMIT ?")
	return err
}

func (e *fts5Engine) add(messages []corpus.Message) error {
	if err := e.conn.Exec("BEGIN"); err != nil {
		return err
	}
	for _, m := range messages {
		err := errors.Join(e.insert.BindInt(1, m.Number), e.insert.BindText(2, wholeText(m)), e.insert.Exec())
		if err != nil {
			return errors.Join(err, e.conn.Exec("ROLLBACK"))
		}
	}
	return e.conn.Exec("COMMIT")
}

func (e *fts5Engine) settle() error {
	return e.conn.Exec("INSERT INTO messages(messages) VALUES ('optimize')")
}

func (e *fts5Engine) search(text string, limit int) ([]int, error) {
	err := errors.Join(e.find.BindText(1, e.anyOf(text)), e.find.BindInt(2, limit))
	if err != nil {
		return nil, err
	}
	var numbers []int
	for e.find.Step() {
		numbers = append(numbers, e.find.ColumnInt(0))
	}
	return numbers, e.find.Reset() // with the error that ended the loop, if one did
}

// anyOf is the query for messages that hold a word of text that is no stop word.
func (e *fts5Engine) anyOf(text string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(strings.ToLower(strings.TrimRight(text, "?"))) {
		if _, stop := slices.BinarySearch(e.stopWords, word); stop {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" OR ")
		}
		b.WriteString(sqlite3.QuoteIdentifier(word))
	}
	return b.String()
}

// size counts the pages, all of which belong to the index.
func (e *fts5Engine) size(int64) (size int64, err error) {
	err = e.ask("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", func(s *sqlite3.Stmt) {
		size = s.ColumnInt64(0)
	})
	return size, err
}

func (e *fts5Engine) details(int) (version string, err error) {
	err = e.ask("SELECT sqlite_version()", func(s *sqlite3.Stmt) { version = s.ColumnText(0) })
	return "SQLite " + version, err
}

// ask calls fn with the only row of an answer.
func (e *fts5Engine) ask(question string, fn func(*sqlite3.Stmt)) error {
	stmt, _, err := e.conn.Prepare(question)
	if err != nil {
		return err
	}
	if stmt.Step() {
		fn(stmt)
	}
	return stmt.Close()
}

func (e *fts5Engine) close() error {
	var errs []error
	for _, stmt := range []*sqlite3.Stmt{e.insert, e.find} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(append(errs, e.conn.Close())...)
}
