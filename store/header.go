package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/oklog/ulid/v2"
)

// Format versions. A file carries the version that wrote it and the oldest
// version that can read it, so that a newer file is told from a damaged one.
const (
	FormatVersion    = 2
	minReaderVersion = 2
)

const (
	magic      = "convmem\n"
	headerSize = 128
	logPrefix  = "convmem-"
	logSuffix  = ".log"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the start of every log file. It is complete and synced before the
// file gets its name, so a header that does not check is damage, never the
// trace of a crash. Magic, versions and checksum keep their places in every
// version to come.
//
//	  0  magic               8 bytes
//	  8  format version      u32
//	 12  min reader version  u32
//	 16  file id             16 bytes, random, one per file
//	 32  generation          u64
//	 40  created             u64, Unix ms
//	 48  sealed end          u64, offset below which the file was durable
//	                         before it got its name
//	 56  last seq            u64, greatest sequence number ever used
//	 64  last id             16 bytes, greatest record id ever used
//	 80  zero                44 bytes
//	124  CRC-32C             u32, of bytes 0 to 123
//
// Numbers are little-endian.
type header struct {
	formatVersion uint32
	minReader     uint32
	fileID        [16]byte
	generation    uint64
	created       uint64
	sealedEnd     int64
	lastSeq       uint64
	lastID        ulid.ULID
}

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], h.formatVersion)
	binary.LittleEndian.PutUint32(b[12:], h.minReader)
	copy(b[16:], h.fileID[:])
	binary.LittleEndian.PutUint64(b[32:], h.generation)
	binary.LittleEndian.PutUint64(b[40:], h.created)
	binary.LittleEndian.PutUint64(b[48:], uint64(h.sealedEnd))
	binary.LittleEndian.PutUint64(b[56:], h.lastSeq)
	copy(b[64:], h.lastID[:])
	binary.LittleEndian.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	return b
}

// decodeHeader checks and decodes the first headerSize bytes of the file name.
func decodeHeader(name string, b []byte) (header, error) {
	if reason := headerFault(b); reason != "" {
		return header{}, &CorruptError{File: name, Reason: reason}
	}
	h := header{
		formatVersion: binary.LittleEndian.Uint32(b[8:]),
		minReader:     binary.LittleEndian.Uint32(b[12:]),
		fileID:        [16]byte(b[16:32]),
		generation:    binary.LittleEndian.Uint64(b[32:]),
		created:       binary.LittleEndian.Uint64(b[40:]),
		sealedEnd:     int64(binary.LittleEndian.Uint64(b[48:])),
		lastSeq:       binary.LittleEndian.Uint64(b[56:]),
		lastID:        ulid.ULID(b[64:80]),
	}
	if h.minReader > FormatVersion {
		return header{}, &VersionError{File: name, Found: h.formatVersion, Needed: h.minReader, Supported: FormatVersion}
	}
	switch {
	case logName(h.generation) != name:
		return header{}, &CorruptError{File: name, Reason: "the header belongs to another file"}
	case h.sealedEnd < headerSize || h.generation > maxCounter || h.lastSeq > maxCounter:
		return header{}, &CorruptError{File: name, Reason: "the header holds numbers that no store reaches"}
	}
	return h, nil
}

// maxCounter is far above what generations and sequence numbers can reach, and
// far enough below their end that adding to them never wraps.
const maxCounter = 1 << 62

func headerFault(b []byte) string {
	switch {
	case len(b) < headerSize:
		return "the header is cut off"
	case string(b[:len(magic)]) != magic:
		return "this is not a convmem log"
	case crc32.Checksum(b[:124], castagnoli) != binary.LittleEndian.Uint32(b[124:]):
		return "the header does not match its checksum"
	}
	return ""
}

// salt seeds the checksum of every frame in the file. It is random and never
// leaves the file, so no message can contain bytes that pass for a frame.
func (h header) salt() uint32 { return crc32.Checksum(h.fileID[:], castagnoli) }

// start is the position of the first frame.
func (h header) start() position { return position{offset: headerSize, chain: h.salt()} }

func logName(generation uint64) string {
	return fmt.Sprintf("%s%016x%s", logPrefix, generation, logSuffix)
}

// parseLogName returns the generation of a log's name.
func parseLogName(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, logPrefix)
	if !ok {
		return 0, false
	}
	var generation uint64
	if _, err := fmt.Sscanf(digits, "%016x", &generation); err != nil {
		return 0, false
	}
	return generation, logName(generation) == name
}
