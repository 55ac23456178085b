package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/oklog/ulid/v2"
)

// The records section holds a table: the number of records, then for each, in
// log order,
//
//	gap   uvarint, from the end of the record before, from the log's header for
//	      the first
//	size  uvarint
//	id    16 bytes
//
// with gap and size in units of frameAlign.
const (
	recordsSection        = "records"
	recordsSectionVersion = 1
)

// maxSavedRecord is the size in bytes of the longest record in the section.
const maxSavedRecord = 2*binary.MaxVarintLen64 + len(ulid.ULID{})

// section returns the snapshot section that readTable reads.
func (f *frozenTable) section() Section {
	return Section{Name: recordsSection, Version: recordsSectionVersion, Write: f.save}
}

func (f *frozenTable) save(w io.Writer) error {
	b := binary.AppendUvarint(make([]byte, 0, maxSavedRecord), uint64(f.records))
	if _, err := w.Write(b); err != nil {
		return err
	}
	end := int64(headerSize)
	for id, at := range f.inLogOrder() {
		b = binary.AppendUvarint(b[:0], uint64(at.offset-end)/frameAlign)
		b = binary.AppendUvarint(b, uint64(at.size)/frameAlign)
		b = append(b, id[:]...)
		if _, err := w.Write(b); err != nil {
			return err
		}
		end = at.offset + at.size
	}
	return nil
}

// table returns the record table that the snapshot holds, if it agrees with the
// snapshot's header. The error matches errBadSnapshot unless a read failed.
func (s *snapshotReader) table() (*table, error) {
	saved, ok, err := s.section(recordsSection)
	if err != nil {
		return nil, err
	}
	if !ok || saved.Version != recordsSectionVersion {
		return nil, badSnapshot("it has no record table of version %d", recordsSectionVersion)
	}
	in := newTableReader(saved.Data)
	t, err := in.table()
	if err != nil {
		return nil, err
	}
	if in.end > s.header.covered.offset || in.liveBytes != s.header.counts.liveBytes {
		return nil, badSnapshot("the record table does not agree with the header")
	}
	return t, nil
}

// readTable reads what section has written. The error matches errBadSnapshot
// unless a read failed. Memory is in proportion to the bytes read.
func readTable(r io.Reader) (*table, error) { return newTableReader(r).table() }

type tableReader struct {
	in        *bufio.Reader
	end       int64 // of the last record read
	liveBytes int64
}

func newTableReader(r io.Reader) *tableReader {
	return &tableReader{in: bufio.NewReaderSize(r, 4<<10), end: headerSize}
}

func (r *tableReader) table() (*table, error) {
	left, err := r.count()
	if err != nil {
		return nil, err
	}
	t := newTable()
	for ; left > 0; left-- {
		id, at, err := r.record()
		if err != nil {
			return nil, err
		}
		t.add(id, at)
	}
	if t.buildIndex() {
		return nil, badSnapshot("a record is in the table twice")
	}
	switch _, err := r.in.ReadByte(); {
	case err == nil:
		return nil, badSnapshot("something stands behind the record table")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return t, nil
}

func (r *tableReader) count() (uint64, error) {
	b, err := r.in.Peek(binary.MaxVarintLen64)
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, undecodable(err)
	}
	_, err = r.in.Discard(n)
	return count, err
}

// record returns the next record. A gap is never negative, so records stand in
// log order and apart.
func (r *tableReader) record() (id ulid.ULID, at location, err error) {
	b, err := r.in.Peek(maxSavedRecord)
	gap, n := binary.Uvarint(b)
	if n <= 0 {
		return id, at, undecodable(err)
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 || copy(id[:], b[n+m:]) < len(id) {
		return id, at, undecodable(err)
	}
	// The bounds keep the sums from wrapping; possible does the rest.
	if gap > uint64(maxOffset/frameAlign) || size > MaxPayload {
		return id, at, badSnapshot("a record stands where none can")
	}
	at = location{offset: r.end + int64(gap)*frameAlign, size: int64(size) * frameAlign}
	if !at.possible() {
		return id, at, badSnapshot("a record stands where none can")
	}
	r.end = at.offset + at.size
	r.liveBytes += at.size
	_, err = r.in.Discard(n + m + len(id))
	return id, at, err
}

// undecodable is the error for bytes that hold no number or too few for an id;
// err says why there are not more of them.
func undecodable(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return badSnapshot("the record table is cut off or holds a bad number")
	}
	return err
}
