package storetest

import (
	"context"
	"strings"

	"example.com/convmem"
)

// checkUpdateValues tries the parameters of an update at their limits and
// beyond.
func checkUpdateValues(k *kit) {
	for _, c := range []struct {
		name    string
		change  func(*convmem.UpdateRequest)
		verdict verdict
	}{
		{"content empty", func(r *convmem.UpdateRequest) { r.Content = new("") }, refused("content")},
		{"content 1 MiB", func(r *convmem.UpdateRequest) { r.Content = new(text(1 << 20)) }, allowed()},
		{"content 1 MiB and 1 byte", func(r *convmem.UpdateRequest) { r.Content = new(text(1<<20 + 1)) }, refused("content", "1048577", "1048576")},
		{"content not UTF-8", func(r *convmem.UpdateRequest) { r.Content = new(badUTF8) }, refused("content")},
		{"expected revision -1", func(r *convmem.UpdateRequest) { r.ExpectedRevision = -1 }, refused("expected_revision", "-1")},
		{"expected revision 1", func(r *convmem.UpdateRequest) { r.ExpectedRevision = 1 }, allowed()},
		{"metadata empty", func(r *convmem.UpdateRequest) { r.Content, r.Metadata = nil, new(convmem.MetadataPatch) }, allowed()},
		{"relation to itself", func(r *convmem.UpdateRequest) {
			r.Metadata = &convmem.MetadataPatch{Relations: relatedTo(strangerID(1), r.MessageID)}
		}, refused("relations[1].message_id")},
	} {
		k.run(c.name, func(k *kit) {
			l := k.open()
			message := l.say("s", "content")
			r := convmem.UpdateRequest{MessageID: message.ID, Content: new("other content")}
			c.change(&r)
			_, err := l.store.Update(l.ctx(), r)
			k.judge(err, c.verdict)
			if err != nil {
				same(k, "the message after a refused update", l.get(message.ID), message)
			}
		})
	}
	k.run("nothing to change", func(k *kit) {
		l := k.open()
		_, err := l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: l.say("s", "content").ID})
		k.fails("neither content nor metadata", err, convmem.CodeValidation, "")
	})
}

// malformedIDs lists what a ULID is often taken for.
func malformedIDs(good string) map[string]string {
	return map[string]string{
		"empty":                   "",
		"lower case":              strings.ToLower(good),
		"one letter lower case":   good[:25] + "g",
		"25 characters":           good[:25],
		"27 characters":           good + "0",
		"beyond 128 bits":         "8" + good[1:],
		"letter I":                good[:25] + "I",
		"letter L":                good[:25] + "L",
		"letter O":                good[:25] + "O",
		"letter U":                good[:25] + "U",
		"space before":            " " + good[:25],
		"26 bytes, not all ASCII": good[:23] + "日",
		"a UUID":                  "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
	}
}

// extremeIDs are canonical and belong to no message.
func extremeIDs() []string {
	return []string{"00000000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}
}

// checkMessageIDs tries what is nearly a ULID wherever an id goes in, and ids
// that are unusual but right.
func checkMessageIDs(k *kit) {
	l := k.open()
	good := l.say("s", "content").ID
	other := l.say("s", "other")
	calls := map[string]func(id string) error{
		"message_id of update": func(id string) error {
			_, err := l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: id, Content: new("x")})
			return err
		},
		"message_id of delete": func(id string) error {
			_, err := l.store.Delete(l.ctx(), convmem.DeleteRequest{MessageID: id})
			return err
		},
		"message_id of context": func(id string) error {
			_, err := l.store.Read(l.ctx(), convmem.ReadRequest{Context: &convmem.ContextRequest{MessageID: id}})
			return err
		},
		"relations[0].message_id of write": func(id string) error {
			_, err := l.store.Write(l.ctx(), convmem.WriteRequest{
				SessionID: "s", Role: convmem.RoleUser, Content: "x", Metadata: convmem.MetadataPatch{Relations: relatedTo(id)},
			})
			return err
		},
		"source_message_ids[0] of update": func(id string) error {
			_, err := l.store.Update(l.ctx(), convmem.UpdateRequest{
				MessageID: other.ID, Metadata: &convmem.MetadataPatch{SourceMessageIDs: []string{id}},
			})
			return err
		},
	}
	for call, do := range calls {
		field, _, _ := strings.Cut(call, " ")
		for name, id := range malformedIDs(good) {
			k.fails(call+", "+name, do(id), convmem.CodeValidation, field)
		}
	}
	same(k, "messages after all that was refused", len(l.all(convmem.HistoryRequest{SessionID: "s"})), 2)
	for _, id := range extremeIDs() {
		k.ok("an extreme id as a relation", calls["relations[0].message_id of write"](id))
		k.ok("an extreme id as a source", calls["source_message_ids[0] of update"](id))
		k.fails("update of an extreme id", calls["message_id of update"](id), convmem.CodeNotFound, "")
		k.fails("context of an extreme id", calls["message_id of context"](id), convmem.CodeNotFound, "")
		k.ok("delete of an extreme id", calls["message_id of delete"](id))
	}
}

