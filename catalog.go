package convmem

import (
	"strings"

	"example.com/convmem/index"
	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

// catalog is what the store derives from its log: an index for each namespace,
// and what checks of new records need to know. It is the log's store.Sink, so
// nothing changes it while a view or another change looks at it.
type catalog struct {
	analyzer index.Analyzer
	spaces   map[string]*space
	// elsewhere finds messages outside the namespace "", which needs no entry.
	elsewhere map[ulid.ULID]*space
	// sequence is that of the last record applied.
	sequence uint64
}

// space is one namespace. Namespaces share nothing, so that neither answers nor
// scores of one depend on another.
type space struct {
	name  string
	index *index.Index
	// revisions holds those of live messages that are not 1, which most are.
	revisions map[ulid.ULID]int64
	byKey     map[sessionKey]ulid.ULID
	keys      map[ulid.ULID]sessionKey
}

// sessionKey is an idempotency key within its session.
type sessionKey struct{ session, key string }

func newCatalog(a index.Analyzer) *catalog {
	return &catalog{
		analyzer:  a,
		spaces:    map[string]*space{"": newSpace("", a)},
		elsewhere: map[ulid.ULID]*space{},
	}
}

func newSpace(name string, a index.Analyzer) *space {
	return &space{
		name:      name,
		index:     index.New(a),
		revisions: map[ulid.ULID]int64{},
		byKey:     map[sessionKey]ulid.ULID{},
		keys:      map[ulid.ULID]sessionKey{},
	}
}

// space returns a namespace for reading; one without messages is empty.
func (c *catalog) space(namespace string) *space {
	if s, ok := c.spaces[namespace]; ok {
		return s
	}
	return newSpace(namespace, c.analyzer)
}

// grow returns a namespace for changing.
func (c *catalog) grow(namespace string) *space {
	s, ok := c.spaces[namespace]
	if !ok {
		s = newSpace(strings.Clone(namespace), c.analyzer)
		c.spaces[s.name] = s
	}
	return s
}

// home returns the namespace that holds a live message, or nil.
func (c *catalog) home(id ulid.ULID) *space {
	if s, ok := c.elsewhere[id]; ok {
		return s
	}
	if s := c.spaces[""]; s.index.Contains(id) {
		return s
	}
	return nil
}

// Apply takes over the next record of the log. It refuses what this package
// never writes: the log is then damaged in a way that no checksum shows.
func (c *catalog) Apply(r store.Record) error {
	c.sequence = max(c.sequence, r.Seq)
	if r.Deleted {
		return c.remove(r)
	}
	decoded, err := admit(c, r)
	if err != nil {
		return err
	}
	target := c.grow(decoded.namespace)
	target.put(&decoded, r.Seq)
	if decoded.namespace != "" {
		c.elsewhere[r.ID] = target
	}
	return nil
}

func (c *catalog) remove(r store.Record) error {
	home := c.home(r.ID)
	if home == nil {
		return errNotLive
	}
	home.remove(r.ID, r.Seq)
	delete(c.elsewhere, r.ID)
	if home.name != "" && home.index.Len() == 0 && !home.index.HasPast() {
		delete(c.spaces, home.name)
	}
	return nil
}

// identity implements [live].
func (c *catalog) identity(id ulid.ULID) (identity, bool) {
	home := c.home(id)
	if home == nil {
		return identity{}, false
	}
	session, _ := home.index.Session(id)
	return identity{namespace: home.name, session: session, key: home.keys[id].key, revision: home.revision(id)}, true
}

// owner implements [live].
func (c *catalog) owner(namespace string, key sessionKey) (ulid.ULID, bool) {
	s, ok := c.spaces[namespace]
	if !ok {
		return ulid.ULID{}, false
	}
	id, used := s.byKey[key]
	return id, used
}

// revision returns that of a live message.
func (s *space) revision(id ulid.ULID) int64 {
	if revision, ok := s.revisions[id]; ok {
		return revision
	}
	return 1
}

func (r *record) sessionKey() sessionKey { return sessionKey{r.message.SessionID, r.key} }

// put takes over an admitted record. Everything it keeps is copied: the texts
// of r hold the whole payload in memory.
func (s *space) put(r *record, sequence uint64) {
	s.index.Put(sequence, r.doc())
	if r.message.Revision != 1 {
		s.revisions[r.id] = r.message.Revision
	}
	if _, known := s.keys[r.id]; r.key != "" && !known {
		key := sessionKey{strings.Clone(r.message.SessionID), strings.Clone(r.key)}
		s.byKey[key] = r.id
		s.keys[r.id] = key
	}
}

// remove forgets a live message and its idempotency key.
func (s *space) remove(id ulid.ULID, sequence uint64) {
	s.index.Delete(sequence, id)
	delete(s.revisions, id)
	if key, ok := s.keys[id]; ok {
		delete(s.byKey, key)
		delete(s.keys, id)
	}
}

// doc is what the index needs of a message.
func (r *record) doc() index.Doc {
	m := &r.message
	d := index.Doc{
		ID:         r.id,
		Session:    m.SessionID,
		Role:       string(m.Role),
		Kind:       string(m.Metadata.Kind),
		Tier:       string(m.Metadata.Tier),
		Importance: m.Metadata.Importance,
		Time:       int64(r.id.Time()),
		Tags:       m.Metadata.Tags,
		Summary:    m.Metadata.Summary,
		Content:    m.Content,
		Imported:   r.imported,
	}
	if at := m.Metadata.OccurredAt; !at.IsZero() {
		d.Time = at.UnixMilli()
	}
	for _, relation := range m.Metadata.Relations {
		d.Relations = append(d.Relations, index.Relation{
			Type: string(relation.Type), Target: ulid.MustParseStrict(relation.MessageID),
		})
	}
	return d
}

// Estimates of what one entry takes in a map of the catalog, with the free slots
// that a map keeps.
const (
	revisionBytes = 32
	keyBytes      = 160 // both directions, without the texts
	// A namespace that is not "" costs this, and an entry in elsewhere for each
	// message.
	spaceBytes     = 1800
	elsewhereBytes = 53
)

// memory estimates what the catalog itself keeps of a namespace's messages.
func (s *space) memory() int64 {
	total := int64(len(s.revisions)*revisionBytes + len(s.keys)*keyBytes)
	if s.name != "" && s.index.Len() > 0 {
		total += int64(spaceBytes + s.index.Len()*elsewhereBytes)
	}
	for _, key := range s.keys {
		total += int64(len(key.session) + len(key.key))
	}
	return total
}
