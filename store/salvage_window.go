package store

import (
	"context"
	"encoding/binary"
)

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
	case decoded.seq == 0 && decoded.kind != kindCarry || decoded.seq > maxCounter:
		return f, "the sequence number is one that no store reaches", nil
	}
	here := located{frame: decoded, offset: at, size: int64(len(whole))}
	return foundFrame{located: here, headerCRC: binary.LittleEndian.Uint32(whole[4:])}, "", nil
}
