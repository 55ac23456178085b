package convmem

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"github.com/oklog/ulid/v2"
)

// A cursor is base64url without padding of
//
//	version u8  run u8  scope 8  place  CRC-32C u32
//
// with numbers in big-endian order. The run is the view and its order; the scope is
// a hash of namespace and session. The checksum covers all before it and finds
// every damage within 32 bits in a row, so every change of a single character.
// It is no signature: whoever forges a cursor gains a place in a list that he
// may read anyway.
const (
	cursorVersion   = 1
	cursorHead      = 2 + scopeSize
	cursorChecksum  = 4
	scopeSize       = 8
	maxCursorBytes  = 512 // a sessions cursor with the longest name is 399
	sessionsNumbers = 16 + 8 + 8
)

// The runs.
const (
	runAscending  = 1 // place: id of the last message
	runDescending = 2 // place: id of the last message
	runSessions   = 3 // place: horizon id, log sequence, last session's time in ms, its name
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// run is what a cursor is bound to.
type run struct {
	kind  byte
	scope [scopeSize]byte
}

func historyRun(namespace, session string, order Order) run {
	kind := byte(runAscending)
	if order == OrderDescending {
		kind = runDescending
	}
	return run{kind: kind, scope: scopeOf(namespace, session)}
}

func sessionsRun(namespace string) run {
	return run{kind: runSessions, scope: scopeOf(namespace, "")}
}

// scopeOf hashes both names; the length keeps ("a", "bc") and ("ab", "c") apart.
func scopeOf(namespace, session string) [scopeSize]byte {
	text := append(binary.AppendUvarint(nil, uint64(len(namespace))), namespace...)
	sum := sha256.Sum256(append(text, session...))
	return [scopeSize]byte(sum[:scopeSize])
}

// seal makes the cursor of a place in the run.
func (r run) seal(place []byte) string {
	b := append([]byte{cursorVersion, r.kind}, r.scope[:]...)
	b = append(b, place...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

// open returns the place that a cursor of this very run holds.
func (r run) open(text string) ([]byte, error) {
	if len(text) > maxCursorBytes {
		return nil, invalid("cursor", "%d bytes, at most %d", len(text), maxCursorBytes)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	// Decoding forgives line breaks and stray bits: encoding again does not.
	if err != nil || len(b) < cursorHead+cursorChecksum || base64.RawURLEncoding.EncodeToString(b) != text {
		return nil, errCursorDamaged()
	}
	body, sum := b[:len(b)-cursorChecksum], b[len(b)-cursorChecksum:]
	switch {
	case crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum):
		return nil, errCursorDamaged()
	case body[0] != cursorVersion:
		return nil, invalid("cursor", "of version %d, want version %d", body[0], cursorVersion)
	case body[1] != r.kind:
		return nil, invalid("cursor", "made for another view or order, want one that the same request returned")
	case [scopeSize]byte(body[2:cursorHead]) != r.scope:
		return nil, invalid("cursor", "made for another session, want one that the same request returned")
	}
	return body[cursorHead:], nil
}

func errCursorDamaged() error {
	return invalid("cursor", "damaged, want a cursor exactly as it was returned")
}

// after makes the cursor of a history run that goes on behind id.
func (r run) after(id ulid.ULID) string { return r.seal(id[:]) }

// resume returns the id behind which a history run goes on; the zero id, the
// start, for no cursor.
func (r run) resume(text string) (ulid.ULID, error) {
	if text == "" {
		return ulid.ULID{}, nil
	}
	place, err := r.open(text)
	if err != nil {
		return ulid.ULID{}, err
	}
	if len(place) != len(ulid.ULID{}) {
		return ulid.ULID{}, errCursorDamaged()
	}
	return ulid.ULID(place), nil
}

// sessionsPlace is a place in a run over sessions. Horizon and sequence stay
// those of the first page: the run lists what there was then.
type sessionsPlace struct {
	horizon  ulid.ULID // greatest message id of the first page's moment
	sequence uint64    // of the last change before the first page
	ms       uint64    // key of the last session shown
	name     string    // and its name
}

func (r run) afterSession(p sessionsPlace) string {
	place := append([]byte{}, p.horizon[:]...)
	place = binary.BigEndian.AppendUint64(place, p.sequence)
	place = binary.BigEndian.AppendUint64(place, p.ms)
	return r.seal(append(place, p.name...))
}

// resumeSessions returns the place that a cursor holds.
func (r run) resumeSessions(text string) (sessionsPlace, error) {
	place, err := r.open(text)
	if err != nil {
		return sessionsPlace{}, err
	}
	if len(place) <= sessionsNumbers || len(place) > sessionsNumbers+MaxSessionIDBytes {
		return sessionsPlace{}, errCursorDamaged()
	}
	return sessionsPlace{
		horizon:  ulid.ULID(place[:16]),
		sequence: binary.BigEndian.Uint64(place[16:]),
		ms:       binary.BigEndian.Uint64(place[24:]),
		name:     string(place[sessionsNumbers:]),
	}, nil
}
