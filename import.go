package convmem

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
)

// ImportOptions configures a [DB.Import]. The zero value is right for most
// programs.
type ImportOptions struct {
	// Progress, unless nil, is told what is done, after every change of the
	// store. It is called by the goroutine that called Import.
	Progress func(ImportResult)
}

// ImportResult says what an [DB.Import] did. Every line is counted once, blank
// ones and headers too.
type ImportResult struct {
	Lines, Bytes int64 // read
	Written      int64 // messages that were not there
	Present      int64 // messages that were there already, with every field the same
	Refused      int64 // lines that are no message or contradict the store
	// Problems are about refused lines, the first MaxImportProblems of them.
	Problems []ImportProblem
}

// ImportProblem is a line that was refused.
type ImportProblem struct {
	Line int64 // from 1
	Err  *Error
}

// MaxImportProblems is how many refused lines an [ImportResult] describes.
const MaxImportProblems = 100

// Import writes the messages of an export, with their ids, times, revisions,
// payloads and idempotency keys, into the namespaces that they came from. They
// take the place of their ids in histories. It reads what this and every earlier
// version wrote; several exports may follow each other, and a piece of one needs no
// header. What stands below the header of something else is refused.
//
// A message that is there already, with every field the same, is passed over, so
// repeating an import that was interrupted does no harm. A line is refused, and
// the import goes on, when it is no message ([CodeValidation]), when its id is
// more than a minute ahead of the clock ([CodeValidation]), or when the store has
// another message under its id or its idempotency key ([CodeConflict]). A deleted
// message comes back.
//
// Import makes up to a thousand messages durable at a time, all of them or none.
// When lines were refused it fails at the end with the code of the first one; all
// others are then stored. It ends at once with [CodeIO] when r fails, with
// [CodeCorrupt] when it meets a damaged message of the store, and with [CodeBusy]
// when ctx ends; lines that were read and not yet stored then count in
// nothing but Lines and Bytes. A line may have 16 MiB.
func (db *DB) Import(ctx context.Context, r io.Reader, o *ImportOptions) (ImportResult, error) {
	if o == nil {
		o = &ImportOptions{}
	}
	i := importer{db: db, in: bufio.NewReaderSize(r, exportBuffer), progress: o.Progress}
	if err := i.run(ctx); err != nil {
		return i.result, fail("import", err)
	}
	return i.result, fail("import", i.result.refusal())
}

// refusal is the error of an import that is through.
func (r *ImportResult) refusal() error {
	if r.Refused == 0 {
		return nil
	}
	first := *r.Problems[0].Err
	first.Message = fmt.Sprintf("%d of %d lines were refused, line %d first: %s", r.Refused, r.Lines, r.Problems[0].Line, first.Message)
	return &first
}

const (
	maxImportLine = 16 << 20
	// A change is made as soon as what is pending reaches one of these.
	maxImportMessages = 1000
	maxImportBytes    = 8 << 20
	// maxAhead is how far an id may be ahead of the clock: clocks differ a little,
	// and every later message takes an id behind it.
	maxAhead = time.Minute
)

// importer is an Import that runs.
type importer struct {
	db       *DB
	in       *bufio.Reader
	progress func(ImportResult)
	result   ImportResult
	pending  []importedRecord
	bytes    int
	// refused are lines since the last change, which may find more of them.
	refused []ImportProblem
	header  error // what is wrong with the last one
}

type importedRecord struct {
	*record
	line int64
}

func (i *importer) run(ctx context.Context) error {
	for {
		line, err := i.line(ctx)
		if err == io.EOF {
			return i.store(ctx)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			return &Error{Code: CodeIO, Message: "reading the export failed", Err: err}
		}
		i.take(line)
		if len(i.pending)+len(i.refused) >= maxImportMessages || i.bytes >= maxImportBytes {
			if err := i.store(ctx); err != nil {
				return err
			}
		}
	}
}

// line reads the next line. One that is too long is nil.
func (i *importer) line(ctx context.Context) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := i.in.ReadSlice('\n')
		i.result.Bytes += int64(len(part))
		if tooLong = tooLong || len(line)+len(part) > maxImportLine; !tooLong {
			line = append(line, part...)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (err != io.EOF || len(line) == 0 && !tooLong):
			return nil, err
		case tooLong:
			line = nil
		}
		i.result.Lines++
		return line, nil
	}
}

