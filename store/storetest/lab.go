package storetest

import (
	"context"
	"time"

	"example.com/convmem"
)

// lab is one store under test, its clock, and short forms of its methods that
// end the check when a call fails.
type lab struct {
	*kit
	store       convmem.Store
	reopenStore func() convmem.Store
	clock       *clock
	noPayload   bool
}

// openCarrier is open for a check of payloads.
func (k *kit) openCarrier() *lab {
	k.Helper()
	l := k.open()
	if l.noPayload {
		k.Skip("the store carries no payloads")
	}
	return l
}

// openBatcher is open for a check of batches.
func (k *kit) openBatcher() *lab {
	k.Helper()
	l := k.open()
	if _, ok := l.store.(convmem.BatchWriter); !ok {
		k.Skip("the store is no convmem.BatchWriter")
	}
	return l
}

// openCleaner is open for a check of deleting sessions.
func (k *kit) openCleaner() *lab {
	k.Helper()
	l := k.open()
	if _, ok := l.store.(convmem.SessionDeleter); !ok {
		k.Skip("the store is no convmem.SessionDeleter")
	}
	return l
}

func (l *lab) ctx() context.Context { return context.Background() }

// reopen replaces the store by its next life and reports whether it could.
func (l *lab) reopen() bool {
	if l.reopenStore == nil {
		return false
	}
	l.store = l.reopenStore()
	return true
}

func (l *lab) write(r convmem.WriteRequest) convmem.Message {
	l.Helper()
	result, err := l.store.Write(l.ctx(), r)
	l.ok("write", err)
	return result.Message
}

// say writes a message without metadata, one millisecond after the one before.
func (l *lab) say(session, content string) convmem.Message {
	l.Helper()
	return l.note(session, content, convmem.MetadataPatch{})
}

// note is say with metadata.
func (l *lab) note(session, content string, patch convmem.MetadataPatch) convmem.Message {
	l.Helper()
	l.clock.step(time.Millisecond)
	return l.write(convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: content, Metadata: patch})
}

// sayAll says each content in turn.
func (l *lab) sayAll(session string, contents ...string) []convmem.Message {
	l.Helper()
	var all []convmem.Message
	for _, content := range contents {
		all = append(all, l.say(session, content))
	}
	return all
}

func (l *lab) update(r convmem.UpdateRequest) convmem.UpdateResult {
	l.Helper()
	result, err := l.store.Update(l.ctx(), r)
	l.ok("update", err)
	return result
}

func (l *lab) setContent(id, content string) convmem.Message {
	l.Helper()
	return l.update(convmem.UpdateRequest{MessageID: id, Content: &content}).Message
}

func (l *lab) setMetadata(id string, patch convmem.MetadataPatch) convmem.Message {
	l.Helper()
	return l.update(convmem.UpdateRequest{MessageID: id, Metadata: &patch}).Message
}

// remove deletes a message that must be there.
func (l *lab) remove(id string) {
	l.Helper()
	result, err := l.store.Delete(l.ctx(), convmem.DeleteRequest{MessageID: id})
	l.ok("delete", err)
	if !result.Deleted {
		l.Fatalf("delete: %s was not there", id)
	}
}

// tryBatch is for stores that openBatcher let through.
func (l *lab) tryBatch(ctx context.Context, requests ...convmem.WriteRequest) ([]convmem.WriteResult, error) {
	result, err := l.store.(convmem.BatchWriter).WriteBatch(ctx, convmem.WriteBatchRequest{Messages: requests})
	return result.Results, err
}

func (l *lab) writeBatch(requests ...convmem.WriteRequest) []convmem.WriteResult {
	l.Helper()
	results, err := l.tryBatch(l.ctx(), requests...)
	l.ok("write batch", err)
	if len(results) != len(requests) {
		l.Fatalf("write batch: %d results for %d messages", len(results), len(requests))
	}
	return results
}

// tryDeleteSession is for stores that openCleaner let through.
func (l *lab) tryDeleteSession(ctx context.Context, session string) (int, error) {
	result, err := l.store.(convmem.SessionDeleter).DeleteSession(ctx, convmem.DeleteSessionRequest{SessionID: session})
	return result.Deleted, err
}

func (l *lab) deletesSession(what, session string, expected int) {
	l.Helper()
	deleted, err := l.tryDeleteSession(l.ctx(), session)
	l.ok(what, err)
	same(l, what, deleted, expected)
}

func (l *lab) rebuild() convmem.RebuildResult {
	l.Helper()
	result, err := l.store.Rebuild(l.ctx(), convmem.RebuildRequest{})
	l.ok("rebuild", err)
	return result
}

func (l *lab) health() convmem.HealthResult {
	l.Helper()
	result, err := l.store.Health(l.ctx(), convmem.HealthRequest{})
	l.ok("health", err)
	return result
}

func (l *lab) history(r convmem.HistoryRequest) convmem.HistoryResult {
	l.Helper()
	result, err := l.store.Read(l.ctx(), convmem.ReadRequest{History: &r})
	l.ok("read history", err)
	if result.History == nil || result.Context != nil || result.Sessions != nil {
		l.Fatalf("read history: the result holds another view: %+v", result)
	}
	return *result.History
}

func (l *lab) context(r convmem.ContextRequest) convmem.ContextResult {
	l.Helper()
	result, err := l.store.Read(l.ctx(), convmem.ReadRequest{Context: &r})
	l.ok("read context", err)
	if result.Context == nil || result.History != nil || result.Sessions != nil {
		l.Fatalf("read context: the result holds another view: %+v", result)
	}
	return *result.Context
}

func (l *lab) sessions(r convmem.SessionsRequest) convmem.SessionsResult {
	l.Helper()
	result, err := l.store.Read(l.ctx(), convmem.ReadRequest{Sessions: &r})
	l.ok("read sessions", err)
	if result.Sessions == nil || result.History != nil || result.Context != nil {
		l.Fatalf("read sessions: the result holds another view: %+v", result)
	}
	return *result.Sessions
}

// search is for results that fit into a response.
func (l *lab) search(r convmem.SearchRequest) []convmem.Hit {
	l.Helper()
	result, err := l.store.Search(l.ctx(), r)
	l.ok("search", err)
	if result.Truncated {
		l.Errorf("search: %d hits say that some are missing", len(result.Hits))
	}
	return result.Hits
}

// get reads one message as it is now.
func (l *lab) get(id string) convmem.Message {
	l.Helper()
	return l.context(convmem.ContextRequest{MessageID: id}).Message
}

// all follows a history to its end.
func (l *lab) all(r convmem.HistoryRequest) []convmem.Message {
	l.Helper()
	var messages []convmem.Message
	for range 1000 {
		page := l.history(r)
		messages = append(messages, page.Messages...)
		if page.NextCursor == "" {
			return messages
		}
		r.Cursor = page.NextCursor
	}
	l.Fatal("read history: the pages never end")
	return nil
}

// found lists the ids of a search's hits, best first.
func (l *lab) found(r convmem.SearchRequest) []string {
	l.Helper()
	var ids []string
	for _, hit := range l.search(r) {
		ids = append(ids, hit.ID)
	}
	return ids
}

// ids lists the ids of messages.
func ids(messages []convmem.Message) []string {
	var all []string
	for _, message := range messages {
		all = append(all, message.ID)
	}
	return all
}

// contents lists the contents of messages.
func contents(messages []convmem.Message) []string {
	var all []string
	for _, message := range messages {
		all = append(all, message.Content)
	}
	return all
}
