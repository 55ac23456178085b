package index

import (
	"slices"
	"unique"

	"github.com/oklog/ulid/v2"
)

// Filter selects messages. Values inside Kinds, Tiers and Roles are
// alternatives; of Tags a message must have all, exactly as given; the fields
// combine with AND. A field that is empty, zero or nil selects everything.
type Filter struct {
	Session             string
	Kinds, Tiers, Roles []string
	Tags                []string
	MinImportance       int
	// Since and Until bound Doc.Time, in Unix milliseconds, inclusively.
	Since, Until *int64
}

// Entry is what ranking needs to know of a message besides its words.
type Entry struct {
	ID         ulid.ULID
	Importance int
	Lengths    [FieldCount]uint32 // terms in each field
}

// Entry returns a live message by the ordinal that [Cursor.Next] gave.
func (ix *Index) Entry(ordinal uint32) Entry {
	m := &ix.messages[ordinal]
	return Entry{ID: m.id, Importance: int(m.importance), Lengths: m.lengths}
}

// Ordinals returns a bound above every ordinal. It is at most a small multiple
// of [Index.Len] plus a constant.
func (ix *Index) Ordinals() uint32 { return uint32(len(ix.messages)) }

// Matcher returns a test for live messages by their ordinal. It is good until
// the index changes.
func (ix *Index) Matcher(f Filter) func(ordinal uint32) bool {
	s := ix.sessions[f.Session]
	if f.Session != "" && s == nil {
		return func(uint32) bool { return false }
	}
	kinds, tiers, roles, tags := handles(f.Kinds), handles(f.Tiers), handles(f.Roles), handles(f.Tags)
	since, until := copyOf(f.Since), copyOf(f.Until)
	return func(ordinal uint32) bool {
		m := &ix.messages[ordinal]
		return (s == nil || m.session == s) &&
			int(m.importance) >= f.MinImportance &&
			(since == nil || m.time >= *since) &&
			(until == nil || m.time <= *until) &&
			oneOf(kinds, m.kind) && oneOf(tiers, m.tier) && oneOf(roles, m.role) &&
			allIn(tags, m.tags)
	}
}

func handles(values []string) []unique.Handle[string] {
	made := make([]unique.Handle[string], len(values))
	for i, v := range values {
		made[i] = unique.Make(v)
	}
	return made
}

func copyOf(v *int64) *int64 {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

func oneOf(wanted []unique.Handle[string], has unique.Handle[string]) bool {
	return len(wanted) == 0 || slices.Contains(wanted, has)
}

func allIn(wanted, has []unique.Handle[string]) bool {
	for _, w := range wanted {
		if !slices.Contains(has, w) {
			return false
		}
	}
	return true
}
