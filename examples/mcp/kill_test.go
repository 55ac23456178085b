package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
)

const kills = 50

// TestKill kills a server with signal 9 at random moments while it writes. What
// it acknowledged must be there afterwards, once and whole, in order.
func TestKill(t *testing.T) {
	p, dir := build(t), t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	acknowledged, interrupted := map[string]bool{}, 0
	for round := range kills {
		server := p.start(t, dir)
		sent := server.writeUntilKilled(round, time.Duration(r.IntN(20_000))*time.Microsecond, acknowledged)
		found := contentsOf(t, dir)
		for content := range acknowledged {
			if found[content] != 1 {
				t.Fatalf("round %d: acknowledged %q is there %d times", round, content, found[content])
			}
		}
		for content, times := range found {
			if times != 1 || !strings.HasPrefix(content, "message ") || !strings.HasSuffix(content, " end") {
				t.Fatalf("round %d: found %q %d times", round, content, times)
			}
			if !acknowledged[content] {
				interrupted++
				acknowledged[content] = true // it was shown, so it must stay
			}
		}
		if len(sent) == 0 {
			t.Fatalf("round %d: nothing was sent", round)
		}
	}
	if len(acknowledged) < kills {
		t.Errorf("only %d messages acknowledged in %d rounds", len(acknowledged), kills)
	}
	t.Logf("%d kills, %d messages, %d of them written but not answered before the kill", kills, len(acknowledged), interrupted)
}

// writeUntilKilled writes one message after another, notes what is answered,
// and kills the server after the given time.
func (r *process) writeUntilKilled(round int, after time.Duration, acknowledged map[string]bool) (sent []string) {
	r.t.Helper()
	timer := time.AfterFunc(after, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	for i := 0; ; i++ {
		content := fmt.Sprintf("message %d of round %d %s end", i, round, strings.Repeat("x", i%3*400))
		sent = append(sent, content)
		args := fmt.Sprintf(`{"session_id":"s","role":"user","content":%q}`, content)
		if _, err := io.WriteString(r.in, tool(i+1, "write_message", args)+"\n"); err != nil {
			break
		}
		line, err := r.out.ReadString('\n')
		if err != nil {
			break
		}
		if _, text := decode(r.t, line); !strings.Contains(text, `"OK"`) {
			r.t.Fatalf("write %d: %s", i, text)
		}
		acknowledged[content] = true
	}
	_ = r.cmd.Wait() // it was killed
	return sent
}

// contentsOf opens the store as a library would and counts the contents in it.
func contentsOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	ctx := context.Background()
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, cursor, last := map[string]int{}, "", ""
	for more := true; more; more = cursor != "" {
		page, err := convmem.History(ctx, db, convmem.HistoryRequest{SessionID: "s", Cursor: cursor, Limit: convmem.MaxReadLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			if m.ID <= last {
				t.Fatalf("id %s comes after %s", m.ID, last)
			}
			last = m.ID
			found[m.Content]++
		}
		cursor = page.NextCursor
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return found
}
