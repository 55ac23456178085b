package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"example.com/convmem/store/vfs"
)

// badFrame says that the bytes at an offset are not the next frame. Whether
// that is the trace of a crash or damage is for recovery to decide.
type badFrame struct {
	offset int64
	reason string
}

func (e *badFrame) Error() string { return fmt.Sprintf("offset %d: %s", e.offset, e.reason) }

// located is a frame with its place in the file.
type located struct {
	frame
	offset int64
	size   int64
}

// appendLocated is appendFrame that also says where the frame will stand.
func appendLocated(b []byte, f frame, salt uint32, at position) ([]byte, located, position) {
	b, end := appendFrame(b, f, salt, at)
	return b, located{frame: f, offset: at.offset, size: end.offset - at.offset}, end
}

// scanner reads the frames of a log from one position to an end.
type scanner struct {
	in   *bufio.Reader
	salt uint32
	at   position
	end  int64
	// watermark is the greatest synced offset read so far.
	watermark int64

	// What group and next return stands here until the next call.
	frames []located
	bytes  []byte
}

func newScanner(f vfs.File, salt uint32, from position, end int64) *scanner {
	return &scanner{in: bufferedReader(f, from.offset, end), salt: salt, at: from, end: end}
}

// readAhead is what a scan reads at a time.
const readAhead = 256 << 10

func bufferedReader(f vfs.File, from, end int64) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(f, from, end-from), int(min(readAhead, end-from)))
}

// group returns the frames of the next atomic group. They are valid until the
// next call. At the end it returns io.EOF, for bytes that are not a whole group a *badFrame at the group's
// start, and for a failed read the cause. Only a whole group moves at.
func (s *scanner) group() ([]located, error) {
	start := s.at
	s.frames, s.bytes = s.frames[:0], s.bytes[:0]
	for {
		f, err := s.frame()
		if err != nil {
			s.at = start
			return nil, groupError(err, start.offset, len(s.frames))
		}
		s.frames = append(s.frames, f)
		if !f.more {
			return s.frames, nil
		}
	}
}

func groupError(err error, start int64, frames int) error {
	var bad *badFrame
	switch {
	case errors.Is(err, io.EOF) && frames > 0:
		return &badFrame{offset: start, reason: "an atomic group is cut off"}
	case errors.As(err, &bad):
		return &badFrame{offset: start, reason: bad.reason}
	}
	return err
}

// next returns the next frame, valid until the next call, and moves at behind it.
func (s *scanner) next() (located, error) {
	s.bytes = s.bytes[:0]
	return s.frame()
}

func (s *scanner) frame() (located, error) {
	if s.at.offset == s.end {
		return located{}, io.EOF
	}
	whole, err := s.read()
	if err != nil {
		return located{}, err
	}
	f, ok := decodeFrame(whole, s.salt)
	if !ok {
		return located{}, s.bad("the payload does not match its checksum")
	}
	if reason := f.disagreement(s.at); reason != "" {
		return located{}, s.bad(reason)
	}
	here := located{frame: f, offset: s.at.offset, size: int64(len(whole))}
	s.at = f.after(whole, s.at)
	s.watermark = max(s.watermark, f.synced)
	return here, nil
}

// read returns the bytes of one frame whose header checks.
func (s *scanner) read() ([]byte, error) {
	left := s.end - s.at.offset
	if left < frameHeaderSize {
		return nil, s.bad("a frame is cut off")
	}
	head, err := s.in.Peek(frameHeaderSize)
	if err != nil {
		return nil, s.readError(err)
	}
	payload, ok := checkFrameHeader(head, s.salt)
	if !ok {
		return nil, s.bad("the frame header does not match its checksum")
	}
	if frameSize(payload) > left {
		return nil, s.bad("a frame is cut off")
	}
	whole := s.room(int(frameSize(payload)))
	_, err = io.ReadFull(s.in, whole)
	return whole, s.readError(err)
}

// room returns n bytes beside those of the frames before. When there is no room
// left beside them, those stay where they are.
func (s *scanner) room(n int) []byte {
	if cap(s.bytes)-len(s.bytes) < n {
		s.bytes = make([]byte, 0, max(n, 2*cap(s.bytes)))
	}
	at := len(s.bytes)
	s.bytes = s.bytes[:at+n]
	return s.bytes[at:][:n:n]
}

// readError tells an end of file inside the scanned range from the end of the
// log: bytes are missing that should be there.
func (s *scanner) readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.bad("the log ends before what was durable")
	}
	return err
}

func (s *scanner) bad(reason string) error {
	return &badFrame{offset: s.at.offset, reason: reason}
}

// disagreement says why an intact frame cannot be the next one at p, or "".
func (f frame) disagreement(p position) string {
	switch {
	case f.chain != p.chain:
		return "the frame does not follow the one before it"
	case f.seq <= p.seq && (f.kind != kindCarry || f.seq < p.seq):
		return "the sequence number does not grow"
	case f.synced > p.offset:
		return "the frame vouches for bytes behind itself"
	}
	return ""
}

// vouched looks in [from, end) for the intact header of a frame that was built
// when more than from was durable. It proves that what stands at from was
// acknowledged and has been damaged since, whatever became of its own payload.
// Frames start at multiples of frameAlign, so every such place is tried.
func vouched(f vfs.File, salt uint32, from, end int64) (bool, error) {
	in := bufferedReader(f, from, end)
	for at := from; end-at >= frameHeaderSize; at += frameAlign {
		h, err := in.Peek(frameHeaderSize)
		if err != nil {
			return false, err
		}
		if _, ok := checkFrameHeader(h, salt); ok {
			if synced := syncedOf(h); from < synced && synced <= at {
				return true, nil
			}
		}
		if _, err := in.Discard(frameAlign); err != nil {
			return false, err
		}
	}
	return false, nil
}

func isBadFrame(err error) bool {
	var bad *badFrame
	return errors.As(err, &bad)
}

// readFrameAt reads and checks the frame of the given size at offset. Its
// payload belongs to the caller.
func readFrameAt(f vfs.File, salt uint32, offset, size int64) (frame, error) {
	whole := make([]byte, size)
	switch n, err := f.ReadAt(whole, offset); {
	case n == len(whole): // at the end of the file an io.EOF may come with it
	case errors.Is(err, io.EOF):
		return frame{}, &badFrame{offset: offset, reason: "the frame is cut off"}
	default:
		return frame{}, err
	}
	return parseFrame(whole, salt, offset)
}

// parseFrame checks and decodes whole, the bytes of one frame that stands at
// offset.
func parseFrame(whole []byte, salt uint32, offset int64) (frame, error) {
	payload, ok := checkFrameHeader(whole, salt)
	if !ok || frameSize(payload) != int64(len(whole)) {
		return frame{}, &badFrame{offset: offset, reason: "the frame header does not match its checksum"}
	}
	got, ok := decodeFrame(whole, salt)
	if !ok {
		return frame{}, &badFrame{offset: offset, reason: "the payload does not match its checksum"}
	}
	return got, nil
}
