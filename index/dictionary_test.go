package index

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A dictionary finds what a map finds, through any insertions and removals, and
// its size is bounded by what it holds.
func TestDictionaryMatchesMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, terms, want := newDictionary(), []term{}, map[string]uint32{}
		for range rapid.IntRange(1, 400).Draw(t, "operations") {
			text := fmt.Sprint("term ", rapid.IntRange(0, 150).Draw(t, "text"))
			number, ok := want[text]
			if got, found := d.find(terms, text); found != ok || ok && got != number {
				t.Fatalf("%q: %d, %v; want %d, %v", text, got, found, number, ok)
			}
			if ok {
				d.remove(terms, number)
				terms[number] = term{}
				delete(want, text)
				continue
			}
			terms = append(terms, term{text: text})
			want[text] = uint32(len(terms) - 1)
			d.insert(terms, want[text])
			if d.count != len(want) || len(d.slots) > max(64, 4*(d.count+1)) && len(d.slots) > 512 {
				t.Fatalf("%d terms in %d slots, want %d", d.count, len(d.slots), len(want))
			}
			if used := len(d.slots) - countZeros(d.slots); d.used != used {
				t.Fatalf("%d slots are used, %d were counted", used, d.used) // too many: every insertion rehashes
			}
		}
		for text, number := range want {
			if got, ok := d.find(terms, text); !ok || got != number {
				t.Fatalf("%q: %d, %v; want %d", text, got, ok, number)
			}
		}
	})
}
