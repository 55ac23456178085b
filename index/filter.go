package index

import "slices"

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

// matcher is a Filter made ready for many rows.
type matcher struct {
	filter  Filter
	session uint32
	traits  []bool // which of Index.traits pass
	nothing bool   // no row passes
	all     bool   // every row passes
}

func (ix *Index) matcher(f Filter) matcher {
	m := matcher{filter: f, traits: make([]bool, len(ix.traits.values))}
	m.all = f.Session == "" && len(f.Tags) == 0 && f.Since == nil && f.Until == nil
	for i, c := range ix.traits.values {
		m.traits[i] = f.passes(c)
		m.all = m.all && m.traits[i]
	}
	if f.Session != "" {
		s := ix.sessions[f.Session]
		if s == nil {
			m.nothing = true
			return m
		}
		m.session = s.number
	}
	return m
}

func (f *Filter) passes(c traits) bool {
	return (f.MinImportance == 0 || int(c.importance) >= f.MinImportance) &&
		oneOf(f.Kinds, c.kind) && oneOf(f.Tiers, c.tier) && oneOf(f.Roles, c.role)
}

func oneOf(wanted []string, has string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, has)
}

// passes says whether a row passes.
func (m *matcher) passes(p *page, slot uint32) bool {
	if m.all || m.nothing {
		return m.all
	}
	r, f := &p.rows[slot], &m.filter
	return m.traits[r.traits] &&
		(f.Session == "" || r.session == m.session) &&
		(f.Since == nil || r.time >= *f.Since) &&
		(f.Until == nil || r.time <= *f.Until) &&
		(len(f.Tags) == 0 || hasTags(p.block(slot), f.Tags))
}
