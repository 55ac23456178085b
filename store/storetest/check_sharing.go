package storetest

import (
	"context"
	"errors"

	"example.com/convmem"
)

func sharingChecks() []check {
	return []check{
		{"sharing/what goes in is copied", checkCopiesIn},
		{"sharing/what comes out is a copy", checkCopiesOut},
		{"sharing/requests are left alone", checkRequestsUntouched},
		{"cancelled/nothing is done", checkCancelled},
	}
}

// scribble overwrites everything that hangs on a patch.
func scribble(p *convmem.MetadataPatch) {
	*p.ToolCallID, *p.Importance, *p.Summary = "scribbled", 99, "scribbled"
	p.Tags[0], p.SourceMessageIDs[0] = "scribbled", strangerID(9)
	p.Relations[0] = convmem.Relation{Type: convmem.RelationRelatedTo, MessageID: strangerID(9)}
}

// checkCopiesIn overwrites what it passed in.
func checkCopiesIn(k *kit) {
	l := k.open()
	patch := fullPatch(strangerID(1))
	request := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "quartz", IdempotencyKey: "key", Metadata: patch}
	written := l.write(request)
	scribble(&patch)
	same(k, "after a write", l.get(written.ID).Metadata, want(fullPatch(strangerID(1))))
	l.replays("the request as it was", keyed(func(r *convmem.WriteRequest) { r.Content = "quartz" }), l.get(written.ID))
	patch, content := fullPatch(strangerID(2)), "changed"
	l.update(convmem.UpdateRequest{MessageID: written.ID, Content: &content, Metadata: &patch})
	scribble(&patch)
	content = "scribbled"
	same(k, "after an update", l.get(written.ID).Metadata, want(fullPatch(strangerID(2))))
	same(k, "after an update", l.get(written.ID).Content, "changed")
}

// deface overwrites the lists of a message that a store returned.
func deface(m convmem.Message) {
	for i := range m.Metadata.Tags {
		m.Metadata.Tags[i] = "defaced"
	}
	for i := range m.Metadata.Relations {
		m.Metadata.Relations[i].MessageID = strangerID(9)
	}
	for i := range m.Metadata.SourceMessageIDs {
		m.Metadata.SourceMessageIDs[i] = strangerID(9)
	}
}

// checkCopiesOut defaces every message from every result and looks at the
// store each time.
func checkCopiesOut(k *kit) {
	l := k.open()
	before := l.say("s", "before")
	request := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "quartz", IdempotencyKey: "key", Metadata: fullPatch(before.ID)}
	written := l.write(request)
	expected := l.get(written.ID)
	l.note("s", "after", fullPatch(written.ID))
	see := func(what string, messages ...convmem.Message) {
		k.Helper()
		for _, message := range messages {
			deface(message)
		}
		same(k, "after defacing what came from "+what, l.get(written.ID), expected)
		same(k, "searching after defacing what came from "+what, l.named(convmem.SearchRequest{Query: "quartz", Filters: convmem.Filters{Tags: []string{"project"}}}), "project")
	}
	see("a write", written)
	replay, err := l.store.Write(l.ctx(), request)
	k.ok("replay", err)
	see("a replay", replay.Message)
	see("an update that changes nothing", l.setContent(written.ID, "quartz"))
	see("history", l.all(convmem.HistoryRequest{SessionID: "s"})...)
	around := l.context(convmem.ContextRequest{MessageID: before.ID})
	see("context", append(around.After, around.Message, *around.Relations[0].Message)...)
	around.Relations[0].Message.Content = "defaced"
	for _, hit := range l.search(convmem.SearchRequest{Query: "quartz", ContextSize: 1}) {
		see("search", append(append(hit.Before, hit.After...), hit.Message)...)
		for i := range hit.SupersededBy {
			hit.SupersededBy[i] = "defaced"
		}
	}
	expected = l.setContent(written.ID, "quartz again")
	see("an update", l.get(written.ID), l.setMetadata(written.ID, convmem.MetadataPatch{}))
	info := l.sessions(convmem.SessionsRequest{}).Sessions[0]
	info.KindCounts[convmem.KindProcedure] = 77
	same(k, "kind counts", l.sessions(convmem.SessionsRequest{}).Sessions[0].KindCounts[convmem.KindProcedure], 2)
}

