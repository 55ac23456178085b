package bench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem/search/bench/corpus"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// forEachEngine runs a test on a settled index of the messages.
func forEachEngine(t *testing.T, messages []corpus.Message, test func(t *testing.T, e engine)) {
	for _, p := range products() {
		t.Run(p.name, func(t *testing.T) {
			test(t, filled(t, p, messages))
		})
	}
}

// filled returns an index that was filled in two steps. It is closed in the end.
func filled(t *testing.T, p product, messages []corpus.Message) engine {
	t.Helper()
	e, err := p.open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, e.close()) })
	must(t, e.add(messages[:len(messages)/2]))
	must(t, e.add(messages[len(messages)/2:]))
	must(t, e.settle())
	return e
}

func hits(t *testing.T, e engine, text string, limit int) []int {
	t.Helper()
	numbers, err := e.search(text, limit)
	must(t, err)
	return numbers
}

// TestPlantsAreFound hides messages with words that no other has among many.
func TestPlantsAreFound(t *testing.T) {
	messages := slices.Collect(corpus.New(seed).Messages(1000))
	messages[123].Content += " Wozimak."
	messages[456].Summary, messages[456].Tags = "Yewidanging it.", nil
	messages[789].Summary, messages[789].Tags = "", []string{"xunobip"}
	messages[11].Content = "Quodagap and zewohum."
	messages[900].Content = "Quodagap and zewohuned, quodagaps."
	tests := []struct {
		query string
		want  []int
	}{
		{"wozimak", []int{123}},
		{"wozimaks", []int{123}}, // endings do not count
		{"What did the wozimaking do to you?", []int{123}},
		{"yewidang", []int{456}},
		{"xunobip", []int{789}},
		{"quodagap zewohum", []int{11, 900}}, // the better match first
		{"zyxopan", nil},
		{"Who was the zyxopan?", nil},
	}
	forEachEngine(t, messages, func(t *testing.T, e engine) {
		for _, test := range tests {
			got := hits(t, e, test.query, hitCount)
			if !slices.Equal(got, test.want) {
				t.Errorf("%q finds %v, want %v", test.query, got, test.want)
			}
		}
	})
}

// TestStopWordsAreCut searches for each stop word together with another word,
// where each message is one stop word and one is the other word.
func TestStopWordsAreCut(t *testing.T) {
	var messages []corpus.Message
	for i, word := range corpus.StopWords() {
		messages = append(messages, corpus.Message{Number: i, Content: word})
	}
	want := []int{len(messages)}
	messages = append(messages, corpus.Message{Number: want[0], Content: "wozimak"})
	forEachEngine(t, messages, func(t *testing.T, e engine) {
		for _, word := range corpus.StopWords() {
			if got := hits(t, e, word+" wozimak", hitCount); !slices.Equal(got, want) {
				t.Errorf("with %q: %v, want %v", word, got, want)
			}
		}
	})
}

// TestEnginesFindTheSame compares the hits of all queries with few enough of them.
func TestEnginesFindTheSame(t *testing.T) {
	const limit = 100
	messages := slices.Collect(corpus.New(seed).Messages(2000))
	queries := corpus.New(seed).Queries(300)
	reference := filled(t, products()[2], messages)
	compared := 0
	forEachEngine(t, messages, func(t *testing.T, e engine) {
		for _, q := range queries {
			got, want := hits(t, e, q.Text, limit), hits(t, reference, q.Text, limit)
			if len(want) == limit {
				continue // there are more, and not all rank them alike
			}
			compared++
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%q finds %v, with fts5 %v", q.Text, got, want)
			}
		}
	})
	if compared < len(queries) {
		t.Errorf("only %d answers were compared", compared)
	}
}

// TestCompare runs the whole, as small as it goes.
func TestCompare(t *testing.T) {
	var out bytes.Buffer
	must(t, compare(&out, t.TempDir(), plan{products(), chunkSize + 100, 10}))
	parts := strings.Split(out.String(), "\n\n")
	if len(parts) != 3 {
		t.Fatalf("not two tables and a list:\n%s", out.String())
	}
	for i, part := range parts {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		for _, line := range lines {
			if strings.Count(line, "|") != strings.Count(lines[0], "|") || strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
				t.Errorf("a bad line: %s", line)
			}
		}
		begin := []string{"| %s |", "| %s |", "%s: "}[i]
		for _, p := range products() {
			if !strings.Contains("\n"+part, "\n"+fmt.Sprintf(begin, p.name)) {
				t.Errorf("%s is missing in\n%s", p.name, part)
			}
		}
	}
}

// TestTables prints what two engines were measured with: the second is slower by
// half at indexing, and three to five times slower at queries.
func TestTables(t *testing.T) {
	queries := []corpus.Query{{Kind: corpus.Question}, {Kind: corpus.RareWord}, {Kind: corpus.FrequentWords}}
	entry := func(name string, perSecond, bytes float64, settling time.Duration, microseconds ...time.Duration) *contestant {
		c := &contestant{product: product{name: name}, perSecond: perSecond, bytes: bytes, settling: settling}
		c.rounds = [][]time.Duration{nil}
		for _, us := range microseconds {
			c.rounds[0] = append(c.rounds[0], us*time.Microsecond)
		}
		return c
	}
	contestants := []*contestant{
		entry("fast", 3000, 10, 0, 20, 10, 30),
		entry("slow", 2000, 20.25, 1500*time.Millisecond, 100, 30, 120),
	}
	var out bytes.Buffer
	printAll(&out, contestants, queries, 500)
	printKinds(&out, contestants, queries)
	want := `| 500 messages | messages/s | x fast | settling | index bytes/message | query p50 | x fast | query p95 | x fast |
| --- | --: | --: | --: | --: | --: | --: | --: | --: |
| fast | 3000 | 1.00 | 0.0 s | 10.0 | 20 us | 1.00 | 30 us | 1.00 |
| slow | 2000 | 1.50 | 1.5 s | 20.2 | 100 us | 5.00 | 120 us | 4.00 |
| query p50 | question | x fast | rare word | x fast | two frequent words | x fast |
| --- | --: | --: | --: | --: | --: | --: |
| fast | 20 us | 1.00 | 10 us | 1.00 | 30 us | 1.00 |
| slow | 100 us | 5.00 | 30 us | 3.00 | 120 us | 4.00 |
`
	if out.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", out.String(), want)
	}
}

