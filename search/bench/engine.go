// Package bench compares the search of convmem with others that a Go program
// would embed. See README.md for what is compared and what is unfair.
//
// It has a benchmark and nothing to call.
package bench

import (
	"fmt"
	"slices"
	"strings"

	"example.com/convmem/search/bench/corpus"
)

// engine is an index that can be searched. It is used by one goroutine.
type engine interface {
	// add indexes messages, whose numbers go on from those of the call before.
	add(messages []corpus.Message) error
	// settle does all that the engine would do in the background and all that it
	// offers to make searches faster. Nothing is added afterwards.
	settle() error
	// search returns the numbers of at most limit messages that hold a word of
	// the text, the best first.
	search(text string, limit int) ([]int, error)
	// size is the bytes of the settled index. heap is by how many the Go heap
	// grew since before it was opened.
	size(heap int64) (int64, error)
	// details says in a few words what else is worth knowing of an index of so
	// many messages.
	details(messages int) (string, error)
	close() error
}

// product is a kind of engine.
type product struct {
	name string
	// open makes an empty index. An engine that needs files puts them into dir,
	// an empty directory.
	open func(dir string) (engine, error)
}

// products are the engines that are compared.
func products() []product {
	return []product{
		{"convmem", openConvmem},
		{"bleve", openBleve},
		{"fts5", openFTS5},
	}
}

// productsNamed returns those in a list of names with commas.
func productsNamed(names string) ([]product, error) {
	var chosen []product
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(products(), func(p product) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no engine is called %q", name)
		}
		chosen = append(chosen, products()[i])
	}
	return chosen, nil
}

// wholeText is all words of a message, for engines in which a message has one
// field: one is faster than three.
func wholeText(m corpus.Message) string {
	if m.Summary == "" && len(m.Tags) == 0 {
		return m.Content
	}
	return m.Content + "\n" + m.Summary + "\n" + strings.Join(m.Tags, " ")
}
