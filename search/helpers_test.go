package search_test

import (
	"context"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"github.com/oklog/ulid/v2"
)

func makeID(ms, n int) (id ulid.ULID) {
	_ = id.SetTime(uint64(ms))
	id[15] = byte(n)
	return id
}

func run(t testing.TB, ix *index.Index, q search.Query) []search.Hit {
	hits, err := search.Run(context.Background(), ix, q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}