// TestNothingToMeasure sees that a plan without figures is refused.
func TestNothingToMeasure(t *testing.T) {
	for _, p := range []plan{{nil, 10, 10}, {products(), 0, 10}, {products(), 10, 4}} {
		if err := compare(&bytes.Buffer{}, t.TempDir(), p); err == nil || !strings.Contains(err.Error(), "are the least") {
			t.Errorf("%d engines, %d messages, %d queries: %v", len(p.products), p.messages, p.queries, err)
		}
	}
}

// TestEnginesAreClosed lets an engine fail at its first message.
func TestEnginesAreClosed(t *testing.T) {
	l := &list{addFailure: errors.New("broken")}
	p := product{"list", func(string) (engine, error) { return l, nil }}
	if err := compare(&bytes.Buffer{}, t.TempDir(), plan{[]product{p}, 10, 10}); !errors.Is(err, l.addFailure) || !l.closed {
		t.Errorf("%v, closed %t", err, l.closed)
	}
}

func TestProductsNamed(t *testing.T) {
	chosen, err := productsNamed("fts5,convmem")
	must(t, err)
	if len(chosen) != 2 || chosen[0].name != "fts5" || chosen[1].name != "convmem" {
		t.Errorf("chosen: %v", chosen)
	}
	if _, err := productsNamed("convmem,lucene"); err == nil || !strings.Contains(err.Error(), `"lucene"`) {
		t.Errorf("an unknown engine: %v", err)
	}
}

// list is an engine that remembers the numbers it was given, and finds found.
type list struct {
	numbers []int
	calls   int
	settled bool
	found   []int
	closed  bool

	addFailure, failure error
}

func (l *list) add(messages []corpus.Message) error {
	l.calls++
	for _, m := range messages {
		l.numbers = append(l.numbers, m.Number)
	}
	return l.addFailure
}

func (l *list) settle() error                     { l.settled = true; return nil }
func (l *list) search(string, int) ([]int, error) { return l.found, l.failure }
func (l *list) size(int64) (int64, error)         { return 7 * int64(len(l.numbers)), nil }
func (l *list) details(int) (string, error)       { return "a list", nil }
func (l *list) close() error                      { l.closed = true; return nil }

// TestFill sees that every message comes once and in order, the last chunk too.
func TestFill(t *testing.T) {
	const n = 2*chunkSize + 5
	l := &list{}
	c := &contestant{product: product{"list", func(string) (engine, error) { return l, nil }}}
	must(t, c.fill(t.TempDir(), corpus.New(seed), n))
	for i, number := range l.numbers {
		if number != i {
			t.Fatalf("message %d comes as number %d", number, i)
		}
	}
	if len(l.numbers) != n || l.calls != 3 || !l.settled || c.bytes != 7 || c.perSecond <= 0 {
		t.Errorf("%d messages in %d calls, settled %t; %v bytes/message, %v messages/s",
			len(l.numbers), l.calls, l.settled, c.bytes, c.perSecond)
	}
}

// TestDifferentWork lets engines find different numbers of messages, and fail.
func TestDifferentWork(t *testing.T) {
	queries := []corpus.Query{{Text: "wozimak"}}
	entry := func(name string, l *list) *contestant {
		return &contestant{product: product{name: name}, engine: l}
	}
	one, two, broken := &list{found: []int{1}}, &list{found: []int{1, 2}}, &list{failure: errors.New("broken")}
	must(t, askAll([]*contestant{entry("one", one), entry("another", one)}, queries))
	for _, other := range []*list{two, broken} {
		if err := askAll([]*contestant{entry("one", one), entry("other", other)}, queries); err == nil {
			t.Errorf("no error with %+v", *other)
		}
	}
}

func TestTimes(t *testing.T) {
	queries := []corpus.Query{{Kind: corpus.Question}, {Kind: corpus.RareWord}, {Kind: corpus.Question}}
	c := &contestant{rounds: [][]time.Duration{{1, 20, 300}, {3, 10, 100}, {2, 30, 200}}}
	if got, want := c.times(queries, ""), []time.Duration{2, 20, 200}; !slices.Equal(got, want) {
		t.Errorf("medians of the rounds: %v, want %v", got, want)
	}
	if got, want := c.times(queries, corpus.Question), []time.Duration{2, 200}; !slices.Equal(got, want) {
		t.Errorf("of the questions: %v, want %v", got, want)
	}
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[99-i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		times   []time.Duration
		percent int
		want    time.Duration
	}{
		{hundred, 50, 50}, {hundred, 95, 95}, {hundred, 100, 100}, {hundred[:1], 50, 100},
		{[]time.Duration{3, 1, 2}, 50, 2}, {[]time.Duration{3, 1, 2}, 95, 3},
	} {
		if got := percentile(test.times, test.percent); got != test.want {
			t.Errorf("%d %% of %d times: %d, want %d", test.percent, len(test.times), got, test.want)
		}
	}
}
