package main

import (
	"context"

	"example.com/convmem"
)

// rankingSize is how far a ranking goes: as far as a search of convmem can.
const rankingSize = convmem.MaxSearchLimit

// engine ranks the messages of one store.
type engine interface {
	// rank returns the ids, in the set, of the best rankingSize messages for a
	// text, best first.
	rank(ctx context.Context, text string) ([]string, error)
	close() error
}

// opener makes an engine that holds the messages. An error names the line of the
// message that could not be taken.
type opener func(ctx context.Context, messages []message) (engine, error)

// engineNamed returns nil where there is none of that name.
func engineNamed(name string) opener {
	switch name {
	case "convmem":
		return openConvmem
	case "bm25":
		return openOkapi
	}
	return nil
}
