package index

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// model is what an Index promises, done the slow and obvious way: live
// messages in a map, every answer worked out from all of them.
type model struct {
	docs map[ulid.ULID]Doc
}

func newModel() *model { return &model{docs: map[ulid.ULID]Doc{}} }

// ids returns the live ids of a session, ascending; of all for "".
func (m *model) ids(session string) []ulid.ULID {
	ids := []ulid.ULID{}
	for id, d := range m.docs {
		if session == "" || d.Session == session {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, ulid.ULID.Compare)
	return ids
}

func (m *model) history(session string, from ulid.ULID, descending bool) []ulid.ULID {
	ids := m.ids(session)
	if descending {
		slices.Reverse(ids)
	}
	return slices.DeleteFunc(ids, func(id ulid.ULID) bool {
		switch {
		case from.IsZero():
			return false
		case descending:
			return id.Compare(from) >= 0
		}
		return id.Compare(from) <= 0
	})
}

func (m *model) info(session string) (SessionInfo, bool) {
	ids := m.ids(session)
	if len(ids) == 0 {
		return SessionInfo{}, false
	}
	info := SessionInfo{
		Session: session, Messages: len(ids), KindCounts: map[string]int{},
		First: ids[0], Last: ids[len(ids)-1], Representative: ids[len(ids)-1],
	}
	for _, id := range ids {
		d := m.docs[id]
		info.KindCounts[d.Kind]++
		if d.Summary != "" {
			info.Representative, info.RepresentativeIsSummary = id, true
		}
	}
	return info, true
}

func (m *model) incoming(id ulid.ULID) []Relation {
	var in []Relation
	for source, d := range m.docs {
		for _, r := range d.Relations {
			if r.Target == id {
				in = append(in, Relation{r.Type, source})
			}
		}
	}
	slices.SortFunc(in, func(a, b Relation) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), a.Target.Compare(b.Target))
	})
	return in
}

func (m *model) relationCount(id ulid.ULID) int {
	n := len(m.incoming(id))
	for _, r := range m.docs[id].Relations {
		if _, live := m.docs[r.Target]; live {
			n++
		}
	}
	return n
}

func (m *model) matches(id ulid.ULID, f Filter) bool {
	d := m.docs[id]
	any := func(wanted []string, has string) bool { return len(wanted) == 0 || slices.Contains(wanted, has) }
	for _, tag := range f.Tags {
		if !slices.Contains(d.Tags, tag) {
			return false
		}
	}
	if f.Since != nil && d.Time < *f.Since || f.Until != nil && d.Time > *f.Until {
		return false
	}
	return (f.Session == "" || f.Session == d.Session) && any(f.Kinds, d.Kind) && any(f.Tiers, d.Tier) &&
		any(f.Roles, d.Role) && d.Importance >= f.MinImportance
}

// fieldTerms counts the terms of each field of a message.
func fieldTerms(d Doc) [FieldCount]map[string]int {
	fields := [FieldCount]map[string]int{{}, {}, {}}
	for _, term := range analyzed(d.Content) {
		fields[Content][term]++
	}
	for _, term := range analyzed(d.Summary) {
		fields[Summary][term]++
	}
	for _, tag := range d.Tags {
		for _, term := range analyzed(tag) {
			fields[Tags][term]++
		}
		if strings.Contains(tag, " ") {
			fields[Tags][strings.ToLower(tag)]++
		}
	}
	return fields
}

// wordsOf returns the statistics and, for every term, how often it stands where.
func (m *model) wordsOf() (Statistics, map[string]map[ulid.ULID][FieldCount]uint32) {
	s := Statistics{Messages: len(m.docs)}
	words := map[string]map[ulid.ULID][FieldCount]uint32{}
	for id, d := range m.docs {
		for f, counts := range fieldTerms(d) {
			if len(counts) > 0 {
				s.Fields[f].Messages++
			}
			for term, n := range counts {
				s.Fields[f].Terms += n
				if words[term] == nil {
					words[term] = map[ulid.ULID][FieldCount]uint32{}
				}
				occurrence := words[term][id]
				occurrence[f] = uint32(n)
				words[term][id] = occurrence
			}
		}
	}
	return s, words
}

