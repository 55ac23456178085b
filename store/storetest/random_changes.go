package storetest

import (
	"slices"
	"strings"
	"time"

	"example.com/convmem"
	"pgregory.net/rapid"
)

// markers are words that random messages are found by. No sensible analyzer
// makes two of them alike or drops one.
func markers() []string { return []string{"quartz", "topaz", "obsidian"} }

// someText draws a text with some markers in it, among words and characters
// that are none.
func someText(r *rapid.T, label string) string {
	var parts []string
	for range choose(r, "words of "+label, 1, 2, 3, 5) {
		parts = append(parts, choose(r, label, append(markers(), "red", "stone,", "日本語のテキスト", "\n", "🙂", "é", "<b>", "\x00")...))
	}
	return strings.Join(parts, " ")
}

// maybe draws a value or none.
func maybe[T any](r *rapid.T, label string, draw func() T) *T {
	if !rapid.Bool().Draw(r, "with "+label) {
		return nil
	}
	return new(draw())
}

// some draws up to n of the values.
func some[T any](r *rapid.T, label string, n int, values ...T) []T {
	list := []T{}
	for range choose(r, "number of "+label, distinct(n+1, func(i int) int { return i })...) {
		list = append(list, choose(r, label, values...))
	}
	return list
}

// somePatch draws metadata with the Model's ids. A little of it is refused.
func (w *world) somePatch(r *rapid.T) convmem.MetadataPatch {
	var p convmem.MetadataPatch
	if rapid.Bool().Draw(r, "with words") {
		p.ToolCallID = maybe(r, "tool call id", func() string { return choose(r, "tool call id", "", "call 1", "call 2") })
		p.Summary = maybe(r, "summary", func() string { return choose(r, "summary", "", "short", "quartz in short") })
		p.Tags = some(r, "tags", 3, "red", "green", "Red", "topaz")
	}
	if rapid.Bool().Draw(r, "with choices") {
		p.Importance = new(choose(r, "importance", 0, 20, 50, 80, 100))
		p.Tier = choose(r, "tier", append(tiers(), "")...)
		p.Kind = choose(r, "kind", append(kinds(), "")...)
		set(&p.OccurredAt, maybe(r, "occurred at", func() time.Time {
			return time.UnixMilli(choose[int64](r, "occurred at", 0, 1_700_000_000_000, 1_750_000_000_001))
		}))
	}
	if rapid.Bool().Draw(r, "with links") {
		for _, kind := range some(r, "relations", 3, relationTypes()...) {
			p.Relations = append(p.Relations, convmem.Relation{Type: kind, MessageID: w.someID(r)})
		}
		p.SourceMessageIDs = []string{w.someID(r), w.someID(r)}
	}
	if oneIn(r, 20, "refused") {
		p.Importance = new(101)
	}
	return p
}

// someWrite draws a message, now and then with a key that was used before.
func (w *world) someWrite(r *rapid.T) convmem.WriteRequest {
	request := convmem.WriteRequest{
		SessionID: someSession(r),
		Role:      choose(r, "role", roles()...),
		Content:   someText(r, "content"),
		Metadata:  w.somePatch(r),
	}
	if oneIn(r, 4, "with key") {
		// Few keys and plain messages make replays likely.
		request.IdempotencyKey = choose(r, "key", "key 1", "key 2")
		request.Role, request.Metadata = convmem.RoleUser, convmem.MetadataPatch{}
		request.Content = choose(r, "keyed content", "quartz", "quartz", "topaz")
	}
	set(&request.Payload, w.somePayload(r))
	return request
}

// somePayload draws a payload or none. Its words are those that messages are
// found by.
func (w *world) somePayload(r *rapid.T) *convmem.Payload {
	if w.subject.NoPayload || !oneIn(r, 4, "with payload") {
		return nil
	}
	return &convmem.Payload{
		Type: choose(r, "payload type", "", "event", "quartz"),
		Data: []byte(choose(r, "payload data", "", "topaz", "\x00\xff")),
	}
}

// writeSomething writes a message.
func (w *world) writeSomething(r *rapid.T) {
	request := w.someWrite(r)
	want, modelErr := w.model.Write(w.ctx(), request)
	request.Metadata = w.patchFor(request.Metadata)
	got, err := w.subject.Store.Write(w.ctx(), request)
	if compareErrors(r, "write", err, modelErr) {
		w.compareWrite(r, got, want)
	}
}

