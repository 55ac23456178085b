package convmem

import (
	"errors"
	"fmt"

	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

// live answers what checks of a new record ask about the messages that live.
type live interface {
	// identity returns that of a live message.
	identity(id ulid.ULID) (identity, bool)
	// owner returns the live message that was written with an idempotency key.
	owner(namespace string, key sessionKey) (ulid.ULID, bool)
}

// identity is what all records of one message agree on, and its revision.
type identity struct {
	namespace, session, key string
	revision                int64
}

var errNotLive = errors.New("the deleted message does not exist")

// admit decodes a record and checks it against what lives. The first record of a
// message may have any revision: a rebuild keeps only the last one.
func admit(known live, stored store.Record) (record, error) {
	r, err := decodeRecord(stored.ID, stored.Payload)
	if err != nil {
		return record{}, err
	}
	current, replaces := known.identity(r.id)
	owner, used := known.owner(r.namespace, r.sessionKey())
	switch {
	case replaces && current.namespace != r.namespace:
		err = errors.New("the message moved to another namespace")
	case replaces && current.session != r.message.SessionID:
		err = errors.New("the message moved to another session")
	case replaces && r.message.Revision != current.revision+1:
		err = fmt.Errorf("revision %d follows revision %d", r.message.Revision, current.revision)
	case replaces && current.key != r.key:
		err = errors.New("the idempotency key of the message changed")
	case r.key != "" && used && owner != r.id:
		err = errors.New("two messages of a session have the same idempotency key")
	}
	return r, err
}

// stage is a catalog with the changes on top that are queued and not durable
// yet. Only checks of further changes see it.
type stage struct {
	*catalog
	changed map[ulid.ULID]*identity // nil: deleted
	// keys are those of changed messages, written or, with the zero id, freed.
	keys map[scopedKey]ulid.ULID
}

// scopedKey is an idempotency key within its namespace and session.
type scopedKey struct {
	namespace string
	key       sessionKey
}

// Stage implements [store.Stager].
func (c *catalog) Stage() store.Stage {
	return &stage{catalog: c, changed: map[ulid.ULID]*identity{}, keys: map[scopedKey]ulid.ULID{}}
}

// Apply implements [store.Stage].
func (s *stage) Apply(r store.Record) error {
	if r.Deleted {
		return s.remove(r.ID)
	}
	decoded, err := admit(s, r)
	if err != nil {
		return err
	}
	m := &decoded.message
	s.changed[r.ID] = &identity{
		namespace: decoded.namespace, session: m.SessionID, key: decoded.key, revision: m.Revision,
	}
	if decoded.key != "" {
		s.keys[scopedKey{decoded.namespace, decoded.sessionKey()}] = r.ID
	}
	return nil
}

func (s *stage) remove(id ulid.ULID) error {
	gone, ok := s.identity(id)
	if !ok {
		return errNotLive
	}
	s.changed[id] = nil
	if gone.key != "" {
		s.keys[scopedKey{gone.namespace, sessionKey{gone.session, gone.key}}] = ulid.ULID{}
	}
	return nil
}

// identity implements [live].
func (s *stage) identity(id ulid.ULID) (identity, bool) {
	if changed, ok := s.changed[id]; ok {
		if changed == nil {
			return identity{}, false
		}
		return *changed, true
	}
	return s.catalog.identity(id)
}

// owner implements [live].
func (s *stage) owner(namespace string, key sessionKey) (ulid.ULID, bool) {
	if id, ok := s.keys[scopedKey{namespace, key}]; ok {
		return id, !id.IsZero()
	}
	return s.catalog.owner(namespace, key)
}
