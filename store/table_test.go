package store

import (
	"bytes"
	"encoding/binary"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// placed is a record as inLogOrder yields it.
type placed struct {
	ID ulid.ULID
	At location
}

var comparePlaced = cmp.AllowUnexported(location{})

func collect(f *frozenTable) []placed {
	var got []placed
	for id, at := range f.inLogOrder() {
		got = append(got, placed{id, at})
	}
	return got
}

func modelInLogOrder(model map[ulid.ULID]location) []placed {
	var want []placed
	for id, at := range model {
		want = append(want, placed{id, at})
	}
	slices.SortFunc(want, func(a, b placed) int { return int(a.At.offset - b.At.offset) })
	return want
}

// numbered returns an id for every n, scattered as random ids are.
func numbered(n uint64) (id ulid.ULID) {
	binary.BigEndian.PutUint64(id[:], n*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

// nth is where the n-th frame of a log of equal frames stands.
func nth(n int) location {
	size := frameSize(100)
	return location{offset: headerSize + int64(n)*size, size: size}
}

func filled(n int) *table {
	t := newTable()
	for i := range n {
		t.put(numbered(uint64(i)), nth(i))
	}
	return t
}

// snapshotOf is a frozen table beside what it must hold for ever.
type snapshotOf struct {
	frozen *frozenTable
	want   []placed
}

// tableMachine drives a table and a map with the same calls.
type tableMachine struct {
	table    *table
	model    map[ulid.ULID]location
	frames   int
	frozen   []snapshotOf
	universe uint64 // how many different ids there are
}

// some draws how often a step is done, and with which ids. Drawing each id
// would make long runs slow, and short ones never split a bucket.
func (m *tableMachine) some(t *rapid.T) iter.Seq[ulid.ULID] {
	count := rapid.SampledFrom([]int{1, 1, 300}).Draw(t, "count")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	return func(yield func(ulid.ULID) bool) {
		for range count {
			if !yield(numbered(1 + r.Uint64N(m.universe))) {
				return
			}
		}
	}
}

func (m *tableMachine) put(t *rapid.T) {
	for id := range m.some(t) {
		m.frames++
		want, wantExisted := m.model[id]
		m.model[id] = nth(m.frames)
		if old, existed := m.table.put(id, nth(m.frames)); old != want || existed != wantExisted {
			t.Fatalf("put returned %v, %v, want %v, %v", old, existed, want, wantExisted)
		}
	}
}

func (m *tableMachine) remove(t *rapid.T) {
	for id := range m.some(t) {
		want, wantExisted := m.model[id]
		delete(m.model, id)
		if old, existed := m.table.remove(id); old != want || existed != wantExisted {
			t.Fatalf("remove returned %v, %v, want %v, %v", old, existed, want, wantExisted)
		}
	}
}

func (m *tableMachine) freeze(*rapid.T) {
	m.frozen = append(m.frozen, snapshotOf{m.table.freeze(), modelInLogOrder(m.model)})
}

func (m *tableMachine) check(t *rapid.T) {
	if m.table.len() != len(m.model) {
		t.Fatalf("len is %d, want %d", m.table.len(), len(m.model))
	}
	id := numbered(rapid.Uint64Range(1, m.universe).Draw(t, "looked up"))
	want, wantExists := m.model[id]
	if got, exists := m.table.get(id); got != want || exists != wantExists {
		t.Fatalf("get returned %v, %v, want %v, %v", got, exists, want, wantExists)
	}
}

// checkIndex looks at what no call shows: whether the table is as compact and
// its index as well formed as both claim.
func checkIndex(t rapid.TB, table *table) {
	x, members, buckets := &table.index, 0, map[*bucket]int{}
	for i, b := range x.directory {
		buckets[b]++
		if buckets[b] > 1 && x.directory[i-1] != b {
			t.Fatalf("a bucket of depth %d stands in places apart", b.depth)
		}
	}
	for b, places := range buckets {
		used := 0
		for _, ref := range b.refs {
			if ref != 0 {
				used++
			}
		}
		if used != int(b.used) || used > bucketFull || places != 1<<(x.depth-b.depth) {
			t.Fatalf("%d members, %d counted, in %d places at depth %d of %d", used, b.used, places, b.depth, x.depth)
		}
		members += used
	}
	if members != table.len() || len(buckets) != int(x.buckets) {
		t.Fatalf("%d members in %d buckets, want %d in %d", members, len(buckets), table.len(), x.buckets)
	}
}

func (m *tableMachine) checkFrozen(t *rapid.T) {
	for i, f := range m.frozen {
		if f.frozen.len() != len(f.want) {
			t.Fatalf("frozen table %d has %d records, want %d", i, f.frozen.len(), len(f.want))
		}
		if got := collect(f.frozen); !slices.Equal(f.want, got) {
			t.Fatalf("frozen table %d changed:\n%s", i, cmp.Diff(f.want, got, comparePlaced))
		}
	}
}

func TestTableIsAMap(t *testing.T) {
	var largest, frozen, runs int
	rapid.Check(t, func(t *rapid.T) {
		m := &tableMachine{table: newTable(), model: map[ulid.ULID]location{}}
		m.universe = rapid.Uint64Range(1, 4000).Draw(t, "universe")
		if rapid.Bool().Draw(t, "start full") {
			for n := range m.universe {
				m.frames++
				m.table.put(numbered(n+1), nth(m.frames))
				m.model[numbered(n+1)] = nth(m.frames)
			}
		}
		t.Repeat(map[string]func(*rapid.T){"put": m.put, "remove": m.remove, "freeze": m.freeze, "": m.check})
		m.freeze(t)
		m.checkFrozen(t)
		checkIndex(t, m.table)
		for id, want := range m.model {
			if got, exists := m.table.get(id); got != want || !exists {
				t.Fatalf("at the end get returned %v, %v, want %v", got, exists, want)
			}
		}
		largest, frozen, runs = max(largest, m.table.len()), frozen+len(m.frozen), runs+1
	})
	t.Logf("%d runs, up to %d records, %d frozen tables compared", runs, largest, frozen)
}

func TestTableKeepsTheWholeRangeOfPlaces(t *testing.T) {
	places := []location{
		{headerSize, frameSize(0)},
		{1 << 32, frameSize(MaxPayload)},
		{1<<48 - 8, frameSize(MaxPayload)},
		{maxOffset, frameSize(0)},
		{maxOffset, frameSize(MaxPayload)},
	}
	table := newTable()
	for i, at := range places {
		table.put(numbered(uint64(i)), at)
	}
	for i, want := range places {
		if got, ok := table.get(numbered(uint64(i))); got != want || !ok {
			t.Errorf("got %v, %v, want %v", got, ok, want)
		}
	}
}

func TestTableRefusesImpossiblePlaces(t *testing.T) {
	for name, at := range map[string]location{
		"inside the header": {headerSize - 8, frameSize(0)},
		"crooked offset":    {headerSize + 1, frameSize(0)},
		"offset too large":  {maxOffset + 8, frameSize(0)},
		"negative offset":   {-8, frameSize(0)},
		"size of no frame":  {headerSize, frameSize(0) - 8},
		"crooked size":      {headerSize, frameSize(0) + 4},
		"size too large":    {headerSize, frameSize(MaxPayload) + 8},
		"zero":              {},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the table took it")
				}
			}()
			newTable().put(numbered(1), at)
		})
	}
}

