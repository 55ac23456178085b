package storetest

import (
	"strconv"
	"time"

	"example.com/convmem"
)

func updateChecks() []check {
	return []check{
		{"update/merge by field", checkMerge},
		{"update/clear", checkClear},
		{"update/identity stays", checkIdentity},
		{"update/no-op", checkNoOp},
		{"update/order of checks", checkUpdateOrder},
		{"update/expected revision", checkExpectedRevision},
		{"update/updated at never goes back", checkUpdatedAt},
		{"update/survives restart and rebuild", checkUpdateSurvives},
	}
}

// checkMerge gives one field at a time and expects the others to stay.
func checkMerge(k *kit) {
	other := strangerID(2)
	for _, c := range []struct {
		name  string
		patch convmem.MetadataPatch
		apply func(*convmem.Metadata)
	}{
		{"tool call id", convmem.MetadataPatch{ToolCallID: new("call 8")}, func(m *convmem.Metadata) { m.ToolCallID = "call 8" }},
		{"tags", convmem.MetadataPatch{Tags: []string{"new"}}, func(m *convmem.Metadata) { m.Tags = []string{"new"} }},
		{"tag order", convmem.MetadataPatch{Tags: []string{"日本", "project"}}, func(m *convmem.Metadata) { m.Tags = []string{"日本", "project"} }},
		{"tier", convmem.MetadataPatch{Tier: convmem.TierShort}, func(m *convmem.Metadata) { m.Tier = convmem.TierShort }},
		{"kind", convmem.MetadataPatch{Kind: convmem.KindConversation}, func(m *convmem.Metadata) { m.Kind = convmem.KindConversation }},
		{"importance", convmem.MetadataPatch{Importance: new(50)}, func(m *convmem.Metadata) { m.Importance = 50 }},
		{"summary", convmem.MetadataPatch{Summary: new("shorter")}, func(m *convmem.Metadata) { m.Summary = "shorter" }},
		{"relations", convmem.MetadataPatch{Relations: relatedTo(other)}, func(m *convmem.Metadata) { m.Relations = relatedTo(other) }},
		{"sources", convmem.MetadataPatch{SourceMessageIDs: []string{other}}, func(m *convmem.Metadata) { m.SourceMessageIDs = []string{other} }},
		{"occurred at", convmem.MetadataPatch{OccurredAt: time.UnixMilli(0)}, func(m *convmem.Metadata) { m.OccurredAt = time.UnixMilli(0) }},
	} {
		k.run(c.name, func(k *kit) {
			l := k.open()
			expected := l.note("s", "content", fullPatch(strangerID(1)))
			l.clock.step(time.Second)
			result := l.update(convmem.UpdateRequest{MessageID: expected.ID, Metadata: &c.patch})
			c.apply(&expected.Metadata)
			expected.Revision, expected.UpdatedAt = 2, l.clock.Now()
			same(k, "the answer", result, convmem.UpdateResult{Changed: true, Message: expected})
			same(k, "the stored message", l.get(expected.ID), expected)
		})
	}
	k.run("content", func(k *kit) {
		l := k.open()
		expected := l.note("s", "content", fullPatch(strangerID(1)))
		expected.Content, expected.Revision = "other", 2
		same(k, "content only", l.setContent(expected.ID, "other"), expected)
		both := l.update(convmem.UpdateRequest{MessageID: expected.ID, Content: new("third"), Metadata: &convmem.MetadataPatch{Summary: new("s")}})
		expected.Content, expected.Metadata.Summary, expected.Revision = "third", "s", 3
		same(k, "content and metadata", both, convmem.UpdateResult{Changed: true, Message: expected})
	})
}

// checkClear clears every field that can be cleared.
func checkClear(k *kit) {
	l := k.open()
	message := l.note("s", "content", fullPatch(strangerID(1)))
	l.update(convmem.UpdateRequest{MessageID: message.ID, Metadata: &convmem.MetadataPatch{
		ToolCallID: new(""), Tags: []string{}, Summary: new(""), Relations: []convmem.Relation{}, SourceMessageIDs: []string{},
	}})
	expected := want(fullPatch(""))
	expected.ToolCallID, expected.Summary = "", ""
	expected.Tags, expected.Relations, expected.SourceMessageIDs = nil, nil, nil
	same(k, "cleared", l.get(message.ID).Metadata, expected)
}

// checkIdentity updates messages much later: place, session, role and time of
// writing stay.
func checkIdentity(k *kit) {
	l := k.open()
	messages := l.sayAll("s", "one", "two", "three")
	l.clock.step(time.Hour)
	for _, message := range messages {
		updated := l.setContent(message.ID, message.Content+" changed")
		message.Content, message.Revision, message.UpdatedAt = updated.Content, 2, l.clock.Now()
		same(k, "the rest of the message", updated, message)
	}
	same(k, "order of the history", contents(l.all(convmem.HistoryRequest{SessionID: "s"})), []string{"one changed", "two changed", "three changed"})
	info := l.sessions(convmem.SessionsRequest{}).Sessions[0]
	same(k, "last message at", info.LastMessageAt, messages[2].Timestamp)
}

