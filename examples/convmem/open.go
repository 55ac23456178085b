package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"

	"example.com/convmem"
)

// call is one run of a command.
type call struct {
	settings
	around surroundings
	out    *bufio.Writer
}

// open opens the store.
func (c *call) open(ctx context.Context, dir string, readOnly bool) (*convmem.DB, error) {
	db, err := convmem.Open(ctx, dir, &convmem.Options{ReadOnly: readOnly, LockWait: c.wait})
	switch {
	case readOnly && errors.Is(err, fs.ErrNotExist):
		return nil, &convmem.Error{
			Op: "open", Code: convmem.CodeNotFound, Field: "-dir", Err: err,
			Message: "there is no store: name another directory, or make one with convmem import",
		}
	case errors.Is(err, convmem.ErrCorrupt):
		return nil, explained(err, "if it is damaged, convmem salvage FROM TO saves what is intact")
	case errors.Is(err, convmem.ErrBusy) && ctx.Err() == nil:
		return nil, explained(err, "try again, or wait longer with -wait")
	}
	return db, err
}

// read runs something on the store, opened so that no file of it is changed.
func (c *call) read(ctx context.Context, use func(*convmem.DB) error) error {
	return c.with(ctx, c.dir, true, use)
}

// change runs something on a store that is there. Only opening it to read tells
// that without making one.
func (c *call) change(ctx context.Context, use func(*convmem.DB) error) error {
	if err := c.read(ctx, func(*convmem.DB) error { return nil }); err != nil {
		return err
	}
	return c.with(ctx, c.dir, false, use)
}

func (c *call) with(ctx context.Context, dir string, readOnly bool, use func(*convmem.DB) error) error {
	db, err := c.open(ctx, dir, readOnly)
	if err != nil {
		return err
	}
	err = use(db)
	if closed := db.Close(); err == nil {
		err = closed
	}
	return err
}

// store is the part of a store that -namespace names.
func (c *call) store(db *convmem.DB) convmem.Store {
	if c.namespace == nil {
		return db
	}
	return db.Namespace(*c.namespace)
}
