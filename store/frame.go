package store

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/oklog/ulid/v2"
)

// kind says what a frame does to the record under its id.
type kind uint8

const (
	kindPut    kind = 1 // the payload is the record's whole new state
	kindDelete kind = 2 // the record is gone
	kindClean  kind = 3 // nothing; written by Close so that its watermark covers the last batch
	kindCarry  kind = 4 // nothing; the payload is what the sink carries over a rebuild
)

// flagMore marks a frame whose atomic group goes on in the next frame.
const flagMore = 1

// MaxPayload is the size in bytes of the largest payload. A frame that claims a
// larger one is damaged.
const MaxPayload = 64 << 20

const (
	frameHeaderSize = 52
	frameAlign      = 8
)

// frame is one entry of the log.
//
//	 0  length       u32, payload bytes
//	 4  header CRC   u32, of bytes 0-3 and 8-51
//	 8  payload CRC  u32, of payload and padding
//	12  chain        u32, header CRC of the frame before; the file's salt for the first
//	16  kind         u8
//	17  flags        u8
//	18  zero         2 bytes
//	20  seq          u64, greater than that of the frame before; that of a carry
//	                 is the same
//	28  synced       u64, offset known to be durable when the frame was built
//	36  id           16 bytes
//	52  payload, then zeros up to a multiple of 8
//
// Both checksums are CRC-32C seeded with the file's salt. Since the header CRC
// covers the payload CRC and the chain, each frame vouches for all before it.
type frame struct {
	kind    kind
	more    bool
	seq     uint64
	synced  int64
	id      ulid.ULID
	chain   uint32
	payload []byte
}

// position is the place between two frames, with all that the next one must
// agree with.
type position struct {
	offset int64
	chain  uint32 // header CRC of the frame before
	seq    uint64 // its sequence number
}

// frameSize is what a frame takes in the file.
func frameSize(payload int) int64 {
	return (int64(frameHeaderSize+payload) + frameAlign - 1) &^ (frameAlign - 1)
}

// appendFrame appends the frame to b, chained to at, and returns the position
// behind it.
func appendFrame(b []byte, f frame, salt uint32, at position) ([]byte, position) {
	size := frameSize(len(f.payload))
	start := len(b)
	b = append(b, make([]byte, frameHeaderSize)...)
	b = append(b, f.payload...)
	b = append(b, make([]byte, start+int(size)-len(b))...)

	h := b[start : start+frameHeaderSize]
	binary.LittleEndian.PutUint32(h[0:], uint32(len(f.payload)))
	binary.LittleEndian.PutUint32(h[8:], crc32.Update(salt, castagnoli, b[start+frameHeaderSize:]))
	binary.LittleEndian.PutUint32(h[12:], at.chain)
	h[16] = byte(f.kind)
	if f.more {
		h[17] = flagMore
	}
	binary.LittleEndian.PutUint64(h[20:], f.seq)
	binary.LittleEndian.PutUint64(h[28:], uint64(f.synced))
	copy(h[36:], f.id[:])
	crc := headerCRC(h, salt)
	binary.LittleEndian.PutUint32(h[4:], crc)
	return b, position{offset: at.offset + size, chain: crc, seq: f.seq}
}

func headerCRC(h []byte, salt uint32) uint32 {
	return crc32.Update(crc32.Update(salt, castagnoli, h[:4]), castagnoli, h[8:frameHeaderSize])
}

// checkFrameHeader reports whether h is the intact header of a frame of this
// file, wherever it may stand, and how long its payload is.
func checkFrameHeader(h []byte, salt uint32) (payload int, ok bool) {
	length := binary.LittleEndian.Uint32(h)
	if length > MaxPayload || headerCRC(h, salt) != binary.LittleEndian.Uint32(h[4:]) {
		return 0, false
	}
	return int(length), true
}

func seqOf(h []byte) uint64 { return binary.LittleEndian.Uint64(h[20:]) }

func syncedOf(h []byte) int64 { return int64(binary.LittleEndian.Uint64(h[28:])) }

// decodeFrame decodes whole, the bytes of one frame whose header has been
// checked. The payload is a part of whole.
func decodeFrame(whole []byte, salt uint32) (f frame, ok bool) {
	length := binary.LittleEndian.Uint32(whole)
	if crc32.Update(salt, castagnoli, whole[frameHeaderSize:]) != binary.LittleEndian.Uint32(whole[8:]) {
		return frame{}, false
	}
	return frame{
		kind:    kind(whole[16]),
		more:    whole[17]&flagMore != 0,
		seq:     seqOf(whole),
		synced:  syncedOf(whole),
		id:      ulid.ULID(whole[36:52]),
		chain:   binary.LittleEndian.Uint32(whole[12:]),
		payload: whole[frameHeaderSize : frameHeaderSize+int(length)],
	}, true
}

// after returns the position behind the frame in whole, which stands at at.
func (f frame) after(whole []byte, at position) position {
	return position{
		offset: at.offset + int64(len(whole)),
		chain:  binary.LittleEndian.Uint32(whole[4:]),
		seq:    f.seq,
	}
}
