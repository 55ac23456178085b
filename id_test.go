package convmem

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

func TestNextID(t *testing.T) {
	parse := ulid.MustParseStrict
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	zeros := bytes.NewReader(make([]byte, 1<<10))
	const greatest = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
	for _, c := range []struct {
		name string
		last string
		now  time.Time
		want string
	}{
		{"first id", "00000000000000000000000000", at(1), "00000000010000000000000000"},
		{"first id in the first millisecond", "00000000000000000000000000", at(0), "00000000000000000000000001"},
		{"clock before 1970", "00000000000000000000000000", at(-5), "00000000000000000000000001"},
		{"later millisecond", "0000000001ZZZZZZZZZZZZZZZZ", at(2), "00000000020000000000000000"},
		{"same millisecond", "00000000010000000000000009", at(1), "0000000001000000000000000A"},
		{"part of a millisecond later", "00000000010000000000000009", at(1).Add(999 * time.Microsecond), "0000000001000000000000000A"},
		{"clock stepped back", "00000000090000000000000009", at(1), "0000000009000000000000000A"},
		{"carry over the low half", "0000000001000FZZZZZZZZZZZZ", at(1), "0000000001000G000000000000"},
		{"random part overflows", "0000000001ZZZZZZZZZZZZZZZZ", at(1), "00000000020000000000000000"},
		{"random part overflows after a step back", "0000000009ZZZZZZZZZZZZZZZZ", at(1), "000000000A0000000000000000"},
		{"clock beyond the last time", "00000000010000000000000009", at(maxUnixMilli + 1), "7ZZZZZZZZZ0000000000000000"},
		{"nearly the greatest id", "7ZZZZZZZZZZZZZZZZZZZZZZZZY", at(1), greatest},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := nextID(parse(c.last), c.now, zeros)
			if err != nil || got.String() != c.want {
				t.Errorf("after %s comes %s (%v), want %s", c.last, got, err, c.want)
			}
		})
	}
	if id, err := nextID(parse(greatest), at(1), zeros); !errors.Is(err, errNoMoreIDs) {
		t.Errorf("after the greatest id comes %s (%v)", id, err)
	}
}

// TestIDsAscend lets the clock do anything, with few random parts so that they
// repeat and overflow.
func TestIDsAscend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var last ulid.ULID
		for range 50 {
			now := time.UnixMilli(rapid.Int64Range(-3, 20).Draw(t, "clock"))
			part := rapid.SampledFrom([]byte{0, 0xff}).Draw(t, "entropy")
			id, err := nextID(last, now, bytes.NewReader(bytes.Repeat([]byte{part}, 10)))
			if err != nil {
				t.Fatal(err)
			}
			if id.Compare(last) <= 0 {
				t.Fatalf("%s after %s", id, last)
			}
			if int64(id.Time()) < now.UnixMilli() {
				t.Fatalf("%s is of %d, the clock says %d", id, id.Time(), now.UnixMilli())
			}
			last = id
		}
	})
}

// TestEntropyFails must not yield an id with zeros in the place of chance.
func TestEntropyFails(t *testing.T) {
	cause := errors.New("no entropy")
	for name, source := range map[string]io.Reader{
		"error":     iotest.ErrReader(cause),
		"too short": bytes.NewReader(make([]byte, 9)),
	} {
		if id, err := nextID(ulid.ULID{}, time.UnixMilli(5), &lockedReader{reader: source}); err == nil {
			t.Errorf("%s: %s", name, id)
		}
	}
	if _, err := nextID(ulid.ULID{}, time.UnixMilli(5), &lockedReader{reader: iotest.OneByteReader(rand.Reader)}); err != nil {
		t.Errorf("a reader that gives one byte at a time: %v", err)
	}
}
