package search

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPhrase(t *testing.T) {
	tests := []struct {
		name         string
		phrase, text []token
		want         bool
	}{
		{"no terms", nil, plainText(1), false},
		{"no text", plainText(1), nil, false},
		{"one term", plainText(1), plainText(3, 1), true},
		{"in the middle", plainText(1, 2), plainText(3, 1, 2, 3), true},
		{"in another order", plainText(1, 2), plainText(2, 1), false},
		{"apart", plainText(1, 2), plainText(1, 3, 2), false},
		{"cut off", plainText(1, 2, 3), plainText(1, 2), false},
		{"begun twice", plainText(1, 1, 2), plainText(1, 1, 1, 2), true},
		{"falls back within the phrase", plainText(1, 2, 1, 3), plainText(1, 2, 1, 2, 1, 3), true},
		{"falls back twice", plainText(1, 1, 2, 1, 1, 1, 1), plainText(1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1), true},
		{"ends within a longer word", plainText(1, 2), stacked([]uint32{1}, []uint32{2, 9}), true},
		{"begins within a longer word", plainText(1, 2), stacked([]uint32{9, 1}, []uint32{2}), true},
		{"another word in the middle", plainText(1, 2, 3), stacked([]uint32{1}, []uint32{2, 9}, []uint32{3}), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := newPhrase(test.phrase).in(test.text); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The quick way finds what trying every place finds.
func TestPhraseAnywhere(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.Uint32Range(1, 2), 1, 5)
		sought := letters.Draw(t, "phrase")
		text := rapid.SliceOfN(rapid.Uint32Range(1, 2), 0, 40).Draw(t, "text")
		want := false
		for i := 0; i+len(sought) <= len(text); i++ {
			want = want || slices.Equal(text[i:i+len(sought)], sought)
		}
		if want {
			found++
		}
		if got := newPhrase(plainText(sought...)).in(plainText(text...)); got != want {
			t.Fatalf("%v in %v: %v", sought, text, got)
		}
	})
	if found == 0 {
		t.Error("never found")
	}
}

func TestOpens(t *testing.T) {
	q := simpleQuestion(1, 100)
	for name, test := range map[string]struct {
		text []token
		want bool
	}{
		"a word of the query":     {plainText(1, 5), true},
		"later":                   {plainText(5, 1), false},
		"a word that says little": {plainText(100, 1), false},
		"a word of a compound":    {stacked([]uint32{5, 1}, []uint32{6}), true},
		"nothing":                 {nil, false},
	} {
		if got := opens(q, test.text); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
