package search

import (
	"strings"
	"testing"

	"example.com/convmem/index"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestQuoted(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"none", `a b c`, nil},
		{"empty text", ``, nil},
		{"straight", `say "one two" now`, []string{"one two"}},
		{"the whole", `"one two"`, []string{"one two"}},
		{"two", `"one" or "two"`, []string{"one", "two"}},
		{"side by side", `"one""two"`, []string{"one", "two"}},
		{"the same twice", `"one" "one"`, []string{"one", "one"}},
		{"curved", `say “one two” now`, []string{"one two"}},
		{"German", `sag „eins zwei“ und „drei“`, []string{"eins zwei", "drei"}},
		{"French", `dis « un deux » ou «trois»`, []string{" un deux ", "trois"}},
		{"corner brackets", `彼は「東京タワー」と言った`, []string{"東京タワー"}},
		{"white corner brackets", `『坊っちゃん』を読む`, []string{"坊っちゃん"}},
		{"title marks", `读《三国演义》和《水浒传》`, []string{"三国演义", "水浒传"}},
		{"of several kinds", `"a" 「b」 “c”`, []string{"a", "b", "c"}},
		{"in the order of the text", `《a》 "b" «c» "d"`, []string{"a", "b", "c", "d"}},
		{"apostrophes are none", `'one two' it's ‘three’`, nil},
		{"full width is none", `＂one＂`, nil},

		{"never closed", `say "one two`, nil},
		{"never opened", `one two” now」`, nil},
		{"closed before it opens", `a」b「c`, nil},
		{"an odd mark", `5" disk`, nil},
		{"three marks", `"one" two"`, []string{"one"}},
		{"open mark before another kind", `「a "b" c`, []string{"b"}},
		{"open mark of the other kind inside", `"a「b" c」`, []string{"a「b"}},
		{"two kinds across each other", `「a『b」c』`, []string{"a『b"}},

		{"nested: the outer one", `「a『b』c」 『d』`, []string{"a『b』c", "d"}},
		{"straight inside curved", `“a "b" c”`, []string{`a "b" c`}},
		{"nested in its own kind: to the first end", `「a「b」c」`, []string{"a「b"}},

		{"empty", `say "" now`, nil},
		{"only white space", "\" \t\" “\u3000”", nil},
		{"empty before a full one", `"""one"`, []string{"one"}},
		{"newline inside", "\"one\ntwo\"", []string{"one\ntwo"}},
		{"invalid UTF-8", "\xff\"\xfe\"\xff", []string{"\xfe"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, quoted(test.text), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever the text, the parts stand in it one after the other, each between
// marks of one kind, and hold no mark that would have ended them.
func TestQuotedPartsStandBetweenMarks(t *testing.T) {
	parts := 0
	rapid.Check(t, func(t *rapid.T) {
		symbols := []string{"a", " ", `"`, "“", "”", "„", "«", "»", "「", "」", "『", "』", "《", "》"}
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(symbols)).Draw(t, "text"), "")
		rest := text
		for _, part := range quoted(text) {
			first := -1
			for _, q := range quotes {
				at := strings.Index(rest, q.open+part+q.end)
				if at >= 0 && (first < 0 || at < first) && !strings.Contains(part, q.end) && strings.TrimSpace(part) != "" {
					first = at
				}
			}
			if first < 0 {
				t.Fatalf("%q of %q does not stand behind the one before", part, text)
			}
			// At least over the part and one byte of each mark.
			rest = rest[first+len(part)+2:]
			parts++
		}
	})
	if parts == 0 {
		t.Error("nothing was quoted")
	}
}

// The terms that are scored come first, sorted, then those that only phrases need;
// text and phrases lead to them, with positions that count places in the text.
func TestPrepare(t *testing.T) {
	const query = `the red fox "of the wood" ... "!?"`
	p := prepare(index.Standard(), Query{Text: query})
	read := func(tokens []index.Token) (words []string) {
		for i, token := range tokens {
			if token.Position != uint32(i) {
				t.Errorf("position %d of word %d", token.Position, i)
			}
			words = append(words, p.terms[token.Number])
		}
		return words
	}
	if diff := cmp.Diff([]string{"the", "red", "fox", "of", "the", "wood"}, read(p.text)); diff != "" {
		t.Error(diff)
	}
	if len(p.phrases) != 1 {
		t.Fatalf("%d phrases", len(p.phrases))
	}
	if diff := cmp.Diff([]string{"of", "the", "wood"}, read(p.phrases[0])); diff != "" {
		t.Error(diff)
	}
	scored := index.QueryTerms(index.Standard(), query)
	for i, term := range scored {
		if p.terms[i] != term.Text || p.weights[i] != term.Weight {
			t.Errorf("term %d is %q of weight %v, want %v", i, p.terms[i], p.weights[i], term)
		}
	}
	if len(p.weights) != len(scored) {
		t.Errorf("%d weights for %d terms", len(p.weights), len(scored))
	}
	seen := map[string]bool{}
	for _, term := range p.terms {
		if seen[term] {
			t.Errorf("%q is there twice", term)
		}
		seen[term] = true
	}
}
