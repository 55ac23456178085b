package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBudgetEverywhere pages through stores behind servers with small budgets,
// in every way at once: all have the same pages, no page of several items
// passes the budget as it goes over the wire, each holds something, and the
// pages together are the whole.
func TestBudgetEverywhere(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{1, 2500, 8000} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			t.Parallel()
			b := &budgeted{T: t, budget: budget, ways: everyWay(t, setting{Store: "memory", MaxResultBytes: budget})}
			written := b.fill()
			if diff := cmp.Diff(written, b.history("asc")); diff != "" {
				t.Errorf("the history (-want +got):\n%s", diff)
			}
			slices.Reverse(written)
			if diff := cmp.Diff(written, b.history("desc")); diff != "" {
				t.Errorf("the history backwards (-want +got):\n%s", diff)
			}
			if got := b.sessions(); len(got) != 8 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 8 {
				t.Errorf("the sessions: %q", got)
			}
			b.truncated("search_messages", given{"query": "word", "context_size": 3}, 1)
			b.truncated("read_messages", given{"view": "context", "message_id": b.lastID, "before": 10}, 0)
			t.Logf("%d calls in %d ways", b.calls, len(b.ways))
		})
	}
}

// budgeted calls servers with a budget.
type budgeted struct {
	*testing.T
	budget, calls int
	ways          []way
	lastID        string
}

// call makes a call in every way. All must have the same text, which is
// returned with its length on the wire.
func (b *budgeted) call(tool string, args given) (text string, size int) {
	b.Helper()
	b.calls++
	text = b.ways[0].text(b, tool, raw(args))
	for _, w := range b.ways[1:] {
		if w.wire == nil {
			if got := w.text(b, tool, raw(args)); got != text {
				b.Fatalf("%s (-want +got):\n%s", w.name, cmp.Diff(text, got))
			}
			continue
		}
		var got string
		if got, size = b.overWire(w.wire, tool, args); got != text {
			b.Fatalf("%s (-want +got):\n%s", w.name, cmp.Diff(text, got))
		}
	}
	return text, size
}

// overWire measures a text where it is a JSON string in a frame.
func (b *budgeted) overWire(w *wire, tool string, args given) (text string, size int) {
	b.Helper()
	frame := w.exchange(b, w.frame(tool, raw(args)))
	var response struct {
		Result struct {
			Content []struct{ Text json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(frame), &response); err != nil || len(response.Result.Content) != 1 {
		b.Fatalf("%s: %v in %.300s", w.name, err, frame)
	}
	literal := response.Result.Content[0].Text
	if err := json.Unmarshal(literal, &text); err != nil {
		b.Fatal(err)
	}
	return text, len(literal) - len(`""`)
}

// fill writes messages whose sizes on the wire differ most to eight sessions,
// and returns the contents of the first.
func (b *budgeted) fill() []string {
	b.Helper()
	var contents []string
	for session := range 8 {
		for kind, filling := range []string{`"`, "<", "\x01", "漢", "\u2028", `\`, "😀", "x"} {
			content := fmt.Sprintf("word %d %s", kind, strings.Repeat(filling, 40*(kind+1)))
			text, _ := b.call("write_message", given{"session_id": fmt.Sprint("session ", session), "role": "user", "content": content})
			var d writeDocument
			if err := json.Unmarshal([]byte(text), &d); err != nil || d.Status != "OK" {
				b.Fatalf("%v in %.300s", err, text)
			}
			if session == 0 {
				contents = append(contents, content)
				b.lastID = d.Message.MessageID
			}
		}
	}
	return contents
}

// follow reads pages to the end and hands out the text of each, which must
// tell how many items it has and where the next page is.
func (b *budgeted) follow(args given, page func(text string) (items int, cursor string)) {
	b.Helper()
	for range 100 {
		text, size := b.call("read_messages", args)
		items, cursor := page(text)
		if items == 0 || items > 1 && size > b.budget {
			b.Fatalf("a page of %d items takes %d bytes of %d", items, size, b.budget)
		}
		if cursor == "" {
			return
		}
		args["cursor"] = cursor
	}
	b.Fatal("the pages never end")
}

func (b *budgeted) history(order string) (contents []string) {
	b.Helper()
	b.follow(given{"session_id": "session 0", "order": order}, func(text string) (int, string) {
		var d historyDocument
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			b.Fatal(err)
		}
		contents = append(contents, list(d.History, func(m message) string { return m.Content })...)
		return len(d.History), d.NextCursor
	})
	return contents
}

func (b *budgeted) sessions() (names []string) {
	b.Helper()
	b.follow(given{"view": "sessions"}, func(text string) (int, string) {
		var d sessionsDocument
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			b.Fatal(err)
		}
		names = append(names, list(d.Sessions, func(s sessionInfo) string { return s.SessionID })...)
		return len(d.Sessions), d.NextCursor
	})
	return names
}

// truncated makes a call whose whole result is over the budget: it must say so,
// hold at least so many hits, and keep to the budget if it has more than the
// first.
func (b *budgeted) truncated(tool string, args given, leastHits int) {
	b.Helper()
	text, size := b.call(tool, args)
	var d struct {
		Truncated bool
		Message   *message
		Around    neighbours `json:"chronological_context"`
		Results   []hit
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		b.Fatal(err)
	}
	more := len(d.Results) > 1 || len(d.Around.Before) > 0
	if len(d.Results) < leastHits || leastHits == 0 && d.Message == nil || more && size > b.budget {
		b.Errorf("%s: %d hits in %d bytes of %d", tool, len(d.Results), size, b.budget)
	}
	if !d.Truncated {
		b.Errorf("%s: nothing is cut, or it does not say so: %d bytes of %d", tool, size, b.budget)
	}
}
