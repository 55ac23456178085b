package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	payloadSize = 1 << 10 // of a write
	roundCount  = 7
)

// writeFigures describe how an engine writes. Times are medians over the rounds,
// ratios medians of what each round gave beside the bare file.
type writeFigures struct {
	median      time.Duration // of the time of a put
	perSecond   float64
	slower      float64 // median time in parts of the bare file's
	faster      float64 // throughput in parts of the bare file's
	bytesByByte float64 // written for each byte of payload, negative if unknown
}

// block is what one engine did in one round.
type block struct {
	median  time.Duration
	elapsed time.Duration
}

// contestant is an engine that takes part in the rounds of measureWrites.
type contestant struct {
	product
	engine
	records []record // still to be put
	blocks  []block
	written int64
}

// measureWrites lets each product write in turn, block by block, so that they
// meet the same moods of the machine. The first product is the yardstick.
func measureWrites(dir string, products []product, writers, each int) ([]writeFigures, error) {
	var contestants []*contestant
	for _, p := range products {
		home := filepath.Join(dir, fmt.Sprintf("%s-%d", p.name, writers))
		if err := os.Mkdir(home, 0o700); err != nil {
			return nil, err
		}
		c := &contestant{product: p, records: newRecords(roundCount*writers*each, payloadSize)}
		if err := c.counted(func() (err error) { c.engine, err = p.open(home, writers); return err }); err != nil {
			return nil, fmt.Errorf("opening %s: %w", p.name, err)
		}
		contestants = append(contestants, c)
	}
	for range roundCount {
		for _, c := range contestants {
			if err := c.counted(func() error { return c.write(writers, each) }); err != nil {
				return nil, fmt.Errorf("writing to %s: %w", c.name, err)
			}
		}
	}
	var figures []writeFigures
	for _, c := range contestants {
		if err := c.counted(c.close); err != nil {
			return nil, fmt.Errorf("closing %s: %w", c.name, err)
		}
		figures = append(figures, c.figures(contestants[0], writers*each))
	}
	return figures, nil
}

// counted runs work and adds the bytes that the process wrote meanwhile.
func (c *contestant) counted(work func() error) error {
	before := bytesWritten()
	err := work()
	if after := bytesWritten(); after < 0 {
		c.written = -1
	} else {
		c.written += after - before
	}
	return err
}

// write runs one block.
func (c *contestant) write(writers, each int) error {
	times := make([]time.Duration, writers*each)
	failures := make(chan error, writers)
	start := time.Now()
	for w := range writers {
		share := c.records[w*each : (w+1)*each]
		go func() { failures <- timeEach(c.engine, share, times[w*each:]) }()
	}
	var err error
	for range writers {
		err = cmp.Or(err, <-failures)
	}
	c.records = c.records[writers*each:]
	c.blocks = append(c.blocks, block{elapsed: time.Since(start), median: median(times)})
	return err
}

func timeEach(e engine, records []record, times []time.Duration) error {
	for i, r := range records {
		start := time.Now()
		if err := e.put(r); err != nil {
			return err
		}
		times[i] = time.Since(start)
	}
	return nil
}

func (c *contestant) figures(bare *contestant, puts int) writeFigures {
	var medians []time.Duration
	var slower, faster, perSecond []float64
	for i, b := range c.blocks {
		medians = append(medians, b.median)
		perSecond = append(perSecond, float64(puts)/b.elapsed.Seconds())
		slower = append(slower, float64(b.median)/float64(bare.blocks[i].median))
		faster = append(faster, float64(bare.blocks[i].elapsed)/float64(b.elapsed))
	}
	return writeFigures{
		median: median(medians), perSecond: median(perSecond),
		slower: median(slower), faster: median(faster),
		bytesByByte: float64(c.written) / float64(roundCount*puts*payloadSize),
	}
}

// bytesWritten is how many bytes this process has handed to write calls, or -1
// where the system does not say. Writes to mapped memory are not among them.
func bytesWritten() (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return -1
	}
	var read int64
	if _, err := fmt.Sscanf(string(text), "rchar: %d\nwchar: %d", &read, &n); err != nil {
		return -1
	}
	return n
}

func median[T time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
