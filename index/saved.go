package index

import (
	"encoding/binary"
	"io"
)

// A saved index, all numbers as uvarints and all strings with their length before
// them:
//
//	analyzer  its name
//	types     count, then names
//	traits   count, then {role, kind, tier, importance, flags}
//	sessions  count, then {name, record that changed it last}; a free number has
//	          neither name nor rows
//	terms     count, then {text, bytes of its postings}; a free number has an
//	          empty text
//	rows      count, then {id 16 bytes, time, session, traits, fingerprint,
//	          length of the block, block}
//
// The postings are not saved: blocks give them back about as fast as a disk would.

// Saved is an index as it was at one moment, to be written.
type Saved struct {
	analyzer string
	types    []string
	traits   []traits
	sessions []savedSession
	terms    []savedTerm
	rows     rows
}

type savedSession struct {
	name    string
	changed uint64
}

type savedTerm struct {
	text string
	size int // of its postings: about as much memory as they will take
}

// Save returns the index as it is now. It copies the names of sessions and the
// texts of terms, not the messages; the index may change while it is written.
func (ix *Index) Save() *Saved {
	s := &Saved{
		analyzer: ix.analyzer.Name(),
		types:    ix.types.values,
		traits:   ix.traits.values,
		sessions: make([]savedSession, len(ix.numbered)),
		terms:    make([]savedTerm, len(ix.words.terms)),
		rows:     ix.rows,
	}
	for i, session := range ix.numbered {
		if session != nil {
			s.sessions[i] = savedSession{session.name, session.changed}
		}
	}
	for i := range ix.words.terms {
		t := &ix.words.terms[i]
		s.terms[i] = savedTerm{t.text, len(t.postings.data)}
	}
	return s
}

// The flags among traits.
const (
	flagAsks = 1 << iota
	flagSummarised
)

// Write writes the index. It says nothing about the past; see [Index.AppendPast].
func (s *Saved) Write(w io.Writer) error {
	out := savedWriter{to: w}
	out.string(s.analyzer)
	out.number(uint64(len(s.types)))
	for _, name := range s.types {
		out.string(name)
	}
	out.number(uint64(len(s.traits)))
	for _, c := range s.traits {
		out.traits(c)
	}
	out.number(uint64(len(s.sessions)))
	for _, session := range s.sessions {
		out.string(session.name)
		out.number(session.changed)
	}
	out.number(uint64(len(s.terms)))
	for _, t := range s.terms {
		out.string(t.text)
		out.number(uint64(t.size))
	}
	out.number(uint64(s.rows.live))
	for ordinal := range s.rows.wereLive {
		out.row(s.rows.row(ordinal), s.rows.block(ordinal))
	}
	return out.flush(0)
}

// savedWriter keeps the first error, after which it does nothing.
type savedWriter struct {
	to     io.Writer
	buffer []byte
	err    error
}

func (w *savedWriter) number(n uint64) { w.buffer = binary.AppendUvarint(w.buffer, n) }

func (w *savedWriter) string(s string) {
	w.number(uint64(len(s)))
	w.buffer = append(w.buffer, s...)
	w.flush(savedBuffer)
}

// savedBuffer is how much is gathered before it is written.
const savedBuffer = 64 << 10

// flush writes what is gathered if that is more than enough.
func (w *savedWriter) flush(enough int) error {
	if w.err == nil && len(w.buffer) > enough {
		_, w.err = w.to.Write(w.buffer)
		w.buffer = w.buffer[:0]
	}
	return w.err
}

func (w *savedWriter) traits(c traits) {
	w.string(c.role)
	w.string(c.kind)
	w.string(c.tier)
	w.number(uint64(uint32(c.importance)))
	flags := uint64(0)
	if c.asks {
		flags |= flagAsks
	}
	if c.summarised {
		flags |= flagSummarised
	}
	w.number(flags)
}

func (w *savedWriter) row(r *row, block []byte) {
	w.buffer = append(w.buffer, r.id[:]...)
	w.number(uint64(r.time))
	w.number(uint64(r.session))
	w.number(uint64(r.traits))
	w.number(uint64(r.fingerprint))
	w.number(uint64(len(block)))
	w.buffer = append(w.buffer, block...)
	w.flush(savedBuffer)
}
