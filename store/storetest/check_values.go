package storetest

import (
	"fmt"
	"strings"
	"time"

	"example.com/convmem"
)

func valueChecks() []check {
	return []check{
		{"values/write", checkWriteValues},
		{"values/metadata of a write", checkWriteMetadata},
		{"values/metadata of an update", checkUpdateMetadata},
		{"values/choices", checkEveryChoice},
		{"values/update", checkUpdateValues},
		{"values/message ids", checkMessageIDs},
		{"values/delete", checkDeleteValues},
		{"values/read", checkReadValues},
		{"values/search", checkSearchValues},
		{"values/refused writes store nothing", checkRefusalsStoreNothing},
		{"values/error text", checkErrorText},
	}
}

// verdict is what must become of a value: field "" means that it is allowed,
// else it is refused in the name of that field, and the error says the parts.
type verdict struct {
	field string
	says  []string
}

func allowed() verdict { return verdict{} }

func refused(field string, says ...string) verdict { return verdict{field, says} }

// judge fails unless err is what the verdict demands.
func (k *kit) judge(err error, v verdict) {
	k.Helper()
	if v.field == "" {
		k.ok("a value within its limits", err)
		return
	}
	k.fails("a value beyond its limits", err, convmem.CodeValidation, v.field)
	k.says("a value beyond its limits", err, append(v.says, v.field)...)
}

const badUTF8 = "broken \xff text"

// text makes a text of n bytes, in characters of three bytes as far as they go,
// so that a limit that counts characters is found out.
func text(n int) string {
	return strings.Repeat("日", n/3) + strings.Repeat("x", n%3)
}

// checkWriteValues tries the parameters of a write at their limits and
// beyond.
func checkWriteValues(k *kit) {
	for _, c := range []struct {
		name    string
		change  func(*convmem.WriteRequest)
		verdict verdict
	}{
		{"session id empty", func(r *convmem.WriteRequest) { r.SessionID = "" }, refused("session_id")},
		{"session id 1 byte", func(r *convmem.WriteRequest) { r.SessionID = "s" }, allowed()},
		{"session id 256 bytes", func(r *convmem.WriteRequest) { r.SessionID = text(256) }, allowed()},
		{"session id 257 bytes", func(r *convmem.WriteRequest) { r.SessionID = text(257) }, refused("session_id", "257", "256")},
		{"session id not UTF-8", func(r *convmem.WriteRequest) { r.SessionID = badUTF8 }, refused("session_id")},
		{"session id like a path", func(r *convmem.WriteRequest) { r.SessionID = "../../etc/passwd\x00" }, allowed()},
		{"role empty", func(r *convmem.WriteRequest) { r.Role = "" }, refused("role")},
		{"role unknown", func(r *convmem.WriteRequest) { r.Role = "bot" }, refused("role")},
		{"role in capitals", func(r *convmem.WriteRequest) { r.Role = "User" }, refused("role")},
		{"content empty", func(r *convmem.WriteRequest) { r.Content = "" }, refused("content")},
		{"content 1 byte", func(r *convmem.WriteRequest) { r.Content = " " }, allowed()},
		{"content 1 MiB", func(r *convmem.WriteRequest) { r.Content = text(1 << 20) }, allowed()},
		{"content 1 MiB and 1 byte", func(r *convmem.WriteRequest) { r.Content = text(1<<20 + 1) }, refused("content", "1048577", "1048576")},
		{"content not UTF-8", func(r *convmem.WriteRequest) { r.Content = badUTF8 }, refused("content")},
		{"key 256 bytes", func(r *convmem.WriteRequest) { r.IdempotencyKey = text(256) }, allowed()},
		{"key 257 bytes", func(r *convmem.WriteRequest) { r.IdempotencyKey = text(257) }, refused("idempotency_key", "257", "256")},
		{"key not UTF-8", func(r *convmem.WriteRequest) { r.IdempotencyKey = badUTF8 }, refused("idempotency_key")},
	} {
		k.run(c.name, func(k *kit) {
			l := k.open()
			r := convmem.WriteRequest{SessionID: "session", Role: convmem.RoleUser, Content: "content"}
			c.change(&r)
			result, err := l.store.Write(l.ctx(), r)
			k.judge(err, c.verdict)
			if err == nil {
				same(k, "the stored content", l.get(result.Message.ID).Content, r.Content)
				same(k, "the stored session", l.get(result.Message.ID).SessionID, r.SessionID)
			}
		})
	}
}

