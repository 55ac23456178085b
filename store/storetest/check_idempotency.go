package storetest

import (
	"time"

	"example.com/convmem"
)

func idempotencyChecks() []check {
	return []check{
		{"idempotency/replay", checkReplay},
		{"idempotency/replay returns the message as it is now", checkReplayAfterUpdate},
		{"idempotency/defaults say the same", checkReplayDefaults},
		{"idempotency/conflict", checkKeyConflict},
		{"idempotency/scope", checkKeyScope},
		{"idempotency/a key dies with its message", checkKeyDies},
		{"idempotency/a key outlives restart and rebuild", checkKeySurvives},
	}
}

// keyed makes a write with a key and every field of metadata, changed in
// part.
func keyed(change func(*convmem.WriteRequest)) convmem.WriteRequest {
	r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "content", IdempotencyKey: "key", Metadata: fullPatch(strangerID(1))}
	if change != nil {
		change(&r)
	}
	return r
}

// replays fails unless writing r again returns the message and records nothing.
func (l *lab) replays(what string, r convmem.WriteRequest, message convmem.Message) {
	l.Helper()
	before := l.health()
	result, err := l.store.Write(l.ctx(), r)
	l.ok(what, err)
	same(l, what, result, convmem.WriteResult{Message: message, Replayed: true})
	after := l.health()
	same(l, what+": active messages", after.ActiveMessages, before.ActiveMessages)
	same(l, what+": last sequence", after.LastSequence, before.LastSequence)
	same(l, what+": log size", after.LogSize, before.LogSize)
}

// checkReplay repeats a request at once and later: the same message, and
// nothing recorded.
func checkReplay(k *kit) {
	l := k.open()
	message := l.write(keyed(nil))
	l.clock.step(time.Hour)
	l.replays("at once", keyed(nil), message)
	l.say("s", "something between")
	l.replays("later", keyed(nil), message)
}

// checkReplayAfterUpdate replays a message that has changed since. What
// counts is what the first request said, not what the message says now.
func checkReplayAfterUpdate(k *kit) {
	l := k.open()
	message := l.write(keyed(nil))
	l.clock.step(time.Second)
	now := l.setContent(message.ID, "other content")
	l.replays("the first request", keyed(nil), now)
	_, err := l.store.Write(l.ctx(), keyed(func(r *convmem.WriteRequest) { r.Content = "other content" }))
	k.fails("a request that says what the message says now", err, convmem.CodeConflict, "")
	l.rebuild()
	l.replays("the first request after a rebuild", keyed(nil), now)
}

// checkReplayDefaults compares requests with their defaults filled in.
func checkReplayDefaults(k *kit) {
	l := k.open()
	bare := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "content", IdempotencyKey: "key"}
	spelt := bare
	spelt.Metadata = convmem.MetadataPatch{
		ToolCallID: new(""), Tags: []string{}, Tier: convmem.TierShort, Kind: convmem.KindConversation, Importance: new(50),
		Summary: new(""), Relations: []convmem.Relation{}, SourceMessageIDs: []string{},
	}
	message := l.write(bare)
	l.replays("defaults spelt out", spelt, message)
	l.replays("defaults left out", bare, message)
}

