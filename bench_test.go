package convmem_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

var benchMessages = flag.Int("messages", 20_000, "messages of the store that BenchmarkOpen opens")

// someContent is 20 words that are as frequent as those of a language.
func someContent(r *rand.Rand, zipf *rand.Zipf) string {
	var b strings.Builder
	for range 20 {
		n := zipf.Uint64()
		b.WriteString("w")
		for ; n > 0; n /= 20 {
			b.WriteByte("bcdfghjklmnpqrtvwxzb"[n%20])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// fillStore writes messages from many goroutines, which share syncs.
func fillStore(b *testing.B, dir string, n int) {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	const writers = 256
	for w := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			zipf := rand.NewZipf(r, 1.1, 4, 100_000)
			for i := w; i < n; i += writers {
				_, err := db.Write(ctx, convmem.WriteRequest{
					SessionID: fmt.Sprint("session ", r.IntN(1+n/200)), Role: convmem.RoleUser, Content: someContent(r, zipf),
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen opens a store of -messages messages with its snapshot and without,
// index included, and reports the ratio.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	fillStore(b, dir, *benchMessages)
	fsys, err := vfs.OS(dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		with := timeOpen(b, dir, true)
		if err := fsys.Remove("convmem.snap"); err != nil {
			b.Fatal(err)
		}
		without := timeOpen(b, dir, false)
		b.ReportMetric(with.Seconds(), "s/snapshot")
		b.ReportMetric(without.Seconds(), "s/replay")
		b.ReportMetric(without.Seconds()/with.Seconds(), "replay/snapshot")
	}
}

// timeOpen closes without harm: Close writes a snapshot again.
func timeOpen(b *testing.B, dir string, snapshot bool) time.Duration {
	start := time.Now()
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	health, err := db.Health(ctx, convmem.HealthRequest{})
	if err != nil || health.ActiveMessages != int64(*benchMessages) || snapshot != health.SnapshotValid {
		b.Fatalf("%+v, %v", health, err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}
