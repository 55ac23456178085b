package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// Versions of the snapshot's layout, apart from those of the log: a snapshot
// can be thrown away, so its layout may change at any time.
const (
	snapshotVersion   = 1
	snapshotMinReader = 1
)

const (
	snapshotMagic      = "convsnap"
	snapshotHeaderSize = 160
	sectionEntrySize   = 48
	// maxSectionName is the length in bytes of the longest section name.
	maxSectionName = 32
)

// snapshotHeader is the start of a snapshot: a cache of what the frames of one
// log make up to one position. It is written last, so that a file without it
// is no snapshot.
//
//	  0  magic               8 bytes
//	  8  format version      u32
//	 12  min reader version  u32
//	 16  file id             16 bytes, of the log
//	 32  generation          u64, of the log
//	 40  covered offset      u64, the end of the last frame that is covered
//	 48  covered seq         u64, its sequence number
//	 56  covered chain       u32, its header CRC; the log's salt if there is none
//	 60  last kind           u8, its kind; 0 if there is none
//	 61  zero                3 bytes
//	 64  last frame          u64, its offset; 0 if there is none
//	 72  last id             16 bytes, greatest record id ever used
//	 88  records             u64, frames that are puts or deletes
//	 96  deletes             u64
//	104  updates             u64
//	112  live bytes          u64, frames of live records
//	120  directory           u64, its offset
//	128  sections            u32, entries of the directory
//	132  directory CRC       u32
//	136  carried             u64, bytes of carry frames
//	144  zero                12 bytes
//	156  CRC                 u32, of bytes 0 to 155
//	160  the sections, one after the other without gaps
//
// The directory stands between the sections and the end of the file, with one
// entry for each, in their order:
//
//	 0  name                32 bytes, at least one, padded with zeros
//	32  version             u32
//	36  section CRC         u32
//	40  length              u64
//
// Numbers are little-endian. All checksums are CRC-32C seeded with the log's
// salt, so that nothing made from another log passes.
type snapshotHeader struct {
	fileID     [16]byte
	generation uint64
	covered    position
	lastFrame  int64
	lastKind   kind
	lastID     ulid.ULID
	counts     counts
}

// directoryPlace is the part of the header that says where the directory is.
type directoryPlace struct {
	offset   int64
	sections uint32
	crc      uint32
}

// Section is a named part of a snapshot, in which a sink keeps what it would
// otherwise have to make again from all records.
type Section struct {
	// Name is 1 to 32 bytes without NUL, and unique in a snapshot.
	Name string
	// Version is of the encoding of the content; the reader must know it.
	Version uint32
	// Write writes the content, of any length, to a buffered writer that is
	// valid until Write returns. An error abandons the snapshot.
	Write func(io.Writer) error
}

// SavedSection is a section as a snapshot holds it. Its checksum was right.
type SavedSection struct {
	Version uint32
	Size    int64 // of the content in bytes
	// Data yields the content, then io.EOF. It is buffered, and valid while the
	// call that hands it out runs.
	Data io.Reader
}

// errBadSnapshot says that a snapshot is damaged, from a newer version or no
// snapshot at all. The log still holds everything.
var errBadSnapshot = errors.New("the snapshot cannot be used")

func badSnapshot(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBadSnapshot, fmt.Sprintf(format, args...))
}

func saltOf(fileID [16]byte) uint32 { return header{fileID: fileID}.salt() }

func (h snapshotHeader) encode(d directoryPlace) []byte {
	b := make([]byte, snapshotHeaderSize)
	copy(b, snapshotMagic)
	binary.LittleEndian.PutUint32(b[8:], snapshotVersion)
	binary.LittleEndian.PutUint32(b[12:], snapshotMinReader)
	copy(b[16:], h.fileID[:])
	binary.LittleEndian.PutUint64(b[32:], h.generation)
	binary.LittleEndian.PutUint64(b[40:], uint64(h.covered.offset))
	binary.LittleEndian.PutUint64(b[48:], h.covered.seq)
	binary.LittleEndian.PutUint32(b[56:], h.covered.chain)
	b[60] = byte(h.lastKind)
	binary.LittleEndian.PutUint64(b[64:], uint64(h.lastFrame))
	copy(b[72:], h.lastID[:])
	binary.LittleEndian.PutUint64(b[88:], uint64(h.counts.records))
	binary.LittleEndian.PutUint64(b[96:], uint64(h.counts.deletes))
	binary.LittleEndian.PutUint64(b[104:], uint64(h.counts.updates))
	binary.LittleEndian.PutUint64(b[112:], uint64(h.counts.liveBytes))
	binary.LittleEndian.PutUint64(b[136:], uint64(h.counts.carried))
	binary.LittleEndian.PutUint64(b[120:], uint64(d.offset))
	binary.LittleEndian.PutUint32(b[128:], d.sections)
	binary.LittleEndian.PutUint32(b[132:], d.crc)
	binary.LittleEndian.PutUint32(b[156:], crc32.Update(saltOf(h.fileID), castagnoli, b[:156]))
	return b
}

