package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// sessionOf reads a session as a resource.
func sessionOf(d dialect, id any, address string) string {
	return d.request(id, "resources/read", `"uri":`+quoted(address))
}

// resourceReply is the answer to a resources/read or resources/templates/list.
type resourceReply struct {
	ID     any
	Error  *struct{ Message string }
	Result struct {
		Contents          []struct{ URI, MIMEType, Text string }
		ResourceTemplates []struct{ URITemplate string }
	}
}

func (h *host) nextResource() (r resourceReply) {
	h.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.Fatal(err)
	}
	return decodeReply(h, line)
}

func decodeReply(t testing.TB, text string) (r resourceReply) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return r
}

func TestResourcesAreOptional(t *testing.T) {
	for _, d := range dialects {
		for _, wanted := range []bool{false, true} {
			o := Options{Resources: wanted}
			h, s := d.start(t, newModel(), &o), newSite(t, Handler(newModel(), &HTTPOptions{Options: o}))
			request := d.request(1, "resources/templates/list", "")
			h.send(request)
			overHTTP := decodeReply(t, s.post(request, "Mcp-Protocol-Version", d.name, "Mcp-Method", "resources/templates/list").body)
			for where, r := range map[string]resourceReply{"stdio": h.nextResource(), "HTTP": overHTTP} {
				var templates []string
				for _, template := range r.Result.ResourceTemplates {
					templates = append(templates, template.URITemplate)
				}
				if want := []string{"convmem://session/{id}"}; wanted && !slices.Equal(templates, want) || !wanted && len(templates) > 0 {
					t.Errorf("%s, resources %t, over %s: %+v", d.name, wanted, where, r)
				}
			}
		}
	}
}

// TestSessionAddresses reads sessions by addresses good and bad. Each request is
// answered: with the history, or with an error.
func TestSessionAddresses(t *testing.T) {
	store := newModel()
	names := []string{"plain", "a/b", "漢字", "with space", "50%", "?q#f", "a+b", "..", "\x00\x1f\x7f", "é́", "😀", strings.Repeat("x", 256)}
	for _, name := range names {
		if _, err := store.Write(t.Context(), convmem.WriteRequest{SessionID: name, Role: convmem.RoleUser, Content: "said in " + name}); err != nil {
			t.Fatal(err)
		}
	}
	var bad []string
	for _, tail := range []string{"", "nobody", "%", "%2", "%zz", "%ff", "%ed%a0%80", "plain/", "/plain", strings.Repeat("x", 257), strings.Repeat("x", 100_000)} {
		bad = append(bad, "convmem://session/"+tail)
	}
	bad = append(bad, "", "convmem://session", "convmem:", "file:///etc/passwd", "CONVMEM://SESSION/plain", "\x00", "convmem://session/\x01\x02", "convmem://session/\x7f", "convmem://session/\u0085\u2028",
		"convmem://session/plain\n", "convmem://session/\ufffd", "convmem://session/\"'\\")
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			o := Options{Resources: true}
			h, s := d.start(t, store, &o), newSite(t, Handler(store, &HTTPOptions{Options: o}))
			read := func(address string) map[string]resourceReply {
				h.send(sessionOf(d, address[:min(len(address), 50)], address))
				name := address
				if !sendable(address) {
					name = "an address that no header can hold"
				}
				body := s.post(sessionOf(d, 1, address), "Mcp-Protocol-Version", d.name, "Mcp-Method", "resources/read", "Mcp-Name", name).body
				return map[string]resourceReply{"stdio": h.nextResource(), "HTTP": decodeReply(t, body)}
			}
			for _, name := range names {
				address := "convmem://session/" + url.PathEscape(name)
				if address = strings.ReplaceAll(address, "+", "%2B"); name == "a+b" {
					address = "convmem://session/a%2Bb"
				}
				want := call(t, store, nil, "read_messages", raw(given{"session_id": name}))
				for where, r := range read(address) {
					if r.Error != nil || len(r.Result.Contents) != 1 || r.Result.Contents[0].Text != want || r.Result.Contents[0].URI != address {
						t.Errorf("%q over %s: %+v", name, where, r)
					}
				}
			}
			for _, address := range bad {
				answers := read(address)
				named := d.greet || sendable(address) // the newest revision wants the address in a header too
				if diff := cmp.Diff(answers["stdio"].Error, answers["HTTP"].Error); diff != "" && named {
					t.Errorf("%.50q (-stdio +HTTP):\n%s", address, diff)
				}
				for where, r := range answers {
					if r.Error == nil || r.Error.Message == "" || len(r.Result.Contents) > 0 {
						t.Errorf("%.50q over %s: %+v", address, where, r)
					}
				}
			}
		})
	}
}