// checkDeleteValues tries guards that are no session ids.
func checkDeleteValues(k *kit) {
	l := k.open()
	message := l.say("s", "content")
	_, err := l.store.Delete(l.ctx(), convmem.DeleteRequest{MessageID: message.ID, SessionID: text(257)})
	k.judge(err, refused("session_id", "257", "256"))
	_, err = l.store.Delete(l.ctx(), convmem.DeleteRequest{MessageID: message.ID, SessionID: badUTF8})
	k.judge(err, refused("session_id"))
	same(k, "the message after refused deletes", l.get(message.ID), message)
}

// checkRefusalsStoreNothing looks at the store after refused writes.
func checkRefusalsStoreNothing(k *kit) {
	l := k.open()
	l.say("s", "the only one")
	before := l.health()
	for _, c := range metadataCases() {
		if c.verdict.field != "" {
			_, err := l.store.Write(l.ctx(), convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "refused", Metadata: c.patch})
			k.judge(err, c.verdict)
		}
	}
	same(k, "the history", contents(l.all(convmem.HistoryRequest{SessionID: "s"})), []string{"the only one"})
	same(k, "the last sequence", l.health().LastSequence, before.LastSequence)
}

// checkErrorText makes every sort of error about a text that must not appear
// in it.
func checkErrorText(k *kit) {
	l := k.open()
	const secret = "xyzzy-hunter2"
	kept := l.write(convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: secret, IdempotencyKey: "key"})
	write := func(change func(*convmem.WriteRequest)) func(context.Context) error {
		r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: secret + " more"}
		change(&r)
		return func(ctx context.Context) error { _, err := l.store.Write(ctx, r); return err }
	}
	update := func(r convmem.UpdateRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := l.store.Update(ctx, r); return err }
	}
	long := strings.Repeat(secret, 1<<17)
	for name, do := range map[string]func(context.Context) error{
		"role":               write(func(r *convmem.WriteRequest) { r.Role = "bot" }),
		"very long role":     write(func(r *convmem.WriteRequest) { r.Role = convmem.Role(strings.Repeat("bot", 1000)) }),
		"long session":       write(func(r *convmem.WriteRequest) { r.SessionID = long }),
		"long content":       write(func(r *convmem.WriteRequest) { r.Content = long }),
		"broken content":     write(func(r *convmem.WriteRequest) { r.Content += badUTF8 }),
		"long tag":           write(func(r *convmem.WriteRequest) { r.Metadata.Tags = []string{long} }),
		"broken tag":         write(func(r *convmem.WriteRequest) { r.Metadata.Tags = []string{secret + badUTF8} }),
		"long summary":       write(func(r *convmem.WriteRequest) { r.Metadata.Summary = &long }),
		"long tier":          write(func(r *convmem.WriteRequest) { r.Metadata.Tier = convmem.MemoryTier(long) }),
		"long relation":      write(func(r *convmem.WriteRequest) { r.Metadata.Relations = relatedTo(long) }),
		"key used otherwise": write(func(r *convmem.WriteRequest) { r.IdempotencyKey = "key" }),
		"long new content":   update(convmem.UpdateRequest{MessageID: kept.ID, Content: &long}),
		"wrong revision":     update(convmem.UpdateRequest{MessageID: kept.ID, Content: new(secret), ExpectedRevision: 9}),
		"no such message":    update(convmem.UpdateRequest{MessageID: strangerID(1), Content: new(secret)}),
		"long query": func(ctx context.Context) error {
			_, err := l.store.Search(ctx, convmem.SearchRequest{Query: long})
			return err
		},
		"long cursor": func(ctx context.Context) error {
			_, err := l.store.Read(ctx, convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s", Cursor: long}})
			return err
		},
	} {
		err := do(l.ctx())
		if err == nil {
			k.Errorf("%s: no error", name)
			continue
		}
		if text := err.Error(); strings.Contains(text, secret) || len(text) >= 1000 {
			k.Errorf("%s: the error of %d bytes is too long or tells what a message says", name, len(text))
		}
	}
}
