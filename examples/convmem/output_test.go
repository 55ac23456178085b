package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"example.com/convmem"
)

// TestHostileContent: nothing that a store holds drives the terminal, whatever
// prints it, and -json loses nothing of it.
func TestHostileContent(t *testing.T) {
	dir, _ := sampleStore(t)
	db := open(t, dir, nil)
	written, err := db.Namespace(hostile).Write(t.Context(), convmem.WriteRequest{
		SessionID: hostile, Role: convmem.RoleUser, Content: hostile, IdempotencyKey: hostile,
		Metadata: convmem.MetadataPatch{Tags: []string{hostile}, Summary: new(hostile), ToolCallID: new(hostile)},
		Payload:  convmem.Payload{Type: hostile, Data: []byte(hostile)},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := written.Message.ID
	for _, arguments := range [][]string{
		{"namespaces"}, {"sessions"}, {"history", hostile}, {"show", id}, {"search", "hostile"},
		{"edit", "-dry-run", "-revision", "1", "-content", "\x1b[2J", id}, {"delete", "-dry-run", id}, {"show", hostile}, {"\x1b[2J"},
	} {
		for _, format := range []string{"", "-json"} {
			if arguments[0] != "namespaces" && !strings.HasPrefix(arguments[0], "\x1b") {
				arguments = append(arguments[:1:1], append([]string{"-namespace", hostile}, arguments[1:]...)...)
			}
			all := arguments
			if format != "" {
				all = append([]string{format}, arguments...)
			}
			o := convmemOn(t, dir, "", all...)
			if o.out+o.log == "" {
				t.Errorf("%q says nothing", all)
			}
			for _, r := range o.out + o.log {
				if r != '\n' && !(r == '\t' && arguments[0] == "show") && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
					t.Errorf("%q prints %U: %q", all, r, o.out+o.log)
					break
				}
			}
		}
	}
	m := document(t, must(t, dir, "show", "-json", "-namespace", hostile, id))
	if m["content"] != hostile || m["session_id"] != hostile || m["metadata"].(map[string]any)["summary"] != hostile {
		t.Errorf("%q", m)
	}
}

// TestHarmlessJSON: for every character of Unicode, JSON that was made harmless
// means what it meant.
func TestHarmlessJSON(t *testing.T) {
	escaped := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue // half a character
		}
		text, err := json.Marshal(string(r))
		if err != nil {
			t.Fatal(err)
		}
		out := harmless(string(text), "")
		var again string
		if err := json.Unmarshal([]byte(out), &again); err != nil || again != string(r) {
			t.Fatalf("%U: %s gives %q, %v", r, out, again, err)
		}
		if out != string(text) {
			escaped++
		}
	}
	if escaped != 33+12 { // DEL and C1; Bidi_Control
		t.Errorf("%d characters were escaped", escaped)
	}
}

// TestLinesOfJSON: with -json a list is one document a line, whole.
func TestLinesOfJSON(t *testing.T) {
	dir, ids := sampleStore(t)
	lines := strings.Split(strings.TrimSpace(must(t, dir, "history", "-json", "monday")), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, text := range lines {
		m := document(t, text)
		if id := ids[fmt.Sprint(m["content"])]; id == "" || m["message_id"] != id {
			t.Errorf("%s", text)
		}
	}
}

// TestGraphemes: what is cut in a list is cut between graphemes.
func TestGraphemes(t *testing.T) {
	dir, _ := sampleStore(t)
	family := "👩\u200d👩\u200d👧" // of 5 code points
	db := open(t, dir, nil)
	if _, err := db.Write(t.Context(), convmem.WriteRequest{SessionID: "family", Role: convmem.RoleUser, Content: "x" + strings.Repeat(family, 20)}); err != nil {
		t.Fatal(err)
	}
	out := must(t, dir, "history", "family")
	if !strings.HasSuffix(out, "  x"+strings.Repeat(family, 15)+"…\n") {
		t.Errorf("%q", out)
	}
}

// TestFullOutput: a result that cannot be written is a failure.
func TestFullOutput(t *testing.T) {
	dir, _ := sampleStore(t)
	var log strings.Builder
	around := surroundings{getenv: func(string) string { return dir }, in: strings.NewReader(""), out: fullDisk{}, log: &log}
	for _, arguments := range [][]string{{"stats"}, {"history", "monday", "-json"}, {"export"}, {"verify"}} {
		log.Reset()
		if code := run(arguments, around); code != 1 || !strings.Contains(log.String(), "IO_ERROR") {
			t.Errorf("%q: exit code %d: %s", arguments, code, &log)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left") }
