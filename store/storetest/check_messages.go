package storetest

import (
	"fmt"
	"strings"
	"time"

	"example.com/convmem"
	"github.com/oklog/ulid/v2"
)

func messageChecks() []check {
	return []check{
		{"message/defaults", checkDefaults},
		{"message/every value", checkEveryValue},
		{"message/content byte for byte", checkContentBytes},
		{"message/repetitions fold", checkFolding},
		{"message/times", checkTimes},
		{"message/id order", checkIDOrder},
		{"message/clock steps back", checkClockBack},
		{"message/clock steps back over a restart", checkClockBackReopened},
		{"message/ids of deleted messages stay used", checkIDsStayUsed},
		{"message/read after write", checkReadAfterWrite},
	}
}

// checkDefaults writes the least there is to write.
func checkDefaults(k *kit) {
	l := k.open()
	result, err := l.store.Write(l.ctx(), convmem.WriteRequest{SessionID: "s", Role: convmem.RoleAssistant, Content: "Hello"})
	k.ok("write", err)
	same(k, "replayed", result.Replayed, false)
	now := l.clock.Now()
	want := convmem.Message{
		ID: result.Message.ID, SessionID: "s", Timestamp: now, Role: convmem.RoleAssistant, Content: "Hello", Revision: 1, UpdatedAt: now,
		Metadata: convmem.Metadata{Tier: convmem.TierShort, Kind: convmem.KindConversation, Importance: 50},
	}
	same(k, "the answer", result.Message, want)
	same(k, "the stored message", l.get(result.Message.ID), want)
	same(k, "truncated", result.Message.ContentTruncated, false)
}

// fullPatch gives every field of metadata a value that is not its default.
func fullPatch(related string) convmem.MetadataPatch {
	return convmem.MetadataPatch{
		ToolCallID: new("call 7"), Tags: []string{"project", "日本"}, Tier: convmem.TierLong, Kind: convmem.KindProcedure,
		Importance: new(0), Summary: new("in short"),
		Relations:        []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: related}, {Type: convmem.RelationDependsOn, MessageID: related}},
		SourceMessageIDs: []string{related, strangerID(7)},
		OccurredAt:       time.UnixMilli(1_600_000_000_123),
	}
}

// checkEveryValue writes every field with another value than its default and
// reads it in later lives of the store.
func checkEveryValue(k *kit) {
	l := k.open()
	patch := fullPatch(l.say("s", "first").ID)
	message := l.note("s", "second", patch)
	same(k, "the answer", message.Metadata, want(patch))
	same(k, "the stored message", l.get(message.ID), message)
	if l.reopen() {
		same(k, "the message after a restart", l.get(message.ID), message)
	}
	l.rebuild()
	same(k, "the message after a rebuild", l.get(message.ID), message)
}

// checkContentBytes writes texts that something on the way might tidy up.
func checkContentBytes(k *kit) {
	l := k.open()
	for _, content := range []string{
		" spaces around ", "\n\r\n\t", "\x00", "a\x00b", "\ufefftext", "e\u0301 and é", "ﬁ", "\u200b", "\u2028", "\u202ertl",
		"<b>&amp;</b>", `{"json":"\u0041"}`, "\\u0000", "\U0010ffff\ufffd", "👩‍👩‍👧‍👦", strings.Repeat("a\u0301", 500),
	} {
		message := l.say("s", content)
		same(k, "the answer", message.Content, content)
		same(k, "the stored content", l.get(message.ID).Content, content)
		patch := convmem.MetadataPatch{Summary: &content, Tags: []string{content[:min(len(content), 3)] + "x"}}
		if tag := patch.Tags[0]; strings.ToValidUTF8(tag, "") == tag {
			same(k, "summary and tags", l.note("s", "x", patch).Metadata, want(patch))
		}
	}
}

// checkFolding repeats tags, relations and sources. The first of equals stays
// where it was; different letters and types are not equal.
func checkFolding(k *kit) {
	a, b := strangerID(1), strangerID(2)
	patch := convmem.MetadataPatch{
		Tags:             []string{"b", "a", "b", "B", "a"},
		SourceMessageIDs: []string{b, a, b, a},
		Relations: []convmem.Relation{
			{Type: convmem.RelationRelatedTo, MessageID: b}, {Type: convmem.RelationDependsOn, MessageID: b},
			{Type: convmem.RelationRelatedTo, MessageID: a}, {Type: convmem.RelationRelatedTo, MessageID: b},
		},
	}
	folded := want(convmem.MetadataPatch{Tags: []string{"b", "a", "B"}, SourceMessageIDs: []string{b, a}, Relations: patch.Relations[:3]})
	l := k.open()
	written := l.note("s", "written", patch)
	same(k, "written", written.Metadata, folded)
	same(k, "written and read", l.get(written.ID).Metadata, folded)
	updated := l.say("s", "updated")
	same(k, "updated", l.setMetadata(updated.ID, patch).Metadata, folded)
	same(k, "updated and read", l.get(updated.ID).Metadata, folded)
}

