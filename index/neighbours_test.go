package index

import (
	"slices"
	"testing"
)

// besideIndex holds ten messages with the ids 1 to 10; 5 is of another session.
// Their rows are one less.
func besideIndex() *Index {
	ix := New(Standard())
	for i := range 10 {
		session := "talk"
		if i == 4 {
			session = "other"
		}
		ix.Put(uint64(i), Doc{ID: makeID(i+1, 0), Session: session, Content: "word"})
	}
	return ix
}

// What stands beside messages: up to the reach and not beyond it, of the same
// session, each row once and none of the messages themselves.
func TestBeside(t *testing.T) {
	ix := besideIndex()
	v := ix.View(nil, Filter{})
	for _, test := range []struct {
		name  string
		rows  []uint32
		reach int
		want  []uint32
	}{
		{"in the middle", []uint32{2}, 1, []uint32{1, 3}},
		{"over a message of another session", []uint32{3}, 2, []uint32{1, 2, 5, 6}},
		{"first", []uint32{0}, 2, []uint32{1, 2}},
		{"last", []uint32{9}, 3, []uint32{6, 7, 8}},
		{"alone", []uint32{4}, 5, nil},
		{"no reach", []uint32{2}, 0, nil},
		{"side by side", []uint32{6, 5}, 1, []uint32{3, 7}},
		{"around one", []uint32{8, 6}, 1, []uint32{5, 7, 9}},
		{"none", nil, 2, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			given := slices.Clone(test.rows)
			if got := ix.Beside(v, given, test.reach); !slices.Equal(got, test.want) {
				t.Errorf("rows %v, want %v", got, test.want)
			}
			if !slices.Equal(given, test.rows) {
				t.Errorf("the caller's rows are now %v", given)
			}
		})
	}
}

// What the view has not seen is left out, also when it stands where the view has a
// row in another page.
func TestBesideAfterChanges(t *testing.T) {
	ix := besideIndex()
	v := ix.View(nil, Filter{})
	ix.Put(20, Doc{ID: makeID(7, 0), Session: "talk", Content: "changed"})
	ix.Delete(21, makeID(9, 0))
	ix.Put(22, Doc{ID: makeID(8, 5), Session: "talk", Content: "written"})
	for i := 0; ix.rows.next()%pageRows != 3; i++ {
		ix.Put(uint64(30+i), Doc{ID: makeID(100+i, 0), Session: "filler"})
	}
	ix.Put(9000, Doc{ID: makeID(8, 6), Session: "talk", Content: "written in another page"})
	// In the session there are now 1 2 3 4 6 7' 8 8.5 8.6 10.
	if got, want := ix.Beside(v, []uint32{7}, 3), []uint32{3, 5, 9}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}
