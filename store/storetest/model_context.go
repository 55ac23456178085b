package storetest

import (
	"slices"
	"strings"

	"example.com/convmem"
)

// step is one edge of the walk over relations.
type step struct {
	direction convmem.Direction
	kind      convmem.RelationType
	id        string
}

// compareSteps is the order of relations of one depth.
func compareSteps(a, b step) int {
	if a.direction != b.direction {
		if a.direction == convmem.Outgoing {
			return -1
		}
		return 1
	}
	if a.kind != b.kind {
		return slices.Index(relationTypes(), a.kind) - slices.Index(relationTypes(), b.kind)
	}
	return strings.Compare(a.id, b.id)
}

// context returns a message and its surroundings.
func (m *Model) context(r convmem.ContextRequest) (*convmem.ContextResult, error) {
	before, after := orDefaultAt(r.Before, convmem.DefaultNeighbours), orDefaultAt(r.After, convmem.DefaultNeighbours)
	depth := orDefaultAt(r.RelationDepth, convmem.DefaultRelationDepth)
	err := firstOf(
		checkID("message_id", r.MessageID),
		checkRange("before", before, 0, convmem.MaxNeighbours),
		checkRange("after", after, 0, convmem.MaxNeighbours),
		checkRange("relation_depth", depth, 0, convmem.MaxRelationDepth),
		checkChoices("relation_types", r.RelationTypes, relationTypes()),
		checkCut(r.MaxContentCharacters),
	)
	if err != nil {
		return nil, err
	}
	e, err := m.find(r.MessageID)
	if err != nil {
		return nil, err
	}
	var room room
	room.add(viewOf(e, r.MaxContentCharacters))
	earlier, following := m.neighbours(e, before, after)
	result := &convmem.ContextResult{
		Message: viewOf(e, r.MaxContentCharacters),
		Before:  room.keep(earlier, r.MaxContentCharacters),
		After:   room.keep(following, r.MaxContentCharacters),
		Session: convmem.SessionRef{SessionID: e.message.SessionID, MessageCount: len(m.session(e.message.SessionID))},
	}
	result.Relations = room.keepRelated(m.related(r.MessageID, depth, r.RelationTypes), m, r.MaxContentCharacters)
	result.Truncated = room.full
	return result, nil
}

// neighbours lists the live messages around e in its session, in the order of
// ids.
func (m *Model) neighbours(e *entry, before, after int) (earlier, following []*entry) {
	session := m.session(e.message.SessionID)
	i := slices.Index(session, e)
	return session[max(0, i-before):i], session[i+1 : min(len(session), i+1+after)]
}

// related walks the relations breadth first.
func (m *Model) related(start string, depth int, only []convmem.RelationType) []convmem.RelatedMessage {
	seen := map[string]bool{start: true}
	frontier := []string{start}
	var all []convmem.RelatedMessage
	for d := 1; d <= depth; d++ {
		var steps []step
		for _, id := range frontier {
			steps = append(steps, m.steps(id)...)
		}
		slices.SortFunc(steps, compareSteps)
		frontier = nil
		for _, s := range steps {
			if seen[s.id] || len(only) > 0 && !slices.Contains(only, s.kind) {
				continue
			}
			seen[s.id] = true
			all = append(all, convmem.RelatedMessage{Type: s.kind, Direction: s.direction, Depth: d, MessageID: s.id})
			if _, err := m.find(s.id); err == nil {
				frontier = append(frontier, s.id)
			}
		}
	}
	return all
}

// steps lists the edges at a live message: what it relates to, dead or alive,
// and what lives and relates to it.
func (m *Model) steps(id string) []step {
	var steps []step
	for _, e := range m.live() {
		for _, r := range e.message.Metadata.Relations {
			if e.message.ID == id {
				steps = append(steps, step{convmem.Outgoing, r.Type, r.MessageID})
			}
			if r.MessageID == id {
				steps = append(steps, step{convmem.Incoming, r.Type, e.message.ID})
			}
		}
	}
	return steps
}

// room is what is left of the limits of one result. Once something did not
// fit, nothing more is added.
type room struct {
	messages, bytes int
	full            bool
}

// add reports whether a message fits and counts it if it does.
func (r *room) add(message convmem.Message) bool {
	size := messageBytes(message)
	r.full = r.full || r.messages == convmem.MaxContextMessages || r.messages > 0 && r.bytes+size > resultBytes
	if r.full {
		return false
	}
	r.messages++
	r.bytes += size
	return true
}

// keep copies out the messages that fit.
func (r *room) keep(entries []*entry, characters int) []convmem.Message {
	kept := []convmem.Message{}
	for _, message := range view(entries, characters) {
		if r.add(message) {
			kept = append(kept, message)
		}
	}
	return kept
}

// keepRelated completes the related messages that fit.
func (r *room) keepRelated(related []convmem.RelatedMessage, m *Model, characters int) []convmem.RelatedMessage {
	kept := []convmem.RelatedMessage{}
	for _, one := range related {
		var message convmem.Message // a deleted one takes a place and no bytes to speak of
		if e, err := m.find(one.MessageID); err == nil {
			message = viewOf(e, characters)
			one.Message = &message
		}
		if r.add(message) {
			kept = append(kept, one)
		}
	}
	return kept
}