// wordsIn reads the same from an index.
func wordsIn(ix *Index) (Statistics, map[string]map[ulid.ULID][FieldCount]uint32) {
	words := map[string]map[ulid.ULID][FieldCount]uint32{}
	for _, term := range ix.words.terms {
		if term.text == "" {
			continue
		}
		v := ix.View([]string{term.text}, Filter{})
		words[term.text] = map[ulid.ULID][FieldCount]uint32{}
		for c := v.Cursor(0); c.Next(); {
			if v.Passes(c.Ordinal()) {
				words[term.text][v.Entry(c.Ordinal()).ID] = c.Counts()
			}
		}
		if v.Frequency(0) != len(words[term.text]) {
			panic(fmt.Sprintf("%q: frequency %d, found in %d", term.text, v.Frequency(0), len(words[term.text])))
		}
	}
	return ix.Statistics(), words
}

// makeID returns an id of a given millisecond; ids of few milliseconds collide
// in time, as those of a busy store do.
func makeID(ms, n int) ulid.ULID {
	var id ulid.ULID
	if err := id.SetTime(uint64(ms)); err != nil {
		panic(err)
	}
	id[14], id[15] = byte(n>>8), byte(n)
	return id
}

var (
	sessionNames  = []string{"a", "b", "c", "d", "日"}
	kindNames     = []string{"conversation", "episode", "summary"}
	tierNames     = []string{"short", "long"}
	roleNames     = []string{"user", "assistant"}
	tagNames      = []string{"go", "Project X", "日本", "!!!"}
	relationTypes = []string{"depends_on", "related_to"}
)

// drawDoc draws a message with an id that is given, in small worlds where
// everything collides.
func drawDoc(t *rapid.T, id ulid.ULID) Doc {
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"fox", "foxes", "dog", "日本", "go", "x-y", "project", "..."}), 0, 5)
	d := Doc{
		ID:         id,
		Session:    rapid.SampledFrom(sessionNames).Draw(t, "session"),
		Kind:       rapid.SampledFrom(kindNames).Draw(t, "kind"),
		Tier:       rapid.SampledFrom(tierNames).Draw(t, "tier"),
		Role:       rapid.SampledFrom(roleNames).Draw(t, "role"),
		Importance: rapid.IntRange(0, 100).Draw(t, "importance"),
		Time:       int64(rapid.IntRange(0, 5).Draw(t, "time")),
		Tags:       rapid.SliceOfNDistinct(rapid.SampledFrom(tagNames), 0, 3, rapid.ID).Draw(t, "tags"),
		Content:    strings.Join(text.Draw(t, "content"), " "),
	}
	if rapid.Bool().Draw(t, "summarised") {
		d.Summary = strings.Join(text.Draw(t, "summary"), " ")
	}
	for range rapid.IntRange(0, 3).Draw(t, "relations") {
		target := makeID(rapid.IntRange(1, 12).Draw(t, "target ms"), rapid.IntRange(0, 3).Draw(t, "target n"))
		d.Relations = append(d.Relations, Relation{rapid.SampledFrom(relationTypes).Draw(t, "type"), target})
	}
	return d
}

func drawFilter(t *rapid.T) Filter {
	some := func(values []string, label string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(values), 0, 2, rapid.ID).Draw(t, label)
	}
	bound := func(label string) *int64 {
		if !rapid.Bool().Draw(t, label) {
			return nil
		}
		v := int64(rapid.IntRange(0, 5).Draw(t, label))
		return &v
	}
	return Filter{
		Session: rapid.SampledFrom(append([]string{"", "", "nowhere"}, sessionNames...)).Draw(t, "session"),
		Kinds:   some(kindNames, "kinds"), Tiers: some(tierNames, "tiers"), Roles: some(roleNames, "roles"),
		Tags: some(tagNames, "tags"), MinImportance: rapid.IntRange(0, 60).Draw(t, "importance"),
		Since: bound("since"), Until: bound("until"),
	}
}

// sessionsOf returns the sessions with the newest message of each.
func (m *model) sessionsOf() map[string]ulid.ULID {
	newest := map[string]ulid.ULID{}
	for _, id := range m.ids("") {
		newest[m.docs[id].Session] = id
	}
	return newest
}

// ranking puts sessions in the order of Sessions.
func rankSessions(newest map[string]ulid.ULID) []string {
	return slices.SortedFunc(maps.Keys(newest), func(a, b string) int {
		return cmp.Or(cmp.Compare(newest[b].Time(), newest[a].Time()), strings.Compare(a, b))
	})
}