// checkRequestsUntouched lets repetitions fold: the caller's lists must not
// shrink or move.
func checkRequestsUntouched(k *kit) {
	patch := func() convmem.MetadataPatch {
		p := fullPatch(strangerID(1))
		p.Tags = []string{"b", "a", "b", "c", "a"}
		p.Relations = append(relatedTo(strangerID(2), strangerID(2)), p.Relations...)
		p.SourceMessageIDs = []string{strangerID(2), strangerID(2), strangerID(1)}
		return p
	}
	l := k.open()
	given := patch()
	message := l.note("s", "quartz", given)
	same(k, "after a write", given, patch())
	l.update(convmem.UpdateRequest{MessageID: message.ID, Content: new("quartz 2"), Metadata: &given})
	same(k, "after an update", given, patch())
	filters := convmem.Filters{Kinds: kinds(), Tiers: tiers(), Roles: roles(), Tags: []string{"b", "a", "b"}}
	l.search(convmem.SearchRequest{Query: "quartz", Filters: filters})
	same(k, "after a search", filters, convmem.Filters{Kinds: kinds(), Tiers: tiers(), Roles: roles(), Tags: []string{"b", "a", "b"}})
	types := []convmem.RelationType{convmem.RelationRelatedTo, convmem.RelationDependsOn, convmem.RelationRelatedTo}
	before, after := 2, 3
	l.context(convmem.ContextRequest{MessageID: message.ID, RelationTypes: types, Before: &before, After: &after})
	same(k, "after a context read", types, []convmem.RelationType{convmem.RelationRelatedTo, convmem.RelationDependsOn, convmem.RelationRelatedTo})
	same(k, "after a context read", []int{before, after}, []int{2, 3})
}

// checkCancelled calls every method with a context that has ended.
func checkCancelled(k *kit) {
	l := k.open()
	message := l.say("s", "quartz")
	before := l.health()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	calls := map[string]func() error{
		"write": func() error {
			_, err := l.store.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "x"})
			return err
		},
		"update": func() error {
			_, err := l.store.Update(ctx, convmem.UpdateRequest{MessageID: message.ID, Content: new("x")})
			return err
		},
		"read": func() error {
			_, err := l.store.Read(ctx, convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s"}})
			return err
		},
		"search":  func() error { _, err := l.store.Search(ctx, convmem.SearchRequest{Query: "quartz"}); return err },
		"delete":  func() error { _, err := l.store.Delete(ctx, convmem.DeleteRequest{MessageID: message.ID}); return err },
		"rebuild": func() error { _, err := l.store.Rebuild(ctx, convmem.RebuildRequest{}); return err },
		"health":  func() error { _, err := l.store.Health(ctx, convmem.HealthRequest{}); return err },
	}
	for op, call := range calls {
		err := call()
		if fault := k.fails(op, err, convmem.CodeBusy, ""); fault != nil && fault.Op != op {
			k.Errorf("%s: the error says it is from %q", op, fault.Op)
		}
		if !errors.Is(err, context.Canceled) || !errors.Is(err, convmem.ErrBusy) || convmem.CodeOf(err) != convmem.CodeBusy {
			k.Errorf("%s: the error %v is not both context.Canceled and ErrBusy", op, err)
		}
	}
	same(k, "the history", l.all(convmem.HistoryRequest{SessionID: "s"}), []convmem.Message{message})
	after := l.health()
	same(k, "last sequence", after.LastSequence, before.LastSequence)
	k.sane("after cancelled calls", after)
}
