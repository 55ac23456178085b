package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// onWire is the length of a result's text as the SDK sends it.
func onWire(text string) int {
	data, err := (&mcp.TextContent{Text: text}).MarshalJSON()
	if err != nil {
		panic(err)
	}
	return len(data) - len(`{"type":"text","text":""}`)
}

// TestWireSize counts every character, alone and in a text.
func TestWireSize(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r < 0x3000; r++ {
		if text := string(r); wireSize(text) != onWire(text) {
			t.Errorf("U+%04X: %d, the SDK takes %d", r, wireSize(text), onWire(text))
		}
		all.WriteRune(r)
	}
	if got, want := wireSize(all.String()), onWire(all.String()); got != want {
		t.Errorf("all together: %d, the SDK takes %d", got, want)
	}
}

// TestSeparators compares with the decoded text: no string may change.
func TestSeparators(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"\u2028", "\u2029", `\`, "u2028", `\u2029`, `"`, "x", "\n"})).Draw(r, "text"), "")
		encoded, err := encode(text)
		if err != nil {
			r.Fatal(err)
		}
		var decoded string
		if err := json.Unmarshal([]byte(encoded), &decoded); err != nil || decoded != text {
			r.Fatalf("%q became %q: %v", text, decoded, err)
		}
		if strings.Count(encoded, "\u2028") != strings.Count(text, "\u2028") {
			r.Fatalf("escaped: %s", encoded)
		}
	})
}

