package eino_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"github.com/cloudwego/eino/schema"
)

// The environment of a test binary that is to work until it is killed.
const (
	killedDir   = "EINO_TEST_KILLED_DIR"
	killedRound = "EINO_TEST_KILLED_ROUND"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedDir); dir != "" {
		fmt.Println("failed", workUntilKilled(dir, os.Getenv(killedRound)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// workUntilKilled says before each write what it is about to do, and then that it did.
func workUntilKilled(dir, round string) error {
	db, err := convmem.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	checkPoints, messages := eino.NewCheckPoints(db), eino.NewMessages(db)
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s.%d", round, n)
		fmt.Println("sets", name)
		if err := checkPoints.Set(ctx, "run", namedCheckPoint(name, n)); err != nil {
			return err
		}
		fmt.Println("set", name)
		for i := range 20 { // which takes about as long
			turn := fmt.Sprintf("%s.%d", name, i)
			if err := messages.Append(ctx, "s", namedTurn(turn)...); err != nil {
				return err
			}
			fmt.Println("appended", turn)
		}
	}
}

// namedCheckPoint is of one, two or four parts and holds its name at both ends.
func namedCheckPoint(name string, n int) []byte {
	body := data(byte(n), []int{9, partBytes, 3 * partBytes}[n%3])
	return []byte(name + " " + string(body) + " " + name)
}

// nameOf returns the name in a checkpoint that is whole, or "".
func nameOf(checkPoint []byte) string {
	name, _, _ := strings.Cut(string(checkPoint[:min(len(checkPoint), 20)]), " ")
	var round, n int
	if _, err := fmt.Sscanf(name, "%d.%d", &round, &n); err != nil || !bytes.Equal(checkPoint, namedCheckPoint(name, n)) {
		return ""
	}
	return name
}

func namedTurn(name string) []*schema.Message {
	return []*schema.Message{schema.UserMessage("turn " + name), asks(call(name, "f", "")), answers(name)}
}

// witness is what killed processes said.
type witness struct {
	set, sets string          // the checkpoint that is set, and the one that may be
	appended  map[string]bool // turns that were acknowledged or seen
}

// killedAfter runs a process until some time after its first word.
func (w *witness) killedAfter(t *testing.T, dir string, round int, delay time.Duration) {
	t.Helper()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), killedDir+"="+dir, fmt.Sprintf("%s=%d", killedRound, round))
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	must(t, err)
	must(t, process.Start())
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); first = false {
		if first {
			timer := time.AfterFunc(delay, func() { _ = process.Process.Kill() })
			defer timer.Stop()
		}
		switch what, name, _ := strings.Cut(lines.Text(), " "); what {
		case "sets":
			w.sets = name
		case "set":
			w.set = name
		case "appended":
			w.appended[name] = true
		default:
			t.Errorf("round %d: %s", round, lines.Text())
		}
	}
	_ = process.Wait() // it was killed
}

// Processes are killed at random moments. Each time the checkpoint is whole, and the one
// that was set or was being set; and every acknowledged turn is there, and none in part.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	w := witness{appended: map[string]bool{}}
	rounds, inFlight := 0, 0
	for start := time.Now(); rounds < 5 || time.Since(start) < 3*time.Second; rounds++ {
		w.killedAfter(t, dir, rounds, time.Duration(rand.IntN(150_000))*time.Microsecond)
		db, err := convmem.Open(ctx, dir, nil)
		must(t, err)
		checkPoint, ok, err := eino.NewCheckPoints(db).Get(ctx, "run")
		must(t, err)
		name := nameOf(checkPoint)
		if ok != (name != "") || name != w.set && name != w.sets {
			t.Fatalf("round %d: %d bytes of checkpoint %q, found %t, want %q or %q", rounds, len(checkPoint), name, ok, w.set, w.sets)
		}
		if name != w.set {
			inFlight++
		}
		w.set, w.sets = name, name // it was shown, so it must stay
		w.checkTurns(t, db)
		must(t, db.Close())
	}
	if len(w.appended) == 0 {
		t.Errorf("no turn in %d rounds", rounds)
	}
	t.Logf("%d kills, %d turns; after %d of the kills the checkpoint was there that was not acknowledged", rounds, len(w.appended), inFlight)
}

// checkTurns compares the conversation with what was acknowledged.
func (w *witness) checkTurns(t *testing.T, db *convmem.DB) {
	t.Helper()
	all, err := eino.NewMessages(db).All(ctx, "s")
	must(t, err)
	found := map[string]bool{}
	for len(all) > 0 {
		name := strings.TrimPrefix(all[0].Content, "turn ")
		want := namedTurn(name)
		same(t, "turn "+name, all[:min(len(want), len(all))], want)
		if found[name] || t.Failed() {
			t.Fatalf("turn %q is there twice or in part", name)
		}
		found[name], w.appended[name] = true, true // it was shown, so it must stay
		all = all[len(want):]
	}
	for name := range w.appended {
		if !found[name] {
			t.Fatalf("turn %q is lost", name)
		}
	}
}
