package convmem

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

const someID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// verdict is the field at fault and what the error says, or nothing.
type verdict struct{ field, message string }

func verdictOf(t *testing.T, err error) verdict {
	t.Helper()
	if err == nil {
		return verdict{}
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeValidation {
		t.Fatalf("not a validation error: %v", err)
	}
	return verdict{e.Field, e.Message}
}

func distinct(n int, format string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}

const (
	badID   = "bytes that are no message id: want 26 upper-case characters of Crockford base 32, the first one 0 to 7"
	badTier = "want short, mid, long or discard"
	badKind = "want conversation, episode, semantic, procedure, preference or summary"
	badType = "want depends_on, derived_from, supersedes or related_to"
	badRole = "want user, assistant, system or tool"
)

func TestWriteValues(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name   string
		change func(*WriteRequest)
		want   verdict
	}{
		{"plain", func(r *WriteRequest) {}, verdict{}},
		{"no session", func(r *WriteRequest) { r.SessionID = "" }, verdict{"session_id", "0 bytes, at least 1"}},
		{"session at its limit", func(r *WriteRequest) { r.SessionID = long(256) }, verdict{}},
		{"long session", func(r *WriteRequest) { r.SessionID = long(257) }, verdict{"session_id", "257 bytes, at most 256"}},
		{"session in bytes, not characters", func(r *WriteRequest) { r.SessionID = strings.Repeat("日", 86) }, verdict{"session_id", "258 bytes, at most 256"}},
		{"session not UTF-8", func(r *WriteRequest) { r.SessionID = "ab\xff" }, verdict{"session_id", "not valid UTF-8, first at byte 2"}},
		{"U+FFFD itself is valid", func(r *WriteRequest) { r.Content = "\uFFFD" }, verdict{}},
		{"U+FFFD before a bad byte", func(r *WriteRequest) { r.Content = "\uFFFD\xc3" }, verdict{"content", "not valid UTF-8, first at byte 3"}},
		{"surrogate", func(r *WriteRequest) { r.Content = "\xed\xa0\x80" }, verdict{"content", "not valid UTF-8, first at byte 0"}},
		{"tool role", func(r *WriteRequest) { r.Role = RoleTool }, verdict{}},
		{"no role", func(r *WriteRequest) { r.Role = "" }, verdict{"role", "0 bytes, " + badRole}},
		{"misspelt role", func(r *WriteRequest) { r.Role = "User" }, verdict{"role", `"User", ` + badRole}},
		{"text in the place of a role", func(r *WriteRequest) { r.Role = "my secret" }, verdict{"role", "9 bytes, " + badRole}},
		{"no content", func(r *WriteRequest) { r.Content = "" }, verdict{"content", "0 bytes, at least 1"}},
		{"NUL and line breaks", func(r *WriteRequest) { r.Content = "\x00\r\n" }, verdict{}},
		{"content at its limit", func(r *WriteRequest) { r.Content = long(1 << 20) }, verdict{}},
		{"long content", func(r *WriteRequest) { r.Content = long(1<<20 + 1) }, verdict{"content", "1048577 bytes, at most 1048576"}},
		{"key at its limit", func(r *WriteRequest) { r.IdempotencyKey = long(256) }, verdict{}},
		{"long key", func(r *WriteRequest) { r.IdempotencyKey = long(257) }, verdict{"idempotency_key", "257 bytes, at most 256"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := WriteRequest{SessionID: "s", Role: RoleUser, Content: "c"}
			c.change(&r)
			if diff := gocmp.Diff(c.want, verdictOf(t, r.check()), gocmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetadataValues(t *testing.T) {
	long := func(n int) *string { return new(strings.Repeat("x", n)) }
	relations := func(n int) (list []Relation) {
		for range n {
			list = append(list, Relation{RelationSupersedes, someID})
		}
		return list
	}
	for _, c := range []struct {
		name  string
		patch MetadataPatch
		want  verdict
	}{
		{"nothing", MetadataPatch{}, verdict{}},
		{"tool call at its limit", MetadataPatch{ToolCallID: long(256)}, verdict{}},
		{"long tool call", MetadataPatch{ToolCallID: long(257)}, verdict{"tool_call_id", "257 bytes, at most 256"}},
		{"32 tags", MetadataPatch{Tags: distinct(32, "%d")}, verdict{}},
		{"33 tags", MetadataPatch{Tags: distinct(33, "%d")}, verdict{"tags", "33 given, at most 32"}},
		{"tag at its limit", MetadataPatch{Tags: []string{*long(128)}}, verdict{}},
		{"long tag", MetadataPatch{Tags: []string{"a", "b", "c", *long(140)}}, verdict{"tags[3]", "140 bytes, at most 128"}},
		{"empty tag", MetadataPatch{Tags: []string{""}}, verdict{"tags[0]", "0 bytes, at least 1"}},
		{"bad tag", MetadataPatch{Tags: []string{"a", "\x80"}}, verdict{"tags[1]", "not valid UTF-8, first at byte 0"}},
		{"bad tier", MetadataPatch{Tier: "medium"}, verdict{"memory_tier", `"medium", ` + badTier}},
		{"bad kind", MetadataPatch{Kind: "fact"}, verdict{"memory_kind", `"fact", ` + badKind}},
		{"importance 0", MetadataPatch{Importance: new(0)}, verdict{}},
		{"importance 100", MetadataPatch{Importance: new(100)}, verdict{}},
		{"importance -1", MetadataPatch{Importance: new(-1)}, verdict{"importance", "-1, want 0 to 100"}},
		{"importance 101", MetadataPatch{Importance: new(101)}, verdict{"importance", "101, want 0 to 100"}},
		{"summary at its limit", MetadataPatch{Summary: long(4096)}, verdict{}},
		{"long summary", MetadataPatch{Summary: long(4097)}, verdict{"summary", "4097 bytes, at most 4096"}},
		{"32 relations", MetadataPatch{Relations: relations(32)}, verdict{}},
		{"33 relations", MetadataPatch{Relations: relations(33)}, verdict{"relations", "33 given, at most 32"}},
		{"bad relation type", MetadataPatch{Relations: []Relation{{"cites", someID}}}, verdict{"relations[0].type", `"cites", ` + badType}},
		{"bad relation target", MetadataPatch{Relations: append(relations(1), Relation{RelationRelatedTo, "x"})}, verdict{"relations[1].message_id", "1 " + badID}},
		{"64 sources", MetadataPatch{SourceMessageIDs: distinct(64, "01ARZ3NDEKTSV4RRFFQ69G5F%02d")}, verdict{}},
		{"65 sources", MetadataPatch{SourceMessageIDs: distinct(65, "01ARZ3NDEKTSV4RRFFQ69G5F%02d")}, verdict{"source_message_ids", "65 given, at most 64"}},
		{"bad source", MetadataPatch{SourceMessageIDs: []string{someID, strings.ToLower(someID)}}, verdict{"source_message_ids[1]", "26 " + badID}},
		{"occurred in 1970", MetadataPatch{OccurredAt: time.UnixMilli(0)}, verdict{}},
		{"occurred before", MetadataPatch{OccurredAt: time.UnixMilli(0).Add(-1)}, verdict{"occurred_at", "-1, want a time from 0 to 281474976710655 Unix milliseconds"}},
		{"occurred last", MetadataPatch{OccurredAt: time.UnixMilli(1<<48 - 1).Add(999_999)}, verdict{}},
		{"occurred after", MetadataPatch{OccurredAt: time.UnixMilli(1 << 48)}, verdict{"occurred_at", "281474976710656, want a time from 0 to 281474976710655 Unix milliseconds"}},
		{"occurred where milliseconds wrap around", MetadataPatch{OccurredAt: time.Unix(1<<62, 0)}, verdict{"occurred_at", fmt.Sprintf("year %d, want a time from 0 to 281474976710655 Unix milliseconds", time.Unix(1<<62, 0).UTC().Year())}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, verdictOf(t, c.patch.check()), gocmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessageIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		someID:                       true,
		"00000000000000000000000000": true,
		"7ZZZZZZZZZZZZZZZZZZZZZZZZZ": true,
		"80000000000000000000000000": false,
		"01arz3ndektsv4rrffq69g5fav": false,
		"01ARZ3NDEKTSV4RRFFQ69G5FAv": false,
		"01ARZ3NDEKTSV4RRFFQ69G5FAI": false,
		"01ARZ3NDEKTSV4RRFFQ69G5FAL": false,
		"01ARZ3NDEKTSV4RRFFQ69G5FAO": false,
		"01ARZ3NDEKTSV4RRFFQ69G5FAU": false,
		"01ARZ3NDEKTSV4RRFFQ69G5FA":  false,
		someID + "0":                 false,
		" " + someID[1:]:             false,
		"":                           false,
	} {
		if err := checkID("message_id", id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestUpdateAndDeleteValues(t *testing.T) {
	itself := MetadataPatch{Relations: []Relation{{RelationRelatedTo, "01ARZ3NDEKTSV4RRFFQ69G5FAW"}, {RelationRelatedTo, someID}}}
	for _, c := range []struct {
		name    string
		request interface{ check() error }
		want    verdict
	}{
		{"no id", UpdateRequest{Content: new("c")}, verdict{"message_id", "0 " + badID}},
		{"nothing to change", UpdateRequest{MessageID: someID}, verdict{"content", "nothing to change: give content, metadata or both"}},
		{"empty metadata", UpdateRequest{MessageID: someID, Metadata: &MetadataPatch{}}, verdict{}},
		{"empty content", UpdateRequest{MessageID: someID, Content: new("")}, verdict{"content", "0 bytes, at least 1"}},
		{"revision -1", UpdateRequest{MessageID: someID, Content: new("c"), ExpectedRevision: -1}, verdict{"expected_revision", "-1, at least 1"}},
		{"relation to itself", UpdateRequest{MessageID: someID, Metadata: &itself}, verdict{"relations[1].message_id", "the message itself, want another one"}},
		{"bad metadata", UpdateRequest{MessageID: someID, Metadata: &MetadataPatch{Importance: new(200)}}, verdict{"importance", "200, want 0 to 100"}},
		{"delete", DeleteRequest{MessageID: someID, SessionID: strings.Repeat("x", 256)}, verdict{}},
		{"delete nothing", DeleteRequest{}, verdict{"message_id", "0 " + badID}},
		{"delete with a long guard", DeleteRequest{MessageID: someID, SessionID: strings.Repeat("x", 257)}, verdict{"session_id", "257 bytes, at most 256"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, verdictOf(t, c.request.check()), gocmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadAndSearchValues(t *testing.T) {
	history := func(change func(*HistoryRequest)) error {
		r := HistoryRequest{SessionID: "s"}
		change(&r)
		return r.withDefaults().check()
	}
	around := func(change func(*ContextRequest)) error {
		r := ContextRequest{MessageID: someID}
		change(&r)
		_, err := r.plan()
		return err
	}
	found := func(change func(*SearchRequest)) error {
		r := SearchRequest{Query: "q"}
		change(&r)
		return r.withDefaults().check()
	}
	for _, c := range []struct {
		name string
		err  error
		want verdict
	}{
		{"history", history(func(r *HistoryRequest) {}), verdict{}},
		{"history, no session", history(func(r *HistoryRequest) { r.SessionID = "" }), verdict{"session_id", "0 bytes, at least 1"}},
		{"history, order", history(func(r *HistoryRequest) { r.Order = "newest" }), verdict{"order", `"newest", want asc or desc`}},
		{"history, limit -1", history(func(r *HistoryRequest) { r.Limit = -1 }), verdict{"limit", "-1, want 1 to 1000"}},
		{"history, limit 1001", history(func(r *HistoryRequest) { r.Limit = 1001 }), verdict{"limit", "1001, want 1 to 1000"}},
		{"history, characters", history(func(r *HistoryRequest) { r.MaxCharacters = 1<<23 + 1 }), verdict{"max_characters", "8388609, want 1 to 8388608"}},
		{"history, cut", history(func(r *HistoryRequest) { r.MaxContentCharacters = -1 }), verdict{"max_content_characters", "-1, want 1 to 1048576"}},
		{"context", around(func(r *ContextRequest) { r.Before, r.After, r.RelationDepth = new(0), new(10), new(2) }), verdict{}},
		{"context, before", around(func(r *ContextRequest) { r.Before = new(11) }), verdict{"before", "11, want 0 to 10"}},
		{"context, after", around(func(r *ContextRequest) { r.After = new(-1) }), verdict{"after", "-1, want 0 to 10"}},
		{"context, depth", around(func(r *ContextRequest) { r.RelationDepth = new(3) }), verdict{"relation_depth", "3, want 0 to 2"}},
		{"context, type", around(func(r *ContextRequest) { r.RelationTypes = []RelationType{"supersedes", ""} }), verdict{"relation_types[1]", "0 bytes, " + badType}},
		{"context, cut", around(func(r *ContextRequest) { r.MaxContentCharacters = 1<<20 + 1 }), verdict{"max_content_characters", "1048577, want 1 to 1048576"}},
		{"sessions", SessionsRequest{}.withDefaults().check(), verdict{}},
		{"sessions, limit", SessionsRequest{Limit: 1001}.withDefaults().check(), verdict{"limit", "1001, want 1 to 1000"}},
		{"search", found(func(r *SearchRequest) {}), verdict{}},
		{"search, no query", found(func(r *SearchRequest) { r.Query = "" }), verdict{"query", "0 bytes, at least 1"}},
		{"search, long query", found(func(r *SearchRequest) { r.Query = strings.Repeat("x", 4097) }), verdict{"query", "4097 bytes, at most 4096"}},
		{"search, kind", found(func(r *SearchRequest) { r.Filters.Kinds = []MemoryKind{"fact"} }), verdict{"kinds[0]", `"fact", ` + badKind}},
		{"search, tier", found(func(r *SearchRequest) { r.Filters.Tiers = []MemoryTier{"long", "x"} }), verdict{"tiers[1]", `"x", ` + badTier}},
		{"search, tag", found(func(r *SearchRequest) { r.Filters.Tags = []string{""} }), verdict{"tags[0]", "0 bytes, at least 1"}},
		{"search, role", found(func(r *SearchRequest) { r.Filters.Roles = []Role{"bot"} }), verdict{"roles[0]", `"bot", ` + badRole}},
		{"search, since", found(func(r *SearchRequest) { r.Filters.Since = time.UnixMilli(-1) }), verdict{"since", "-1, want a time from 0 to 281474976710655 Unix milliseconds"}},
		{"search, until", found(func(r *SearchRequest) { r.Filters.Until = time.UnixMilli(1 << 48) }), verdict{"until", "281474976710656, want a time from 0 to 281474976710655 Unix milliseconds"}},
		{"search, importance", found(func(r *SearchRequest) { r.MinImportance = 101 }), verdict{"min_importance", "101, want 0 to 100"}},
		{"search, context", found(func(r *SearchRequest) { r.ContextSize = 4 }), verdict{"context_size", "4, want 0 to 3"}},
		{"search, limit", found(func(r *SearchRequest) { r.Limit = 101 }), verdict{"limit", "101, want 1 to 100"}},
		{"search, cut", found(func(r *SearchRequest) { r.MaxContentCharacters = -1 }), verdict{"max_content_characters", "-1, want 1 to 1048576"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, verdictOf(t, c.err), gocmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestViews(t *testing.T) {
	history, around := &HistoryRequest{}, &ContextRequest{}
	for _, c := range []struct {
		request ReadRequest
		want    string
	}{
		{ReadRequest{}, "0 given"},
		{ReadRequest{History: history, Context: around}, "2 given"},
		{ReadRequest{History: history, Context: around, Sessions: &SessionsRequest{}}, "3 given"},
	} {
		if got := verdictOf(t, func() error { _, err := c.request.view(); return err }()); got.field != "view" || !strings.HasPrefix(got.message, c.want) {
			t.Errorf("%+v: %+v", c.request, got)
		}
	}
}

// TestPatches lays a patch over metadata that has everything.
func TestPatches(t *testing.T) {
	full := fullRecord().message.Metadata
	for _, c := range []struct {
		name  string
		patch MetadataPatch
		want  func(*Metadata)
	}{
		{"nothing given", MetadataPatch{}, func(m *Metadata) {}},
		{"texts cleared", MetadataPatch{ToolCallID: new(""), Summary: new("")}, func(m *Metadata) { m.ToolCallID, m.Summary = "", "" }},
		{"lists cleared", MetadataPatch{Tags: []string{}, Relations: []Relation{}, SourceMessageIDs: []string{}},
			func(m *Metadata) { m.Tags, m.Relations, m.SourceMessageIDs = nil, nil, nil }},
		{"tags replaced and folded", MetadataPatch{Tags: []string{"x", "y", "x"}}, func(m *Metadata) { m.Tags = []string{"x", "y"} }},
		{"relations folded", MetadataPatch{Relations: []Relation{{RelationRelatedTo, someID}, {RelationDependsOn, someID}, {RelationRelatedTo, someID}}},
			func(m *Metadata) { m.Relations = []Relation{{RelationRelatedTo, someID}, {RelationDependsOn, someID}} }},
		{"values", MetadataPatch{Tier: TierMid, Kind: KindEpisode, Importance: new(7)},
			func(m *Metadata) { m.Tier, m.Kind, m.Importance = TierMid, KindEpisode, 7 }},
		{"time in whole milliseconds", MetadataPatch{OccurredAt: time.Unix(1, 2_999_999).In(time.FixedZone("z", 60))},
			func(m *Metadata) { m.OccurredAt = time.UnixMilli(1002).UTC() }},
	} {
		want := full
		c.want(&want)
		if diff := gocmp.Diff(want, full.with(c.patch)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
