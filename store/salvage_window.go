package store

import (
	"context"
	"encoding/binary"
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

// foundFrame is an intact frame, wherever it may stand.
type foundFrame struct {
	located
	headerCRC uint32
}

// frame returns the intact frame at an offset, or why there is none.
func (w *window) frame(ctx context.Context, at int64, salt uint32) (f foundFrame, fault string, err error) {
	if w.end-at < frameHeaderSize {
		return f, "a frame is cut off", nil
	}
	head, err := w.at(ctx, at, frameHeaderSize)
	if err != nil {
		return f, "", err
	}
	payload, ok := checkFrameHeader(head, salt)
	switch {
	case !ok:
		return f, "the frame header does not match its checksum", nil
	case frameSize(payload) > w.end-at:
		return f, "a frame is cut off", nil
	}
	whole, err := w.at(ctx, at, frameSize(payload))
	if err != nil {
		return f, "", err
	}
	decoded, ok := decodeFrame(whole, salt)
	switch {
	case !ok:
		return f, "the payload does not match its checksum", nil
	case decoded.seq == 0 || decoded.seq > maxCounter:
		return f, "the sequence number is one that no store reaches", nil
	}
	here := located{frame: decoded, offset: at, size: int64(len(whole))}
	return foundFrame{located: here, headerCRC: binary.LittleEndian.Uint32(whole[4:])}, "", nil
}
