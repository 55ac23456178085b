package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
)

// worker is a host: it keeps one server and gives it work, call after call. Its
// methods run on one goroutine, but for kill.
type worker struct {
	number  int
	ctx     context.Context // ends the servers
	program program
	dir     string
	ledger  *ledger
	random  *rand.Rand
	// mortal servers are killed and started again. Others must live.
	mortal bool

	server  *server
	current atomic.Pointer[server] // what kill kills
	known   map[*counter]int64     // the newest revision that an answer has told this worker
	mine    []*written             // not deleted
}

func newWorker(ctx context.Context, p program, dir string, l *ledger, number int, mortal bool) *worker {
	return &worker{
		number: number, ctx: ctx, program: p, dir: dir, ledger: l, mortal: mortal,
		random: rand.New(rand.NewPCG(3, uint64(number))), known: map[*counter]int64{},
	}
}

// start launches the server, again when it is killed before it answers.
func (w *worker) start() error {
	for {
		s, err := w.program.launch(w.ctx, w.dir)
		if err != nil {
			return err
		}
		w.server = s
		w.current.Store(s)
		if err = s.greet(); err == nil {
			return nil
		}
		if err := w.bury(err); err != nil {
			return err
		}
	}
}

// bury takes notice that the server did not answer. It returns nil when it was
// killed, as a mortal one may be, and else what is wrong.
func (w *worker) bury(cause error) error {
	if !w.mortal || !errors.Is(cause, errEnded) {
		return fmt.Errorf("server %d: %w", w.number, cause)
	}
	w.server.in.Close()
	_ = w.server.cmd.Wait() // it says that it was killed, if it was
	if log := w.server.log.String(); w.current.Load() != nil || strings.Contains(log, "DATA RACE") {
		return fmt.Errorf("server %d: %w, and nobody killed it; its log:\n%s", w.number, cause, log)
	}
	return nil
}

// replace starts another server in the place of one that was killed.
func (w *worker) replace(cause error) error {
	if err := w.bury(cause); err != nil {
		return err
	}
	return w.start()
}

// kill ends the server with signal 9 and reports whether there was one to kill.
func (w *worker) kill() bool {
	s := w.current.Swap(nil)
	return s != nil && s.cmd.Process.Kill() == nil
}

// maxBusy is how often in a row a call may be answered with BUSY.
const maxBusy = 20

// call runs a tool. BUSY promises that nothing has happened, so the call is
// made again. ended says that the server was killed before it answered; another
// runs in its place.
func (w *worker) call(name string, args arguments) (a answer, ended bool, err error) {
	for range maxBusy {
		a, err = w.server.call(name, args)
		if err != nil {
			return answer{}, true, w.replace(err)
		}
		if a.Error.Code != "BUSY" {
			return a, false, nil
		}
		w.ledger.count("BUSY answers")
	}
	return answer{}, false, fmt.Errorf("server %d, %s: BUSY %d times: %+v", w.number, name, maxBusy, a.Error)
}

// filler gives messages different sizes.
var filler = strings.Repeat("x", 800)

