package convmem

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/oklog/ulid/v2"
)

var errNoMoreIDs = errors.New("the greatest message id is used")

// nextID allots an id that is greater than last, the greatest one that the log
// ever held. When the clock has moved on it takes the clock's millisecond and a
// random rest. Else, within one millisecond or after the clock stepped back, it
// adds one to last; the random part that is full carries into the time, so the
// id is then of the next millisecond.
func nextID(last ulid.ULID, now time.Time, entropy io.Reader) (ulid.ULID, error) {
	if ms := clockMilli(now); ms > last.Time() {
		return ulid.New(ms, entropy)
	}
	return successor(last)
}

func successor(id ulid.ULID) (ulid.ULID, error) {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	low++
	if low == 0 {
		high++
	}
	if high == 0 && low == 0 {
		return ulid.ULID{}, errNoMoreIDs
	}
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return id, nil
}

// clockMilli keeps a clock that is plainly wrong within what an id can carry.
func clockMilli(now time.Time) uint64 {
	if now.Before(time.UnixMilli(0)) {
		return 0
	}
	if now.After(time.UnixMilli(maxUnixMilli)) {
		return maxUnixMilli
	}
	return uint64(now.UnixMilli())
}
