package convmem_test

import (
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// sized is a content of n bytes that begins with a word.
func sized(word string, n int) string { return word + strings.Repeat(" x", (n-len(word))/2) }

// pages follows a history to its end and returns the number of messages on each
// page and all contents.
func (w *world) pages(r convmem.HistoryRequest) (counts []int, all []string) {
	w.Helper()
	for range 100 {
		page := w.history(r)
		counts = append(counts, len(page.Messages))
		all = append(all, contents(page.Messages)...)
		if page.NextCursor == "" {
			return counts, all
		}
		r.Cursor = page.NextCursor
	}
	w.Fatal("the pages never end")
	return nil, nil
}

func TestHistoryBudget(t *testing.T) {
	w := newWorld(t, convmem.Options{MaxResultBytes: 2500})
	var all []string
	for _, size := range []int{1000, 1000, 1000, 5000, 400, 2000} {
		all = append(all, w.say("s", sized("ww", size), convmem.MetadataPatch{}).Content)
	}
	for _, c := range []struct {
		name    string
		request convmem.HistoryRequest
		want    []int
	}{
		{"ascending", convmem.HistoryRequest{}, []int{2, 1, 1, 2}},
		{"limit comes first", convmem.HistoryRequest{Limit: 1}, []int{1, 1, 1, 1, 1, 1}},
		{"characters to spare", convmem.HistoryRequest{MaxCharacters: 2000}, []int{2, 1, 1, 1, 1}},
		{"one character too many", convmem.HistoryRequest{MaxCharacters: 1999}, []int{1, 1, 1, 1, 1, 1}},
		{"cut contents count as they are shown", convmem.HistoryRequest{MaxContentCharacters: 600}, []int{3, 3}},
	} {
		c.request.SessionID = "s"
		counts, got := w.pages(c.request)
		if diff := cmp.Diff(c.want, counts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if c.request.MaxContentCharacters == 0 {
			if diff := cmp.Diff(all, got); diff != "" {
				t.Errorf("%s: contents differ", c.name)
			}
		}
	}
}

// TestMetadataCounts: a page is full of tags, summaries, relations and sources
// as it is of content.
func TestMetadataCounts(t *testing.T) {
	var relations []convmem.Relation
	var sources []string
	for i := range 32 {
		id := "01ARZ3NDEKTSV4RRFFQ69G5F" + string("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[i]) + "0"
		relations = append(relations, convmem.Relation{Type: convmem.RelationRelatedTo, MessageID: id})
		sources = append(sources, id)
	}
	for name, patch := range map[string]convmem.MetadataPatch{
		"tags":      {Tags: []string{strings.Repeat("a", 128), strings.Repeat("b", 128), strings.Repeat("c", 128), strings.Repeat("d", 128)}},
		"summary":   {Summary: new(strings.Repeat("s", 500))},
		"relations": {Relations: relations},
		"sources":   {SourceMessageIDs: sources},
	} {
		w := newWorld(t, convmem.Options{MaxResultBytes: 800})
		for range 2 {
			w.say("s", "c", patch)
		}
		if counts, _ := w.pages(convmem.HistoryRequest{SessionID: "s"}); len(counts) != 2 {
			t.Errorf("%s: %v messages on the pages, want one each", name, counts)
		}
	}
}

func TestSessionsBudget(t *testing.T) {
	w := newWorld(t, convmem.Options{MaxResultBytes: 1100})
	for _, session := range []string{"a", "b", "c"} {
		w.say(session, sized("w", 3001), convmem.MetadataPatch{})
	}
	var got []string
	r := convmem.SessionsRequest{}
	for {
		page, err := convmem.Sessions(ctx, w.db, r)
		w.ok("sessions", err)
		for _, s := range page.Sessions {
			got = append(got, s.SessionID)
			if len(s.RepresentativeSummary) != 512 {
				t.Errorf("%s: a summary of %d bytes", s.SessionID, len(s.RepresentativeSummary))
			}
		}
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			break
		}
		got = append(got, "|")
	}
	if diff := cmp.Diff([]string{"c", "b", "|", "a"}, got); diff != "" {
		t.Errorf("sessions on pages (-want +got):\n%s", diff)
	}
}

// TestContextBudget fills a context in the order of what matters: message,
// neighbours from near to far, relations.
func TestContextBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		budget int
		want   string // before|message|after>related
	}{
		{"only the message", 10, "|m|"},
		{"not even the first neighbour", 1900, "|m|"},
		{"the nearest before", 2300, "b|m|"},
		{"the nearest", 3400, "b|m|c"},
		{"three neighbours", 4500, "ab|m|c"},
		{"all neighbours", 5700, "ab|m|cd"},
		{"everything", 6900, "ab|m|cd>r"},
	} {
		w := newWorld(t, convmem.Options{MaxResultBytes: c.budget})
		related := w.say("elsewhere", sized("r", 1001), convmem.MetadataPatch{}).ID
		var id string
		for _, name := range []string{"a", "b", "m", "c", "d"} {
			patch := convmem.MetadataPatch{}
			if name == "m" {
				patch.Relations = []convmem.Relation{{Type: convmem.RelationRelatedTo, MessageID: related}}
			}
			m := w.say("s", sized(name, 1001), patch)
			if name == "m" {
				id = m.ID
			}
		}
		r := w.context(convmem.ContextRequest{MessageID: id, Before: new(3), After: new(3)})
		got := names(r.Before) + "|" + r.Message.Content[:1] + "|" + names(r.After)
		for _, one := range r.Relations {
			got += ">" + one.Message.Content[:1]
		}
		if full := c.name == "everything"; got != c.want || r.Truncated == full {
			t.Errorf("%s: %s, want %s; truncated %t", c.name, got, c.want, r.Truncated)
		}
	}
}