// take decodes a line.
func (i *importer) take(line []byte) {
	if line == nil {
		i.refuse(i.result.Lines, invalid("line", "longer than %d bytes", maxImportLine))
		return
	}
	if i.result.Lines == 1 {
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	if isHeader(line) {
		if i.header = checkHeader(line); i.header != nil {
			i.refuse(i.result.Lines, i.header)
		}
		return
	}
	r, err := i.parse(line)
	if err != nil {
		i.refuse(i.result.Lines, err)
		return
	}
	i.pending = append(i.pending, importedRecord{r, i.result.Lines})
	i.bytes += len(line)
}

// parse reads a message. Below a header that is wrong nothing can be trusted to
// mean what it seems to.
func (i *importer) parse(line []byte) (*record, error) {
	if i.header != nil {
		return nil, i.header
	}
	r, err := parseExportLine(line)
	if err != nil {
		return nil, err
	}
	return r, i.db.checkAhead(r.id)
}

func (db *DB) checkAhead(id ulid.ULID) error {
	if limit := db.now().Add(maxAhead); id.Time() > clockMilli(limit) {
		return invalid("message_id", "its time is more than %v ahead of the clock", maxAhead)
	}
	return nil
}

func (i *importer) refuse(line int64, err error) {
	i.refused = append(i.refused, ImportProblem{line, coded(err)})
}

// report takes refused lines over into the result, in the order of the file.
func (i *importer) report(refused []ImportProblem) {
	slices.SortFunc(refused, func(a, b ImportProblem) int { return cmp.Compare(a.Line, b.Line) })
	i.result.Refused += int64(len(refused))
	room := MaxImportProblems - len(i.result.Problems)
	i.result.Problems = append(i.result.Problems, refused[:min(room, len(refused))]...)
}

// store makes what is pending durable, in one change.
func (i *importer) store(ctx context.Context) error {
	var c importChange
	err := i.db.change(ctx, "import", func(tx *transaction) error {
		c = importChange{tx: tx, seen: map[ulid.ULID]*record{}}
		for _, r := range i.pending {
			if err := c.put(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	i.result.Written += c.written
	i.result.Present += c.present
	i.report(append(i.refused, c.refused...))
	i.pending, i.refused, i.bytes = i.pending[:0], nil, 0
	if i.progress != nil {
		shown := i.result
		shown.Problems = slices.Clone(shown.Problems)
		i.progress(shown)
	}
	return nil
}

// importChange is what one change imports.
type importChange struct {
	tx               *transaction
	seen             map[ulid.ULID]*record // written by this change
	written, present int64
	refused          []ImportProblem
}

// put writes a message, passes over one that is there, or refuses one that is in
// the way of another.
func (c *importChange) put(r importedRecord) error {
	current, exists, err := c.current(r.id)
	switch {
	case err != nil:
		return err
	case exists && current.saysTheSame(*r.record):
		c.present++
		return nil
	case exists:
		c.refuse(r.line, "message_id", "the store has another message, or another revision of it, under this id")
		return nil
	}
	fresh := *r.record
	owner, used, err := c.tx.earlier(&fresh)
	if err != nil {
		return err
	}
	if used {
		c.refuse(r.line, "idempotency_key", fmt.Sprintf("used in this session by message %s", owner.id))
		return nil
	}
	fresh.imported = fresh.id.Compare(c.tx.lastID) <= 0
	c.tx.write(&fresh)
	c.seen[fresh.id] = &fresh
	c.written++
	return nil
}

// current returns the live message under an id, in whatever namespace.
func (c *importChange) current(id ulid.ULID) (record, bool, error) {
	if r, ok := c.seen[id]; ok {
		return *r, true, nil
	}
	if _, live := c.tx.stage.identity(id); !live {
		return record{}, false, nil
	}
	r, _, err := load(c.tx, id)
	return r, true, err
}

// saysTheSame compares everything but whether a message was imported.
func (r record) saysTheSame(other record) bool {
	other.imported = r.imported
	return bytes.Equal(r.encode(), other.encode())
}

func (c *importChange) refuse(line int64, field, message string) {
	c.refused = append(c.refused, ImportProblem{line, &Error{Code: CodeConflict, Field: field, Message: message}})
}
