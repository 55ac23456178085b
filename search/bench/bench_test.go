package bench

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var (
	messages = flag.Int("messages", 100_000, "messages to index")
	queries  = flag.Int("queries", 200, "queries to ask")
	engines  = flag.String("engines", "convmem,bleve,fts5", "engines to compare; ratios are to the first")
)

// BenchmarkSearch compares the engines and prints what it measured. One iteration
// is the whole of it:
//
//	go test -run '^$' -bench Search -benchtime 1x -messages 100000
func BenchmarkSearch(b *testing.B) {
	chosen, err := productsNamed(*engines)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		fmt.Println()
		if err := compare(os.Stdout, b.TempDir(), plan{chosen, *messages, *queries}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}
