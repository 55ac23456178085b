package index

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unique"

	"github.com/oklog/ulid/v2"
)

func compareRelations(a, b Relation) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), a.Target.Compare(b.Target))
}

// connect remembers the edges of a live message, at both ends. The target need
// not exist, not now and not ever.
func (ix *Index) connect(source ulid.ULID, relations []Relation) {
	if len(relations) == 0 {
		return
	}
	edges := make([]Relation, len(relations))
	for i, r := range relations {
		// One copy of each type serves all edges.
		r.Type = unique.Make(r.Type).Value()
		edges[i] = r
		in := ix.incoming[r.Target]
		if in == nil {
			in = &ordered[Relation]{compare: compareRelations}
			ix.incoming[r.Target] = in
		}
		in.insert(Relation{Type: r.Type, Target: source})
	}
	ix.outgoing[source] = edges
}

// disconnect forgets the edges of a message that goes. Edges to it stay: they
// belong to their sources.
func (ix *Index) disconnect(source ulid.ULID) {
	for _, r := range ix.outgoing[source] {
		in := ix.incoming[r.Target]
		in.remove(Relation{Type: r.Type, Target: source})
		if in.length == 0 {
			delete(ix.incoming, r.Target)
		}
	}
	delete(ix.outgoing, source)
}

// Outgoing returns the relations of a live message as its Doc gave them, to
// messages that may be deleted or unknown. The caller owns the slice.
func (ix *Index) Outgoing(id ulid.ULID) []Relation {
	return slices.Clone(ix.outgoing[id])
}

// Incoming yields the live messages that have a relation of that type to id,
// which itself need not be live, in the order of their ids. Stopping early costs
// nothing for the rest.
func (ix *Index) Incoming(id ulid.ULID, relation string) iter.Seq[ulid.ULID] {
	return func(yield func(ulid.ULID) bool) {
		in := ix.incoming[id]
		if in == nil {
			return
		}
		first := in.seek(func(r Relation) bool { return r.Type < relation })
		for r := range in.forward(first) {
			if r.Type != relation || !yield(r.Target) {
				return
			}
		}
	}
}

// RelationCount counts the relations of id to live messages and those of live
// messages to it.
func (ix *Index) RelationCount(id ulid.ULID) int {
	n := 0
	for _, r := range ix.outgoing[id] {
		if ix.Contains(r.Target) {
			n++
		}
	}
	if in := ix.incoming[id]; in != nil {
		n += in.length
	}
	return n
}