// TestBucketWithOneHome gives all entries of a bucket one home, as if the
// hash were as bad as can be.
func TestBucketWithOneHome(t *testing.T) {
	b, hashes := &bucket{}, map[uint32]uint64{}
	for ref := uint32(1); ref <= bucketFull; ref++ {
		hashes[ref] = 0xffffffff<<8 | uint64(ref&0xff) // the last home, so that it wraps
		b.insert(hashes[ref], ref)
	}
	found := map[uint32]bool{}
	slot := homeSlot(hashes[1])
	for ; b.refs[slot] != 0; slot = nextSlot(slot) {
		found[b.refs[slot]] = b.tags[slot] == tagOf(hashes[b.refs[slot]])
	}
	for ref := range hashes {
		if !found[ref] {
			t.Errorf("reference %d is not reachable under its tag", ref)
		}
	}
}

// TestSplitOfABucketInManyPlaces starts with a directory that is far ahead of
// its buckets, as chance leads to seldom.
func TestSplitOfABucketInManyPlaces(t *testing.T) {
	table := newTable()
	for range 4 {
		table.index.double()
	}
	for i := range 5000 {
		table.put(numbered(uint64(i)), nth(i))
	}
	checkIndex(t, table)
	for i := range 5000 {
		if at, ok := table.get(numbered(uint64(i))); !ok || at != nth(i) {
			t.Fatalf("record %d: got %v, %v", i, at, ok)
		}
	}
}

