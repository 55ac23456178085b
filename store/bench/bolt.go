package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"
	"go.etcd.io/bbolt"
)

type boltEngine struct {
	db *bbolt.DB
	// write is Update for one writer, and Batch, which joins the changes of
	// several, for more.
	write func(func(*bbolt.Tx) error) error
}

var boltBucket = []byte("records")

func openBolt(dir string, writers int) (engine, error) {
	db, err := bbolt.Open(filepath.Join(dir, "bolt.db"), 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	e := boltEngine{db: db, write: db.Update}
	if writers > 1 {
		// A batch starts when all who write wait for it, not when its delay ends.
		db.MaxBatchSize = writers
		e.write = db.Batch
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(boltBucket) != nil {
			return nil
		}
		_, err := tx.CreateBucket(boltBucket)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return e, nil
}

func (e boltEngine) put(records ...record) error {
	return e.write(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(boltBucket)
		bucket.FillPercent = 0.9 // bbolt's advice for keys that only grow
		for _, r := range records {
			if err := bucket.Put(r.id[:], r.payload); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e boltEngine) get(id ulid.ULID) (payload []byte, err error) {
	err = e.db.View(func(tx *bbolt.Tx) error {
		payload = bytes.Clone(tx.Bucket(boltBucket).Get(id[:]))
		return nil
	})
	if err == nil && payload == nil {
		return nil, errMissing
	}
	return payload, err
}

func (e boltEngine) all(fn func(record) error) error {
	return e.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(boltBucket).ForEach(func(key, value []byte) error {
			var r record
			if copy(r.id[:], key) != len(key) {
				return errors.New("a key that is no id")
			}
			r.payload = value
			return fn(r)
		})
	})
}

func (e boltEngine) settle() error { return nil } // it has no log

func (e boltEngine) close() error { return e.db.Close() }
