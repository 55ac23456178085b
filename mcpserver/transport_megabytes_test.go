package mcpserver

import (
	"strings"
	"testing"

	"example.com/convmem"
)

// TestMegabytes writes and reads the longest contents there are, of characters
// that take most on the wire, over every transport. Content that is one byte
// longer is refused, and the next call is answered.
func TestMegabytes(t *testing.T) {
	if raceDetector {
		t.Skip("megabytes take a minute with the race detector, which has nothing to find in them")
	}
	t.Parallel()
	s := setting{Store: "model"}
	stdio, web := stdioWire(t, s, oldProtocol), httpWire(t, s, oldProtocol)
	for _, w := range []way{
		{name: "in memory", call: inMemory(t, s, newProtocol)},
		{name: "stdio", call: stdio.callTool}, {name: "HTTP", call: web.callTool},
	} {
		for name, character := range map[string]string{"quotes": `"`, "brackets": "<", "controls": "\x01", "CJK": "漢", "emoji": "😀"} {
			t.Run(w.name+"/"+name, func(t *testing.T) { keepsMegabyte(t, w, character) })
		}
		t.Run(w.name+"/too long", func(t *testing.T) {
			text := textOf(w.call(t, "write_message", megabyte(t, "漢", 1)))
			const want = `{"status":"ERROR","error":{"code":"VALIDATION_ERROR","message":"content: `
			if !strings.HasPrefix(text, want) || !strings.Contains(text, "1048577 bytes") {
				t.Errorf("one byte more: %.300s", text)
			}
			if text := w.text(t, "read_messages", `{"session_id":`+quoted(t.Name())+`}`); text != `{"history":[]}` {
				t.Errorf("after it: %.300s", text)
			}
		})
	}
}

// megabyte is a write of the longest content and so many bytes more, to a
// session of its own.
func megabyte(t *testing.T, character string, more int) string {
	content := strings.Repeat(character, convmem.MaxContentBytes/len(character))
	content += strings.Repeat("x", convmem.MaxContentBytes+more-len(content))
	return raw(given{"session_id": t.Name(), "role": "user", "content": content})
}

// keepsMegabyte looks for the content in the texts of results as it must stand
// there: decoding them would take longer than all else.
func keepsMegabyte(t *testing.T, w way, character string) {
	args := megabyte(t, character, 0)
	literal := args[strings.Index(args, ":")+1 : strings.Index(args, `,"role"`)]
	for _, text := range []string{
		textOf(w.call(t, "write_message", args)),
		textOf(w.call(t, "read_messages", `{"session_id":`+quoted(t.Name())+`}`)),
	} {
		if strings.Count(text, `"content":`+literal+`,"revision":1,`) != 1 || strings.Count(text, `"message_id"`) != 1 {
			t.Errorf("the content is not there, or not alone: %.300s", text)
		}
	}
}
