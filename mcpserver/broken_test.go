package mcpserver

import (
	"errors"
	"sync/atomic"
)

var errBroken = errors.New("the stream is broken")

// breakable is an output that fails once it is broken.
type breakable struct{ broken atomic.Bool }

func (b *breakable) Write(p []byte) (int, error) {
	if b.broken.Load() {
		return 0, errBroken
	}
	return len(p), nil
}

// brokenReader is an input that fails.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }
