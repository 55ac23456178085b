package langchaingo_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"github.com/tmc/langchaingo/llms"
)

// replacerVariable makes the test binary replace the history in the directory that
// it names until it is killed.
const replacerVariable = "LANGCHAINGO_TEST_REPLACE"

// replacerFailed is its exit code where it ends by itself.
const replacerFailed = 3

// step is what a replacer says on its output before each SetMessages, and after it
// with Done.
type step struct {
	Old, New string
	Done     bool
}

func replaceForever(dir string) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	h := langchaingo.NewHistory(db, "s")
	out := json.NewEncoder(os.Stdout)
	for n := 0; ; n++ {
		old, err := h.Messages(ctx)
		if err != nil {
			return err
		}
		list := nextList(old, fmt.Sprintf(" p%d-%d", os.Getpid(), n))
		s := step{Old: contents(old), New: contents(list)}
		if err := errors.Join(out.Encode(s), h.SetMessages(ctx, list)); err != nil {
			return err
		}
		s.Done = true
		if err := out.Encode(s); err != nil {
			return err
		}
	}
}

// nextList is a trim of the old list, more behind it, both, or another list.
func nextList(old []llms.ChatMessage, word string) []llms.ChatMessage {
	from := rand.IntN(len(old) + 1)
	switch rand.IntN(4) {
	case 0:
		return old[min(from, max(len(old)-1, 0)):]
	case 1:
		return append(old[from:], humans(word)...)
	case 2:
		return humans(strings.Repeat(word, 1+rand.IntN(20)))
	}
	return append(old, humans(strings.Repeat(word, 1+rand.IntN(20)))...)
}

func contents(list []llms.ChatMessage) string {
	var all []string
	for _, m := range list {
		all = append(all, m.GetContent())
	}
	return strings.Join(all, " ")
}

// Processes that replace the history are killed at random moments, for three seconds.
// What this process read meanwhile was a list that was set, whole; what it reads
// afterwards is the list of before the last SetMessages or that of after it.
func TestKilledDuringSetMessages(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	h := langchaingo.NewHistory(db, "s")
	kills, inside, leftovers, reads, steps := 0, 0, 0, 0, 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); kills++ {
		set, seen, last := killReplacer(t, dir, h)
		for _, list := range seen {
			if !set[list] {
				t.Fatalf("kill %d: read %q, which was never set", kills, list)
			}
		}
		if got := texts(t, h); got != last.New && (last.Done || got != last.Old) {
			t.Fatalf("kill %d: got %q after %+v", kills, got, last)
		}
		if !last.Done {
			inside++
		}
		if len(raw(t, db, "s")) > len(messages(t, h)) {
			leftovers++
			list := append(messages(t, h), humans("x")...)
			ok(t, "set", h.SetMessages(ctx, list))
			same(t, "messages", messages(t, h), list)
			same(t, "stored", len(raw(t, db, "s")), len(list))
		}
		reads, steps = reads+len(seen), steps+len(set)
	}
	t.Logf("%d kills, %d inside SetMessages, %d left something behind; %d lists, %d reads beside them", kills, inside, leftovers, steps, reads)
	if inside == 0 {
		t.Error("no process was killed inside SetMessages")
	}
}

// killReplacer starts a replacer, reads the history beside it and kills it. It
// returns the lists that stood or were to be set, those that were read, and the last
// step.
func killReplacer(t *testing.T, dir string, h *langchaingo.History) (set map[string]bool, seen []string, last step) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), replacerVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, "pipe", err)
	ok(t, "start", cmd.Start())
	started, killed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(killed)
		<-started
		time.Sleep(rand.N(60 * time.Millisecond))
		cmd.Process.Kill()
	}()
	read := make(chan []string)
	go func() {
		var seen []string
		defer func() { read <- seen }()
		<-started
		for {
			select {
			case <-killed:
				return
			default:
			}
			list, err := h.Messages(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			seen = append(seen, contents(list))
		}
	}()
	set = map[string]bool{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if len(set) == 0 {
			close(started)
		}
		var s step
		ok(t, "a line of the replacer", json.Unmarshal(lines.Bytes(), &s))
		set[s.Old], set[s.New], last = true, true, s
	}
	if len(set) == 0 {
		t.Fatal("the replacer said nothing")
	}
	seen = <-read
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() == replacerFailed {
		t.Fatalf("the replacer failed: %v", err)
	}
	return set, seen, last
}
