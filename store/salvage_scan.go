package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// damagedLog is a log of which only intact frames are believed.
type damagedLog struct {
	file   vfs.File
	size   int64
	head   damagedHeader
	salt   uint32
	window window

	// newest holds, for each id that is seen, its newest intact frame.
	newest map[ulid.ULID]survivor
	// lastSeq and lastID are the greatest that are seen or named.
	lastSeq uint64
	lastID  ulid.ULID
	report  SalvageReport
}

// survivor is an intact frame: a put, or, with size 0, a delete.
type survivor struct {
	seq    uint64
	offset int64
	size   int64
}

// newestUsable scans the newest log that holds an intact frame, or nothing at
// all as a new log does. Older ones are not mixed in: they would bring back what
// was deleted before the rebuild that replaced them.
func newestUsable(ctx context.Context, from vfs.FS) (*damagedLog, error) {
	names, err := from.List()
	if err != nil {
		return nil, err
	}
	slots, err := readSlots(from, names)
	if err != nil {
		return nil, err
	}
	logs := generations(names)
	if len(logs) == 0 {
		return nil, noLog(slots)
	}
	lastSeq, lastID, err := namedInHeaders(from, logs)
	if err != nil {
		return nil, err
	}
	var unusable []Gap
	for _, generation := range slices.Backward(logs) {
		l, err := scanDamaged(ctx, from, logName(generation), slots)
		if err != nil {
			return nil, err
		}
		if l.usable() {
			l.note(lastSeq, lastID)
			l.report.Gaps = slices.Concat(lostLog(slots, logs, generation, l.salt), unusable, l.report.Gaps)
			return l, nil
		}
		unusable = append(unusable, Gap{File: l.report.File, Length: l.size, Reason: "nothing in the file is intact"})
		if err := l.file.Close(); err != nil {
			return nil, err
		}
	}
	return nil, &CorruptError{File: unusable[0].File, Reason: "nothing in the file is intact, nor in an older one"}
}

// noLog is the error for a directory without logs.
func noLog(slots []slot) error {
	if len(slots) == 0 {
		return ErrNoStore
	}
	return &CorruptError{File: lockName, Offset: slotA, Reason: "it names a log that is not in the directory"}
}

// lostLog reports the log that LOCK names if it is not the one that is used,
// nor one that was found unusable.
func lostLog(slots []slot, logs []uint64, used uint64, salt uint32) []Gap {
	if len(slots) == 0 {
		return nil
	}
	s := slots[len(slots)-1]
	gap := Gap{File: logName(s.generation), Length: s.durableEnd}
	switch {
	case s.generation > used && !slices.Contains(logs, s.generation):
		gap.Reason = lockName + " names this log, which is not in the directory"
	case s.generation == used && saltOf(s.fileID) != salt:
		gap.Reason = lockName + " names another log than the one under this name"
	default:
		return nil
	}
	return []Gap{gap}
}

// readSlots returns the valid slots of LOCK, the one that counts last.
func readSlots(fsys vfs.FS, names []string) ([]slot, error) {
	if !slices.Contains(names, lockName) {
		return nil, nil
	}
	// Byte 0 carries the system's lock, and some systems do not let it be read.
	b, err := readPart(fsys, lockName, slotA, slotB+slotSize-slotA)
	if err != nil {
		return nil, err
	}
	b = append(b, make([]byte, slotB+slotSize-slotA-len(b))...)
	var valid []slot
	for _, half := range [][]byte{b[:slotSize], b[slotB-slotA:]} {
		if s, ok := decodeSlot(half); ok {
			valid = append(valid, s)
		}
	}
	slices.SortFunc(valid, func(a, b slot) int { return cmp.Compare(a.counter, b.counter) })
	return valid, nil
}

