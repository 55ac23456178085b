package mcpserver

import (
	"bytes"
	"errors"
	"sync/atomic"
)

var errBroken = errors.New("the stream is broken")

// breakable is an output that fails once it is broken. Until then it tells of lines
// that refuse one of the host's.
type breakable struct {
	broken  atomic.Bool
	refused chan struct{}
}

func (b *breakable) Write(p []byte) (int, error) {
	if b.broken.Load() {
		return 0, errBroken
	}
	if bytes.Contains(p, []byte("-32700")) {
		b.refused <- struct{}{}
	}
	return len(p), nil
}

// brokenReader is an input that fails.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }
