package convmem

import (
	"bytes"
	"context"
	"fmt"

	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

// change runs fn alone among all changes. It may run more than once; its last
// run counts. The error of fn and that of the log come back as this package's
// errors.
func (db *DB) change(ctx context.Context, op string, fn func(*transaction) error) error {
	err := db.log.Update(ctx, func(tx *store.Tx) error {
		return fn(&transaction{Tx: tx, stage: tx.Stage().(*stage), namespace: db.namespace, lastID: tx.LastID()})
	})
	return fail(op, err)
}

// transaction is a change in the making. The stage has the state before it; what
// the change itself has written so far stands beside that.
type transaction struct {
	*store.Tx
	stage     *stage
	namespace string
	lastID    ulid.ULID
	written   map[scopedKey]writtenRecord // those with an idempotency key
}

// writtenRecord is a record as it goes to the log: the texts and lists it was
// made from are the caller's by now.
type writtenRecord struct {
	id      ulid.ULID
	payload []byte
}

// session returns that of a live message of the namespace.
func (tx *transaction) session(id ulid.ULID) (string, bool) {
	m, ok := tx.stage.identity(id)
	if !ok || m.namespace != tx.namespace {
		return "", false
	}
	return m.session, true
}

// Write implements [Store]. The message is on stable storage when it returns.
func (db *DB) Write(ctx context.Context, r WriteRequest) (WriteResult, error) {
	if err := r.check(); err != nil {
		return WriteResult{}, fail("write", err)
	}
	draft := r.draft(db.namespace)
	var result WriteResult
	err := db.change(ctx, "write", func(tx *transaction) (err error) {
		result, err = db.write(tx, draft)
		return err
	})
	if err != nil {
		return WriteResult{}, err
	}
	return result, nil
}

// draft is the record of a checked request, still without identity.
func (r WriteRequest) draft(namespace string) record {
	draft := record{namespace: namespace, key: r.IdempotencyKey, message: Message{
		SessionID: r.SessionID, Role: r.Role, Content: r.Content, Revision: 1,
		Metadata: defaultMetadata().with(r.Metadata), Payload: r.Payload.clone(),
	}}
	if draft.key != "" {
		draft.fingerprint = fingerprintOf(draft.message)
	}
	return draft
}

func (db *DB) write(tx *transaction, draft record) (WriteResult, error) {
	if earlier, used, err := tx.earlier(&draft); used || err != nil {
		return replay(earlier, draft.fingerprint, err)
	}
	id, err := nextID(tx.lastID, db.now(), db.entropy)
	if err != nil {
		return WriteResult{}, &Error{Code: CodeInternal, Message: "allotting a message id: " + err.Error(), Err: err}
	}
	// Nobody knows an id beforehand, but it can be guessed while the clock
	// stands still.
	if err := checkNotRelatedTo(id.String(), draft.message.Metadata.Relations); err != nil {
		return WriteResult{}, err
	}
	draft.id = id
	draft.message.UpdatedAt = fromUnixMilli(int64(id.Time()))
	tx.write(&draft)
	return WriteResult{Message: draft.complete()}, nil
}

// write puts a new message.
func (tx *transaction) write(r *record) {
	if tx.lastID.Compare(r.id) < 0 {
		tx.lastID = r.id
	}
	payload := r.encode()
	tx.Put(r.id, payload)
	if r.key == "" {
		return
	}
	if tx.written == nil {
		tx.written = map[scopedKey]writtenRecord{}
	}
	tx.written[scopedKey{r.namespace, r.sessionKey()}] = writtenRecord{r.id, payload}
}

// earlier returns the live message that was written with the idempotency key of
// a new one.
func (tx *transaction) earlier(draft *record) (r record, used bool, err error) {
	if draft.key == "" {
		return record{}, false, nil
	}
	if w, used := tx.written[scopedKey{draft.namespace, draft.sessionKey()}]; used {
		r, err = decodeRecord(w.id, w.payload)
		return r, true, err
	}
	id, used := tx.stage.owner(draft.namespace, draft.sessionKey())
	if !used {
		return record{}, false, nil
	}
	r, _, err = load(tx, id)
	return r, true, err
}

// replay answers a repeated request with the message as it is now.
func replay(r record, fingerprint string, err error) (WriteResult, error) {
	if err != nil {
		return WriteResult{}, err
	}
	if r.fingerprint != fingerprint {
		return WriteResult{}, &Error{
			Code: CodeConflict, Field: "idempotency_key",
			Message: fmt.Sprintf("used in this session by message %s, whose request said something else", r.id),
		}
	}
	return WriteResult{Message: r.complete(), Replayed: true}, nil
}

// Update implements [Store]. The change is on stable storage when it returns.
func (db *DB) Update(ctx context.Context, r UpdateRequest) (UpdateResult, error) {
	if err := r.check(); err != nil {
		return UpdateResult{}, fail("update", err)
	}
	var result UpdateResult
	err := db.change(ctx, "update", func(tx *transaction) (err error) {
		result, err = db.update(tx, r)
		return err
	})
	if err != nil {
		return UpdateResult{}, err
	}
	return result, nil
}

func (db *DB) update(tx *transaction, r UpdateRequest) (UpdateResult, error) {
	id := ulid.MustParseStrict(r.MessageID) // checked
	if _, ok := tx.session(id); !ok {
		return UpdateResult{}, notFound(r.MessageID)
	}
	current, payload, err := load(tx, id)
	if err != nil {
		return UpdateResult{}, err
	}
	if revision := current.message.Revision; r.ExpectedRevision != 0 && r.ExpectedRevision != revision {
		return UpdateResult{}, &Error{
			Code: CodeConflict, Field: "expected_revision", Revision: revision,
			Message: fmt.Sprintf("%d given, the message is at revision %d", r.ExpectedRevision, revision),
		}
	}
	next := current.with(r)
	if bytes.Equal(next.encode(), payload) {
		return UpdateResult{Message: current.complete()}, nil
	}
	if next.message.Revision == maxRevision {
		return UpdateResult{}, &Error{Code: CodeInternal, Message: "the message has the greatest revision there is"}
	}
	next.message.Revision++
	if now := fromUnixMilli(int64(clockMilli(db.now()))); now.After(next.message.UpdatedAt) {
		next.message.UpdatedAt = now
	}
	tx.Put(id, next.encode())
	return UpdateResult{Changed: true, Message: next.complete()}, nil
}

// with returns the record as a checked update wants it, in the same revision.
func (r record) with(u UpdateRequest) record {
	if u.Content != nil {
		r.message.Content = *u.Content
	}
	if u.Metadata != nil {
		r.message.Metadata = r.message.Metadata.with(*u.Metadata)
	}
	if u.Payload != nil {
		r.message.Payload = u.Payload.clone()
	}
	return r
}

func notFound(id string) error {
	return &Error{Code: CodeNotFound, Field: "message_id", Message: id + " does not exist or is deleted"}
}

// Delete implements [Store]. The deletion is on stable storage when it returns.
// It needs nothing of the message's text, so a damaged message can be deleted.
func (db *DB) Delete(ctx context.Context, r DeleteRequest) (DeleteResult, error) {
	if err := r.check(); err != nil {
		return DeleteResult{}, fail("delete", err)
	}
	id := ulid.MustParseStrict(r.MessageID) // checked
	var result DeleteResult
	err := db.change(ctx, "delete", func(tx *transaction) error {
		result = DeleteResult{}
		session, live := tx.session(id)
		if live && (r.SessionID == "" || r.SessionID == session) {
			tx.Delete(id)
			result.Deleted = true
		}
		return nil
	})
	if err != nil {
		return DeleteResult{}, err
	}
	return result, nil
}
