package convmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"example.com/convmem/store"
)

// What cursors need and live messages do not tell is kept in a section of the
// snapshot and carried over rebuilds. All numbers are uvarints:
//
//	sequence, then for each namespace {name length, name, past length, past}
const (
	historySection        = "history"
	historySectionVersion = 1
)

// Save implements [store.Saver].
func (c *catalog) Save() []store.Section {
	b := c.past()
	return []store.Section{{
		Name: historySection, Version: historySectionVersion,
		Write: func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		},
	}}
}

// Carry implements [store.Carrier].
func (c *catalog) Carry() []byte {
	for _, s := range c.spaces {
		if s.index.HasPast() {
			return c.past()
		}
	}
	return nil
}

func (c *catalog) past() []byte {
	b := binary.AppendUvarint(nil, c.sequence)
	for _, name := range slices.Sorted(maps.Keys(c.spaces)) {
		// Nothing is told of a namespace that may be gone.
		if !c.spaces[name].index.HasPast() {
			continue
		}
		b = appendBytes(b, []byte(name))
		b = appendBytes(b, c.spaces[name].index.AppendPast(nil))
	}
	return b
}

func appendBytes(b, value []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// Restore implements [store.Saver]. The messages themselves are applied again:
// their words are in no section.
func (c *catalog) Restore(find func(name string) (store.SavedSection, bool)) (complete bool, err error) {
	section, ok := find(historySection)
	if !ok || section.Version != historySectionVersion {
		return false, nil
	}
	b := make([]byte, section.Size)
	if _, err := io.ReadFull(section.Data, b); err != nil {
		return false, err
	}
	return false, c.Receive(b)
}

var errPast = errors.New("what earlier moments left to remember cannot be decoded")

// Receive implements [store.Carrier].
func (c *catalog) Receive(b []byte) error {
	sequence, n := binary.Uvarint(b)
	if n <= 0 {
		return errPast
	}
	c.sequence, b = max(c.sequence, sequence), b[n:]
	for len(b) > 0 {
		name, rest, ok := splitBytes(b)
		past, rest, ok2 := splitBytes(rest)
		if !ok || !ok2 {
			return errPast
		}
		if err := c.grow(string(name)).index.RestorePast(past); err != nil {
			return fmt.Errorf("%w: %w", errPast, err)
		}
		b = rest
	}
	return nil
}

// splitBytes takes what appendBytes appended off the front of b.
func splitBytes(b []byte) (value, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(length)
	return b[n:end], b[end:], true
}