// TestContextEndsAtTheFirstThatDoesNotFit: what comes after it might fit and is
// left out all the same, so that a short list is the beginning of a long one.
func TestContextEndsAtTheFirstThatDoesNotFit(t *testing.T) {
	w := newWorld(t, convmem.Options{MaxResultBytes: 2000})
	hub := w.say("s", "hub", convmem.MetadataPatch{}).ID
	to := convmem.MetadataPatch{Relations: []convmem.Relation{{Type: convmem.RelationRelatedTo, MessageID: hub}}}
	for _, size := range []int{500, 5000, 10} {
		w.say("other", sized("w", size+1), to)
	}
	r := w.context(convmem.ContextRequest{MessageID: hub})
	if len(r.Relations) != 1 || len(r.Relations[0].Message.Content) != 501 || !r.Truncated {
		t.Errorf("%d relations, truncated %t", len(r.Relations), r.Truncated)
	}
}

// names joins the first letters of contents.
func names(messages []convmem.Message) (all string) {
	for _, content := range contents(messages) {
		all += content[:1]
	}
	return all
}

// TestSearchBudget gives previews only what the hits leave.
func TestSearchBudget(t *testing.T) {
	for _, c := range []struct {
		name      string
		budget    int
		hits      int
		previews  int
		truncated bool
	}{
		{"one hit whatever it takes", 10, 1, 0, true},
		{"two hits of three", 2500, 2, 0, true},
		{"all hits, no preview", 3500, 3, 0, true},
		{"a preview of the best hit", 4500, 3, 1, true},
		{"everything", 20000, 3, 5, false},
	} {
		w := newWorld(t, convmem.Options{MaxResultBytes: c.budget})
		for _, word := range []string{"needle", "a", "needle", "b", "needle", "c"} {
			w.say("s", sized(word, 1001), convmem.MetadataPatch{})
		}
		r := w.search(convmem.SearchRequest{Query: "needle", ContextSize: 1})
		previews := 0
		for _, hit := range r.Hits {
			previews += len(hit.Before) + len(hit.After)
		}
		if len(r.Hits) != c.hits || previews != c.previews || r.Truncated != c.truncated {
			t.Errorf("%s: %d hits, %d previews, truncated %t; want %d, %d, %t",
				c.name, len(r.Hits), previews, r.Truncated, c.hits, c.previews, c.truncated)
		}
	}
}