// checkNoOp asks for what is there already.
func checkNoOp(k *kit) {
	full := fullPatch(strangerID(1))
	twice := full
	twice.Tags = append(twice.Tags, "project")
	for name, r := range map[string]convmem.UpdateRequest{
		"same content":            {Content: new("content")},
		"empty metadata":          {Metadata: &convmem.MetadataPatch{}},
		"same metadata":           {Metadata: &full},
		"same tags, one twice":    {Metadata: &twice},
		"same tier":               {Metadata: &convmem.MetadataPatch{Tier: convmem.TierLong}},
		"same importance":         {Metadata: &convmem.MetadataPatch{Importance: new(0)}},
		"all the same":            {Content: new("content"), Metadata: &full},
		"same, revision expected": {Content: new("content"), ExpectedRevision: 1},
	} {
		k.run(name, func(k *kit) {
			l := k.open()
			message := l.note("s", "content", full)
			l.clock.step(time.Hour)
			before := l.health()
			r.MessageID = message.ID
			same(k, "the answer", l.update(r), convmem.UpdateResult{Message: message})
			same(k, "the stored message", l.get(message.ID), message)
			after := l.health()
			same(k, "update records", after.UpdateRecords, before.UpdateRecords)
			same(k, "last sequence", after.LastSequence, before.LastSequence)
			same(k, "log size", after.LogSize, before.LogSize)
		})
	}
}

// checkUpdateOrder asks for updates with several faults at once: the first in
// the order arguments, existence, revision, change is the one reported.
func checkUpdateOrder(k *kit) {
	l := k.open()
	gone := l.say("s", "gone").ID
	message := l.say("s", "content")
	l.remove(gone)
	for _, c := range []struct {
		name string
		r    convmem.UpdateRequest
		code convmem.Code
	}{
		{"bad content, no message", convmem.UpdateRequest{MessageID: strangerID(1), Content: new("")}, convmem.CodeValidation},
		{"bad metadata, deleted message", convmem.UpdateRequest{MessageID: gone, Metadata: &convmem.MetadataPatch{Importance: new(101)}}, convmem.CodeValidation},
		{"relation to itself, no message", convmem.UpdateRequest{MessageID: strangerID(1), Metadata: &convmem.MetadataPatch{Relations: relatedTo(strangerID(1))}}, convmem.CodeValidation},
		{"bad content, wrong revision", convmem.UpdateRequest{MessageID: message.ID, Content: new(""), ExpectedRevision: 7}, convmem.CodeValidation},
		{"no message, wrong revision", convmem.UpdateRequest{MessageID: strangerID(1), Content: new("x"), ExpectedRevision: 7}, convmem.CodeNotFound},
		{"deleted message, right revision", convmem.UpdateRequest{MessageID: gone, Content: new("x"), ExpectedRevision: 1}, convmem.CodeNotFound},
		{"deleted message, no-op", convmem.UpdateRequest{MessageID: gone, Content: new("gone")}, convmem.CodeNotFound},
		{"wrong revision, no-op", convmem.UpdateRequest{MessageID: message.ID, Content: new("content"), ExpectedRevision: 7}, convmem.CodeConflict},
	} {
		_, err := l.store.Update(l.ctx(), c.r)
		k.fails(c.name, err, c.code, "")
	}
	same(k, "the message after all that was refused", l.get(message.ID), message)
}

// checkExpectedRevision updates from revision to revision and then with every
// wrong one.
func checkExpectedRevision(k *kit) {
	l := k.open()
	message := l.say("s", "content")
	for revision := int64(1); revision < 40; revision++ {
		content := strconv.FormatInt(revision, 10)
		result := l.update(convmem.UpdateRequest{MessageID: message.ID, Content: &content, ExpectedRevision: revision})
		same(k, "revision after the update", result.Message.Revision, revision+1)
	}
	for _, expected := range []int64{1, 39, 41, 1<<63 - 1} {
		_, err := l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: message.ID, Content: new("x"), ExpectedRevision: expected})
		if fault := k.fails("an old or future revision", err, convmem.CodeConflict, ""); fault != nil {
			same(k, "the revision in the error", fault.Revision, 40)
			k.says("an old or future revision", err, "40")
		}
	}
	same(k, "content", l.get(message.ID).Content, "39")
}

// checkUpdatedAt updates while the clock goes back and forth.
func checkUpdatedAt(k *kit) {
	l := k.open()
	message := l.say("s", "content")
	l.clock.step(-time.Hour)
	same(k, "not before the message was written", l.setContent(message.ID, "one").UpdatedAt, message.Timestamp)
	l.clock.step(2 * time.Hour)
	last := l.setContent(message.ID, "two").UpdatedAt
	same(k, "the time of the clock", last, l.clock.Now())
	l.clock.step(-time.Minute)
	same(k, "not before the last update", l.setContent(message.ID, "three").UpdatedAt, last)
	if l.reopen() {
		same(k, "nor after a restart", l.setContent(message.ID, "four").UpdatedAt, last)
	}
}

// checkUpdateSurvives wants updates in later lives of the store.
func checkUpdateSurvives(k *kit) {
	l := k.open()
	message := l.say("s", "content")
	l.clock.step(time.Second)
	l.setContent(message.ID, "first")
	expected := l.setMetadata(message.ID, fullPatch(strangerID(1)))
	if l.reopen() {
		same(k, "after a restart", l.get(message.ID), expected)
	}
	l.rebuild()
	same(k, "after a rebuild", l.get(message.ID), expected)
	if l.reopen() {
		same(k, "after both", l.get(message.ID), expected)
	}
	same(k, "the history", l.all(convmem.HistoryRequest{SessionID: "s"}), []convmem.Message{expected})
}
