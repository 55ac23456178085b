package store

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// heapOf returns what the heap holds for the value that build returns.
func heapOf[T any](build func() T) (value T, bytes int64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	value = build()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return value, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// TestTableMemory also looks, on the way to the last size, for the moment at
// which growth has just left the most unused room.
func TestTableMemory(t *testing.T) {
	for _, records := range []int{1_000, 10_000, 100_000, 1_000_000} {
		var worst float64
		table, heap := heapOf(func() *table {
			table := newTable()
			for i := range records {
				table.put(numbered(uint64(i)), nth(i))
				if i >= 50_000 && i%1000 == 0 {
					worst = max(worst, float64(table.memory())/float64(table.len()))
				}
			}
			return table
		})
		estimate, perRecord := table.memory(), float64(heap)/float64(table.len())
		t.Logf("%7d records: heap %9d bytes, %.1f a record, at worst %.1f; memory() says %9d",
			records, heap, perRecord, worst, estimate)
		if estimate < heap*8/10 || estimate > heap*12/10 {
			t.Errorf("%d records: memory() says %d, the heap holds %d", records, estimate, heap)
		}
		if records >= 100_000 && max(perRecord, worst) > 48 {
			t.Errorf("%d records take up to %.1f bytes each, more than 48", records, max(perRecord, worst))
		}
	}
}

func TestTableMemoryIsBoundedUnderChurn(t *testing.T) {
	const records, rounds = 5_000, 20
	table := filled(records)
	next := uint64(records)
	start := table.memory()
	for range rounds * records {
		table.remove(numbered(next - records))
		table.put(numbered(next), nth(int(next)))
		next++
	}
	t.Logf("%d removes and puts: %d bytes before, %d after", rounds*records, start, table.memory())
	if grown := table.memory(); grown > 48*records {
		t.Errorf("%d bytes for %d records after churn", grown, records)
	}
	if table.len() != records || int(table.used) > records+1 {
		t.Errorf("%d records in %d entries, want %d in as many", table.len(), table.used, records)
	}
	for n := next - records; n < next; n++ {
		if at, ok := table.get(numbered(n)); !ok || at != nth(int(n)) {
			t.Fatalf("record %d: got %v, %v", n, at, ok)
		}
	}
}

const benchmarkRecords = 1_000_000

func BenchmarkTablePut(b *testing.B) {
	for b.Loop() {
		filled(benchmarkRecords)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchmarkRecords, "ns/put")
}

func BenchmarkTableGet(b *testing.B) {
	table := filled(benchmarkRecords)
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := table.get(numbered(r.Uint64N(benchmarkRecords))); !ok {
			b.Fatal("missing")
		}
	}
}

func BenchmarkTableFreeze(b *testing.B) {
	table := filled(benchmarkRecords)
	b.ReportAllocs()
	for b.Loop() {
		table.freeze()
	}
}

func BenchmarkTableInLogOrder(b *testing.B) {
	table := filled(benchmarkRecords)
	for i, n := range rand.New(rand.NewPCG(1, 2)).Perm(benchmarkRecords) {
		table.put(numbered(uint64(n)), nth(benchmarkRecords+i))
	}
	frozen := table.freeze()
	for b.Loop() {
		for range frozen.inLogOrder() {
		}
	}
}