// round is a piece of work: a message, and something of everything else.
func (w *worker) round(n int) error {
	steps := []func() error{
		func() error {
			return w.write(fmt.Sprintf("message %d of server %d %s end", n, w.number, filler[:n%3*400]))
		},
		func() error { return w.update(w.ledger.counters[w.random.IntN(len(w.ledger.counters))]) },
	}
	if n%5 == 4 && len(w.mine) > 0 {
		steps = append(steps, w.deleteOne)
	}
	if i := n / 5; n%5 == 2 && i < len(w.ledger.victims) {
		steps = append(steps, func() error { return w.deleteVictim(w.ledger.victims[i]) })
	}
	if n%5 == 3 {
		steps = append(steps, w.readNewest, w.readCounter)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// write stores a message. Where the server was killed before it answered, one
// half of the messages is left as it is, stored or not, and the other is written
// again with the same key.
func (w *worker) write(content string) error {
	args := newMessage(content)
	args["idempotency_key"] = strings.ReplaceAll(content, "x", "")
	note := w.ledger.sendWrite(w.number, content)
	a, ended, err := w.call("write_message", args)
	if ended {
		w.ledger.count("interrupted writes")
	}
	repeat := w.random.IntN(2) == 0
	for repeat && ended && err == nil {
		if a, ended, err = w.call("write_message", args); !ended {
			w.ledger.count(map[bool]string{true: "repeated writes that were stored", false: "repeated writes that were not"}[a.Replayed])
		}
	}
	switch {
	case err != nil || ended:
		return err
	case a.Status != "OK" || a.Message.Content != content || a.Message.Revision != 1:
		return fmt.Errorf("server %d, writing %.30q: %v", w.number, content, a)
	}
	w.ledger.answerWrite(note, a.Message.ID)
	w.mine = append(w.mine, note)
	return nil
}

// update tries once to be the one who changes a counter.
func (w *worker) update(c *counter) error {
	expected := max(w.known[c], 1)
	content := fmt.Sprintf("revision %d by server %d, attempt %d", expected+1, w.number, w.random.Int64())
	shown := w.ledger.shownRevision(c)
	a, ended, err := w.call("update_message", arguments{"message_id": c.id, "expected_revision": expected, "content": content})
	if ended {
		w.ledger.interruptUpdate(c, expected, content)
	}
	if err != nil || ended {
		return err
	}
	w.known[c] = max(a.Message.Revision, a.Error.CurrentRevision)
	return w.ledger.answerUpdate(c, expected, shown, content, a)
}

// deleteOne deletes a message of this worker for certain.
func (w *worker) deleteOne() error {
	i := w.random.IntN(len(w.mine))
	note := w.mine[i]
	w.mine = slices.Delete(w.mine, i, i+1)
	w.ledger.doom(note)
	repeated := false
	for {
		a, ended, err := w.call("delete_message", arguments{"message_id": note.id, "session_id": sharedSession})
		switch {
		case err != nil:
			return err
		case ended:
			repeated = true
			w.ledger.count("interrupted deletes")
			continue
		case a.Status != "OK" && !(repeated && a.Status == "NOT_FOUND"):
			return fmt.Errorf("server %d, deleting %s: %v", w.number, note.id, a)
		}
		w.ledger.answerDelete(note)
		return nil
	}
}

func (w *worker) deleteVictim(v *victim) error {
	a, ended, err := w.call("delete_message", arguments{"message_id": v.ID})
	if err == nil && !ended && a.Status == "" {
		return fmt.Errorf("server %d, deleting %s: %v", w.number, v.ID, a)
	}
	return errors.Join(err, w.ledger.noteVictim(v, a.Status))
}

// readNewest: a read shows what any server had acknowledged before it.
func (w *worker) readNewest() error {
	newest := w.ledger.newest()
	a, ended, err := w.call("read_messages", arguments{"session_id": sharedSession, "order": "desc", "limit": 1})
	if err != nil || ended {
		return err
	}
	if (len(a.History) != 1 || a.History[0].ID < newest) && !w.ledger.isDoomed(newest) {
		return fmt.Errorf("server %d shows %v as the newest, %s was acknowledged before", w.number, a, newest)
	}
	return nil
}

func (w *worker) readCounter() error {
	c := w.ledger.counters[w.random.IntN(len(w.ledger.counters))]
	shown := w.ledger.shownRevision(c)
	a, ended, err := w.call("read_messages", arguments{"view": "context", "message_id": c.id})
	if err != nil || ended {
		return err
	}
	if a.Message.ID != c.id || a.Message.Revision < shown {
		return fmt.Errorf("server %d shows %+v, revision %d was acknowledged before", w.number, a.Message, shown)
	}
	return nil
}

// rebuild asks for a rebuild. Only one runs at a time, so BUSY is an answer too.
func (w *worker) rebuild() error {
	a, err := w.server.call("rebuild_index", arguments{})
	switch {
	case err != nil:
		w.ledger.count("interrupted rebuilds")
		return w.replace(err)
	case a.Error.Code == "BUSY":
		w.ledger.count("BUSY rebuilds")
	case a.Status != "OK":
		return fmt.Errorf("server %d, rebuild_index: %v", w.number, a)
	default:
		w.ledger.count("rebuilds")
	}
	return nil
}
