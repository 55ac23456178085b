package store_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/convmem/store"
	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// The benchmarks compare the store with the least that any store must do, in
// alternating blocks of one run, and report medians of ratios: times of a shared
// machine say little, ratios taken side by side say more. One iteration is a
// whole measurement:
//
//	go test ./store -run '^$' -bench . -benchtime 1x
//
// The stores are made below TMPDIR. It must be on the disk that is meant: on a
// file system in memory a sync costs nothing and the ratios mean nothing.

const (
	payloadSize = 1 << 10 // of a write
	writerCount = 64
	roundCount  = 7
)

// variant is a way to open a store.
type variant struct {
	name    string
	options store.Options
}

func variants() []variant {
	return []variant{
		{"default", store.Options{NewSink: newNothing}},
		{"exclusive", store.Options{NewSink: newNothing, Exclusive: true}},
	}
}

// nothing is a Sink that keeps nothing, so that only the store is measured.
type nothing struct{}

func newNothing() store.Sink { return nothing{} }

func (nothing) Apply(store.Record) error { return nil }

func (nothing) Save() []store.Section { return nil }

func (nothing) Restore(func(string) (store.SavedSection, bool)) (complete bool, err error) {
	return true, nil
}

// BenchmarkLoneWrite compares the latency of a single writer's Update with that
// of appending as many bytes to a file and syncing its data.
func BenchmarkLoneWrite(b *testing.B) {
	forEachVariant(b, func(b *testing.B, w *writer) {
		var ratios, bare []float64
		for b.Loop() {
			for range roundCount {
				ours, theirs := medianTime(b, w.update), medianTime(b, w.bare.append)
				ratios = append(ratios, ours/theirs)
				bare = append(bare, theirs)
			}
		}
		report(b, ratios, "x-bare")
		report(b, bare, "bare-ns")
	})
}

// medianTime is the median time in nanoseconds that work takes.
func medianTime(b *testing.B, work func() error) float64 {
	const writes = 200
	times := make([]float64, writes)
	for i := range times {
		start := time.Now()
		check(b, work())
		times[i] = float64(time.Since(start))
	}
	return median(times)
}

// Benchmark64Writers compares the throughput of many writers with that of as
// many goroutines that append to a file and sync it one after another.
func Benchmark64Writers(b *testing.B) {
	forEachVariant(b, func(b *testing.B, w *writer) {
		var ratios []float64
		for b.Loop() {
			for range roundCount {
				ours := together(b, w.update)
				ratios = append(ratios, together(b, w.bare.append).Seconds()/ours.Seconds())
			}
		}
		report(b, ratios, "x-bare-throughput")
	})
}

// writesEach is how often each goroutine of together works.
const writesEach = 16

// together runs work in many goroutines at once and returns how long they took.
func together(b *testing.B, work func() error) time.Duration {
	failures := make(chan error, writerCount)
	start := time.Now()
	for range writerCount {
		go func() {
			var err error
			for i := 0; i < writesEach && err == nil; i++ {
				err = work()
			}
			failures <- err
		}()
	}
	for range writerCount {
		check(b, <-failures)
	}
	return time.Since(start)
}

// BenchmarkBytesPerByte counts what is written for each byte of payload, and how
// often a write syncs. It is exact, except that luck decides who rides with whom.
func BenchmarkBytesPerByte(b *testing.B) {
	alone := func(b *testing.B, w *writer) {
		for range writerCount * writesEach {
			check(b, w.update())
		}
	}
	b.Run("alone", func(b *testing.B) { countBytes(b, alone) })
	b.Run("64writers", func(b *testing.B) { countBytes(b, func(b *testing.B, w *writer) { together(b, w.update) }) })
}

func countBytes(b *testing.B, write func(*testing.B, *writer)) {
	w := newWriter(b, variants()[0].options)
	before := w.log.Stats()
	for b.Loop() {
		write(b, w)
	}
	after := w.log.Stats()
	writes := float64(after.LiveRecords - before.LiveRecords)
	b.ReportMetric(float64(after.IO.WriteBytes-before.IO.WriteBytes)/writes/payloadSize, "bytes/byte")
	b.ReportMetric(float64(after.IO.FlushCalls-before.IO.FlushCalls)/writes, "syncs/write")
	b.ReportMetric(0, "ns/op")
}

// writer makes the writes of a benchmark: to a store, and to a bare file beside
// it that grows by as many bytes.
type writer struct {
	log     *store.Log
	ids     *ids
	payload []byte
	bare    *bareFile
}

// forEachVariant runs a benchmark on a new store for each variant.
func forEachVariant(b *testing.B, run func(*testing.B, *writer)) {
	for _, v := range variants() {
		b.Run(v.name, func(b *testing.B) { run(b, newWriter(b, v.options)) })
	}
}

func newWriter(b *testing.B, o store.Options) *writer {
	dir := b.TempDir()
	w := &writer{log: open(b, dir, o), ids: newIDs(), payload: noise(payloadSize)}
	b.Cleanup(func() { check(b, w.log.Close()) })
	before := w.log.Stats().LogSize
	check(b, w.update())
	w.bare = newBareFile(b, dir, noise(int(w.log.Stats().LogSize-before)))
	return w
}

func (w *writer) update() error {
	return w.log.Update(context.Background(), func(tx *store.Tx) error {
		tx.Put(w.ids.next(), w.payload)
		return nil
	})
}

// bareFile is a file that is appended to and synced, and nothing else.
type bareFile struct {
	file  vfs.File
	chunk []byte

	mu  sync.Mutex
	end int64
}

func newBareFile(b *testing.B, dir string, chunk []byte) *bareFile {
	file, err := osFS(b, dir).Create("bare")
	check(b, err)
	b.Cleanup(func() { check(b, file.Close()) })
	return &bareFile{file: file, chunk: chunk}
}

func (f *bareFile) append() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.file.WriteAt(f.chunk, f.end); err != nil {
		return err
	}
	f.end += int64(len(f.chunk))
	return f.file.SyncData()
}

// ids makes ids as a store of messages does: by time, random within a
// millisecond, greater than all before.
type ids struct {
	mu      sync.Mutex
	count   uint64
	entropy *ulid.MonotonicEntropy
}

func newIDs() *ids {
	return &ids{entropy: ulid.Monotonic(rand.NewChaCha8([32]byte{1}), 0)}
}

func (s *ids) next() ulid.ULID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return ulid.MustNew(1_700_000_000_000+s.count/4, s.entropy)
}

func open(b *testing.B, dir string, o store.Options) *store.Log {
	log, err := store.Open(context.Background(), osFS(b, dir), o)
	check(b, err)
	return log
}

func osFS(b *testing.B, dir string) vfs.FS {
	fsys, err := vfs.OS(dir)
	check(b, err)
	return fsys
}

// noise is random bytes, the same in every run.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(b) // never fails
	return b
}

// timed is how many seconds work takes.
func timed(work func()) float64 {
	start := time.Now()
	work()
	return time.Since(start).Seconds()
}

// report reports the median in place of the time of an iteration, which means
// nothing here.
func report(b *testing.B, values []float64, unit string) {
	b.ReportMetric(median(values), unit)
	b.ReportMetric(0, "ns/op")
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func check(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}
