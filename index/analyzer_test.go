package index

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// analyzed returns the terms of a text in the order in which they are emitted.
func analyzed(text string) []string { return termsOf(Standard(), text) }

func termsOf(a Analyzer, text string) []string {
	var terms []string
	a.Analyze(text, func(term string, _ int) { terms = append(terms, term) })
	return terms
}

// A whole and its parts share positions, so that neighbours stay neighbours.
func TestAnalyzePositions(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"words", "one, two", "one/0 two/1"},
		{"compound", "see foo.go:42 now", "see/0 foo.go:42/1 foo.go/1 foo/1 go/2 42/3 now/4"},
		{"dropped ending", "user's cat", "user/0 cat/1"},
		{"Han", "東京 都", "東/0 東京/0 京/1 都/2"},
		{"Hangul", "한국어 책", "한/0 한국어/0 한국/0 국어/1 책/3"},
		{"Thai", "ไทย ก", "ไท/0 ทย/1 ก/3"},
		{"identifier", "0x1F x", "0x1f/0 x/1"},
		{"emoji", "a 👍👍 b", "a/0 👍/1 b/2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			Standard().Analyze(test.text, func(term string, position int) {
				got = append(got, fmt.Sprintf("%s/%d", term, position))
			})
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestQueryTerms(t *testing.T) {
	tests := []struct {
		name, text string
		want       []QueryTerm
	}{
		{"nothing to find", `"()" ...`, nil},
		{"sorted and distinct", "zebra apple zebra", []QueryTerm{{"appl", 1}, {"zebra", 1}, {"zebra apple zebra", 1}}},
		{"one word is its own tag", "Running", []QueryTerm{{"run", 1}}},
		{"compound is its own tag", "go-sdk", []QueryTerm{{"go", 1}, {"go-sdk", 1}, {"sdk", 1}}},
		{"stop words go", "what is the plan", []QueryTerm{{"plan", 1}, {"what is the plan", 1}}},
		{"contractions go", "Why didn't they say who's here", []QueryTerm{{"say", 1}, {"why didn't they say who's here", 1}}},
		{"question words go", "whose could it ever be: Ann", []QueryTerm{{"ann", 1}, {"whose could it ever be: ann", 1}}},
		{"unless there is nothing else", "to be, or not", []QueryTerm{{"be", 1}, {"not", 1}, {"or", 1}, {"to", 1}, {"to be, or not", 1}}},
		{"who is it", "who is it", []QueryTerm{{"is", 1}, {"it", 1}, {"who", 1}, {"who is it", 1}}},
		{"one stop word", "The", []QueryTerm{{"the", 1}}},
		{"spaces in a tag count as one", " Project \n X ", []QueryTerm{{"project", 1}, {"project x", 1}, {"x", 1}}},
		{"Han tag", "東京都", []QueryTerm{{"京", 1}, {"京都", 1}, {"東", 1}, {"東京", 1}, {"東京都", 1}, {"都", 1}}},
		{"hiragana", "しりとり", []QueryTerm{{"しり", .2}, {"しりとり", 1}, {"とり", .2}, {"りと", .2}}},
		{"hiragana beside Han", "食べる", []QueryTerm{{"べる", .2}, {"食", 1}, {"食べ", 1}, {"食べる", 1}}},
		{"one hiragana", "の", []QueryTerm{{"の", .2}}},
		{"long vowel, katakana", "あー アア", []QueryTerm{{"あー", 1}, {"あー アア", 1}, {"アア", 1}}},
		{"Hangul", "집에서", []QueryTerm{{"에서", 1}, {"집", .2}, {"집에", 1}, {"집에서", 1}}},
		{"symbols", "-> 👍", []QueryTerm{{"->", 1}, {"-> 👍", 1}, {"👍", 1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, QueryTerms(Standard(), test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// spaced is an Analyzer of somebody else: words between spaces as they are, with
// weights of their own.
type spaced map[string]float64

func (spaced) Name() string { return "spaced" }

func (spaced) Analyze(text string, emit func(term string, position int)) {
	for i, word := range strings.Fields(text) {
		emit(word, i)
	}
}

func (s spaced) Weight(term string) float64 {
	if weight, ok := s[term]; ok {
		return weight
	}
	return 1
}

func TestQueryTermsOfAnotherAnalyzer(t *testing.T) {
	a := spaced{"nought": 0, "below": -1, "none": math.NaN(), "much": 3, "Two words": 0}
	tests := []struct {
		text string
		want []QueryTerm
	}{
		{"much nought below none", []QueryTerm{{"much", 3}, {"much nought below none", 1}}},
		{"none below", []QueryTerm{{"below", 1}, {"none", 1}, {"none below", 1}}},
		{"Two  words", []QueryTerm{{"Two", 1}, {"words", 1}}},
		{" ", nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, QueryTerms(a, test.text)); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
}

// reweighed is the standard Analyzer but for weights.
type reweighed struct{ Analyzer }

func (reweighed) Weight(string) float64 { return 1 }

func TestTagTerm(t *testing.T) {
	tests := []struct {
		name     string
		analyzer Analyzer
		tag      string
		want     string
	}{
		{"standard", Standard(), " Open  Issues ", "open issues"},
		{"under the standard name", reweighed{Standard()}, " Open  Issues ", "open issues"},
		{"other", spaced{}, " Open  Issues ", "Open Issues"},
		{"other, nothing to find", spaced{}, " ", ""},
		{"other, long", spaced{}, strings.Repeat("a ", 100), bounded(strings.TrimSpace(strings.Repeat("a ", 100)))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := tagTerm(test.analyzer, test.tag); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnalyzeTag(t *testing.T) {
	tests := []struct {
		name     string
		analyzer Analyzer
		tag      string
		want     string
	}{
		{"one word", Standard(), "Running", "run/0"},
		{"more words", Standard(), "Open Issues", "open/0 issu/1 open issues/1"},
		{"compound", Standard(), "go-sdk", "go-sdk/0 go/0 sdk/1"},
		{"nothing to find", Standard(), "...", ""},
		{"other", spaced{}, "Open Issues", "Open/0 Issues/1 Open Issues/1"},
		{"other, one word", spaced{}, "Open", "Open/0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			analyzeTag(test.analyzer, test.tag, func(term string, position int) {
				got = append(got, fmt.Sprintf("%s/%d", term, position))
			})
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), test.want)
			}
		})
	}
}

// One Analyzer serves many goroutines, and calls to it from within emit.
func TestStandardConcurrently(t *testing.T) {
	a := Standard()
	texts := []string{"The children went home", "重跑gen-itgc後 パリ", "한국어를 집에서", "E_CONN_RESET foo.go:42", "ภาษาไทย 👍🏽 Straße"}
	var want [][]string
	for _, text := range texts {
		want = append(want, analyzed(text))
	}
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 200 {
				k := (n + i) % len(texts)
				var got []string
				a.Analyze(texts[k], func(term string, _ int) {
					got = append(got, term)
					a.Weight(term)
					a.Analyze("inner "+term, func(string, int) {})
				})
				if !slices.Equal(got, want[k]) || len(QueryTerms(a, texts[k])) == 0 || tagTerm(a, texts[k]) == "" {
					t.Errorf("%q: %q", texts[k], got)
				}
			}
		})
	}
	group.Wait()
}

func TestLongTerms(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	one, two := analyzed(long+"1"), analyzed(long+"2")
	if len(one) != 1 || len(one[0]) > MaxTermBytes {
		t.Fatalf("%d terms, the first of %d bytes", len(one), len(one[0]))
	}
	if one[0] == two[0] {
		t.Error("long words that end differently give one term")
	}
	if got := analyzed(strings.ToUpper(long) + "1"); !slices.Equal(got, one) {
		t.Error("case counts in a long word")
	}
	exact := strings.Repeat("é", MaxTermBytes)
	if got := analyzed(exact); len(got) != 1 || got[0] != strings.Repeat("e", MaxTermBytes) {
		t.Errorf("a word of %d letters was cut: %q", MaxTermBytes, got)
	}
	for _, letter := range []string{"ж", "가", "𝒳"} { // of 2, 3 and 4 bytes
		for _, term := range analyzed(strings.Repeat(letter, 1000)) {
			if len(term) > MaxTermBytes || !utf8.ValidString(term) {
				t.Errorf("term of %d bytes: %+q", len(term), term)
			}
		}
	}
}

// A megabyte of one character takes no more than linear time, or this test would
// not end, and gives bounded terms; so does a quarter of what differs by turns.
func TestMegabyte(t *testing.T) {
	for _, unit := range []string{
		"a", "1", ".", "'", "-", "/", "+", "$", "\xFF", "é", "\u0301", "漢", "か", "가", "ก", "क", "ـ", "👍", "\u3164",
		"a.", "a'", "a1", "1,000,", "a+", "+a", "$a", "か\u3099", "👩\u200D", "-1", "n't", "+\u0301", "👍🏽",
	} {
		t.Run(fmt.Sprintf("%+q", unit), func(t *testing.T) {
			t.Parallel()
			size := 1 << 20
			if utf8.RuneCountInString(unit) > 1 {
				size /= 4
			}
			text := strings.Repeat(unit, size/len(unit))
			total := 0
			last := checkPositions(t, unit, func(emit func(string, int)) {
				Standard().Analyze(text, func(term string, position int) {
					if term == "" || len(term) > MaxTermBytes {
						t.Fatalf("term of %d bytes", len(term))
					}
					total++
					emit(term, position)
				})
			})
			if last > len(text) || total > 2*len(text) {
				t.Errorf("%d terms up to position %d", total, last)
			}
		})
	}
}

// checkPositions fails unless positions begin at 0 and grow by 0 to 2, and
// returns the last.
func checkPositions(t failer, text string, analyze func(emit func(term string, position int))) int {
	t.Helper()
	last, some := 0, false
	analyze(func(term string, position int) {
		if position < last || position > last+2 || !some && position != 0 {
			t.Fatalf("%+q: position %d of %q after %d", text, position, term, last)
		}
		last, some = position, true
	})
	return last
}

// An analyzer that has seen other texts gives the terms of a fresh one, also
// after its cache ran over.
func TestAnalyzerKeepsNothing(t *testing.T) {
	a := newAnalyzer()
	for i := range maxCachedTerms + 100 {
		a.analyze(fmt.Sprintf("word%d Running", i), func(string, int) {})
	}
	if len(a.terms) > maxCachedTerms {
		t.Errorf("%d cached terms", len(a.terms))
	}
	for _, text := range []string{"Running RUNNING running", "word7", "Éte ÉTE"} {
		var got []string
		checkPositions(t, text, func(emit func(string, int)) {
			a.analyze(text, func(term string, position int) {
				emit(term, position)
				got = append(got, term)
			})
		})
		if diff := cmp.Diff(analyzed(text), got); diff != "" {
			t.Error(diff)
		}
	}
}
