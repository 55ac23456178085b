package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScript pipes into the program what hosts and people really send. Every
// request that is valid is answered, everything else is refused for what it is.
func TestScript(t *testing.T) {
	t.Parallel()
	write := func(id int) string { return tool(id, "write_message", remember) }
	nested := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	o := build(t).run(t, []string{"-dir", t.TempDir()},
		"\ufeff"+initialize,
		write(1)+"   ",
		`{"jsonrpc":"2.0","id":2,`, // malformed
		"", "\t",
		tool(3, "write_message", `{"session_id":`+nested+`}`),
		write(4)+"\r",
		tool(5, "write_message", `{"session_id":"s","role":"user","content":"`+strings.Repeat("x", 20<<20)+`"}`),
		"["+write(6)+","+write(7)+"]", // a batch
		"  "+write(8),
		tool(9, "read_messages", `{"session_id":"s"}`))
	var refused []int
	for _, line := range o.lines {
		var response struct {
			ID    any
			Error *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &response); err != nil {
			t.Fatal(err)
		}
		if response.Error == nil {
			continue
		}
		refused = append(refused, response.Error.Code)
		if id := fmt.Sprint(response.ID); id != "<nil>" && id != "3" { // the nested one's, if it can be found
			t.Errorf("refused by its id: %s", line)
		}
	}
	slices.Sort(refused)
	if diff := cmp.Diff([]int{-32700, -32700, -32600, -32600}, refused); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	for _, id := range []string{"1", "4", "8"} {
		if !strings.Contains(o.replies[id], `"status":"OK"`) {
			t.Errorf("write %s: %.300s", id, o.replies[id])
		}
	}
	if count := strings.Count(o.replies["9"], "we chose PostgreSQL"); count != 3 || len(o.lines) != 9 || o.code != 0 {
		t.Errorf("%d messages, %d lines, exit code %d: %s", count, len(o.lines), o.code, o.log)
	}
}

// TestPipedScript runs the plain script again and again: no answer may be lost
// at the end of the input.
func TestPipedScript(t *testing.T) {
	t.Parallel()
	p, dir := build(t), t.TempDir()
	for run := 1; run <= 50; run++ {
		o := p.run(t, []string{"-dir", dir}, initialize, tool(1, "write_message", remember),
			tool(2, "search_messages", `{"query":"postgresql"}`), tool(3, "read_messages", `{"session_id":"s"}`), tool(4, "get_system_health", `{}`))
		if !strings.Contains(o.replies["1"], `"OK"`) || !strings.Contains(o.replies["2"], `"score"`) ||
			strings.Count(o.replies["3"], "we chose") != run || !strings.Contains(o.replies["4"], fmt.Sprintf(`"active_messages":%d,`, run)) || o.code != 0 {
			t.Fatalf("run %d: exit code %d, %q\n%s", run, o.code, o.replies, o.log)
		}
	}
}
