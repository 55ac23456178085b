package main

import (
	"context"
	"io"
)

// interruptible reads from something whose Read may wait for ever, such as a
// terminal, until the context ends.
type interruptible struct {
	ctx  context.Context
	from io.Reader
	left []byte // read and not yet returned
	err  error  // that came with it
}

// Read implements [io.Reader]. A read that waits when the context ends is left
// behind, with a buffer of its own.
func (r *interruptible) Read(p []byte) (int, error) {
	if len(r.left) == 0 && r.err == nil {
		r.fill()
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	if len(r.left) > 0 {
		return n, nil
	}
	return n, r.err
}

func (r *interruptible) fill() {
	type chunk struct {
		data []byte
		err  error
	}
	read := make(chan chunk, 1)
	go func() {
		buffer := make([]byte, 64<<10)
		n, err := r.from.Read(buffer)
		read <- chunk{buffer[:n], err}
	}()
	select {
	case c := <-read:
		r.left, r.err = c.data, c.err
	case <-r.ctx.Done():
		r.err = r.ctx.Err()
	}
}
