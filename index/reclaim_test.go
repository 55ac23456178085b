package index

import "testing"

// Ordinals that begin anew are given as before: to one page after the other, as
// many as it has room for. A page that was being emptied is forgotten.
func TestRenumber(t *testing.T) {
	ix := New(Standard())
	ix.slackBytes = 0
	for i := range 3 * pageRows {
		ix.Put(uint64(i), Doc{ID: makeID(i+1, 0), Session: "s", Content: "fox"})
	}
	for i := range 600 {
		ix.Delete(uint64(4000+i), makeID(pageRows+1+i, 0))
	}
	if ix.moveOne() == 0 {
		t.Fatal("no page is more than half dead")
	}
	ix.renumber()
	if ix.emptying.page != nil {
		t.Error("a page of before is being emptied")
	}
	for i := range 10 {
		ix.Put(uint64(9000+i), Doc{ID: makeID(9000+i, 0), Session: "s", Content: "fox"})
	}
	if got := ix.rows.next(); int(got) != ix.Len() {
		t.Errorf("%d ordinals for %d messages", got, ix.Len())
	}
	if err := ix.Compare(ix); err != nil {
		t.Error(err)
	}
}

// Postings of dead rows go when they are the most of their list, though the term
// lives on.
func TestListsAreBounded(t *testing.T) {
	ix := New(Standard())
	ix.slackBytes = 1 << 40 // the rows stay
	for i := range 10_000 {
		ix.Put(uint64(i), Doc{ID: makeID(i%10, 0), Session: "s", Content: "fox"})
	}
	l := &ix.words.terms[0].postings
	if l.size > 2*l.frequency+blockPostings || l.frequency != 10 || len(l.data) > 1000 {
		t.Errorf("%d postings of %d bytes, %d of them live", l.size, len(l.data), l.frequency)
	}
}
