package index

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
)

func saved(t testing.TB, ix *Index) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ix.Save().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load(b []byte) (*Index, error) {
	ix := New(Standard())
	return ix, ix.Load(bufio.NewReader(bytes.NewReader(b)))
}

// The beginning of a saved index is no index.
func TestLoadOfLess(t *testing.T) {
	b := saved(t, exampleIndex())
	if ix, err := load(b); err != nil || ix.Compare(exampleIndex()) != nil {
		t.Fatalf("the whole: %v", err)
	}
	for n := range b {
		if _, err := load(b[:n]); err == nil || err == io.EOF { // which would say that all is well
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

type renamed struct{ Analyzer }

func (renamed) Name() string { return "another" }

// Terms of another analyzer are not taken over.
func TestLoadOfOtherAnalyzer(t *testing.T) {
	b := saved(t, exampleIndex())
	if err := New(renamed{Standard()}).Load(bufio.NewReader(bytes.NewReader(b))); !errors.Is(err, ErrOtherAnalyzer) {
		t.Errorf("%v", err)
	}
}

// Lengths that add up to what fits only by overflowing are found.
func TestLoadOfOverflowingLengths(t *testing.T) {
	ix := exampleIndex()
	block := binary.AppendUvarint([]byte{0, 0}, math.MaxUint64) // no tags, no relations
	block = append(block, 2, 0, 1)
	if ix.fitsBlock(block) {
		t.Error("the block fits")
	}
}

// Saving what was loaded gives the same bytes again: they hold everything.
func TestSaveLoadSave(t *testing.T) {
	withoutRaceDetector(t)
	ix := New(Standard())
	for i, d := range someDocs(3000) {
		d.Tags, d.Summary = []string{"one", "two words"}, "a summary?"
		d.Relations = []Relation{{"related_to", makeID(i/2, 0)}}
		ix.Put(uint64(i), d)
	}
	b := saved(t, ix)
	loaded, err := load(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Compare(ix); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, saved(t, loaded)) {
		t.Error("other bytes")
	}
}

// No bytes make Load panic or build an index that contradicts itself.
func FuzzLoad(f *testing.F) {
	f.Add(saved(f, exampleIndex()))
	f.Add(saved(f, New(Standard())))
	f.Fuzz(func(t *testing.T, b []byte) {
		ix, err := load(b)
		if err != nil {
			return
		}
		if err := ix.Compare(ix); err != nil {
			t.Error(err)
		}
		again, err := load(saved(t, ix))
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Compare(ix); err != nil {
			t.Error(err)
		}
	})
}
