package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/oklog/ulid/v2"
)

// gap is a piece of the log in which no frame can be made out.
type gap struct {
	from, to int64
	records  int // live ones that stood there
}

// progressStep is how many bytes are read between two calls of progress.
const progressStep = 1 << 20

// advance reads the frames up to end, where one must end, and goes on behind
// damage. It returns nothing but failed reads and the end of ctx.
func (v *verification) advance(ctx context.Context, end int64) error {
	in := bufferedReader(v.file, v.fresh.end.offset, end)
	for v.fresh.end.offset < end {
		if err := cancelled(ctx); err != nil {
			return err
		}
		if err := v.frame(in, end); err != nil {
			return err
		}
		v.meetSnapshot()
		// Not behind the first end: there writers may be waiting.
		if at := v.fresh.end.offset; at-v.shown >= progressStep && at < v.then.end.offset {
			v.shown = at
			v.progress(at, v.then.end.offset)
		}
	}
	return nil
}

// frame reads what stands where the reading is.
func (v *verification) frame(in *bufio.Reader, end int64) error {
	at := v.fresh.end
	head, err := in.Peek(frameHeaderSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	size := v.sizeOf(head, end-at.offset)
	if size == 0 {
		return v.skip(in, end)
	}
	v.buf = slices.Grow(v.buf[:0], int(size))[:size]
	if _, err := io.ReadFull(in, v.buf); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	v.take(v.buf, at)
	return nil
}

// sizeOf returns the size of the frame that begins with head, or 0 when none
// does that fits into what is left.
func (v *verification) sizeOf(head []byte, left int64) int64 {
	if len(head) < frameHeaderSize {
		return 0
	}
	payload, ok := checkFrameHeader(head, v.fresh.salt)
	if !ok || frameSize(payload) > left {
		return 0
	}
	return frameSize(payload)
}

// take checks and applies the bytes of a frame, which stand at at and whose
// header is intact.
func (v *verification) take(whole []byte, at position) {
	f, intact := decodeFrame(whole, v.fresh.salt)
	next := position{offset: at.offset + int64(len(whole)), chain: crcOf(whole), seq: seqOf(whole)}
	switch reason := f.disagreement(at); {
	case !intact:
		v.damageAt(at.offset, idOf(whole), "the payload does not match its checksum")
	case reason != "":
		v.damageAt(at.offset, f.id, reason)
	default:
		v.stats.Frames++
		v.open = f.more
		v.replay(located{frame: f, offset: at.offset, size: int64(len(whole))}, next)
	}
	v.fresh.end = next
}

func (v *verification) replay(f located, next position) {
	if !v.whole {
		return
	}
	if err := v.fresh.apply([]located{f}, next); err != nil {
		v.damage(err)
	}
}

func idOf(h []byte) ulid.ULID { return ulid.ULID(h[36:52]) }

func crcOf(h []byte) uint32 { return binary.LittleEndian.Uint32(h[4:]) }

func chainOf(h []byte) uint32 { return binary.LittleEndian.Uint32(h[12:]) }

// skip goes on at the next place where a frame may stand. What it is chained to
// is lost.
func (v *verification) skip(in *bufio.Reader, end int64) error {
	at := v.fresh.end
	for at.offset < end {
		n, err := in.Discard(int(min(frameAlign, end-at.offset)))
		at.offset += int64(n)
		if errors.Is(err, io.EOF) {
			at.offset = end
			break
		}
		head, peekErr := in.Peek(frameHeaderSize)
		if err = errors.Join(err, ignoreEOF(peekErr)); err != nil {
			return err
		}
		if v.sizeOf(head, end-at.offset) > 0 {
			at.chain = chainOf(head)
			break
		}
	}
	v.lose(gap{from: v.fresh.end.offset, to: at.offset})
	v.fresh.end = at
	return nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lose notes a gap. Which records stood in it is found out at the end, for as
// many gaps as are reported.
func (v *verification) lose(g gap) {
	v.whole = false
	if len(v.gaps) < maxDamaged {
		v.gaps = append(v.gaps, g)
		return
	}
	v.damageAt(g.from, ulid.ULID{}, g.reason())
}

func (g gap) reason() string { return fmt.Sprintf("%d bytes hold no intact frame", g.to-g.from) }

// reportGaps reports the live records that stood in gaps, and the other gaps.
func (v *verification) reportGaps(live *frozenTable) {
	if len(v.gaps) == 0 {
		return
	}
	for id, at := range live.inLogOrder() {
		i := slices.IndexFunc(v.gaps, func(g gap) bool { return g.from <= at.offset && at.offset < g.to })
		if i >= 0 {
			v.gaps[i].records++
			v.damageAt(at.offset, id, "the frame header does not match its checksum")
		}
	}
	for _, g := range v.gaps {
		if g.records == 0 {
			v.damageAt(g.from, ulid.ULID{}, g.reason())
		}
	}
}
