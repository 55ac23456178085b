package store

import (
	"context"
	"fmt"
	"slices"

	"example.com/convmem/store/vfs"
)

// window gives the bytes of a file to a reader that goes forward and looks at
// places more than once.
type window struct {
	file  vfs.File
	end   int64
	start int64 // offset of bytes
	bytes []byte
}

// at returns n bytes at an offset, all of them before end. They are valid until
// the next call.
func (w *window) at(ctx context.Context, offset, n int64) ([]byte, error) {
	if offset < w.start || offset+n > w.start+int64(len(w.bytes)) {
		if err := cancelled(ctx); err != nil {
			return nil, err
		}
		size := int(min(max(n, readAhead), w.end-offset))
		w.start, w.bytes = offset, slices.Grow(w.bytes[:0], size)[:size]
		if got, err := w.file.ReadAt(w.bytes, offset); got < size {
			w.bytes = w.bytes[:0]
			return nil, fmt.Errorf("the log could not be read as far as it was a moment ago: %w", err)
		}
	}
	return w.bytes[offset-w.start:][:n], nil
}