// readPart returns n bytes of a file, or what there is of them.
func readPart(fsys vfs.FS, name string, from int64, n int) ([]byte, error) {
	file, err := fsys.OpenRead(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	got, err := file.ReadAt(b, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:got], errors.Join(err, file.Close())
}

// damagedHeader is a header that need not be valid.
type damagedHeader struct {
	bytes  []byte // up to headerSize of them
	header header
	valid  bool   // it checks, although it may be that of another file
	reason string // why Open refuses it, or ""
}

// inspectHeader fails with a *VersionError only.
func inspectHeader(name string, b []byte) (damagedHeader, error) {
	h, err := decodeHeader(name, b)
	if err == nil {
		return damagedHeader{bytes: b, header: h, valid: true}, nil
	}
	var damage *CorruptError
	if !errors.As(err, &damage) {
		return damagedHeader{}, err
	}
	d := damagedHeader{bytes: b, reason: damage.Reason}
	if headerFault(b) == "" { // only the name, or a number, is wrong
		d.header, err = decodeHeader(logName(binary.LittleEndian.Uint64(b[32:])), b)
		d.valid = err == nil
	}
	return d, nil
}

// namedInHeaders returns the greatest sequence number and id that valid headers
// name. It refuses a directory with a log of a newer version.
func namedInHeaders(from vfs.FS, logs []uint64) (lastSeq uint64, lastID ulid.ULID, err error) {
	for _, generation := range logs {
		name := logName(generation)
		b, err := readPart(from, name, 0, headerSize)
		if err != nil {
			return 0, ulid.ULID{}, err
		}
		d, err := inspectHeader(name, b)
		if err != nil {
			return 0, ulid.ULID{}, err
		}
		lastSeq = max(lastSeq, d.header.lastSeq)
		if lastID.Compare(d.header.lastID) < 0 {
			lastID = d.header.lastID
		}
	}
	return lastSeq, lastID, nil
}

// scanDamaged opens a log and takes stock of it.
func scanDamaged(ctx context.Context, from vfs.FS, name string, slots []slot) (*damagedLog, error) {
	file, err := from.OpenRead(name)
	if err != nil {
		return nil, err
	}
	l := &damagedLog{file: file, newest: map[ulid.ULID]survivor{}, report: SalvageReport{File: name}}
	if err := l.load(ctx, from, slots); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

func (l *damagedLog) load(ctx context.Context, from vfs.FS, slots []slot) error {
	b, err := readPart(from, l.report.File, 0, headerSize)
	if err != nil {
		return err
	}
	if l.head, err = inspectHeader(l.report.File, b); err != nil {
		return err
	}
	if l.size, err = l.file.Size(); err != nil {
		return err
	}
	l.window = window{file: l.file, end: l.size}
	if l.salt, err = l.findSalt(ctx, slots); err != nil {
		return err
	}
	l.checkHeader()
	if err := l.scan(ctx); err != nil {
		return err
	}
	l.checkEnd(slots)
	return nil
}

// ownHeader reports whether the header is valid and that of this file.
func (l *damagedLog) ownHeader() bool { return l.head.valid && l.head.header.salt() == l.salt }

func (l *damagedLog) usable() bool {
	return l.report.Frames > 0 || l.ownHeader() && len(l.report.Gaps) == 0
}

func (l *damagedLog) checkHeader() {
	switch {
	case l.ownHeader() && l.head.reason != "":
		l.gap(0, 0, l.head.reason)
	case l.head.valid && !l.ownHeader():
		l.skip(0, headerSize, "the header belongs to another file")
	case !l.head.valid:
		l.skip(0, min(headerSize, l.size), l.head.reason)
	}
}

// checkEnd reports what was once durable and is behind the end of the file.
func (l *damagedLog) checkEnd(slots []slot) {
	var durable int64
	if l.ownHeader() {
		durable = l.head.header.sealedEnd
	}
	for _, s := range slots {
		if saltOf(s.fileID) == l.salt {
			durable = max(durable, s.durableEnd)
		}
	}
	if l.size < durable {
		l.gap(l.size, durable-l.size, "the file ends before what was durable")
	}
}

// gap reports a gap of bytes that are not there to be skipped.
func (l *damagedLog) gap(offset, length int64, reason string) {
	l.report.Gaps = append(l.report.Gaps, Gap{File: l.report.File, Offset: offset, Length: length, Reason: reason})
}

func (l *damagedLog) skip(offset, length int64, reason string) {
	l.gap(offset, length, reason)
	l.report.SkippedBytes += length
}

// scan takes every intact frame. Behind a place that is none, it looks for the
// next one in steps of frameAlign: what is intact there was written by this
// store, because no content can pass for a frame of this file.
func (l *damagedLog) scan(ctx context.Context) error {
	before := &position{offset: headerSize, chain: l.salt} // nil behind a gap
	var bad, at int64 = 0, headerSize
	var reason string
	groupOpen := false
	for at < l.size {
		f, fault, err := l.window.frame(ctx, at, l.salt)
		if err != nil {
			return err
		}
		if fault != "" {
			if before != nil {
				bad, reason, before = at, fault, nil
			}
			at += frameAlign
			continue
		}
		if before == nil {
			l.skip(bad, at-bad, reason)
		} else if odd := f.misplaced(*before); odd != "" {
			l.gap(at, 0, odd)
		}
		l.take(f.located)
		at += f.size
		before, groupOpen = &position{offset: at, chain: f.headerCRC, seq: f.seq}, f.more
	}
	switch {
	case before == nil:
		l.skip(bad, l.size-bad, reason)
	case groupOpen:
		l.gap(l.size, 0, "an atomic group is cut off")
	}
	return nil
}

// misplaced says why an intact frame is not the one that was written behind p,
// or "". Where it stands does not matter: damage may have moved it.
func (f foundFrame) misplaced(p position) string {
	written := f.frame
	written.synced = 0
	return written.disagreement(p)
}

// take takes over an intact frame unless a newer one of its record was seen.
func (l *damagedLog) take(f located) {
	l.note(f.seq, f.id)
	if f.kind < kindPut || f.kind > kindCarry {
		l.skip(f.offset, f.size, fmt.Sprintf("a frame of kind %d, which this version does not know", f.kind))
		return
	}
	l.report.Frames++
	if known, ok := l.newest[f.id]; f.kind == kindClean || f.kind == kindCarry || ok && known.seq >= f.seq {
		return
	}
	s := survivor{seq: f.seq, offset: f.offset, size: f.size}
	if f.kind == kindDelete {
		s.size = 0
	}
	l.newest[f.id] = s
}

func (l *damagedLog) note(seq uint64, id ulid.ULID) {
	l.lastSeq = max(l.lastSeq, seq)
	if l.lastID.Compare(id) < 0 {
		l.lastID = id
	}
}
