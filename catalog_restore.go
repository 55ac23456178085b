package convmem

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"example.com/convmem/index"
	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

// Restore implements [store.Saver]. It is complete unless the messages were saved
// with another analyzer, by another version or not at all.
func (c *catalog) Restore(find func(name string) (store.SavedSection, bool)) (complete bool, err error) {
	section, ok := find(historySection)
	if !ok || section.Version != historySectionVersion {
		return false, nil
	}
	b := make([]byte, section.Size)
	if _, err := io.ReadFull(section.Data, b); err != nil {
		return false, err
	}
	if err := c.Receive(b); err != nil {
		return false, err
	}
	section, ok = find(messagesSection)
	if !ok || section.Version != messagesSectionVersion {
		return false, nil
	}
	err = c.restoreSpaces(bufio.NewReaderSize(section.Data, restoreBuffer))
	if errors.Is(err, index.ErrOtherAnalyzer) {
		return false, nil
	}
	return err == nil, err
}

const restoreBuffer = 1 << 18

// restoreSpaces fills the namespaces, which are empty.
func (c *catalog) restoreSpaces(r *bufio.Reader) error {
	in := sectionReader{from: r}
	for n := in.number(); n > 0 && in.err == nil; n-- {
		s := c.grow(in.text())
		if in.err == nil {
			in.fail(s.index.Load(r))
		}
		s.restore(&in)
		if s.name != "" {
			for id := range s.index.All() {
				c.elsewhere[id] = s
			}
		}
	}
	if _, err := r.ReadByte(); in.err == nil && err != io.EOF {
		return errors.Join(errMessages, err)
	}
	return in.err
}

var errMessages = errors.New("the saved messages cannot be decoded")

// restore reads the revisions and keys of a namespace whose index is filled.
func (s *space) restore(in *sectionReader) {
	for n := in.number(); n > 0 && in.err == nil; n-- {
		id := in.id()
		s.revisions[id] = int64(in.number())
	}
	for n := in.number(); n > 0 && in.err == nil; n-- {
		id, key := in.id(), in.text()
		session, ok := s.index.Session(id)
		if !ok {
			in.fail(errMessages)
			return
		}
		s.keys[id] = sessionKey{session, key}
		s.byKey[s.keys[id]] = id
	}
}

// sectionReader keeps the first error, after which it gives zeros.
type sectionReader struct {
	from *bufio.Reader
	err  error
}

func (r *sectionReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *sectionReader) number() uint64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r.from)
	r.fail(err)
	return n
}

func (r *sectionReader) id() (id ulid.ULID) {
	if r.err == nil {
		_, err := io.ReadFull(r.from, id[:])
		r.fail(err)
	}
	return id
}

// text reads a text with its length before it: a name or a key, both short.
func (r *sectionReader) text() string {
	n := r.number()
	if n > maxSavedText {
		r.fail(errMessages)
	}
	if r.err != nil {
		return ""
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r.from, b)
	r.fail(err)
	return string(b)
}

// maxSavedText is more than any name or key has.
const maxSavedText = 1 << 16
