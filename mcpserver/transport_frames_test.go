package mcpserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWholeAnswers compares not only texts: whole answers of stdio and HTTP are
// the same, byte for byte, for everything that can be sent over both.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	for _, version := range []string{oldProtocol, newProtocol} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := setting{Store: "memory"}
			stdio, web := stdioWire(t, s, version), httpWire(t, s, version)
			frames, errors := append(append(beginnings(version), calls(version)...), refusedFrames(version)...), 0
			for _, frame := range frames {
				want, got := stdio.exchange(t, frame), web.exchange(t, frame)
				errors += strings.Count(want, `"isError":true`)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%.150s (-stdio +HTTP):\n%s", frame, diff)
				}
				if !strings.HasPrefix(want, `{"jsonrpc":"2.0","id":`) || strings.Contains(want, "structuredContent") {
					t.Errorf("%.150s: %.300s", frame, want)
				}
			}
			if errors != errorCalls {
				t.Errorf("%d calls ended with an error, want %d", errors, errorCalls)
			}
			t.Logf("%d frames", len(frames))
		})
	}
}

// request is a frame of any method. Members are those of its parameters.
func request(version, id, method, members string) string {
	if version == newProtocol {
		members = strings.TrimSuffix(newMeta+","+members, ",")
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + members + `}}`
}

// beginnings are what a client asks before it calls a tool. The handshake is
// not among them: over stdio it is over.
func beginnings(version string) []string {
	frames := []string{
		request(version, `"list"`, "tools/list", ""), request(version, "1", "tools/list", `"cursor":""`),
		request(version, "2", "tools/list", `"cursor":"none of ours"`), request(version, "3", "forget/everything", ""),
		request(version, "4", "resources/list", ""), request(version, "5", "prompts/list", ""),
	}
	if version == newProtocol {
		return append(frames, request(version, "6", "server/discover", ""))
	}
	return append(frames, request(version, "6", "ping", ""))
}

// errorCalls is how many of the calls and of the frames end with the error of a
// tool: the others reach what they are about.
const errorCalls = 8

// calls are calls of all seven tools on a new store, with ids of every form.
func calls(version string) []string {
	ids := firstIDs()
	first, second, last := ids[0], ids[1], ids[2]
	call := func(id any, tool, args string) string { return callFrame(version, id, tool, args) }
	return []string{
		call(0, "get_system_health", ``),
		call(-1, "write_message", `{"session_id":"s","role":"user","content":"the first <word> & \"more\" \u0000 漢\u2028"}`),
		call("", "write_message", `{"session_id":"s","role":"tool","content":"the second word","idempotency_key":"k","metadata_json":`+
			`{"tool_call_id":"call","tags":["a","b"],"memory_kind":"episode","memory_tier":"long","importance":0,"summary":"why","occurred_at":5,`+
			`"relations":[{"type":"supersedes","message_id":"`+first+`"}],"source_message_ids":["`+first+`"]}}`),
		call("again", "write_message", `{"session_id":"s","role":"tool","content":"the second word","idempotency_key":"k","metadata_json":`+
			`{"tool_call_id":"call","tags":["a","b"],"memory_kind":"episode","memory_tier":"long","importance":0,"summary":"why","occurred_at":5,`+
			`"relations":[{"type":"supersedes","message_id":"`+first+`"}],"source_message_ids":["`+first+`"]}}`),
		call("<id>", "write_message", `{"session_id":"s","role":"tool","content":"another word","idempotency_key":"k"}`),
		call(1<<53, "write_message", `{"session_id":"other","role":"system","content":"the third word"}`),
		call("漢", "write_message", `{"session_id":"other","role":"nobody","content":"no word"}`),
		call(1, "update_message", `{"message_id":"`+first+`","content":"the first word, changed","expected_revision":1}`),
		call(2, "update_message", `{"message_id":"`+first+`","content":"the first word, changed"}`),
		call(3, "update_message", `{"message_id":"`+first+`","content":"too late","expected_revision":1}`),
		call(4, "update_message", `{"message_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","content":"nowhere"}`),
		call(5, "read_messages", `{"session_id":"s","limit":1}`),
		call(6, "read_messages", `{"session_id":"s","order":"desc","max_content_characters":5}`),
		call(7, "read_messages", `{"session_id":"s","cursor":"damaged"}`),
		call(8, "read_messages", `{"view":"context","message_id":"`+first+`","relation_depth":2}`),
		call(9, "read_messages", `{"view":"sessions"}`),
		call(10, "search_messages", `{"query":"word","context_size":1}`),
		call(11, "search_messages", `{"query":"word","filters_json":"{\"kinds\":[\"episode\"],\"tags\":[\"b\"]}"}`),
		call(12, "search_messages", `{"querry":"word"}`),
		call(13, "delete_message", `{"message_id":"`+last+`","session_id":"s"}`),
		call(14, "delete_message", `{"message_id":"`+last+`"}`),
		call(15, "delete_message", `{"message_id":"`+last+`"}`),
		call(16, "read_messages", `{"view":"context","message_id":"`+second+`"}`),
		call(17, "rebuild_index", `{}`),
		call(18, "get_system_health", `null`),
		call(19, "read_messages", `{"session_id":"s"}`),
	}
}

// firstIDs are the ids that a store of the setting "memory" gives first.
func firstIDs() []string {
	return []string{"01J2N3YSG00000000000000000", "01J2N3YSG00000000000000001", "01J2N3YSG00000000000000002"}
}

// refusedFrames are no calls of a tool that this server could make.
func refusedFrames(version string) []string {
	good := callFrame(version, 1, "search_messages", searching)
	deep := func(levels int) string { return callFrame(version, 7, "search_messages", nested(levels)) }
	return []string{
		"hello", good[:len(good)/2], good + good, good + " x", "\xff", `{"jsonrpc":"2.0","id":1,}`, good + " \t",
		"[" + good + "]", "[" + good + "," + good + "]", "[]", "7", "null", `"text"`, "{}", `{"jsonrpc":"2.0"}`,
		`{"id":7,"method":"tools/list"}`, `{"jsonrpc":"1.0","id":"x","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, `{"jsonrpc":"2.0","id":true,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`,
		deep(987), deep(988), deep(989), deep(1000), deep(20_000),
		request(version, "7", "tools/call", `"name":5`), request(version, "8", "tools/call", `"arguments":{"query":"q"}`),
		request(version, "9", "tools/call", `"name":"search_messages","arguments":{},"arguments":{}`),
		callFrame(version, 10, "forget_everything", `{}`),
		callFrame(version, 12, strings.Repeat("x", 129), `{}`), callFrame(version, 13, "Search_Messages", searching),
		`{"jsonrpc":"2.0","id":14,"method":"tools/call","params":["` + secret + `"]}`,
		`{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"_meta":5,"name":"search_messages"}}`,
		`{"jsonrpc":"2.0","id":16,"method":"tools/call"}`,
		request(version, "17", strings.Repeat("x", 129), ""),
	}
}
