package index

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// What is saved must agree with itself: an index that does not is refused, whatever
// its bytes look like.
func TestLoadOfContradictions(t *testing.T) {
	added := func(change func(r *row, block []byte) []byte) func(*Saved) {
		return func(s *Saved) {
			first := s.rows.row(0)
			r := *first
			r.id = makeID(99, 0)
			block := change(&r, slices.Clone(s.rows.block(0)))
			s.rows.append(r, 0, block)
		}
	}
	same := func(_ *row, block []byte) []byte { return block }
	tests := []struct {
		name   string
		change func(s *Saved)
		ok     bool
	}{
		{"nothing", func(*Saved) {}, true},
		{"one more row", added(same), true},
		{"one more free term", func(s *Saved) { s.terms = append(s.terms, savedTerm{}) }, true},
		{"one more free session", func(s *Saved) { s.sessions = append(s.sessions, savedSession{}) }, true},
		{"term twice", func(s *Saved) { s.terms = append(s.terms, s.terms[0]) }, false},
		{"term without rows", func(s *Saved) { s.terms = append(s.terms, savedTerm{text: "ghost"}) }, false},
		{"term free but used", func(s *Saved) { s.terms[0].text = "" }, false},
		{"too few terms", func(s *Saved) { s.terms = s.terms[:len(s.terms)-1] }, false},
		{"session twice", func(s *Saved) { s.sessions = append(s.sessions, s.sessions[0]) }, false},
		{"session without rows", func(s *Saved) { s.sessions = append(s.sessions, savedSession{name: "ghost"}) }, false},
		{"session free but used", func(s *Saved) { s.sessions[0].name = "" }, false},
		{"too few sessions", func(s *Saved) { s.sessions = s.sessions[:len(s.sessions)-1] }, false},
		{"too few traits", func(s *Saved) { s.traits = s.traits[:len(s.traits)-1] }, false},
		{"too few types", func(s *Saved) { s.types = s.types[:len(s.types)-1] }, false},
		{"session twice, with rows", func(s *Saved) {
			s.sessions = append(s.sessions, s.sessions[0])
			for i := range s.rows.tail.rows {
				if r := &s.rows.tail.rows[i]; r.session == 0 {
					r.session = uint32(len(s.sessions) - 1)
				}
			}
		}, false},
		{"term twice, with rows", func(s *Saved) {
			s.terms = append(s.terms, s.terms[0])
			block := []byte{0, 0, 1, 0, 0} // no tag, no relation, one term in the content
			block = binary.AppendUvarint(block, uint64(len(s.terms)-1)<<1|1)
			added(func(*row, []byte) []byte { return block })(s)
		}, false},
		{"row twice", added(func(r *row, block []byte) []byte { r.id = makeID(1, 0); return block }), false},
		{"row of a session that is not there", added(func(r *row, block []byte) []byte { r.session = 3; return block }), false},
		{"block and more", added(func(_ *row, block []byte) []byte { return append(block, 0) }), false},
		{"part of a block", added(func(_ *row, block []byte) []byte { return block[:len(block)-1] }), false},
		{"no block", added(func(*row, []byte) []byte { return nil }), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := exampleIndex().Save()
			test.change(s)
			var b bytes.Buffer
			if err := s.Write(&b); err != nil {
				t.Fatal(err)
			}
			ix, err := load(b.Bytes())
			if (err == nil) != test.ok {
				t.Fatalf("%v", err)
			}
			if test.ok && ix.Compare(ix) != nil {
				t.Errorf("contradicts itself: %v", ix.Compare(ix))
			}
		})
	}
}