// checkKeyConflict changes one part of a keyed request at a time: none may
// pass for the same.
func checkKeyConflict(k *kit) {
	for name, change := range map[string]func(*convmem.WriteRequest){
		"role":              func(r *convmem.WriteRequest) { r.Role = convmem.RoleTool },
		"content":           func(r *convmem.WriteRequest) { r.Content += "." },
		"tool call id":      func(r *convmem.WriteRequest) { r.Metadata.ToolCallID = new("call 8") },
		"tag left out":      func(r *convmem.WriteRequest) { r.Metadata.Tags = r.Metadata.Tags[:1] },
		"tag moved":         func(r *convmem.WriteRequest) { r.Metadata.Tags = []string{"日本", "project"} },
		"tags joined":       func(r *convmem.WriteRequest) { r.Metadata.Tags = []string{"project日本"} },
		"tier":              func(r *convmem.WriteRequest) { r.Metadata.Tier = "" },
		"kind":              func(r *convmem.WriteRequest) { r.Metadata.Kind = "" },
		"importance":        func(r *convmem.WriteRequest) { r.Metadata.Importance = nil },
		"summary":           func(r *convmem.WriteRequest) { r.Metadata.Summary = nil },
		"relation type":     func(r *convmem.WriteRequest) { r.Metadata.Relations[1].Type = convmem.RelationRelatedTo },
		"relation left out": func(r *convmem.WriteRequest) { r.Metadata.Relations = nil },
		"source":            func(r *convmem.WriteRequest) { r.Metadata.SourceMessageIDs[1] = strangerID(8) },
		"occurred at":       func(r *convmem.WriteRequest) { r.Metadata.OccurredAt = time.Time{} },
		"summary as call": func(r *convmem.WriteRequest) {
			r.Metadata.Summary, r.Metadata.ToolCallID = r.Metadata.ToolCallID, r.Metadata.Summary
		},
	} {
		k.run(name, func(k *kit) {
			l := k.open()
			message := l.write(keyed(nil))
			_, err := l.store.Write(l.ctx(), keyed(change))
			k.fails("another request with the same key", err, convmem.CodeConflict, "")
			same(k, "the history", l.all(convmem.HistoryRequest{SessionID: "s"}), []convmem.Message{message})
			l.replays("the first request", keyed(nil), message)
		})
	}
}

// checkKeyScope uses a key again where it is another one: another session,
// other letters, no key.
func checkKeyScope(k *kit) {
	l := k.open()
	first := l.write(keyed(nil))
	other := l.write(keyed(func(r *convmem.WriteRequest) { r.SessionID = "other" }))
	another := l.write(keyed(func(r *convmem.WriteRequest) { r.IdempotencyKey = "Key" }))
	bare := l.write(keyed(func(r *convmem.WriteRequest) { r.IdempotencyKey = "" }))
	again := l.write(keyed(func(r *convmem.WriteRequest) { r.IdempotencyKey = "" }))
	same(k, "one session", ids(l.all(convmem.HistoryRequest{SessionID: "s"})), ids([]convmem.Message{first, another, bare, again}))
	same(k, "the other session", ids(l.all(convmem.HistoryRequest{SessionID: "other"})), []string{other.ID})
}

// checkKeyDies uses a key again after its message was deleted.
func checkKeyDies(k *kit) {
	for name, then := range map[string]func(*lab){
		"at once": func(*lab) {}, "after a rebuild": func(l *lab) { l.rebuild() }, "after a restart": func(l *lab) { l.reopen() },
	} {
		k.run(name, func(k *kit) {
			l := k.open()
			first := l.write(keyed(nil))
			l.remove(first.ID)
			then(l)
			r := keyed(func(r *convmem.WriteRequest) { r.Content = "something else" })
			result, err := l.store.Write(l.ctx(), r)
			k.ok("write with the key of a deleted message", err)
			if result.Replayed || result.Message.ID == first.ID {
				k.Errorf("the deleted message %s was replayed: %+v", first.ID, result)
			}
			l.replays("the key belongs to the new message", r, result.Message)
		})
	}
}

// checkKeySurvives repeats a request in later lives of the store.
func checkKeySurvives(k *kit) {
	l := k.open()
	message := l.write(keyed(nil))
	check := func(when string) {
		l.replays("the same request "+when, keyed(nil), message)
		_, err := l.store.Write(l.ctx(), keyed(func(r *convmem.WriteRequest) { r.Content = "something else" }))
		k.fails("another request "+when, err, convmem.CodeConflict, "")
	}
	if l.reopen() {
		check("after a restart")
	}
	l.rebuild()
	check("after a rebuild")
	if l.reopen() {
		check("after a rebuild and a restart")
	}
}
