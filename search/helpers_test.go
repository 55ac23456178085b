package search_test

import (
	"fmt"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/oklog/ulid/v2"
)

func makeID(ms, n int) ulid.ULID {
	var id ulid.ULID
	if err := id.SetTime(uint64(ms)); err != nil {
		panic(err)
	}
	id[14], id[15] = byte(n>>8), byte(n)
	return id
}

// build fills an index with documents that get the ids 1, 2, 3, ... and, unless
// they name one, a session of their own each, in which nothing lifts them.
func build(docs ...index.Doc) *index.Index {
	ix := index.New(index.Standard())
	put(ix, docs...)
	return ix
}

// put adds documents as build does, behind those that are there.
func put(ix *index.Index, docs ...index.Doc) {
	for _, d := range docs {
		n := ix.Len() + 1
		if d.ID.IsZero() {
			d.ID = makeID(n, 0)
		}
		if d.Session == "" {
			d.Session = fmt.Sprint("session ", n)
		}
		ix.Put(uint64(n), d)
	}
}

// times returns n documents of one content.
func times(n int, content string) []index.Doc {
	docs := make([]index.Doc, n)
	for i := range docs {
		docs[i].Content = content
	}
	return docs
}

func run(t testing.TB, ix *index.Index, q search.Query) []search.Hit {
	t.Helper()
	hits, err := search.Run(t.Context(), ix, q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// found returns the times of the hits, which name them in these tests.
func found(hits []search.Hit) []uint64 {
	times := []uint64{}
	for _, h := range hits {
		times = append(times, h.ID.Time())
	}
	return times
}

// scoreOf returns the score of the hit of a time, 0 when there is none.
func scoreOf(hits []search.Hit, ms int) float64 {
	for _, h := range hits {
		if h.ID.Time() == uint64(ms) {
			return h.Score()
		}
	}
	return 0
}