// TestCutContent cuts between grapheme clusters and tells the size of the whole.
func TestCutContent(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	for _, c := range []struct {
		content string
		limit   int
		want    string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcde"},
		{"日本語", 2, "日本"},
		{"e\u0301e\u0301", 3, "e\u0301"},
		{"e\u0301", 1, ""},
		{"👩‍👩‍👧x", 5, "👩‍👩‍👧"},
		{"👩‍👩‍👧x", 4, ""},
		{"a\r\nb", 2, "a"},
		{"🇯🇵🇫🇷", 3, "🇯🇵"},
	} {
		id := w.say("s", c.content, convmem.MetadataPatch{}).ID
		m := w.context(convmem.ContextRequest{MessageID: id, MaxContentCharacters: c.limit}).Message
		cut := c.want != c.content
		bytes := 0
		if cut {
			bytes = len(c.content)
		}
		if m.Content != c.want || m.ContentTruncated != cut || m.ContentBytes != bytes {
			t.Errorf("%q cut to %d: %q, truncated %t, %d bytes", c.content, c.limit, m.Content, m.ContentTruncated, m.ContentBytes)
		}
	}
}

// TestRepresentatives are cut between characters.
func TestRepresentatives(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		summary *string
		cut     int
		want    string
	}{
		"content":             {"short", nil, 0, "short"},
		"summary first":       {"content", new("summary"), 0, "summary"},
		"512 bytes":           {strings.Repeat("x", 513), nil, 0, strings.Repeat("x", 512)},
		"between characters":  {strings.Repeat("日", 200), nil, 0, strings.Repeat("日", 170)},
		"four-byte character": {"abc" + strings.Repeat("😀", 200), nil, 0, "abc" + strings.Repeat("😀", 127)},
		"cut further":         {"content", new("e\u0301e\u0301"), 3, "e\u0301"},
	} {
		w := newWorld(t, convmem.Options{})
		w.say("s", "older", convmem.MetadataPatch{})
		w.say("s", c.content, convmem.MetadataPatch{Summary: c.summary})
		page, err := convmem.Sessions(ctx, w.db, convmem.SessionsRequest{MaxContentCharacters: c.cut})
		w.ok("sessions", err)
		if got := page.Sessions[0].RepresentativeSummary; got != c.want {
			t.Errorf("%s: %d bytes %q, want %d", name, len(got), got, len(c.want))
		}
	}
}

// Previews come best hit first and end with the first neighbour that has no room,
// though one of a later hit would have: what is left out is the end of a list.
func TestPreviewsEndWhereOneDoesNotFit(t *testing.T) {
	w := newWorld(t, convmem.Options{MaxResultBytes: 2000})
	w.say("a", strings.Repeat("x", 3000), convmem.MetadataPatch{})
	w.say("a", "the fox", convmem.MetadataPatch{Importance: new(9)})
	w.say("b", "small", convmem.MetadataPatch{})
	w.say("b", "the fox", convmem.MetadataPatch{Importance: new(1)})
	result := w.search(convmem.SearchRequest{Query: "fox", ContextSize: 1})
	if len(result.Hits) != 2 || result.Hits[0].SessionID != "a" || !result.Truncated {
		t.Fatalf("%d hits, truncated %v", len(result.Hits), result.Truncated)
	}
	for i, hit := range result.Hits {
		if len(hit.Before)+len(hit.After) > 0 {
			t.Errorf("hit %d has a preview", i)
		}
	}
}
