package mcpserver

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"example.com/convmem"
)

// FuzzCall gives tools any arguments. Whatever they are, there is a result in
// one of the two forms, of limited size, and no argument makes an internal
// error.
func FuzzCall(f *testing.F) {
	seeds := []string{
		``, `null`, `{}`, `[]`, `"{}"`, writeArgs(``), quoted(writeArgs(``)), writeArgs(`,"idempotency_key":"k"`), metadataArgs(`"{\"tags\":[\"a\"]}"`), metadataArgs(`{"relations":[{"type":"supersedes","message_id":"` + idA + `"}]}`),
		`{"message_id":"` + idA + `","content":"c","expected_revision":1e0}`, filterArgs(`{"since":0,"kinds":["episode"]}`), historyArgs(`,"limit":"10","order":"desc"`), contextArgs(`,"before":0`), sessionsArgs(`,"cursor":"x"`),
		`{"a":1,"a":2}`, `{"session_id":"\ud800"}`, "{\"session_id\":\"\xff\"}", nested(40), `{"limit":1e999999999}`,
	}
	for _, tool := range append(tools, tool{name: "no_such_tool"}) {
		for _, seed := range seeds {
			f.Add(tool.name, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		const budget = 4096
		store := newModel()
		for i := range 3 {
			_, err := store.Write(context.Background(), convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "c q " + string(rune('a'+i))})
			if err != nil {
				t.Fatal(err)
			}
		}
		text := check(t, Call(context.Background(), store, &Options{MaxResultBytes: budget}, tool, json.RawMessage(args)))
		var d errorDocument
		if err := json.Unmarshal([]byte(text), &d); err != nil || !utf8.ValidString(text) {
			t.Fatalf("%v in %q", err, text)
		}
		if d.Error.Code == convmem.CodeInternal || d.Status == "ERROR" && onWire(text) > 8*maxErrorCharacters {
			t.Errorf("%s", text)
		}
	})
}
