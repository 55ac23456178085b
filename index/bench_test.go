package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
)

// someText returns a text of n words whose frequencies fall as those of a
// language do.
func someText(r *rand.Rand, n int) string {
	zipf := rand.NewZipf(r, 1.1, 4, 30_000)
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "w%s ", letters(zipf.Uint64()))
	}
	return b.String()
}

func letters(n uint64) string {
	s := ""
	for ; n > 0; n /= 26 {
		s += string(rune('a' + n%26))
	}
	return s
}

func someDocs(n int) []Doc {
	r := rand.New(rand.NewPCG(1, 2))
	docs := make([]Doc, n)
	for i := range docs {
		docs[i] = Doc{
			ID: makeID(i, 0), Session: fmt.Sprint("session ", r.IntN(1+n/50)),
			Kind: "conversation", Content: someText(r, 30),
		}
	}
	return docs
}

// Puts 100,000 messages of 30 words.
func BenchmarkPut(b *testing.B) {
	docs := someDocs(100_000)
	for b.Loop() {
		ix := New(Standard())
		for i, d := range docs {
			ix.Put(uint64(i), d)
		}
		m := ix.Memory()
		b.ReportMetric(float64(m.Columns+m.Search+m.History)/float64(len(docs)), "B/message")
	}
}

// Puts 100,000 messages into one session from the newest to the oldest and
// deletes them again from the oldest on.
func BenchmarkPutReversedDeleteAll(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		ix := New(Standard())
		for i := range n {
			ix.Put(uint64(i), Doc{ID: makeID(n-i, 0), Session: "s", Relations: []Relation{{"related_to", ulid.ULID{}}}})
		}
		for i := range n {
			ix.Delete(uint64(n+i), makeID(i+1, 0))
		}
	}
}

// Pages through 20,000 sessions by hundreds while others are written to.
func BenchmarkSessions(b *testing.B) {
	const n = 20_000
	ix := New(Standard())
	for i := range n {
		ix.Put(uint64(i), Doc{ID: makeID(i, 0), Session: fmt.Sprint(i)})
	}
	seq, ms := uint64(n), n
	for b.Loop() {
		horizon, moment, at, seen := ix.LastID(), seq, ranked{}, 0
		for page := 100; page == 100; {
			page = 0
			for name, activity := range ix.Sessions(horizon, moment, at.activity, at.name) {
				at = ranked{name, activity}
				if page++; page == 100 {
					break
				}
			}
			seen += page
			seq, ms = seq+1, ms+1
			ix.Put(seq, Doc{ID: makeID(ms, 0), Session: fmt.Sprint(ms % n)})
		}
		if seen != n {
			b.Fatalf("%d sessions", seen)
		}
	}
}

func BenchmarkAnalyze(b *testing.B) {
	for _, text := range []struct{ name, sample string }{
		{"English", "The readers don't see what foo.go:42 writes, before it is durable. "},
		{"Japanese", "データベースの設計について、明日また話しましょう。"},
		{"Russian", "Завтра мы поговорим о проекте. "},
		{"Korean", "데이터베이스를 설계했습니다. "},
	} {
		b.Run(text.name, func(b *testing.B) {
			s := strings.Repeat(text.sample, 10_000/len(text.sample))
			b.SetBytes(int64(len(s)))
			a := Standard()
			for b.Loop() {
				a.Analyze(s, func(string, int) {})
			}
		})
	}
}
