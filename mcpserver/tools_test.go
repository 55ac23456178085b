package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listTools returns the answer to tools/list as an old client gets it.
func listTools(t *testing.T) (*mcp.ListToolsResult, *mcp.InitializeResult) {
	t.Helper()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := Connect(context.Background(), New(&fake{}, nil), serverSide, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	result, err := session.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return result, session.InitializeResult()
}

// TestDefinitions pins what models are told, and its size.
func TestDefinitions(t *testing.T) {
	definitions, err := json.Marshal(map[string]any{"tools": Tools()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("tools/list: %d bytes, instructions: %d", len(definitions), len(instructions))
	if len(definitions) >= 8000 {
		t.Errorf("tools/list has %d bytes, want less than 8000", len(definitions))
	}
	if len(instructions) > 2000 {
		t.Errorf("the instructions have %d bytes, want at most 2000", len(instructions))
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, definitions, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.json", indented.String()+"\n\n"+instructions+"\n")
}

func TestListTools(t *testing.T) {
	listed, initialized := listTools(t)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	want := []string{"delete_message", "get_system_health", "read_messages", "rebuild_index", "search_messages", "update_message", "write_message"}
	if !slices.Equal(names, want) {
		t.Errorf("tools: %v", names)
	}
	if got := quote(initialized.Capabilities); string(got) != `{"tools":{}}` {
		t.Errorf("capabilities: %s", got)
	}
	if initialized.Instructions != instructions {
		t.Errorf("instructions: %s", initialized.Instructions)
	}
}

// TestSchemas holds every schema to what all hosts are known to understand.
func TestSchemas(t *testing.T) {
	for _, tool := range Tools() {
		t.Run(tool.Name, func(t *testing.T) {
			schema := tool.InputSchema.(json.RawMessage)
			keys := members(t, schema)
			if !slices.Equal(keys, []string{"type", "properties", "additionalProperties"}) &&
				!slices.Equal(keys, []string{"type", "properties", "required", "additionalProperties"}) {
				t.Errorf("keywords at the root: %v", keys)
			}
			if raw := string(schema); !strings.HasPrefix(raw, `{"type":"object"`) || !strings.HasSuffix(raw, `"additionalProperties":false}`) {
				t.Errorf("the root is not a closed object: %s", raw)
			}
			root := object(t, schema)
			names := members(t, root["properties"])
			if i := slices.Index(names, "content"); i >= 0 && i != len(names)-1 {
				t.Errorf("content is not the last of %v", names)
			}
			for name, property := range object(t, root["properties"]) {
				lintProperty(t, name, property)
			}
			lintTool(t, tool)
		})
	}
}

func lintProperty(t *testing.T, name string, property json.RawMessage) {
	var p struct{ Type, Description string }
	if err := json.Unmarshal(property, &p); err != nil {
		t.Fatal(err)
	}
	if p.Type != "string" && p.Type != "integer" || p.Description == "" {
		t.Errorf("%s: type %q, description %q", name, p.Type, p.Description)
	}
	for _, keyword := range members(t, property) {
		if !slices.Contains([]string{"type", "description", "enum", "minimum", "maximum"}, keyword) {
			t.Errorf("%s: keyword %s", name, keyword)
		}
	}
}

func lintTool(t *testing.T, tool *mcp.Tool) {
	a := tool.Annotations
	if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil || *a.OpenWorldHint || a.Title == "" || tool.Title != a.Title {
		t.Errorf("annotations: %+v", a)
	}
	if a.ReadOnlyHint && *a.DestructiveHint {
		t.Error("read only and destructive")
	}
	if len(tool.Description) >= 1024 || !strings.HasPrefix(tool.Description, "Call ") {
		t.Errorf("the description has %d bytes and begins %.20q", len(tool.Description), tool.Description)
	}
	if len(tool.Name) > 40 || tool.OutputSchema != nil {
		t.Errorf("name %q, output schema %v", tool.Name, tool.OutputSchema)
	}
}

// object returns the members of a JSON object.
func object(t *testing.T, data json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// members returns the keys of a JSON object in their order.
func members(t *testing.T, data json.RawMessage) []string {
	t.Helper()
	v, problem := parse(data)
	if problem != nil || v.shape != shapeObject {
		t.Fatalf("no object: %s", data)
	}
	return v.names
}

// TestDefaultsAreTrue compares the defaults that the texts promise, and that
// other views take for saying nothing, with those of the store.
func TestDefaultsAreTrue(t *testing.T) {
	for _, p := range readParameters {
		if p.standard != "" && !strings.Contains(p.about, "default "+p.standard) && !strings.Contains(p.about, p.standard+" (default)") {
			t.Errorf("%s: default %s, described as %q", p.name, p.standard, p.about)
		}
	}
}

// TestToolsAreCopies changes what Tools returned.
func TestToolsAreCopies(t *testing.T) {
	changed := Tools()
	*changed[0].Annotations.DestructiveHint = true
	clear(changed[0].InputSchema.(json.RawMessage))
	changed[0].Name = ""
	fresh := Tools()[0]
	if fresh.Name != "write_message" || *fresh.Annotations.DestructiveHint || !json.Valid(fresh.InputSchema.(json.RawMessage)) {
		t.Errorf("a definition was changed from outside: %+v", fresh)
	}
}
