package convmem_test

import (
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// Of two messages with the same words, the one that holds the quoted ones as they
// stand comes first, though the other is newer and more important.
func TestSearchPrefersTheQuotedPhrase(t *testing.T) {
	for _, c := range []struct{ name, query, with, without string }{
		{"whole query", `"red fox"`, "A red fox lives near a green lake.", "A fox lives near a red, green lake."},
		{"among other words", `green "red fox" lake`, "A green lake, a red fox.", "A fox, a green lake, red."},
		{"in quotes of print", "“red fox” lake", "A red fox by a lake.", "A fox by a red lake."},
		{"three words", `"lazy old fox"`, "That fox is a lazy old fox.", "That old fox is a lazy fox."},
		{"case and marks", `"RED, FOX"`, "A red fox lives here.", "A fox lives here, red."},
		{"with a common word", `"man of war" ship`, "The ship is a man of war.", "A man of the ship, of war."},
		{"identifier", `"conn reset" dial`, "A dial, then conn reset.", "A conn, then dial reset."},
		{"Japanese", "\"東京駅\" 集合", "集合は東京駅の北口、京都の人も。", "集合は東京の北口、京都駅の人も。"},
		{"Chinese", "\"唯一索引\" 订单", "订单上要加唯一索引，别只加一个。", "订单上唯一要加的是普通索引，一个。"},
		{"Korean", "\"회의 시간\" 변경", "변경된 회의 시간 안내, 서울 회의.", "변경된 시간 안내, 서울 회의 회의."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, convmem.Options{})
			w.say("a", c.with, convmem.MetadataPatch{Importance: new(10)})
			w.say("b", c.without, convmem.MetadataPatch{Importance: new(90)})
			var got []string
			for _, hit := range w.search(convmem.SearchRequest{Query: c.query}).Hits {
				got = append(got, hit.Content)
			}
			if diff := cmp.Diff([]string{c.with, c.without}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Quotes add to what a phrase is worth by itself, and hide nothing.
func TestSearchQuotesAddAndNeverFilter(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	for i, text := range []string{"A red fox near a lake.", "A fox near a red lake.", "A fox.", "Something red.", "The lake is deep."} {
		w.say([]string{"a", "b", "c", "d", "e"}[i], text, convmem.MetadataPatch{})
	}
	scores := func(query string) map[string]float64 {
		scores := map[string]float64{}
		r := convmem.SearchRequest{Query: query}
		hits := w.search(r).Hits
		checkHits(t, r, hits)
		for _, hit := range hits {
			scores[hit.Content] = hit.Score
		}
		return scores
	}
	plain, quoted := scores("red fox lake"), scores(`"red fox" lake`)
	for text := range plain {
		if quoted[text] == 0 {
			t.Errorf("quotes hide %q", text)
		}
	}
	if len(plain) != 5 || len(quoted) != 5 {
		t.Errorf("%d hits without quotes, %d with", len(plain), len(quoted))
	}
	lead := func(scores map[string]float64) float64 {
		return scores["A red fox near a lake."] / scores["A fox near a red lake."]
	}
	if !(lead(quoted) > lead(plain)) {
		t.Errorf("quotes take the lead of the phrase from %v to %v", lead(plain), lead(quoted))
	}
	for _, query := range []string{`"red fox`, `red fox"`, `""red fox""`, `"red" "fox"`, `"" red fox`, `"fox red"`, `"nothing like it" red fox`, `'red fox'`} {
		if got := scores(query); len(got) < 4 {
			t.Errorf("%s finds %d messages, want those with either word", query, len(got))
		}
	}
}
