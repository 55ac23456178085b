package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/oklog/ulid/v2"
)

type pebbleEngine struct{ db *pebble.DB }

func openPebble(dir string, _ int) (engine, error) {
	if entries, err := os.ReadDir(dir); err != nil {
		return nil, err
	} else if len(entries) > 0 {
		return reopenPebble(dir)
	}
	// The log of a new store is in Pebble's oldest format, from which damage
	// cannot be told. The one that is made when it is opened again is not.
	e, err := reopenPebble(dir)
	if err == nil {
		err = e.close()
	}
	if err != nil {
		return nil, err
	}
	return reopenPebble(dir)
}

func reopenPebble(dir string) (engine, error) {
	db, err := pebble.Open(dir, &pebble.Options{
		// The newest format tells a damaged log from a torn one; the default does not.
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             quiet{},
		// Damage ends the process unless somebody listens. Errors say it as well.
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	})
	if err != nil {
		return nil, err
	}
	return pebbleEngine{db}, nil
}

// quiet is Pebble's logger without its chatter.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf must not return.
func (quiet) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func (e pebbleEngine) put(records ...record) error {
	batch := e.db.NewBatch()
	for _, r := range records {
		if err := batch.Set(r.id[:], r.payload, nil); err != nil {
			return errors.Join(err, batch.Close())
		}
	}
	return errors.Join(batch.Commit(pebble.Sync), batch.Close())
}

func (e pebbleEngine) get(id ulid.ULID) ([]byte, error) {
	value, closer, err := e.db.Get(id[:])
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	payload := bytes.Clone(value)
	return payload, closer.Close()
}

func (e pebbleEngine) all(fn func(record) error) error {
	iter, err := e.db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		var r record
		if copy(r.id[:], iter.Key()) != len(iter.Key()) {
			return errors.Join(errors.New("a key that is no id"), iter.Close())
		}
		if r.payload, err = iter.ValueAndErr(); err == nil {
			err = fn(r)
		}
		if err != nil {
			return errors.Join(err, iter.Close())
		}
	}
	return iter.Close() // with the error that ended the loop, if one did
}

func (e pebbleEngine) settle() error { return e.db.Flush() }

func (e pebbleEngine) close() error { return e.db.Close() }
