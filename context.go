package convmem

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/oklog/ulid/v2"
)

func (db *DB) context(ctx context.Context, r ContextRequest) (*ContextResult, error) {
	id, err := parseID("message_id", r.MessageID)
	if err != nil {
		return nil, err
	}
	plan, err := r.plan()
	if err != nil {
		return nil, err
	}
	var b contextBuilder
	err = db.at(ctx, plan.cut, func(m *moment) error {
		b = contextBuilder{plan: plan, room: allowance{left: db.maxResultBytes}}
		return b.build(m, id)
	})
	if err != nil {
		return nil, err
	}
	return &b.result, nil
}

// contextBuilder fills a context in the order in which its parts matter: the
// message, its neighbours from near to far, its relations in their order. The
// first that does not fit ends it, and Truncated says so.
type contextBuilder struct {
	plan   contextPlan
	room   allowance
	count  int // messages so far, deleted ones too
	result ContextResult
}

func (b *contextBuilder) build(m *moment, id ulid.ULID) error {
	session, live := m.space.index.Session(id)
	if !live {
		return notFound(id.String())
	}
	message, err := m.message(id)
	if err != nil {
		return err
	}
	b.add(message.size())
	b.result.Message = message
	info, _ := m.space.index.SessionInfo(session)
	b.result.Session = SessionRef{SessionID: message.SessionID, MessageCount: info.Messages}
	if err := b.addNeighbours(m, session, id); err != nil {
		return err
	}
	return b.addRelations(m, id)
}

// add counts one more message, or marks the result truncated where the bytes do
// not suffice.
func (b *contextBuilder) add(size int) bool {
	if !b.room.take(size) {
		b.result.Truncated = true
		return false
	}
	b.count++
	return true
}

func (b *contextBuilder) addNeighbours(m *moment, session string, id ulid.ULID) error {
	near, _, err := m.neighbours(session, id, b.plan.before, b.plan.after, b.add)
	b.result.Before, b.result.After = near.before, near.after
	return err
}

// neighbours are messages around another one, in creation order.
type neighbours struct{ before, after []Message }

// neighbours reads up to before and after messages around id, from near to far
// and turn by turn, until one does not fit; complete tells whether all did.
func (m *moment) neighbours(session string, id ulid.ULID, before, after int, fits func(size int) bool) (n neighbours, complete bool, err error) {
	earlier := firstOf(m.space.index.History(session, id, true), before)
	later := firstOf(m.space.index.History(session, id, false), after)
	complete = true
	add := func(list []Message, ids []ulid.ULID, i int) []Message {
		if i >= len(ids) || !complete || err != nil {
			return list
		}
		var message Message
		if message, err = m.message(ids[i]); err != nil {
			return list
		}
		if complete = fits(message.size()); !complete {
			return list
		}
		return append(list, message)
	}
	for i := range max(len(earlier), len(later)) {
		n.before = add(n.before, earlier, i)
		n.after = add(n.after, later, i)
	}
	slices.Reverse(n.before)
	return n, complete, err
}

func firstOf(ids iter.Seq[ulid.ULID], count int) []ulid.ULID {
	var first []ulid.ULID
	if count == 0 {
		return nil
	}
	for id := range ids {
		if first = append(first, id); len(first) == count {
			break
		}
	}
	return first
}

// addRelations walks the relations breadth first, hop by hop.
func (b *contextBuilder) addRelations(m *moment, start ulid.ULID) error {
	walk := relationWalk{space: m.space, types: b.plan.types, seen: map[ulid.ULID]bool{start: true}}
	frontier := []ulid.ULID{start}
	for depth := 1; depth <= b.plan.depth; depth++ {
		found := walk.step(frontier, MaxContextMessages-b.count+1)
		frontier = nil
		for _, e := range found {
			if err := b.addRelated(m, e, depth); err != nil || b.result.Truncated {
				return err
			}
			if m.space.index.Contains(e.id) {
				frontier = append(frontier, e.id)
			}
		}
	}
	return nil
}

// addRelated shows where an edge leads, unless the result is full: messages and
// neighbours alone never fill it, so only relations are counted against the
// number of messages.
func (b *contextBuilder) addRelated(m *moment, e edge, depth int) error {
	if b.count == MaxContextMessages {
		b.result.Truncated = true
		return nil
	}
	related := RelatedMessage{Type: e.relation, Direction: e.direction, Depth: depth, MessageID: e.id.String()}
	size := ulid.EncodedSize
	if m.space.index.Contains(e.id) {
		message, err := m.message(e.id)
		if err != nil {
			return err
		}
		related.Message, size = &message, message.size()
	}
	if b.add(size) {
		b.result.Relations = append(b.result.Relations, related)
	}
	return nil
}

// edge is a relation as seen from one of its ends.
type edge struct {
	direction Direction
	relation  RelationType
	id        ulid.ULID // the other end
}

// compareEdges is the order of relations at one depth: outgoing before
// incoming, then type as declared, then id.
func compareEdges(a, b edge) int {
	return cmp.Or(
		-cmp.Compare(a.direction, b.direction), // "outgoing" is the greater word
		cmp.Compare(position(relationTypes, a.relation), position(relationTypes, b.relation)),
		a.id.Compare(b.id),
	)
}

// relationWalk finds each message once, at its least depth.
type relationWalk struct {
	space *space
	types []RelationType // followed; empty means all
	seen  map[ulid.ULID]bool
}

// step returns the first edges from the frontier to messages not seen before: at
// least enough for limit messages if there are so many, and all if not. Of
// several edges to one message it is the first in the order.
func (w *relationWalk) step(frontier []ulid.ULID, limit int) []edge {
	var edges []edge
	for _, id := range frontier {
		edges = w.appendOutgoing(edges, id)
		edges = w.appendIncoming(edges, id, limit)
	}
	slices.SortFunc(edges, compareEdges)
	return slices.DeleteFunc(edges, func(e edge) bool {
		seen := w.seen[e.id]
		w.seen[e.id] = true
		return seen
	})
}

func (w *relationWalk) appendOutgoing(edges []edge, id ulid.ULID) []edge {
	for _, r := range w.space.index.Outgoing(id) {
		if relation := RelationType(r.Type); w.follows(relation) && !w.seen[r.Target] {
			edges = append(edges, edge{Outgoing, relation, r.Target})
		}
	}
	return edges
}

// appendIncoming adds no more than limit edges of each type: a message that
// thousands refer to must not cost more than what can be shown.
func (w *relationWalk) appendIncoming(edges []edge, id ulid.ULID, limit int) []edge {
	for _, relation := range relationTypes {
		if !w.follows(relation) {
			continue
		}
		count := 0
		for source := range w.space.index.Incoming(id, string(relation)) {
			if w.seen[source] {
				continue
			}
			if count++; count > limit {
				break
			}
			edges = append(edges, edge{Incoming, relation, source})
		}
	}
	return edges
}

func (w *relationWalk) follows(relation RelationType) bool {
	return len(w.types) == 0 || slices.Contains(w.types, relation)
}
