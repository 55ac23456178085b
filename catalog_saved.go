package convmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"example.com/convmem/index"
	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

// A snapshot has two sections. What cursors need and live messages do not tell is
// also carried over rebuilds. All numbers are uvarints:
//
//	history   sequence, then for each namespace {name length, name, past length, past}
//	messages  count, then for each namespace {name length, name, index,
//	          revisions count, then {id 16 bytes, revision},
//	          keys count, then {id 16 bytes, key length, key}}
const (
	historySection         = "history"
	historySectionVersion  = 1
	messagesSection        = "messages"
	messagesSectionVersion = 1
)

// Save implements [store.Saver].
func (c *catalog) Save() []store.Section {
	past := c.past()
	var spaces []savedSpace
	for _, name := range slices.Sorted(maps.Keys(c.spaces)) {
		spaces = append(spaces, c.spaces[name].save())
	}
	return []store.Section{{
		Name: historySection, Version: historySectionVersion,
		Write: func(w io.Writer) error {
			_, err := w.Write(past)
			return err
		},
	}, {
		Name: messagesSection, Version: messagesSectionVersion,
		Write: func(w io.Writer) error { return writeSpaces(w, spaces) },
	}}
}

// savedSpace is a namespace as it was at one moment.
type savedSpace struct {
	name      string
	index     *index.Saved
	revisions map[ulid.ULID]int64
	keys      map[ulid.ULID]sessionKey
}

func (s *space) save() savedSpace {
	return savedSpace{
		name: s.name, index: s.index.Save(), revisions: maps.Clone(s.revisions), keys: maps.Clone(s.keys),
	}
}

func writeSpaces(w io.Writer, spaces []savedSpace) error {
	_, err := w.Write(binary.AppendUvarint(nil, uint64(len(spaces))))
	for _, s := range spaces {
		if err == nil {
			err = s.write(w)
		}
	}
	return err
}

func (s *savedSpace) write(w io.Writer) error {
	if _, err := w.Write(appendBytes(nil, []byte(s.name))); err != nil {
		return err
	}
	if err := s.index.Write(w); err != nil {
		return err
	}
	b := binary.AppendUvarint(nil, uint64(len(s.revisions)))
	for _, id := range slices.SortedFunc(maps.Keys(s.revisions), ulid.ULID.Compare) {
		b = append(b, id[:]...)
		b = binary.AppendUvarint(b, uint64(s.revisions[id]))
	}
	b = binary.AppendUvarint(b, uint64(len(s.keys)))
	for _, id := range slices.SortedFunc(maps.Keys(s.keys), ulid.ULID.Compare) {
		b = append(b, id[:]...)
		b = appendBytes(b, []byte(s.keys[id].key))
	}
	_, err := w.Write(b)
	return err
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
