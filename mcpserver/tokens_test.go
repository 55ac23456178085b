package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// lean fails unless a JSON text has no white space outside its strings and no
// object with a key twice.
func lean(t *testing.T, name, text string) {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil || compact.String() != text {
		t.Errorf("%s: white space outside strings, or no JSON: %v in %.300s", name, err, text)
	}
	tokens := json.NewDecoder(strings.NewReader(text))
	if err := uniqueKeys(tokens); err != nil {
		t.Errorf("%s: %v in %.300s", name, err, text)
	}
}

// uniqueKeys reads one value.
func uniqueKeys(tokens *json.Decoder) error {
	open, err := tokens.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return err
	}
	seen := map[json.Token]bool{}
	for tokens.More() {
		if open == json.Delim('{') {
			key, err := tokens.Token()
			if err != nil || seen[key] {
				return fmt.Errorf("key %v is there twice: %v", key, err)
			}
			seen[key] = true
		}
		if err := uniqueKeys(tokens); err != nil {
			return err
		}
	}
	_, err = tokens.Token()
	return err
}

// TestLean looks at every shape of result: those that TestResults pins, whole,
// and those that a budget cuts.
func TestLean(t *testing.T) {
	pinned, err := os.ReadFile("testdata/results.txt")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, block := range strings.Split(strings.TrimSpace(string(pinned)), "\n\n") {
		name, text, found := strings.Cut(block, "\n")
		if !found {
			t.Fatalf("no result in %q", block)
		}
		lean(t, name, text)
		looked++
	}
	store, placeholders := fuzzStore(t)
	for _, budget := range []int{1, 500, 2000, DefaultMaxResultBytes} {
		for _, tool := range ToolNames() {
			for _, seed := range callSeeds() {
				text := call(t, store, &Options{MaxResultBytes: budget}, tool, placeholders.Replace(seed))
				lean(t, fmt.Sprintf("%s, budget %d", seed, budget), text)
				looked++
			}
		}
	}
	t.Logf("%d results", looked)
}

// TestLeanLines looks at what goes over the wire around results.
func TestLeanLines(t *testing.T) {
	h := startSilent(t, newModel(), nil)
	lines := []string{initialize, toolCall(1, "write_message", writeArgs(``)), toolCall(2, "read_messages", historyArgs(``)), toolCall(3, "no_such_tool", `{}`), `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`}
	for _, line := range lines {
		h.send(line)
		answer, err := h.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		lean(t, line, strings.TrimSuffix(answer, "\n"))
	}
	server := Handler(newModel(), nil)
	for _, line := range lines {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(line))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		lean(t, "HTTP: "+line, strings.TrimSuffix(w.Body.String(), "\n"))
	}
}

