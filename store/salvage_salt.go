package store

import (
	"context"
	"encoding/binary"
	"slices"
)

// findSalt returns the salt of the frames: one that the header, LOCK or the
// first frame names, if a frame checks under it, or else the one that the frames
// themselves give away. Without any intact frame it is the header's, 0 if there
// is none.
func (l *damagedLog) findSalt(ctx context.Context, slots []slot) (uint32, error) {
	named, err := l.namedSalts(ctx, slots)
	if err != nil {
		return 0, err
	}
	for _, salt := range named {
		if found, err := l.anyFrame(ctx, salt); found || err != nil {
			return salt, err
		}
	}
	if salt, found, err := l.solveSalt(ctx); found || err != nil {
		return salt, err
	}
	if l.head.valid {
		return l.head.header.salt(), nil
	}
	return 0, nil
}

// namedSalts lists the places that say what the salt is, damaged or not.
func (l *damagedLog) namedSalts(ctx context.Context, slots []slot) ([]uint32, error) {
	var named []uint32
	if len(l.head.bytes) >= 32 {
		named = append(named, saltOf([16]byte(l.head.bytes[16:32])))
	}
	for _, s := range slots {
		named = append(named, saltOf(s.fileID))
	}
	if l.size < headerSize+frameHeaderSize {
		return named, nil
	}
	first, err := l.window.at(ctx, headerSize, frameHeaderSize)
	if err != nil {
		return nil, err
	}
	return append(named, binary.LittleEndian.Uint32(first[12:])), nil
}

// anyFrame reports whether a frame checks under the salt.
func (l *damagedLog) anyFrame(ctx context.Context, salt uint32) (bool, error) {
	for at := int64(headerSize); at < l.size; at += frameAlign {
		_, fault, err := l.window.frame(ctx, at, salt)
		if fault == "" || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// solveSalt works out the salt when nothing that names it is left. For every
// header there is one salt under which it checks; that the payload checks under
// the same one shows that it is a frame. Content could be made to look like
// frames of a salt of its own, so nothing is believed unless all agree.
func (l *damagedLog) solveSalt(ctx context.Context) (salt uint32, found bool, err error) {
	var byTop [256]byte
	for i, entry := range castagnoli {
		byTop[entry>>24] = byte(i)
	}
	for at := int64(headerSize); l.size-at >= frameHeaderSize; {
		head, err := l.window.at(ctx, at, frameHeaderSize)
		if err != nil {
			return 0, false, err
		}
		if !plausible(head, at) {
			at += frameAlign
			continue
		}
		solved := seedOf(binary.LittleEndian.Uint32(head[4:]), slices.Concat(head[:4], head[8:]), &byTop)
		f, fault, err := l.window.frame(ctx, at, solved)
		switch {
		case err != nil:
			return 0, false, err
		case fault != "":
			at += frameAlign
			continue
		case found && solved != salt:
			return 0, false, nil
		}
		salt, found = solved, true
		at += f.size
	}
	return salt, found, nil
}

// plausible reports whether the header of a frame at an offset could look like
// this. It keeps solveSalt from trying every place, and from believing most of
// what is no frame.
func plausible(h []byte, at int64) bool {
	known := kindPut <= kind(h[16]) && kind(h[16]) <= kindClean
	return known && h[17] <= flagMore && h[18] == 0 && h[19] == 0 && headerSize <= syncedOf(h) && syncedOf(h) <= at
}

// seedOf returns the seed that gives data the checksum crc, by running CRC-32
// backwards. byTop finds the entry of the table by its top byte.
func seedOf(crc uint32, data []byte, byTop *[256]byte) uint32 {
	crc = ^crc
	for _, b := range slices.Backward(data) {
		i := byTop[crc>>24]
		crc = (crc^castagnoli[i])<<8 | uint32(i^b)
	}
	return ^crc
}
