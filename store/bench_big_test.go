package store_test

import (
	"context"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"example.com/convmem/store"
)

var recordCount = flag.Int("records", 100_000, "records in the stores of the Open, Rebuild and Table benchmarks")

const (
	recordSize = 200
	// batchBytes is the size of an Update that fills a store. Opening holds one
	// Update in memory at a time: a great one would hide what the rest needs.
	batchBytes = 1 << 20
)

// BenchmarkOpen compares opening by replay with opening from a snapshot, and
// both with reading the log once for its checksum. A store that makes no
// snapshots has only the figures of the replay.
func BenchmarkOpen(b *testing.B) {
	dir := bigStore(b)
	snapshot, aside := filepath.Join(dir, "convmem.snap"), filepath.Join(b.TempDir(), "aside")
	_, err := os.Stat(snapshot)
	hasSnapshot := err == nil
	if hasSnapshot {
		check(b, os.Rename(snapshot, aside))
	}
	figures := map[string][]float64{}
	for b.Loop() {
		for range roundCount {
			read := timed(func() { readLog(b, dir) })
			replay := openOnce(b, dir)
			figures["replay/read"] = append(figures["replay/read"], replay.seconds/read)
			figures["replay-peak/steady"] = append(figures["replay-peak/steady"], replay.peak)
			if !hasSnapshot {
				continue
			}
			check(b, os.Rename(aside, snapshot)) // also over one that closing has made
			fast := openOnce(b, dir)
			check(b, os.Rename(snapshot, aside))
			if fast.read >= 1 {
				b.Fatal("the snapshot was not used: Open read the whole log")
			}
			figures["snapshot/read"] = append(figures["snapshot/read"], fast.seconds/read)
			figures["snapshot-peak/steady"] = append(figures["snapshot-peak/steady"], fast.peak)
			figures["replay/snapshot"] = append(figures["replay/snapshot"], replay.seconds/fast.seconds)
		}
	}
	for unit, values := range figures {
		report(b, values, unit)
	}
}

// opened is what one Open cost.
type opened struct {
	seconds float64
	read    float64 // bytes read, in parts of the log
	// peak is the greatest heap during Open, in parts of what stays in use. It
	// counts garbage, of which the default GOGC allows as much as is in use.
	peak float64
}

func openOnce(b *testing.B, dir string) (o opened) {
	base := heapInUse()
	var log *store.Log
	peak := peakHeap(func() {
		o.seconds = timed(func() { log = open(b, dir, variants()[0].options) })
	})
	o.peak = (peak - base) / (heapInUse() - base)
	stats := log.Stats()
	o.read = float64(stats.IO.ReadBytes) / float64(stats.LogSize)
	check(b, log.Close())
	return o
}

// BenchmarkRebuild compares a rebuild with copying the log and syncing the copy.
func BenchmarkRebuild(b *testing.B) {
	dir := bigStore(b)
	base := heapInUse()
	log := open(b, dir, variants()[0].options)
	defer func() { check(b, log.Close()) }()
	var stats store.RebuildStats
	rebuild := func() {
		var err error
		stats, err = log.Rebuild(context.Background())
		check(b, err)
	}
	var ratios, speeds, peaks []float64
	for b.Loop() {
		for range roundCount {
			copying := timed(func() { copyLog(b, dir) })
			var rebuilding float64
			steady := heapInUse() // also drops what the rebuild before has replaced
			peak := peakHeap(func() { rebuilding = timed(rebuild) })
			ratios = append(ratios, rebuilding/copying)
			speeds = append(speeds, float64(stats.BytesAfter)/1e6/rebuilding)
			peaks = append(peaks, (peak-base)/(steady-base))
		}
	}
	report(b, ratios, "x-copy")
	report(b, speeds, "MB/s")
	b.ReportMetric(float64(stats.BytesAfter)/float64(stats.Records), "bytes/record")
	report(b, peaks, "peak/steady")
}

// BenchmarkTable measures the memory of the record table, which is all that an
// open store with an empty sink keeps, and what Stats says of it.
func BenchmarkTable(b *testing.B) {
	dir := bigStore(b)
	var perRecord, estimate []float64
	for b.Loop() {
		base := heapInUse()
		log := open(b, dir, variants()[0].options)
		heap := heapInUse() - base
		stats := log.Stats()
		perRecord = append(perRecord, heap/float64(stats.LiveRecords))
		estimate = append(estimate, float64(stats.TableBytes)/heap)
		check(b, log.Close())
	}
	report(b, perRecord, "heap-bytes/record")
	report(b, estimate, "TableBytes/heap")
}

// bigStore makes a closed store of -records records and returns its directory.
func bigStore(b *testing.B) (dir string) {
	dir = b.TempDir()
	log := open(b, dir, variants()[0].options)
	ids, payload := newIDs(), noise(recordSize)
	for left := *recordCount; left > 0; {
		batch := min(left, batchBytes/(2*recordSize)) // a frame is less than twice its payload
		check(b, log.Update(context.Background(), func(tx *store.Tx) error {
			for range batch {
				tx.Put(ids.next(), payload)
			}
			return nil
		}))
		left -= batch
	}
	check(b, log.Close())
	return dir
}

// logOf opens the live log of the store in dir for reading.
func logOf(b *testing.B, dir string) *os.File {
	names, err := filepath.Glob(filepath.Join(dir, "convmem-*.log"))
	check(b, err)
	if len(names) != 1 {
		b.Fatalf("the store has %d logs", len(names))
	}
	file, err := os.Open(names[0])
	check(b, err)
	return file
}

func readLog(b *testing.B, dir string) {
	file := logOf(b, dir)
	_, err := io.Copy(crc32.New(crc32.MakeTable(crc32.Castagnoli)), file)
	check(b, errors.Join(err, file.Close()))
}

func copyLog(b *testing.B, dir string) {
	from := logOf(b, dir)
	to, err := os.Create(filepath.Join(dir, "copy"))
	check(b, err)
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 1<<20))
	check(b, errors.Join(err, to.Sync(), to.Close(), from.Close(), os.Remove(to.Name())))
}

// heapInUse is the size of what is reachable, in bytes.
func heapInUse() float64 {
	runtime.GC()
	runtime.GC() // what the first one found to be finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// peakHeap is the greatest size of the heap, garbage included, while work runs.
func peakHeap(work func()) float64 {
	stop, peak := make(chan struct{}), make(chan float64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		ticker := time.NewTicker(500 * time.Microsecond)
		defer ticker.Stop()
		for highest, ended := 0.0, false; ; {
			metrics.Read(sample)
			highest = max(highest, float64(sample[0].Value.Uint64()))
			if ended {
				peak <- highest
				return
			}
			select {
			case <-stop:
				ended = true
			case <-ticker.C:
			}
		}
	}()
	work()
	close(stop)
	return <-peak
}
