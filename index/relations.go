package index

import (
	"cmp"
	"iter"
	"strings"

	"github.com/oklog/ulid/v2"
)

func compareRelations(a, b Relation) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), a.Target.Compare(b.Target))
}

// connect remembers the edges of a live message at their targets, which need not
// exist, not now and not ever.
func (ix *Index) connect(source ulid.ULID, block []byte) {
	ix.edges(block, func(r Relation) {
		in := ix.incoming[r.Target]
		if in == nil {
			in = &ordered[Relation]{compare: compareRelations}
			ix.incoming[r.Target] = in
		}
		in.insert(Relation{Type: r.Type, Target: source})
	})
}

// disconnect forgets the edges of a message that goes. Edges to it stay: they
// belong to their sources.
func (ix *Index) disconnect(source ulid.ULID, block []byte) {
	ix.edges(block, func(r Relation) {
		in := ix.incoming[r.Target]
		in.remove(Relation{Type: r.Type, Target: source})
		if in.length == 0 {
			delete(ix.incoming, r.Target)
		}
	})
}

// edges calls yield for the relations that stand in a block.
func (ix *Index) edges(block []byte, yield func(Relation)) {
	r := blockReader{block}
	r.tags(func([]byte) {})
	r.relations(func(kind uint32, target ulid.ULID) {
		yield(Relation{Type: ix.types.values[kind], Target: target})
	})
}

// Outgoing returns the relations of a live message as its Doc gave them, to
// messages that may be deleted or unknown. The caller owns the slice.
func (ix *Index) Outgoing(id ulid.ULID) []Relation {
	var relations []Relation
	if ordinal, ok := ix.byID[id]; ok {
		ix.edges(ix.rows.block(ordinal), func(r Relation) { relations = append(relations, r) })
	}
	return relations
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
	for _, r := range ix.Outgoing(id) {
		if ix.Contains(r.Target) {
			n++
		}
	}
	if in := ix.incoming[id]; in != nil {
		n += in.length
	}
	return n
}