// distinct makes n different values.
func distinct[T any](n int, make func(i int) T) []T {
	var all []T
	for i := range n {
		all = append(all, make(i))
	}
	return all
}

// strangerID is the id of a message that no store has.
func strangerID(i int) string { return fmt.Sprintf("0000000000000000000000%04d", i) }

func relatedTo(ids ...string) []convmem.Relation {
	return relations(convmem.RelationRelatedTo, ids...)
}

func relations(kind convmem.RelationType, ids ...string) []convmem.Relation {
	var all []convmem.Relation
	for _, id := range ids {
		all = append(all, convmem.Relation{Type: kind, MessageID: id})
	}
	return all
}

// metadataCase is one value of metadata and what must become of it, in a write
// and in an update alike.
type metadataCase struct {
	name    string
	patch   convmem.MetadataPatch
	verdict verdict
}

// metadataCases lists the limits of metadata.
func metadataCases() []metadataCase {
	tag := func(i int) string { return fmt.Sprintf("tag %d", i) }
	source := func(n int) []string { return distinct(n, strangerID) }
	moment := func(ms int64) convmem.MetadataPatch { return convmem.MetadataPatch{OccurredAt: time.UnixMilli(ms)} }
	return []metadataCase{
		{"tool call id 256 bytes", convmem.MetadataPatch{ToolCallID: new(text(256))}, allowed()},
		{"tool call id 257 bytes", convmem.MetadataPatch{ToolCallID: new(text(257))}, refused("tool_call_id", "257", "256")},
		{"tool call id not UTF-8", convmem.MetadataPatch{ToolCallID: new(badUTF8)}, refused("tool_call_id")},
		{"32 tags", convmem.MetadataPatch{Tags: distinct(32, tag)}, allowed()},
		{"33 tags", convmem.MetadataPatch{Tags: distinct(33, tag)}, refused("tags", "33", "32")},
		{"tag 128 bytes", convmem.MetadataPatch{Tags: []string{text(128)}}, allowed()},
		{"tag 129 bytes", convmem.MetadataPatch{Tags: []string{"a", "b", "c", text(129)}}, refused("tags[3]", "129", "128")},
		{"tag empty", convmem.MetadataPatch{Tags: []string{"a", ""}}, refused("tags[1]")},
		{"tag not UTF-8", convmem.MetadataPatch{Tags: []string{badUTF8}}, refused("tags[0]")},
		{"tier unknown", convmem.MetadataPatch{Tier: "forever"}, refused("memory_tier")},
		{"tier in capitals", convmem.MetadataPatch{Tier: "LONG"}, refused("memory_tier")},
		{"kind unknown", convmem.MetadataPatch{Kind: "fact"}, refused("memory_kind")},
		{"kind in capitals", convmem.MetadataPatch{Kind: "Episode"}, refused("memory_kind")},
		{"importance -1", convmem.MetadataPatch{Importance: new(-1)}, refused("importance", "-1")},
		{"importance 0", convmem.MetadataPatch{Importance: new(0)}, allowed()},
		{"importance 100", convmem.MetadataPatch{Importance: new(100)}, allowed()},
		{"importance 101", convmem.MetadataPatch{Importance: new(101)}, refused("importance", "101", "100")},
		{"summary 4096 bytes", convmem.MetadataPatch{Summary: new(text(4096))}, allowed()},
		{"summary 4097 bytes", convmem.MetadataPatch{Summary: new(text(4097))}, refused("summary", "4097", "4096")},
		{"summary not UTF-8", convmem.MetadataPatch{Summary: new(badUTF8)}, refused("summary")},
		{"32 relations", convmem.MetadataPatch{Relations: relatedTo(source(32)...)}, allowed()},
		{"33 relations", convmem.MetadataPatch{Relations: relatedTo(source(33)...)}, refused("relations", "33", "32")},
		{"relation of no type", convmem.MetadataPatch{Relations: []convmem.Relation{{MessageID: strangerID(1)}}}, refused("relations[0].type")},
		{"relation of an unknown type", convmem.MetadataPatch{Relations: append(relatedTo(source(2)...), relations("replaces", strangerID(3))...)}, refused("relations[2].type")},
		{"relation to nothing", convmem.MetadataPatch{Relations: relatedTo("")}, refused("relations[0].message_id")},
		{"relation to no id", convmem.MetadataPatch{Relations: relatedTo(strangerID(1), "not-a-ulid")}, refused("relations[1].message_id")},
		{"64 sources", convmem.MetadataPatch{SourceMessageIDs: source(64)}, allowed()},
		{"65 sources", convmem.MetadataPatch{SourceMessageIDs: source(65)}, refused("source_message_ids", "65", "64")},
		{"source that is no id", convmem.MetadataPatch{SourceMessageIDs: append(source(2), "not-a-ulid")}, refused("source_message_ids[2]")},
		{"occurred before 1970", moment(-1), refused("occurred_at")},
		{"occurred at the start of 1970", moment(0), allowed()},
		{"occurred at the last moment of an id", moment(1<<48 - 1), allowed()},
		{"occurred after that", moment(1 << 48), refused("occurred_at")},
	}
}