// writeSeveral writes a batch.
func (w *world) writeSeveral(r *rapid.T) {
	var request convmem.WriteBatchRequest
	for range choose(r, "messages", 1, 2, 3, 4) {
		request.Messages = append(request.Messages, w.someWrite(r))
	}
	want, modelErr := w.model.WriteBatch(w.ctx(), request)
	for i := range request.Messages {
		request.Messages[i].Metadata = w.patchFor(request.Messages[i].Metadata)
	}
	got, err := w.subject.Store.(convmem.BatchWriter).WriteBatch(w.ctx(), request)
	if !compareErrors(r, "write batch", err, modelErr) {
		return
	}
	compare(r, "results", len(got.Results), len(want.Results))
	for i := range want.Results {
		w.compareWrite(r, got.Results[i], want.Results[i])
	}
}

// compareWrite compares what became of a write and remembers the message.
func (w *world) compareWrite(r *rapid.T, got, want convmem.WriteResult) {
	if !want.Replayed {
		w.created = append(w.created, pair{got.Message.ID, want.Message.ID})
		w.toSubject[want.Message.ID], w.toModel[got.Message.ID] = got.Message.ID, want.Message.ID
	}
	if n := len(w.created); n > 1 && w.created[n-1].subject <= w.created[n-2].subject {
		r.Fatalf("id %s does not follow %s", w.created[n-1].subject, w.created[n-2].subject)
	}
	got.Message = w.seen(got.Message)
	compare(r, "write", got, want)
}

// updateSomething updates a message, now and then with nothing to change or a
// revision that is not the current one.
func (w *world) updateSomething(r *rapid.T) {
	request := convmem.UpdateRequest{
		MessageID: w.someID(r),
		Content:   maybe(r, "content", func() string { return someText(r, "content") }),
		Metadata:  maybe(r, "metadata", func() convmem.MetadataPatch { return w.somePatch(r) }),
	}
	if w.subject.NoPayload || !oneIn(r, 8, "clear payload") {
		request.Payload = w.somePayload(r)
	} else {
		request.Payload = new(convmem.Payload)
	}
	if request.Content == nil && request.Metadata == nil && request.Payload == nil && !oneIn(r, 5, "nothing to change") {
		request.Content = new(choose(r, "content", markers()...))
	}
	if oneIn(r, 3, "with expected revision") {
		request.ExpectedRevision = choose[int64](r, "expected revision", 1, 1, 2, 3)
	}
	want, modelErr := w.model.Update(w.ctx(), request)
	request.MessageID = translated(request.MessageID, w.toSubject)
	if request.Metadata != nil {
		request.Metadata = new(w.patchFor(*request.Metadata))
	}
	got, err := w.subject.Store.Update(w.ctx(), request)
	if compareErrors(r, "update", err, modelErr) {
		got.Message = w.seen(got.Message)
		compare(r, "update", got, want)
	}
}

// deleteSomething deletes a message, with a guard now and then.
func (w *world) deleteSomething(r *rapid.T) {
	request := convmem.DeleteRequest{MessageID: w.someID(r)}
	if oneIn(r, 3, "guarded") {
		request.SessionID = someSession(r)
	}
	before := len(w.sessionList(r))
	want, modelErr := w.model.Delete(w.ctx(), request)
	request.MessageID = translated(request.MessageID, w.toSubject)
	got, err := w.subject.Store.Delete(w.ctx(), request)
	if compareErrors(r, "delete", err, modelErr) {
		compare(r, "delete", got, want)
	}
	w.endRuns(r, before)
}

// endRuns ends runs over sessions when a session has disappeared: whether it
// comes back in them when it begins again, nothing says.
func (w *world) endRuns(r *rapid.T, before int) {
	if len(w.sessionList(r)) < before {
		w.runs = slices.DeleteFunc(w.runs, func(run run) bool { return run.request.Sessions != nil })
	}
}

// deleteSomeSession deletes a session, which may be empty.
func (w *world) deleteSomeSession(r *rapid.T) {
	before := len(w.sessionList(r))
	request := convmem.DeleteSessionRequest{SessionID: someSession(r)}
	want, modelErr := w.model.DeleteSession(w.ctx(), request)
	got, err := w.subject.Store.(convmem.SessionDeleter).DeleteSession(w.ctx(), request)
	if compareErrors(r, "delete session", err, modelErr) {
		compare(r, "delete session", got, want)
	}
	w.endRuns(r, before)
}

// sessionList is the Model's list of sessions.
func (w *world) sessionList(r *rapid.T) []convmem.SessionInfo {
	result, err := w.model.Read(w.ctx(), convmem.ReadRequest{Sessions: &convmem.SessionsRequest{}})
	if err != nil {
		r.Fatalf("the model fails: %v", err)
	}
	return result.Sessions.Sessions
}