// sendable reports whether an address can be the value of a header.
func sendable(address string) bool {
	return address != "" && !strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r > '~' })
}

// TestSessionInOrder pipelines writes and reads of their session.
func TestSessionInOrder(t *testing.T) {
	for _, d := range dialects {
		h := d.start(t, newModel(), &Options{Resources: true})
		const writes = 50
		go func() {
			for i := range writes {
				h.send(d.call(fmt.Sprint("write ", i), "write_message", raw(given{"session_id": "s", "role": "user", "content": fmt.Sprint("content ", i)})),
					sessionOf(d, i, "convmem://session/s"))
			}
		}()
		counts := map[any]int{}
		for range 2 * writes {
			if r := h.nextResource(); len(r.Result.Contents) == 1 {
				counts[r.ID] = strings.Count(r.Result.Contents[0].Text, `"content `)
			}
		}
		for i := range writes {
			if counts[float64(i)] != i+1 {
				t.Fatalf("%s: read %d sees %d messages", d.name, i, counts[float64(i)])
			}
		}
	}
}

// TestSessionBudget reads a session that is larger than a result may be.
func TestSessionBudget(t *testing.T) {
	store := fill(t, "s", 50, `"quotes" `+strings.Repeat("x", 300))
	for _, budget := range []int{1, 1000, 5000, 100_000} {
		h := start(t, store, &Options{Resources: true, MaxResultBytes: budget})
		h.send(sessionOf(dialects[0], 1, "convmem://session/s"))
		r := h.nextResource()
		if len(r.Result.Contents) != 1 {
			t.Fatalf("%+v", r)
		}
		text := r.Result.Contents[0].Text
		d := decodeAs[historyDocument](t, text)
		whole := len(d.History) == 50
		if onWire(text) > budget && len(d.History) > 1 || len(d.History) == 0 || whole == (d.NextCursor != "") || whole != (budget == 100_000) {
			t.Errorf("budget %d: %d bytes, %d messages, cursor %q", budget, onWire(text), len(d.History), d.NextCursor)
		}
	}
}

// TestSessionFails reads a session of a store that fails.
func TestSessionFails(t *testing.T) {
	for _, d := range dialects {
		store := newMoody()
		o := Options{Resources: true, MaxConcurrentCalls: 1}
		h, s := d.start(t, store, &o), newSite(t, Handler(store, &HTTPOptions{Options: o}))
		request := sessionOf(d, 1, "convmem://session/s")
		for _, f := range storeFaults() {
			store.next.Store(&f.fail)
			h.send(request)
			line, err := h.out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			store.next.Store(&f.fail)
			body := s.post(request, "Mcp-Protocol-Version", d.name, "Mcp-Method", "resources/read", "Mcp-Name", "convmem://session/s").body
			for where, text := range map[string]string{"stdio": line, "HTTP": body} {
				r := decodeReply(t, text)
				if r.Error == nil || f.code != convmem.CodeValidation && !strings.Contains(text, string(f.code)) || len(text) > 10_000 {
					t.Errorf("%s over %s: %.300s", f.name, where, text)
				}
				for _, word := range []string{secret, "somebody", "mcpserver.", "runtime", "goroutine"} {
					if strings.Contains(text, word) {
						t.Errorf("%s over %s: the answer says %q: %s", f.name, where, word, text)
					}
				}
			}
		}
	}
}
