package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/convmem/index"
	"example.com/convmem/search"
)

// largeIndex holds n messages of 30 words that are as frequent as those of a
// language.
func largeIndex(n int) *index.Index {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 30_000)
	ix := index.New(index.Standard())
	for i := range n {
		var b strings.Builder
		for range 30 {
			fmt.Fprintf(&b, "%s ", word(zipf.Uint64()))
		}
		ix.Put(uint64(i), index.Doc{ID: makeID(i+1, 0), Session: fmt.Sprint(i % 100), Content: b.String()})
	}
	return ix
}

func word(n uint64) string {
	s := "w"
	for ; n > 0; n /= 26 {
		s += string(rune('a' + n%26))
	}
	return s
}

func BenchmarkRun(b *testing.B) {
	ix := largeIndex(100_000)
	for _, q := range []struct {
		name, text string
		filter     index.Filter
	}{
		{"frequent words", word(1) + " " + word(2) + " " + word(3) + " " + word(4), index.Filter{}},
		{"rare words", word(5001) + " " + word(6002) + " " + word(7003), index.Filter{}},
		{"in one session", word(1) + " " + word(2) + " " + word(3) + " " + word(4), index.Filter{Session: "7"}},
		{"4096 bytes", strings.Repeat(word(9)+" "+word(700)+" "+word(8000)+" ", 300), index.Filter{}},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				run(b, ix, search.Query{Text: q.text, Filter: q.filter, Limit: 20})
			}
		})
	}
}
