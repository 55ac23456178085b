package index

import (
	"strings"
	"testing"
	"unsafe"
)

// slicing is an analyzer whose terms are parts of the text.
type slicing struct{}

func (slicing) Name() string          { return "slicing" }
func (slicing) Weight(string) float64 { return 1 }
func (slicing) Analyze(text string, emit func(string, int)) {
	n := 0
	for term := range strings.FieldsSeq(text) {
		emit(term, n)
		n++
	}
}

// within says whether a string lies in the memory of another.
func within(part, whole string) bool {
	at, begin := uintptr(unsafe.Pointer(unsafe.StringData(part))), uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	return at >= begin && at < begin+uintptr(len(whole))
}

// The index keeps its own copy of every string: one that is a part of a message, as
// decoded from a log, would hold all of it in memory.
func TestPutKeepsNoPartOfAMessage(t *testing.T) {
	message := strings.Clone("session role kind tier type tag summary some words of the content")
	part := func(text string) string { return message[strings.Index(message, text):][:len(text)] }
	ix := New(slicing{})
	ix.Put(1, Doc{
		ID: makeID(1, 1), Session: part("session"), Role: part("role"), Kind: part("kind"), Tier: part("tier"),
		Tags: []string{part("tag")}, Summary: part("summary"), Content: part("some words of the content"),
		Relations: []Relation{{part("type"), makeID(2, 2)}},
	})
	kept := []string{ix.numbered[0].name, ix.types.values[0]}
	for _, c := range ix.traits.values {
		kept = append(kept, c.role, c.kind, c.tier)
	}
	for _, term := range ix.words.terms {
		kept = append(kept, term.text)
	}
	for text := range ix.sessions {
		kept = append(kept, text)
	}
	for text := range ix.types.numbers {
		kept = append(kept, text)
	}
	for c := range ix.traits.numbers {
		kept = append(kept, c.role, c.kind, c.tier)
	}
	if len(kept) < 15 {
		t.Fatalf("only %q were found", kept)
	}
	for _, text := range kept {
		if within(text, message) {
			t.Errorf("%q is a part of the message", text)
		}
	}
}
