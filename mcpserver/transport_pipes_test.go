package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// fewer is how many processes a test starts: a fifth of them with the race
// detector, which makes starting one slow.
func fewer(runs int) int {
	if raceDetector {
		return runs / 5
	}
	return runs
}

// TestArrivalOrder sends 200 writes to a server process without waiting for any
// answer, small and large in turn so that a small one would overtake: the
// history has them as they arrived, every time.
func TestArrivalOrder(t *testing.T) {
	t.Parallel()
	const writes = 200
	runs := fewer(20)
	for run := range runs {
		h := startChild(t, setting{Store: "model"})
		h.handshake()
		go func() {
			for i := range writes {
				size := 1
				if i%10 == 0 {
					size = 20_000
				}
				h.send(writeCall(i, "s", fmt.Sprint(i, " ", strings.Repeat("x", size))))
			}
			h.send(toolCall("history", "read_messages", `{"session_id":"s","limit":1000,"max_content_characters":10}`))
		}()
		var d historyDocument
		if err := json.Unmarshal([]byte(h.collect(writes + 1)["history"].text()), &d); err != nil {
			t.Fatal(err)
		}
		if len(d.History) != writes {
			t.Fatalf("run %d: %d messages", run, len(d.History))
		}
		for i, m := range d.History {
			if !strings.HasPrefix(m.Content, fmt.Sprint(i, " ")) {
				t.Fatalf("run %d: message %d begins with %.10q", run, i, m.Content)
			}
		}
	}
	t.Logf("%d of %d runs keep the order of %d writes", runs, runs, writes)
}

// TestPipedScript does what a shell does with a script: it starts a server on a
// directory, writes the script and ends the input at once. Every request is
// answered, in every run, and the next server finds what was written.
func TestPipedScript(t *testing.T) {
	t.Parallel()
	const writes = 3
	runs := fewer(50)
	s := setting{Store: "disk", Dir: t.TempDir()}
	for run := range runs {
		script := []string{initialize, initialized}
		for i := range writes {
			script = append(script, writeCall(i, "s", fmt.Sprint(run, ".", i)))
		}
		script = append(script,
			toolCall("history", "read_messages", `{"session_id":"s","limit":1000}`), "no JSON",
			toolCall("search", "search_messages", searching), toolCall("health", "get_system_health", `{}`))
		replies := pipe(t, s, strings.Join(script, "\n"), 1+writes+4)
		for i := range writes {
			if r := replies[float64(i)]; !strings.HasPrefix(r.text(), `{"status":"OK",`) {
				t.Errorf("run %d, write %d: %+v", run, i, r)
			}
		}
		if got := strings.Count(replies["history"].text(), `"revision":1`); got != (run+1)*writes {
			t.Errorf("run %d: %d messages in the history", run, got)
		}
		if replies[nil].Error.Code != -32700 || replies["search"].text() != `{"results":[]}` || !strings.Contains(replies["health"].text(), `"OK"`) {
			t.Errorf("run %d: %+v", run, replies)
		}
	}
	t.Logf("every request is answered in %d of %d runs", runs, runs)
}

// pipe runs a server with a script as its whole input and returns its answers
// by id. There must be so many and nothing else.
func pipe(t *testing.T, s setting, script string, count int) map[any]reply {
	t.Helper()
	cmd := transportCommand(t, s)
	cmd.Stdin = strings.NewReader(script)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%v, on standard error: %s", err, &complaints)
	}
	h := &host{TB: t, out: bufio.NewReader(bytes.NewReader(out))}
	replies := h.collect(count)
	if r, err := h.read(); err != io.EOF {
		t.Errorf("after the answers: %+v, %v", r, err)
	}
	return replies
}
