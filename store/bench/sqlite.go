package main

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/oklog/ulid/v2"
)

// sqliteEngine is one connection, which callers take in turn: SQLite has one
// writer at a time, and waiting at a mutex costs less than waiting at its lock.
type sqliteEngine struct {
	mu                 sync.Mutex
	conn               *sqlite3.Conn
	insert, find, list *sqlite3.Stmt
}

const sqliteSchema = `
	PRAGMA journal_mode = WAL;
	PRAGMA synchronous = FULL;
	CREATE TABLE IF NOT EXISTS records (id BLOB PRIMARY KEY, payload BLOB NOT NULL);`

func openSQLite(dir string, _ int) (engine, error) {
	conn, err := sqlite3.Open(filepath.Join(dir, "sqlite.db"))
	if err != nil {
		return nil, err
	}
	e := &sqliteEngine{conn: conn}
	if err := errors.Join(conn.Exec(sqliteSchema), e.prepare()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return e, nil
}

func (e *sqliteEngine) prepare() error {
	for _, statement := range []struct {
		target **sqlite3.Stmt
		text   string
	}{
		{&e.insert, "INSERT OR REPLACE INTO records VALUES (?, ?)"},
		{&e.find, "SELECT payload FROM records WHERE id = ?"},
		{&e.list, "SELECT id, payload FROM records ORDER BY id"},
	} {
		var err error
		if *statement.target, _, err = e.conn.Prepare(statement.text); err != nil {
			return err
		}
	}
	return nil
}

func (e *sqliteEngine) put(records ...record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(records) == 1 {
		return e.insertOne(records[0])
	}
	if err := e.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, r := range records {
		if err := e.insertOne(r); err != nil {
			return errors.Join(err, e.conn.Exec("ROLLBACK"))
		}
	}
	return e.conn.Exec("COMMIT")
}

func (e *sqliteEngine) insertOne(r record) error {
	return errors.Join(e.insert.BindBlob(1, r.id[:]), e.insert.BindBlob(2, r.payload), e.insert.Exec())
}

func (e *sqliteEngine) get(id ulid.ULID) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.find.BindBlob(1, id[:]); err != nil {
		return nil, err
	}
	if !e.find.Step() {
		if err := e.find.Reset(); err != nil {
			return nil, err // the error that Step met
		}
		return nil, errMissing
	}
	return e.find.ColumnBlob(0, nil), e.find.Reset()
}

func (e *sqliteEngine) all(fn func(record) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.list.Step() {
		var r record
		key := e.list.ColumnRawBlob(0)
		if copy(r.id[:], key) != len(key) {
			return errors.Join(errors.New("a key that is no id"), e.list.Reset())
		}
		r.payload = e.list.ColumnRawBlob(1)
		if err := fn(r); err != nil {
			return errors.Join(err, e.list.Reset())
		}
	}
	return e.list.Reset() // with the error that ended the loop, if one did
}

func (e *sqliteEngine) settle() error { return e.conn.Exec("PRAGMA wal_checkpoint(TRUNCATE)") }

func (e *sqliteEngine) close() error {
	return errors.Join(e.insert.Close(), e.find.Close(), e.list.Close(), e.conn.Close())
}
