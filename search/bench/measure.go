package bench

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"example.com/convmem/search/bench/corpus"
)

const (
	seed       = 1
	chunkSize  = 1000 // messages in a call of add
	hitCount   = 20   // of a query, as search_messages has it unless told otherwise
	roundCount = 7
)

// plan says how much is measured.
type plan struct {
	products []product
	messages int
	queries  int
}

// check says in an error why a plan leaves something without figures.
func (p plan) check() error {
	if len(p.products) == 0 || p.messages < 1 || p.queries < 5 {
		return fmt.Errorf("%d engines, %d messages and %d queries: 1, 1 and 5 are the least", len(p.products), p.messages, p.queries)
	}
	return nil
}

// contestant is an engine and what was measured of it.
type contestant struct {
	product
	engine
	perSecond float64       // messages indexed
	settling  time.Duration // after that
	bytes     float64       // of index for each message
	rounds    [][]time.Duration
}

// measure fills every engine, one after the other, and then asks them the same
// queries. The caller closes the engines of all contestants, also after an error.
func measure(dir string, p plan) ([]*contestant, error) {
	var contestants []*contestant
	text := corpus.New(seed)
	for _, product := range p.products {
		c := &contestant{product: product}
		err := c.fill(dir, text, p.messages)
		if c.engine != nil {
			contestants = append(contestants, c)
		}
		if err != nil {
			return contestants, fmt.Errorf("indexing with %s: %w", product.name, err)
		}
	}
	return contestants, askAll(contestants, text.Queries(p.queries))
}

// fill makes an index of n messages. Only the calls of the engine are timed, and
// no message outlives its chunk, so that the heap grows by the index alone.
func (c *contestant) fill(dir string, text corpus.Corpus, n int) (err error) {
	home := filepath.Join(dir, c.name)
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	before := heapBytes()
	if c.engine, err = c.open(home); err != nil {
		return err
	}
	var busy time.Duration
	for chunk := range chunks(text.Messages(n)) {
		start := time.Now()
		if err := c.add(chunk); err != nil {
			return err
		}
		busy += time.Since(start)
	}
	start := time.Now()
	if err := c.settle(); err != nil {
		return err
	}
	c.settling = time.Since(start)
	c.perSecond = float64(n) / busy.Seconds()
	size, err := c.size(heapBytes() - before)
	c.bytes = float64(size) / float64(n)
	return err
}

// chunks yields the messages by chunkSize, each time in the same memory.
func chunks(messages iter.Seq[corpus.Message]) iter.Seq[[]corpus.Message] {
	return func(yield func([]corpus.Message) bool) {
		chunk := make([]corpus.Message, 0, chunkSize)
		for m := range messages {
			chunk = append(chunk, m)
			if len(chunk) < chunkSize {
				continue
			}
			if !yield(chunk) {
				return
			}
			chunk = chunk[:0]
		}
		if len(chunk) > 0 {
			yield(chunk)
		}
	}
}

// heapBytes is how much of the heap is in use.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC() // for what pools held through the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// askAll lets the engines answer the queries in turn, round by round, so that
// all meet the same moods of the machine. A round before the first warms them up
// and sees that they do the same work.
func askAll(contestants []*contestant, queries []corpus.Query) error {
	if err := sameCounts(contestants, queries); err != nil {
		return err
	}
	for range roundCount {
		for _, c := range contestants {
			runtime.GC() // let nobody clear up after another
			times, err := c.ask(queries)
			if err != nil {
				return fmt.Errorf("searching with %s: %w", c.name, err)
			}
			c.rounds = append(c.rounds, times)
		}
	}
	return nil
}

// sameCounts says in an error which query has more hits in one engine than in
// another.
func sameCounts(contestants []*contestant, queries []corpus.Query) error {
	for _, q := range queries {
		counts := map[int]string{}
		for _, c := range contestants {
			hits, err := c.search(q.Text, hitCount)
			if err != nil {
				return fmt.Errorf("searching with %s: %w", c.name, err)
			}
			counts[len(hits)] = c.name
		}
		if len(counts) > 1 {
			return fmt.Errorf("the engines differ in the number of hits of %q: %v", q.Text, counts)
		}
	}
	return nil
}

// ask returns the time of each query.
func (c *contestant) ask(queries []corpus.Query) ([]time.Duration, error) {
	times := make([]time.Duration, len(queries))
	for i, q := range queries {
		start := time.Now()
		if _, err := c.search(q.Text, hitCount); err != nil {
			return nil, err
		}
		times[i] = time.Since(start)
	}
	return times, nil
}

// times are those of the queries of a kind, or of all if kind is empty: of each
// query the median of the rounds.
func (c *contestant) times(queries []corpus.Query, kind corpus.Kind) []time.Duration {
	var times []time.Duration
	for i, q := range queries {
		if kind != "" && q.Kind != kind {
			continue
		}
		var each []time.Duration
		for _, round := range c.rounds {
			each = append(each, round[i])
		}
		times = append(times, percentile(each, 50))
	}
	return times
}

// percentile is the time that so many in a hundred of the times stay below, or
// are equal to.
func percentile(times []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)*percent+99)/100-1]
}