// decodeSnapshotHeader checks and decodes the first bytes of a snapshot.
func decodeSnapshotHeader(b []byte) (snapshotHeader, directoryPlace, error) {
	h, d := snapshotHeaderFields(b)
	minReader := binary.LittleEndian.Uint32(b[12:])
	fault := h.fault()
	switch {
	case string(b[:len(snapshotMagic)]) != snapshotMagic:
		fault = "the header is missing"
	case crc32.Update(saltOf(h.fileID), castagnoli, b[:156]) != binary.LittleEndian.Uint32(b[156:]):
		fault = "the header does not match its checksum"
	case minReader > snapshotVersion:
		fault = fmt.Sprintf("it needs a reader of version %d, this one is of version %d", minReader, snapshotVersion)
	}
	if fault != "" {
		return snapshotHeader{}, directoryPlace{}, badSnapshot("%s", fault)
	}
	return h, d, nil
}

func snapshotHeaderFields(b []byte) (snapshotHeader, directoryPlace) {
	h := snapshotHeader{
		fileID:     [16]byte(b[16:32]),
		generation: binary.LittleEndian.Uint64(b[32:]),
		covered: position{
			offset: int64(binary.LittleEndian.Uint64(b[40:])),
			seq:    binary.LittleEndian.Uint64(b[48:]),
			chain:  binary.LittleEndian.Uint32(b[56:]),
		},
		lastKind:  kind(b[60]),
		lastFrame: int64(binary.LittleEndian.Uint64(b[64:])),
		lastID:    ulid.ULID(b[72:88]),
		counts: counts{
			records:   int64(binary.LittleEndian.Uint64(b[88:])),
			deletes:   int64(binary.LittleEndian.Uint64(b[96:])),
			updates:   int64(binary.LittleEndian.Uint64(b[104:])),
			liveBytes: int64(binary.LittleEndian.Uint64(b[112:])),
			carried:   int64(binary.LittleEndian.Uint64(b[136:])),
		},
	}
	return h, directoryPlace{
		offset:   int64(binary.LittleEndian.Uint64(b[120:])),
		sections: binary.LittleEndian.Uint32(b[128:]),
		crc:      binary.LittleEndian.Uint32(b[132:]),
	}
}

// fault says what no log can have led to, or "". It keeps the code behind it
// from reckoning with absurd numbers.
func (h snapshotHeader) fault() string {
	end, c := h.covered.offset, h.counts
	switch {
	case h.generation > maxCounter || h.covered.seq > maxCounter:
		return "the header holds numbers that no store reaches"
	case end < headerSize || end > maxOffset || end%frameAlign != 0:
		return "no frame ends at the covered offset"
	case (h.lastFrame == 0) != (end == headerSize) || (h.lastKind == 0) != (end == headerSize):
		return "the last frame does not agree with the covered offset"
	case h.lastFrame != 0 && !(location{h.lastFrame, end - h.lastFrame}).possible():
		return "the last frame does not end at the covered offset"
	case min(c.records, c.deletes, c.updates, c.liveBytes, c.carried) < 0 || c.liveBytes > end-headerSize-c.carried:
		return "the counts do not fit the covered offset"
	}
	return ""
}

// checksum is a writer that adds up what goes through it.
type checksum struct {
	crc  uint32
	size int64
}

func (c *checksum) Write(b []byte) (int, error) {
	c.crc = crc32.Update(c.crc, castagnoli, b)
	c.size += int64(len(b))
	return len(b), nil
}

// writeSnapshot writes a snapshot to an empty file and returns its size. It
// syncs nothing. Errors of the file and of sections are wrapped.
func writeSnapshot(f vfs.File, h snapshotHeader, sections []Section) (size int64, err error) {
	if fault := h.fault(); fault != "" {
		return 0, fmt.Errorf("a snapshot that nobody would read: %s", fault)
	}
	if err := checkNames(sections); err != nil {
		return 0, err
	}
	salt := saltOf(h.fileID)
	out := bufio.NewWriterSize(nil, readAhead)
	end := int64(snapshotHeaderSize)
	var directory []byte
	for _, s := range sections {
		sum := checksum{crc: salt}
		out.Reset(io.MultiWriter(&sum, io.NewOffsetWriter(f, end)))
		if err := errors.Join(s.Write(out), out.Flush()); err != nil {
			return 0, fmt.Errorf("section %q: %w", s.Name, err)
		}
		directory = appendSectionEntry(directory, s, sum)
		end += sum.size
	}
	if _, err := f.WriteAt(directory, end); err != nil {
		return 0, err
	}
	place := directoryPlace{offset: end, sections: uint32(len(sections)), crc: crc32.Update(salt, castagnoli, directory)}
	_, err = f.WriteAt(h.encode(place), 0)
	return end + int64(len(directory)), err
}