// want is the metadata that a new message with the patch must have, for
// patches without repetitions.
func want(p convmem.MetadataPatch) convmem.Metadata {
	m := convmem.Metadata{
		Tags: p.Tags, Tier: convmem.TierShort, Kind: convmem.KindConversation, Importance: 50,
		Relations: p.Relations, SourceMessageIDs: p.SourceMessageIDs, OccurredAt: p.OccurredAt,
	}
	set(&m.ToolCallID, p.ToolCallID)
	set(&m.Importance, p.Importance)
	set(&m.Summary, p.Summary)
	if p.Tier != "" {
		m.Tier = p.Tier
	}
	if p.Kind != "" {
		m.Kind = p.Kind
	}
	return m
}

// set copies a value that is given.
func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// checkWriteMetadata writes messages with each value of metadata.
func checkWriteMetadata(k *kit) {
	for _, c := range metadataCases() {
		k.run(c.name, func(k *kit) {
			l := k.open()
			result, err := l.store.Write(l.ctx(), convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "x", Metadata: c.patch})
			k.judge(err, c.verdict)
			if err == nil {
				same(k, "the answer", result.Message.Metadata, want(c.patch))
				same(k, "the stored message", l.get(result.Message.ID).Metadata, want(c.patch))
			}
		})
	}
}

// checkUpdateMetadata updates messages to each value of metadata.
func checkUpdateMetadata(k *kit) {
	for _, c := range metadataCases() {
		k.run(c.name, func(k *kit) {
			l := k.open()
			message := l.say("s", "x")
			result, err := l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: message.ID, Metadata: &c.patch})
			k.judge(err, c.verdict)
			if err != nil {
				same(k, "the message after a refused update", l.get(message.ID), message)
				return
			}
			same(k, "the answer", result.Message.Metadata, want(c.patch))
			same(k, "the stored message", l.get(message.ID).Metadata, want(c.patch))
		})
	}
}

// checkEveryChoice writes each role, tier, kind and relation type.
func checkEveryChoice(k *kit) {
	l := k.open()
	target := l.say("s", "target")
	for _, role := range []convmem.Role{"user", "assistant", "system", "tool"} {
		message := l.write(convmem.WriteRequest{SessionID: "s", Role: role, Content: "x"})
		same(k, "role", l.get(message.ID).Role, role)
	}
	for _, tier := range []convmem.MemoryTier{"short", "mid", "long", "discard"} {
		message := l.note("s", "x", convmem.MetadataPatch{Tier: tier})
		same(k, "tier", l.get(message.ID).Metadata.Tier, tier)
	}
	for _, kind := range []convmem.MemoryKind{"conversation", "episode", "semantic", "procedure", "preference", "summary"} {
		message := l.note("s", "x", convmem.MetadataPatch{Kind: kind})
		same(k, "kind", l.get(message.ID).Metadata.Kind, kind)
	}
	for _, kind := range []convmem.RelationType{"depends_on", "derived_from", "supersedes", "related_to"} {
		message := l.note("s", "x", convmem.MetadataPatch{Relations: relations(kind, target.ID)})
		same(k, "relation", l.get(message.ID).Metadata.Relations, relations(kind, target.ID))
	}
}