// listed are the definitions as tools/list brings them over stdio, in its
// order, and the length of the whole list.
func listed(t *testing.T) (definitions map[string]json.RawMessage, total int) {
	t.Helper()
	h := start(t, newModel(), nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line, err := h.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var all []json.RawMessage
	tools := object(t, object(t, []byte(line))["result"])["tools"]
	if err := json.Unmarshal(tools, &all); err != nil {
		t.Fatal(err)
	}
	definitions = map[string]json.RawMessage{}
	for _, d := range all {
		name := strings.Trim(string(object(t, d)["name"]), `"`)
		definitions[name] = d
	}
	return definitions, len(tools)
}

var (
	toolName      = regexp.MustCompile(`^[a-z][a-z_]{0,39}$`)
	parameterName = regexp.MustCompile(`^[a-z][a-z_]{0,63}$`)
)

// TestDefinitionsOnTheWire holds the list as a host gets it to what hosts take:
// less than 8 KiB, names of lower-case letters, and the schemas that TestSchemas
// looks at, unchanged by the SDK.
func TestDefinitionsOnTheWire(t *testing.T) {
	definitions, total := listed(t)
	if len(definitions) != len(Tools()) || total >= 8<<10 {
		t.Errorf("%d tools take %d bytes in tools/list, want less than 8192", len(definitions), total)
	}
	for _, tool := range Tools() {
		lean(t, tool.Name, string(definitions[tool.Name]))
		sent := object(t, definitions[tool.Name])["inputSchema"]
		if diff := cmp.Diff(string(tool.InputSchema.(json.RawMessage)), string(sent)); diff != "" {
			t.Errorf("%s: the schema on the wire (-want +got):\n%s", tool.Name, diff)
		}
		lintNames(t, tool.Name, sent)
	}
}

func lintNames(t *testing.T, tool string, schema json.RawMessage) {
	t.Helper()
	if !toolName.MatchString(tool) {
		t.Errorf("a tool is called %q", tool)
	}
	properties := members(t, object(t, schema)["properties"])
	for _, name := range properties {
		if !parameterName.MatchString(name) {
			t.Errorf("%s: a parameter is called %q", tool, name)
		}
	}
	var required []string
	if err := read(object(t, schema)["required"], &required); err != nil {
		t.Error(err)
	}
	for _, name := range required {
		if !slices.Contains(properties, name) {
			t.Errorf("%s requires %s, which it does not have", tool, name)
		}
	}
}

// typicalAnswers are what typicalArguments get from a store that stands still:
// ten messages of one session, read or found.
func typicalAnswers(t *testing.T) map[string]string {
	t.Helper()
	ctx := context.Background()
	now := time.UnixMilli(1_750_000_000_000)
	store := storetest.NewModel(storetest.Config{Now: func() time.Time { return now }})
	var last convmem.WriteResult
	for i := range 10 {
		var err error
		last, err = store.Write(ctx, convmem.WriteRequest{
			SessionID: "conversation-1", Role: convmem.RoleUser, Content: typicalContent(i),
			Metadata: convmem.MetadataPatch{Kind: convmem.KindSemantic, Tags: []string{"release"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	answers := map[string]string{}
	for _, name := range []string{"read_messages", "search_messages", "get_system_health", "write_message", "update_message", "rebuild_index", "delete_message"} {
		args := strings.ReplaceAll(typicalArguments()[name], idA, last.Message.ID)
		answers[name] = call(t, store, nil, name, args)
		if d := decodeAs[errorDocument](t, answers[name]); d.Status == "ERROR" {
			t.Fatalf("%s: %s", name, answers[name])
		}
	}
	return answers
}

// costTable is the table of the manual.
func costTable(t *testing.T) string {
	t.Helper()
	definitions, total := listed(t)
	answers := typicalAnswers(t)
	var out strings.Builder
	out.WriteString("| | definition | answer | answer on the wire |\n|---|--:|--:|--:|\n")
	for _, name := range ToolNames() {
		fmt.Fprintf(&out, "| %s | %d | %d | %d |\n", name, len(definitions[name]), len(answers[name]), wireSize(answers[name]))
	}
	fmt.Fprintf(&out, "| the list of tools | %d | | |\n| the instructions | %d | | |\n\n", total, len(instructions))
	fmt.Fprintf(&out, "At four bytes a token, the list and the instructions are about %d tokens and ten messages\nthat were read about %d.\n",
		(total+len(instructions))/4, len(answers["read_messages"])/4)
	return out.String()
}

// TestManualSaysTheCost compares the table of the manual with what is measured.
// -update rewrites it.
func TestManualSaysTheCost(t *testing.T) {
	const path, begins, ends = "../docs/mcp.md", "<!-- cost -->\n", "<!-- end of cost -->\n"
	manual, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(manual), begins)
	table, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", path, begins, ends)
	}
	want := costTable(t)
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date, run the test with -update: it says\n%s\nand measured is\n%s", path, table, want)
	}
	if err := os.WriteFile(path, []byte(before+begins+want+ends+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
