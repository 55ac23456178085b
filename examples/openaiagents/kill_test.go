package openaiagents_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/examples/openaiagents"
)

const workerDir = "OPENAIAGENTS_WORKER_DIR" // is set in a worker's environment

// work adds items in pairs, pops one of each pair, and says what was done once it is,
// until it is killed.
func work(dir, name string) {
	ctx := context.Background()
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		panic(err)
	}
	s := openaiagents.NewSession(db, "s")
	for i := 0; ; i++ {
		pair := []string{note(fmt.Sprint(name, ".", i, ".a")), note(fmt.Sprint(name, ".", i, ".b"))}
		if err := s.AddItems(ctx, raws(pair...)); err != nil {
			panic(err)
		}
		fmt.Printf("added %s\nadded %s\n", pair[0], pair[1])
		popped, err := s.PopItem(ctx)
		if err != nil {
			panic(err)
		}
		if popped != nil {
			fmt.Printf("popped %s\n", texts([]item{*popped})[0])
		}
	}
}

// ledger counts what workers said.
type ledger struct {
	added, popped map[string]int
}

// live runs a worker and kills it at some moment.
func (l ledger) live(t *testing.T, dir, name string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], name)
	cmd.Env = append(os.Environ(), workerDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(100*time.Millisecond+time.Duration(rand.IntN(150))*time.Millisecond, func() { cmd.Process.Kill() })
	defer kill.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var what, text string
		if _, err := fmt.Sscan(lines.Text(), &what, &text); err != nil {
			continue // the kill cut the line
		}
		switch what {
		case "added":
			l.added[text]++
		case "popped":
			l.popped[text]++
		}
	}
	cmd.Wait() // of a killed process is an error
}

// Whatever moment a process is killed at, an item that it added and nobody popped is
// there once, and one that it popped is gone.
func TestKilledWorkers(t *testing.T) {
	dir := t.TempDir()
	l := ledger{map[string]int{}, map[string]int{}}
	const lives = 12
	for i := range lives {
		l.live(t, dir, fmt.Sprint("w", i))
	}
	there := map[string]int{}
	for _, text := range get(t, openaiagents.NewSession(open(t, dir), "s"), 0) {
		there[text]++
	}
	missing := 0
	for text := range l.added {
		switch {
		case there[text]+l.popped[text] > 1:
			t.Errorf("%s is there %d times and was popped %d times", text, there[text], l.popped[text])
		case there[text]+l.popped[text] == 0:
			missing++ // popped, and killed before it could say so
		}
	}
	if missing > lives {
		t.Errorf("%d items are missing after %d kills", missing, lives)
	}
	if len(l.added) < lives || len(l.popped) < lives/2 {
		t.Errorf("only %d items added and %d popped", len(l.added), len(l.popped))
	}
	t.Logf("%d kills, %d items added, %d popped, %d popped without a word, %d there", lives, len(l.added), len(l.popped), missing, len(there))
}