// TestFrozenTablesAreReadWhileTheTableChanges is for the race detector.
func TestFrozenTablesAreReadWhileTheTableChanges(t *testing.T) {
	const records = 3 * pageEntries
	table := filled(records)
	model := map[ulid.ULID]location{}
	for i := range records {
		model[numbered(uint64(i))] = nth(i)
	}
	var readers sync.WaitGroup
	compared := make(chan bool, 100)
	for round := range 50 {
		frozen, want := table.freeze(), maps.Clone(model)
		readers.Go(func() {
			compared <- slices.Equal(modelInLogOrder(want), collect(frozen))
		})
		for i := range 40 {
			id, at := numbered(uint64((round*7+i*19)%records)), nth(records+round*40+i)
			if i%3 == 0 {
				table.remove(id)
				delete(model, id)
				continue
			}
			table.put(id, at)
			model[id] = at
		}
	}
	readers.Wait()
	close(compared)
	rounds := 0
	for same := range compared {
		if rounds++; !same {
			t.Error("a frozen table changed")
		}
	}
	t.Logf("%d frozen tables read while the table changed", rounds)
}

func TestFreezeCopiesOnlyPagesThatChange(t *testing.T) {
	table := filled(10 * pageEntries)
	frozen := table.freeze()
	table.put(numbered(0), nth(100_000))
	table.remove(numbered(1))
	table.put(numbered(5*pageEntries), nth(100_001))
	var copied []int
	for i, p := range table.pages {
		if p != frozen.pages[i] {
			copied = append(copied, i)
		}
	}
	if diff := cmp.Diff([]int{0, 5}, copied); diff != "" {
		t.Errorf("copied pages:\n%s", diff)
	}
	own := table.pages[0]
	table.put(numbered(2), nth(100_002))
	if table.pages[0] != own {
		t.Error("the second change of a page copied it again")
	}
}

// TestRemovedIDsLeaveMemory: what a user deletes is not kept.
func TestRemovedIDsLeaveMemory(t *testing.T) {
	table := filled(5)
	table.remove(numbered(3))
	for ordinal := range uint32(5) {
		id, gone := table.entry(reference(ordinal)).id, numbered(3)
		if bytes.Equal(id[8:], gone[8:]) { // a free entry keeps a number in front
			t.Error("a part of the removed record's id is still there")
		}
	}
}

func TestEmptyTable(t *testing.T) {
	table := newTable()
	if _, ok := table.get(numbered(1)); ok {
		t.Error("an empty table holds a record")
	}
	if _, ok := table.remove(numbered(1)); ok {
		t.Error("an empty table removed a record")
	}
	if diff := cmp.Diff([]placed(nil), collect(table.freeze()), comparePlaced, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