// filler are contents of n bytes whose sizes on the wire differ most.
func filler(n int) map[string]string {
	return map[string]string{
		"quotes": strings.Repeat(`"`, n), "brackets": strings.Repeat("<", n), "controls": strings.Repeat("\x01", n),
		"CJK": strings.Repeat("漢", n/3), "separators": strings.Repeat("\u2028", n/3), "backslashes": strings.Repeat(`\`, n),
	}
}

// fill writes messages of content to a new store.
func fill(t testing.TB, session string, count int, content string) *storetest.Model {
	t.Helper()
	store := storetest.NewModel(storetest.Config{})
	for i := range count {
		_, err := store.Write(context.Background(), convmem.WriteRequest{
			SessionID: session, Role: convmem.RoleUser, Content: fmt.Sprintf("word %d %s", i, content),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// TestHistoryBudget pages through a session with budgets of many sizes: no
// page of several messages passes its budget, no page could have held one more,
// and the pages together are the whole.
func TestHistoryBudget(t *testing.T) {
	for name, content := range filler(300) {
		t.Run(name, func(t *testing.T) {
			store := fill(t, "s", 20, content)
			whole, err := direct(store, nil).Read(context.Background(), convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s"}})
			if err != nil {
				t.Fatal(err)
			}
			largest, err := sizeOf(newMessage(whole.History.Messages[19]))
			if err != nil {
				t.Fatal(err)
			}
			for _, order := range []string{"asc", "desc"} {
				for budget := 1; budget < 30_000; budget += 1997 {
					paged := followHistory(t, store, budget, largest, order)
					if order == "desc" {
						paged = reversed(paged)
					}
					if diff := cmp.Diff(whole.History.Messages, paged); diff != "" {
						t.Fatalf("budget %d, order %s (-want +got):\n%s", budget, order, diff)
					}
				}
			}
		})
	}
}

func reversed[T any](items []T) []T {
	var all []T
	for i := range items {
		all = append(all, items[len(items)-1-i])
	}
	return all
}

// followHistory reads to the end and looks at the size of every page.
func followHistory(t *testing.T, store convmem.Store, budget, largest int, order string) []convmem.Message {
	t.Helper()
	var all []convmem.Message
	cursor := ""
	for range 100 {
		args := raw(given{"session_id": "s", "order": order, "cursor": cursor})
		text := call(t, store, &Options{MaxResultBytes: budget}, "read_messages", args)
		var page historyDocument
		if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.History) == 0 {
			t.Fatalf("budget %d: %d messages, %v in %.100s", budget, len(page.History), err, text)
		}
		if onWire(text) > budget && len(page.History) > 1 {
			t.Fatalf("%d messages take %d bytes of %d", len(page.History), onWire(text), budget)
		}
		all = append(all, list(page.History, message.value)...)
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
		if room := budget - onWire(text); room > largest {
			t.Fatalf("a page leaves %d bytes of %d", room, budget)
		}
	}
	t.Fatal("the pages never end")
	return nil
}

// TestSessionsBudget does the same for sessions.
func TestSessionsBudget(t *testing.T) {
	store := storetest.NewModel(storetest.Config{})
	for i := range 15 {
		_, err := store.Write(context.Background(), convmem.WriteRequest{
			SessionID: fmt.Sprint(i), Role: convmem.RoleUser, Content: strings.Repeat(`"`, 100*i+1),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for budget := 1; budget < 20_000; budget += 333 {
		seen := map[string]bool{}
		cursor := ""
		for range 16 {
			text := call(t, store, &Options{MaxResultBytes: budget}, "read_messages", raw(given{"view": "sessions", "cursor": cursor}))
			var page sessionsDocument
			if err := json.Unmarshal([]byte(text), &page); err != nil {
				t.Fatal(err)
			}
			if onWire(text) > budget && len(page.Sessions) > 1 {
				t.Fatalf("%d sessions take %d bytes of %d", len(page.Sessions), onWire(text), budget)
			}
			for _, s := range page.Sessions {
				if seen[s.SessionID] {
					t.Fatalf("budget %d: session %s twice", budget, s.SessionID)
				}
				seen[s.SessionID] = true
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if len(seen) != 15 {
			t.Fatalf("budget %d: %d sessions", budget, len(seen))
		}
	}
}

// TestShrinkingPage has a store whose messages grow between two reads of the
// same page: the adapter must not answer one that is too large.
func TestShrinkingPage(t *testing.T) {
	reads := 0
	text, err := fitPage(5000, 0, func(limit int) (historyDocument, error) {
		reads++
		if limit == 0 {
			limit = 50
		}
		return historyDocument{History: make([]message, limit), NextCursor: strings.Repeat("x", 100*reads)}, nil
	})
	if err != nil || onWire(text) > 5000 || reads < 3 {
		t.Errorf("%d bytes after %d reads: %v", onWire(text), reads, err)
	}
}

// TestSearchBudget takes previews away before hits and leaves the first hit.
func TestSearchBudget(t *testing.T) {
	store := fill(t, "s", 12, strings.Repeat(`<`, 200))
	args := `{"query":"word","context_size":3,"limit":12}`
	whole := decodeAs[searchDocument](t, call(t, store, nil, "search_messages", args))
	if len(whole.Results) != 12 || whole.Truncated {
		t.Fatalf("%d hits, truncated %t", len(whole.Results), whole.Truncated)
	}
	previews := func(d searchDocument) (n int) {
		for _, h := range d.Results {
			n += len(h.Preview.Before) + len(h.Preview.After)
		}
		return n
	}
	var last searchDocument
	for budget := 1; budget < 200_000; budget += 777 {
		text := call(t, store, &Options{MaxResultBytes: budget}, "search_messages", args)
		d := decodeAs[searchDocument](t, text)
		if onWire(text) > budget && (len(d.Results) > 1 || previews(d) > 0) {
			t.Fatalf("budget %d: %d hits and %d neighbours take %d bytes", budget, len(d.Results), previews(d), onWire(text))
		}
		complete := len(d.Results) == 12 && previews(d) == previews(whole)
		if len(d.Results) == 0 || d.Truncated == complete || len(d.Results) < 12 && previews(d) > 2*6 {
			t.Fatalf("budget %d: %d hits, %d neighbours, truncated %t", budget, len(d.Results), previews(d), d.Truncated)
		}
		for i, h := range d.Results {
			if h.MessageID != whole.Results[i].MessageID {
				t.Fatalf("budget %d: hit %d is another", budget, i)
			}
		}
		if len(d.Results) < len(last.Results) {
			t.Fatalf("budget %d: %d hits after %d", budget, len(d.Results), len(last.Results))
		}
		last = d
	}
	if diff := cmp.Diff(whole, last, cmp.AllowUnexported(hit{})); diff != "" {
		t.Errorf("the largest budget (-want +got):\n%s", diff)
	}
	if text := call(t, &fake{}, &Options{MaxResultBytes: 1}, "search_messages", args); text != `{"truncated":true,"results":[]}` {
		t.Errorf("no hits and no budget: %s", text)
	}
}

func decodeAs[Document any](t *testing.T, text string) Document {
	t.Helper()
	var d Document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestContextBudget leaves the message, then the nearest neighbours, then the
// first relations.
func TestContextBudget(t *testing.T) {
	store := fill(t, "s", 21, strings.Repeat(`"`, 100))
	all, err := store.Read(context.Background(), convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	middle := all.History.Messages[10].ID
	var relations []convmem.Relation
	for i := range 5 {
		relations = append(relations, convmem.Relation{Type: convmem.RelationRelatedTo, MessageID: all.History.Messages[i].ID})
	}
	if _, err := store.Update(context.Background(), convmem.UpdateRequest{MessageID: middle, Metadata: &convmem.MetadataPatch{Relations: relations}}); err != nil {
		t.Fatal(err)
	}
	args := `{"view":"context","message_id":"` + middle + `","before":10,"after":10}`
	whole := decodeAs[contextDocument](t, call(t, store, nil, "read_messages", args))
	if len(whole.Around.Before) != 10 || len(whole.Around.After) != 10 || len(whole.Relations) != 5 || whole.Truncated {
		t.Fatalf("the whole: %d before, %d after, %d relations", len(whole.Around.Before), len(whole.Around.After), len(whole.Relations))
	}
	for budget := 1; budget < 40_000; budget += 333 {
		text := call(t, store, &Options{MaxResultBytes: budget}, "read_messages", args)
		d := decodeAs[contextDocument](t, text)
		before, after, related := len(d.Around.Before), len(d.Around.After), len(d.Relations)
		if onWire(text) > budget && before+after+related > 0 {
			t.Fatalf("budget %d: %d bytes", budget, onWire(text))
		}
		if d.Truncated == (before+after+related == 25) || before < after || before > after+1 || related > 0 && before+after < 20 {
			t.Fatalf("budget %d: %d before, %d after, %d relations, truncated %t", budget, before, after, related, d.Truncated)
		}
		d.Truncated = false
		d.Around.Before = append(whole.Around.Before[:10-before:10-before], d.Around.Before...)
		d.Around.After = append(d.Around.After, whole.Around.After[after:]...)
		d.Relations = append(d.Relations, whole.Relations[related:]...)
		if diff := cmp.Diff(whole, d); diff != "" {
			t.Fatalf("budget %d: what is left is not the nearest (-want +got):\n%s", budget, diff)
		}
	}
}

// TestLargestMessages writes a content of 1 MiB over a connection and reads it
// back beside another of the same size.
func TestLargestMessages(t *testing.T) {
	if raceDetector {
		t.Skip("one call after another, and a minute of them with the race detector")
	}
	t.Parallel()
	for _, name := range []string{"quotes", "brackets", "controls", "CJK"} {
		t.Run(name, func(t *testing.T) {
			content := filler(convmem.MaxContentBytes)[name]
			h := start(t, newModel(), nil)
			go h.send(writeCall(1, "s", content), writeCall(2, "s", content))
			for range 2 {
				d := decodeAs[writeDocument](t, h.next().text())
				if d.Message.Content != content {
					t.Fatalf("write: %d bytes of %d came back", len(d.Message.Content), len(content))
				}
			}
			count, cursor := 0, ""
			for cursor != "" || count == 0 {
				h.send(toolCall(3, "read_messages", raw(given{"session_id": "s", "cursor": cursor})))
				page := decodeAs[historyDocument](t, h.next().text())
				for _, m := range page.History {
					if count++; m.Content != content {
						t.Errorf("read: %d bytes of %d came back", len(m.Content), len(content))
					}
				}
				cursor = page.NextCursor
			}
			if count != 2 {
				t.Errorf("%d messages came back", count)
			}
		})
	}
}
