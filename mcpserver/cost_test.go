package mcpserver

import (
	"context"
	"encoding/json"
	"testing"

	"example.com/convmem"
)

// allocations are how many a call of each tool may make on our side: to decode
// the arguments, ask a store that does nothing and encode the result. Each is
// about 15 % above what was measured when it was set, so a failure means that a
// change made calls dearer, not that a machine is slow: find out where with
//
//	go test ./mcpserver -run '^$' -bench 'Call/stdio' -memprofile mem.out
//
// and raise the number only when what was gained is worth it. A call that makes
// fewer than half as many fails too: the number is then to be lowered. The SDK
// and the transport make about 90 more for a call over stdio.
var allocations = map[string]float64{
	"write_message":     156,
	"update_message":    84,
	"read_messages":     140,
	"search_messages":   179,
	"delete_message":    55,
	"rebuild_index":     12,
	"get_system_health": 13,
}

// costStore answers ten messages or hits.
func costStore() *fake {
	f := &fake{
		write: convmem.WriteResult{Message: fullMessage()}, update: convmem.UpdateResult{Message: fullMessage()},
		delete: convmem.DeleteResult{Deleted: true}, health: healthSample(), read: convmem.ReadResult{History: &convmem.HistoryResult{}},
	}
	for range 10 {
		f.read.History.Messages = append(f.read.History.Messages, fullMessage())
		f.search.Hits = append(f.search.Hits, hitSample())
	}
	return f
}

// typicalArguments are those of a call of each tool.
func typicalArguments() map[string]string {
	return map[string]string{
		"write_message":     raw(given{"session_id": "conversation-1", "role": "user", "content": typicalContent(1), "metadata_json": `{"tags":["release"],"memory_kind":"semantic"}`}),
		"update_message":    raw(given{"message_id": idA, "expected_revision": 1, "content": typicalContent(2)}),
		"read_messages":     raw(given{"session_id": "conversation-1", "order": "desc", "limit": 10}),
		"search_messages":   raw(given{"query": "release Thursday", "limit": 10, "filters_json": `{"kinds":["semantic"]}`}),
		"delete_message":    raw(given{"message_id": idA, "session_id": "conversation-1"}),
		"rebuild_index":     `{}`,
		"get_system_health": `{}`,
	}
}

// TestAllocations guards the cost of a call.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates too")
	}
	c := mustCaller(t, costStore(), nil)
	for _, tool := range tools {
		args := json.RawMessage(typicalArguments()[tool.name])
		got := testing.AllocsPerRun(100, func() {
			if text, code := c.call(context.Background(), tool, args, atOnce); code != "" {
				t.Fatal(text)
			}
		})
		t.Logf("%s: %.0f allocations of %.0f", tool.name, got, allocations[tool.name])
		if most := allocations[tool.name]; got > most || got < most/2 {
			t.Errorf("%s makes %.0f allocations, want %.0f at most and no fewer than half of that", tool.name, got, most)
		}
	}
}