func checkNames(sections []Section) error {
	seen := map[string]bool{}
	for _, s := range sections {
		switch {
		case s.Name == "" || len(s.Name) > maxSectionName || strings.Contains(s.Name, "\x00"):
			return fmt.Errorf("the section name %q is not 1 to %d bytes without NUL", s.Name, maxSectionName)
		case seen[s.Name]:
			return fmt.Errorf("two sections have the name %q", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

func appendSectionEntry(b []byte, s Section, sum checksum) []byte {
	var name [maxSectionName]byte
	copy(name[:], s.Name)
	b = append(b, name[:]...)
	b = binary.LittleEndian.AppendUint32(b, s.Version)
	b = binary.LittleEndian.AppendUint32(b, sum.crc)
	return binary.LittleEndian.AppendUint64(b, uint64(sum.size))
}

// snapshotReader is an open snapshot whose header and directory are intact. It
// is safe for concurrent use.
type snapshotReader struct {
	file     vfs.File
	header   snapshotHeader
	sections map[string]sectionPlace
}

type sectionPlace struct {
	version uint32
	crc     uint32
	offset  int64
	size    int64
}

// readSnapshot reads header and directory, whatever the size of the sections.
// The error matches errBadSnapshot unless a read failed.
func readSnapshot(f vfs.File) (*snapshotReader, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	head, err := readExactly(f, 0, snapshotHeaderSize)
	if err != nil {
		return nil, err
	}
	h, d, err := decodeSnapshotHeader(head)
	if err != nil {
		return nil, err
	}
	length := int64(d.sections) * sectionEntrySize
	if d.offset < snapshotHeaderSize || d.offset > size || size-d.offset != length {
		return nil, badSnapshot("the directory does not end where the file does")
	}
	directory, err := readExactly(f, d.offset, length)
	if err != nil {
		return nil, err
	}
	if crc32.Update(saltOf(h.fileID), castagnoli, directory) != d.crc {
		return nil, badSnapshot("the directory does not match its checksum")
	}
	sections, err := decodeDirectory(directory, d.offset)
	return &snapshotReader{file: f, header: h, sections: sections}, err
}

func readExactly(f vfs.File, offset, size int64) ([]byte, error) {
	b := make([]byte, size)
	n, err := f.ReadAt(b, offset)
	switch {
	case n == len(b): // at the end of the file an io.EOF may come with it
		return b, nil
	case errors.Is(err, io.EOF):
		return nil, badSnapshot("it is cut off")
	}
	return nil, err
}

// decodeDirectory takes sections that fill the file from the header to end.
func decodeDirectory(b []byte, end int64) (map[string]sectionPlace, error) {
	sections := map[string]sectionPlace{}
	at := int64(snapshotHeaderSize)
	for ; len(b) > 0; b = b[sectionEntrySize:] {
		name := strings.TrimRight(string(b[:maxSectionName]), "\x00")
		if _, twice := sections[name]; twice || name == "" || strings.Contains(name, "\x00") {
			return nil, badSnapshot("the directory names a section wrongly or twice")
		}
		size := binary.LittleEndian.Uint64(b[40:])
		if size > uint64(end-at) {
			return nil, badSnapshot("the sections are longer than the file")
		}
		sections[name] = sectionPlace{
			version: binary.LittleEndian.Uint32(b[32:]),
			crc:     binary.LittleEndian.Uint32(b[36:]),
			offset:  at,
			size:    int64(size),
		}
		at += int64(size)
	}
	if at != end {
		return nil, badSnapshot("the sections are shorter than the file")
	}
	return sections, nil
}

// section returns the section called name, or false if there is none. It reads
// the content once for the checksum before it hands out a reader for it.
func (s *snapshotReader) section(name string) (SavedSection, bool, error) {
	place, ok := s.sections[name]
	if !ok {
		return SavedSection{}, false, nil
	}
	end := place.offset + place.size
	sum := checksum{crc: saltOf(s.header.fileID)}
	if _, err := io.Copy(&sum, bufferedReader(s.file, place.offset, end)); err != nil {
		return SavedSection{}, true, err
	}
	if sum.size != place.size || sum.crc != place.crc {
		return SavedSection{}, true, badSnapshot("section %q does not match its checksum", name)
	}
	return SavedSection{
		Version: place.version,
		Size:    place.size,
		Data:    bufferedReader(s.file, place.offset, end),
	}, true, nil
}