// checkTimes lets the clock stand between two milliseconds, in a time zone.
func checkTimes(k *kit) {
	l := k.open()
	now := l.clock.Now()
	l.clock.now = now.Add(999_999 * time.Nanosecond).In(time.FixedZone("east", 9*3600))
	occurred := time.Date(2020, 2, 29, 23, 59, 59, 123_999_999, time.FixedZone("west", -5*3600))
	message := l.write(convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "x", Metadata: convmem.MetadataPatch{OccurredAt: occurred}})
	same(k, "timestamp", message.Timestamp, now)
	same(k, "updated at", message.UpdatedAt, now)
	same(k, "occurred at", message.Metadata.OccurredAt, occurred.Truncate(time.Millisecond))
	l.clock.step(time.Hour)
	updated := l.setContent(message.ID, "y")
	same(k, "updated at, after an update", updated.UpdatedAt, now.Add(time.Hour))
	same(k, "timestamp, after an update", updated.Timestamp, now)
	info := l.sessions(convmem.SessionsRequest{}).Sessions[0]
	for name, moment := range map[string]time.Time{
		"timestamp": message.Timestamp, "updated at": updated.UpdatedAt, "occurred at": message.Metadata.OccurredAt,
		"started at": info.StartedAt, "last message at": info.LastMessageAt,
	} {
		if moment.Location() != time.UTC || moment != moment.Round(0) {
			k.Errorf("%s: %#v is not plain UTC", name, moment)
		}
	}
}

// ordered fails unless ids rise, each message has the time of its id, and a
// history lists them like that.
func (l *lab) ordered(messages []convmem.Message) {
	l.Helper()
	last := ""
	for i, message := range messages {
		parsed, err := ulid.ParseStrict(message.ID)
		if err != nil || parsed.String() != message.ID {
			l.Fatalf("message %d: %q is no canonical ULID", i, message.ID)
		}
		if message.ID <= last {
			l.Errorf("message %d: id %s does not follow %s", i, message.ID, last)
		}
		if at := ulid.Time(parsed.Time()); !message.Timestamp.Equal(at) || !message.UpdatedAt.Equal(at) {
			l.Errorf("message %d: timestamp %v and updated at %v are not the time of its id, %v", i, message.Timestamp, message.UpdatedAt, at)
		}
		last = message.ID
	}
	same(l, "history", ids(l.all(convmem.HistoryRequest{SessionID: messages[0].SessionID})), ids(messages))
}

// writeSome writes n messages without moving the clock.
func (l *lab) writeSome(n int) []convmem.Message {
	l.Helper()
	return distinct(n, func(i int) convmem.Message {
		return l.write(convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: fmt.Sprint("message ", i)})
	})
}

// checkIDOrder writes many messages within a millisecond.
func checkIDOrder(k *kit) {
	l := k.open()
	messages := l.writeSome(40)
	l.clock.step(time.Millisecond)
	messages = append(messages, l.writeSome(3)...)
	l.ordered(messages)
	same(k, "the first message has the time of the clock", messages[0].Timestamp, l.clock.Now().Add(-time.Millisecond))
	same(k, "the last message has the time of the clock", messages[42].Timestamp, l.clock.Now())
}

// checkClockBack sets the clock back between messages: ids go on from the
// last one until the clock has caught up.
func checkClockBack(k *kit) {
	l := k.open()
	messages := l.writeSome(2)
	l.clock.step(-time.Hour)
	messages = append(messages, l.writeSome(3)...)
	l.ordered(messages)
	same(k, "the next id continues from the last one", messages[4].Timestamp, messages[1].Timestamp)
	l.clock.step(2 * time.Hour)
	messages = append(messages, l.writeSome(1)...)
	l.ordered(messages)
	same(k, "the clock counts again", messages[5].Timestamp, l.clock.Now())
}

// checkClockBackReopened does the same over a restart and a rebuild.
func checkClockBackReopened(k *kit) {
	l := k.open()
	messages := l.writeSome(2)
	l.clock.step(-time.Hour)
	if !l.reopen() {
		return
	}
	messages = append(messages, l.writeSome(2)...)
	l.rebuild()
	l.reopen()
	l.ordered(append(messages, l.writeSome(2)...))
}

// checkIDsStayUsed deletes the newest message and everything that could
// remember its id.
func checkIDsStayUsed(k *kit) {
	l := k.open()
	l.say("s", "kept")
	newest := l.say("s", "deleted")
	l.remove(newest.ID)
	l.rebuild()
	l.reopen()
	l.clock.step(-time.Hour)
	if next := l.writeSome(1)[0]; next.ID <= newest.ID {
		k.Errorf("id %s does not follow %s, which was deleted", next.ID, newest.ID)
	}
}

// checkReadAfterWrite looks for each message in every view as soon as it was
// written.
func checkReadAfterWrite(k *kit) {
	l := k.open()
	for i, word := range []string{"quartz", "topaz", "granite", "marble", "basalt"} {
		message := l.say("s", word)
		same(k, "context", l.get(message.ID), message)
		page := l.history(convmem.HistoryRequest{SessionID: "s", Order: convmem.OrderDescending, Limit: 1})
		same(k, "history", page.Messages, []convmem.Message{message})
		same(k, "search", l.found(convmem.SearchRequest{Query: word}), []string{message.ID})
		same(k, "sessions", l.sessions(convmem.SessionsRequest{}).Sessions[0].MessageCount, i+1)
	}
}
