package storetest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// cursor says which run a page belongs to and where the run stands. It is
// about ids and moments, never about positions, so that it outlives whatever
// happens to the store.
type cursor struct {
	View, Session, Order string

	// After is the last id (history) or session (sessions) that was shown.
	After string
	// AfterTime is where that session stood in the order, in Unix ms.
	AfterTime int64
	// Horizon is the newest id, and Sequence the last change, that the run
	// over sessions takes into account.
	Horizon  string
	Sequence int64
}

const checksumBytes = 8

// String makes a text that only this cursor has: its fields under a checksum.
func (c cursor) String() string {
	fields, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and integers only
	}
	sum := sha256.Sum256(fields)
	return base64.RawURLEncoding.EncodeToString(append(sum[:checksumBytes], fields...))
}

// resume moves the start of a run to where a cursor of that same run stands;
// "" leaves it.
func (c *cursor) resume(text string) error {
	if text == "" {
		return nil
	}
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(bytes) < checksumBytes {
		return invalid("cursor", "damaged")
	}
	var found cursor
	if err := json.Unmarshal(bytes[checksumBytes:], &found); err != nil || found.String() != text {
		return invalid("cursor", "damaged")
	}
	if found.View != c.View || found.Session != c.Session || found.Order != c.Order {
		return invalid("cursor", "made for another view, session or order")
	}
	*c = found
	return nil
}
