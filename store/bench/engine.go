package main

import (
	"errors"
	"math/rand/v2"

	"github.com/oklog/ulid/v2"
)

// record is what the engines store: an opaque payload under an id.
type record struct {
	id      ulid.ULID
	payload []byte
}

// engine is an open store. Many goroutines may call put at once.
type engine interface {
	// put stores the records, all or none. They are on stable storage when it
	// returns.
	put(records ...record) error
	// get returns the payload under id, or errMissing.
	get(id ulid.ULID) ([]byte, error)
	// all calls fn with every record. The payload is only valid during the call.
	all(fn func(record) error) error
	// settle moves everything out of a write-ahead log to where it stays.
	settle() error
	close() error
}

// errMissing says that an engine holds no record under an id.
var errMissing = errors.New("no such record")

// product is a kind of engine.
type product struct {
	name string
	// open opens the store in the directory dir, which exists, or creates it.
	// writers is how many goroutines are going to call put at once.
	open func(dir string, writers int) (engine, error)
}

// products are the stores that are compared.
func products() []product {
	return []product{
		{"convmem", openConvmem},
		{"bbolt", openBolt},
		{"Pebble", openPebble},
		{"SQLite", openSQLite},
	}
}

// newRecords makes records with payloads of the given size, the same ones
// whenever it is asked. The ids rise with the time, as those of messages do; the
// payloads cannot be compressed.
func newRecords(count, size int) []record {
	random := rand.NewChaCha8([32]byte{1})
	entropy := ulid.Monotonic(random, 0)
	records := make([]record, count)
	for i := range records {
		records[i] = record{
			id:      ulid.MustNew(1_700_000_000_000+uint64(i)/4, entropy),
			payload: make([]byte, size),
		}
		_, _ = random.Read(records[i].payload) // never fails
	}
	return records
}
