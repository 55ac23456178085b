package storetest

import (
	"strings"
	"time"

	"example.com/convmem"
)

// checkReadValues tries the parameters of the three views at their limits and
// beyond.
func checkReadValues(k *kit) {
	l := k.open()
	id := l.say("s", "content").ID
	history := func(change func(*convmem.HistoryRequest)) convmem.ReadRequest {
		r := convmem.HistoryRequest{SessionID: "s"}
		change(&r)
		return convmem.ReadRequest{History: &r}
	}
	around := func(change func(*convmem.ContextRequest)) convmem.ReadRequest {
		r := convmem.ContextRequest{MessageID: id}
		change(&r)
		return convmem.ReadRequest{Context: &r}
	}
	sessions := func(r convmem.SessionsRequest) convmem.ReadRequest { return convmem.ReadRequest{Sessions: &r} }
	for _, c := range []struct {
		name    string
		request convmem.ReadRequest
		verdict verdict
	}{
		{"no view", convmem.ReadRequest{}, refused("view")},
		{"two views", convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s"}, Sessions: &convmem.SessionsRequest{}}, refused("view")},
		{"history of no session", history(func(r *convmem.HistoryRequest) { r.SessionID = "" }), refused("session_id")},
		{"history session 257 bytes", history(func(r *convmem.HistoryRequest) { r.SessionID = text(257) }), refused("session_id", "257", "256")},
		{"history session not UTF-8", history(func(r *convmem.HistoryRequest) { r.SessionID = badUTF8 }), refused("session_id")},
		{"history limit -1", history(func(r *convmem.HistoryRequest) { r.Limit = -1 }), refused("limit", "-1")},
		{"history limit 1", history(func(r *convmem.HistoryRequest) { r.Limit = 1 }), allowed()},
		{"history limit 1000", history(func(r *convmem.HistoryRequest) { r.Limit = 1000 }), allowed()},
		{"history limit 1001", history(func(r *convmem.HistoryRequest) { r.Limit = 1001 }), refused("limit", "1001", "1000")},
		{"order asc", history(func(r *convmem.HistoryRequest) { r.Order = "asc" }), allowed()},
		{"order desc", history(func(r *convmem.HistoryRequest) { r.Order = "desc" }), allowed()},
		{"order unknown", history(func(r *convmem.HistoryRequest) { r.Order = "newest" }), refused("order")},
		{"max characters -1", history(func(r *convmem.HistoryRequest) { r.MaxCharacters = -1 }), refused("max_characters", "-1")},
		{"max characters 1", history(func(r *convmem.HistoryRequest) { r.MaxCharacters = 1 }), allowed()},
		{"max characters 8 Mi", history(func(r *convmem.HistoryRequest) { r.MaxCharacters = 8 << 20 }), allowed()},
		{"max characters 8 Mi and 1", history(func(r *convmem.HistoryRequest) { r.MaxCharacters = 8<<20 + 1 }), refused("max_characters", "8388609", "8388608")},
		{"history content -1", history(func(r *convmem.HistoryRequest) { r.MaxContentCharacters = -1 }), refused("max_content_characters", "-1")},
		{"history content 1 Mi", history(func(r *convmem.HistoryRequest) { r.MaxContentCharacters = 1 << 20 }), allowed()},
		{"history content 1 Mi and 1", history(func(r *convmem.HistoryRequest) { r.MaxContentCharacters = 1<<20 + 1 }), refused("max_content_characters", "1048577", "1048576")},
		{"before -1", around(func(r *convmem.ContextRequest) { r.Before = new(-1) }), refused("before", "-1")},
		{"before 0", around(func(r *convmem.ContextRequest) { r.Before = new(0) }), allowed()},
		{"before 10", around(func(r *convmem.ContextRequest) { r.Before = new(10) }), allowed()},
		{"before 11", around(func(r *convmem.ContextRequest) { r.Before = new(11) }), refused("before", "11", "10")},
		{"after -1", around(func(r *convmem.ContextRequest) { r.After = new(-1) }), refused("after", "-1")},
		{"after 10", around(func(r *convmem.ContextRequest) { r.After = new(10) }), allowed()},
		{"after 11", around(func(r *convmem.ContextRequest) { r.After = new(11) }), refused("after", "11", "10")},
		{"depth -1", around(func(r *convmem.ContextRequest) { r.RelationDepth = new(-1) }), refused("relation_depth", "-1")},
		{"depth 2", around(func(r *convmem.ContextRequest) { r.RelationDepth = new(2) }), allowed()},
		{"depth 3", around(func(r *convmem.ContextRequest) { r.RelationDepth = new(3) }), refused("relation_depth", "3", "2")},
		{"every relation type", around(func(r *convmem.ContextRequest) { r.RelationTypes = relationTypes() }), allowed()},
		{"relation type unknown", around(func(r *convmem.ContextRequest) { r.RelationTypes = []convmem.RelationType{"supersedes", "x"} }), refused("relation_types[1]")},
		{"context content -1", around(func(r *convmem.ContextRequest) { r.MaxContentCharacters = -1 }), refused("max_content_characters", "-1")},
		{"context content 1 Mi and 1", around(func(r *convmem.ContextRequest) { r.MaxContentCharacters = 1<<20 + 1 }), refused("max_content_characters", "1048577", "1048576")},
		{"sessions limit -1", sessions(convmem.SessionsRequest{Limit: -1}), refused("limit", "-1")},
		{"sessions limit 1000", sessions(convmem.SessionsRequest{Limit: 1000}), allowed()},
		{"sessions limit 1001", sessions(convmem.SessionsRequest{Limit: 1001}), refused("limit", "1001", "1000")},
		{"sessions content -1", sessions(convmem.SessionsRequest{MaxContentCharacters: -1}), refused("max_content_characters", "-1")},
		{"sessions content 1 Mi and 1", sessions(convmem.SessionsRequest{MaxContentCharacters: 1<<20 + 1}), refused("max_content_characters", "1048577", "1048576")},
	} {
		k.run(c.name, func(k *kit) {
			_, err := l.store.Read(l.ctx(), c.request)
			k.judge(err, c.verdict)
		})
	}
}

// checkSearchValues tries the parameters of a search at their limits and
// beyond.
func checkSearchValues(k *kit) {
	l := k.open()
	l.say("s", "content")
	for _, c := range []struct {
		name    string
		change  func(*convmem.SearchRequest)
		verdict verdict
	}{
		{"query empty", func(r *convmem.SearchRequest) { r.Query = "" }, refused("query")},
		{"query 1 byte", func(r *convmem.SearchRequest) { r.Query = "c" }, allowed()},
		{"query 4096 bytes", func(r *convmem.SearchRequest) { r.Query = text(4096) }, allowed()},
		{"query 4096 bytes in words", func(r *convmem.SearchRequest) { r.Query = strings.Repeat("ab ", 1365) + "c" }, allowed()},
		{"query 4097 bytes", func(r *convmem.SearchRequest) { r.Query = text(4097) }, refused("query", "4097", "4096")},
		{"query not UTF-8", func(r *convmem.SearchRequest) { r.Query = badUTF8 }, refused("query")},
		{"session 256 bytes", func(r *convmem.SearchRequest) { r.SessionID = text(256) }, allowed()},
		{"session 257 bytes", func(r *convmem.SearchRequest) { r.SessionID = text(257) }, refused("session_id", "257", "256")},
		{"session not UTF-8", func(r *convmem.SearchRequest) { r.SessionID = badUTF8 }, refused("session_id")},
		{"every kind", func(r *convmem.SearchRequest) { r.Filters.Kinds = kinds() }, allowed()},
		{"kind unknown", func(r *convmem.SearchRequest) { r.Filters.Kinds = []convmem.MemoryKind{"fact"} }, refused("kinds[0]")},
		{"every tier", func(r *convmem.SearchRequest) { r.Filters.Tiers = tiers() }, allowed()},
		{"tier unknown", func(r *convmem.SearchRequest) { r.Filters.Tiers = []convmem.MemoryTier{"long", "LONG"} }, refused("tiers[1]")},
		{"every role", func(r *convmem.SearchRequest) { r.Filters.Roles = roles() }, allowed()},
		{"role unknown", func(r *convmem.SearchRequest) { r.Filters.Roles = []convmem.Role{"bot"} }, refused("roles[0]")},
		{"tag not in use", func(r *convmem.SearchRequest) { r.Filters.Tags = []string{"nowhere"} }, allowed()},
		{"since and until", func(r *convmem.SearchRequest) {
			r.Filters.Since, r.Filters.Until = time.UnixMilli(0), time.UnixMilli(1<<48-1)
		}, allowed()},
		{"min importance -1", func(r *convmem.SearchRequest) { r.MinImportance = -1 }, refused("min_importance", "-1")},
		{"min importance 100", func(r *convmem.SearchRequest) { r.MinImportance = 100 }, allowed()},
		{"min importance 101", func(r *convmem.SearchRequest) { r.MinImportance = 101 }, refused("min_importance", "101", "100")},
		{"context size -1", func(r *convmem.SearchRequest) { r.ContextSize = -1 }, refused("context_size", "-1")},
		{"context size 3", func(r *convmem.SearchRequest) { r.ContextSize = 3 }, allowed()},
		{"context size 4", func(r *convmem.SearchRequest) { r.ContextSize = 4 }, refused("context_size", "4", "3")},
		{"limit -1", func(r *convmem.SearchRequest) { r.Limit = -1 }, refused("limit", "-1")},
		{"limit 1", func(r *convmem.SearchRequest) { r.Limit = 1 }, allowed()},
		{"limit 100", func(r *convmem.SearchRequest) { r.Limit = 100 }, allowed()},
		{"limit 101", func(r *convmem.SearchRequest) { r.Limit = 101 }, refused("limit", "101", "100")},
		{"content -1", func(r *convmem.SearchRequest) { r.MaxContentCharacters = -1 }, refused("max_content_characters", "-1")},
		{"content 1 Mi and 1", func(r *convmem.SearchRequest) { r.MaxContentCharacters = 1<<20 + 1 }, refused("max_content_characters", "1048577", "1048576")},
	} {
		k.run(c.name, func(k *kit) {
			r := convmem.SearchRequest{Query: "content"}
			c.change(&r)
			_, err := l.store.Search(l.ctx(), r)
			k.judge(err, c.verdict)
		})
	}
}
