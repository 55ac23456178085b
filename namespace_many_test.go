package convmem_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

var crowdNamespaces = flag.Int("namespaces", 500, "namespaces of the store that TestManyNamespaces opens")

const crowdMessages = 10 // of each namespace

// ownWord is a word of letters that only namespace n has.
func ownWord(n int) string {
	letters := []byte(fmt.Sprint(n))
	for i := range letters {
		letters[i] += 'b' - '0'
	}
	return "zx" + string(letters) + "q"
}

// crowdContent is what message i of namespace n says.
func crowdContent(n, i int) string {
	return fmt.Sprintf("%s asked about the database choice, answer %d: PostgreSQL, because everybody in the team knows it well", ownWord(n), i)
}

// fillCrowd writes the same messages to as many namespaces as are given, each in
// one batch, or all of them to the namespace "".
func fillCrowd(w *world, namespaces int, apart bool) {
	for n := range namespaces {
		var batch convmem.WriteBatchRequest
		for i := range crowdMessages {
			batch.Messages = append(batch.Messages, convmem.WriteRequest{
				SessionID: fmt.Sprint("session ", n), Role: convmem.RoleUser, Content: crowdContent(n, i),
			})
		}
		name := ""
		if apart {
			name = fmt.Sprint("tenant ", n)
		}
		w.tick()
		_, err := w.db.Namespace(name).WriteBatch(ctx, batch)
		w.ok("write batch", err)
	}
}

// footprint opens a store three times and returns what it then holds on the heap,
// and how long opening took at best. Without a snapshot the whole log is indexed.
func (w *world) footprint(snapshot bool) (heap int64, best time.Duration) {
	w.Helper()
	for range 3 {
		w.ok("close", w.db.Close())
		w.db = nil
		if !snapshot {
			w.ok("remove", w.fsys.Remove("convmem.snap"))
		}
		before, start := heapInUse(), time.Now()
		w.open()
		if took := time.Since(start); best == 0 || took < best {
			best = took
		}
		heap = heapInUse() - before
		runtime.KeepAlive(w.db)
		if !snapshot {
			w.rebuild() // leaves another one
		}
	}
	return heap, best
}

// TestManyNamespaces compares messages in namespaces of ten with the same messages
// in one: what a namespace costs in memory beyond them has a limit. Nothing is
// said of time, which is only printed.
func TestManyNamespaces(t *testing.T) {
	withoutRaceDetector(t)
	heap := map[bool]int64{}
	for _, apart := range []bool{false, true} {
		w := newWorld(t, convmem.Options{FS: vfs.NewMem(0)})
		fillCrowd(w, *crowdNamespaces, apart)
		w.rebuild()
		restored, fast := w.footprint(true)
		indexed, slow := w.footprint(false)
		heap[apart] = restored
		t.Logf("%d messages, apart %v: %d bytes of heap from a snapshot (%v), %d from the log alone (%v)",
			*crowdNamespaces*crowdMessages, apart, restored, fast.Round(time.Millisecond), indexed, slow.Round(time.Millisecond))
		if apart {
			w.searchesInCrowd(*crowdNamespaces)
		} else {
			t.Logf("memory estimate: %d bytes", w.health().Memory.Total())
		}
		w.ok("close", w.db.Close())
	}
	each := (heap[true] - heap[false]) / int64(*crowdNamespaces)
	t.Logf("a namespace costs %d bytes beyond its messages", each)
	if each > 8<<10 {
		t.Errorf("a namespace costs %d bytes beyond its messages, want at most 8 KiB", each)
	}
}

// searchesInCrowd looks for a common word and for own and strange ones in some
// namespaces, and adds up what they say about memory.
func (w *world) searchesInCrowd(namespaces int) {
	w.Helper()
	for n := 0; n < namespaces; n += namespaces / 10 {
		view := w.db.Namespace(fmt.Sprint("tenant ", n))
		for query, want := range map[string]int{
			"postgresql": crowdMessages, ownWord(n): crowdMessages, ownWord(n + 1): 0,
		} {
			result, err := view.Search(ctx, convmem.SearchRequest{Query: query})
			w.ok("search", err)
			if len(result.Hits) != want {
				w.Errorf("tenant %d, %s: %d hits, want %d", n, query, len(result.Hits), want)
			}
		}
	}
	names, err := w.db.Namespaces(ctx)
	w.ok("namespaces", err)
	if len(names) != namespaces {
		w.Fatalf("%d namespaces, want %d", len(names), namespaces)
	}
	var parts int64
	for _, name := range names {
		h, err := w.db.Namespace(name).Health(ctx, convmem.HealthRequest{})
		w.ok("health", err)
		parts += h.Memory.Total() - h.Memory.StoreEntries
		if h.ActiveMessages != crowdMessages {
			w.Fatalf("%s has %d messages", name, h.ActiveMessages)
		}
	}
	w.Logf("memory estimates: %d bytes of the namespaces, %d of the log's table", parts, w.health().Memory.StoreEntries)
}
