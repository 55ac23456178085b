package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/vfs/faultfs"
)

// move is one step of a random schedule. Every move means something in every
// state, or nothing, so a schedule stays one when moves are taken out.
type move struct {
	what    string // "call" starts a call or goes on with the one that has stopped
	process int
	role    int
	stop    int // before which operation to stop, counted from here; -1 for none
	effect  faultfs.Effect
}

func (m move) String() string {
	return fmt.Sprintf("{%q, %d, %d, %d, %d}", m.what, m.process, m.role, m.stop, m.effect)
}

const randomProcesses = 3

// randomMoves draws a schedule: mostly calls that stop and go on, some kills,
// failing operations and power cuts.
func randomMoves(r *rand.Rand) []move {
	whats := []string{"call", "call", "call", "call", "call", "call", "call", "call", "kill", "fault", "evict", "cut"}
	moves := make([]move, 6+r.IntN(18))
	for i := range moves {
		moves[i] = move{
			what: whats[r.IntN(len(whats))], process: r.IntN(randomProcesses), role: r.IntN(len(roles)),
			stop: r.IntN(60) - 20, effect: faultfs.Effect(r.IntN(4)),
		}
	}
	return moves
}

// Two or three processes, stopped, killed, struck by faults and power cuts at
// random. A schedule that fails is shortened before it is shown.
func TestRandomSchedules(t *testing.T) {
	const parts = 2
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			runs, calls := sample(150, 5_000), 0
			for n := range runs {
				seed := uint64(n*parts + part)
				moves := randomMoves(rand.New(rand.NewPCG(2026, seed)))
				made, message := played(t, moves, seed)
				calls += made
				if message != "" {
					moves = shortened(t, moves, seed)
					_, message = played(t, moves, seed)
					t.Fatalf("seed %d, moves %v: %s", seed, moves, message)
				}
			}
			t.Logf("%d schedules, %d calls, no violation", runs, calls)
		})
	}
}

// played runs a schedule and returns how many calls it made and the violation
// that it found, or "".
func played(t *testing.T, moves []move, seed uint64) (calls int, message string) {
	t.Helper()
	inBubble(t, func(*testing.T) {
		message = violationOf(func(f failer) {
			table := newTableau(f, seed)
			defer func() { table.world.end() }()
			for _, m := range moves {
				table.play(m)
			}
			table.endWell()
			calls = table.calls
		})
	})
	return calls, message
}

// shortened takes moves out as long as what is left still fails.
func shortened(t *testing.T, moves []move, seed uint64) []move {
	t.Helper()
	for i := 0; i < len(moves); {
		fewer := slices.Delete(slices.Clone(moves), i, i+1)
		if _, message := played(t, fewer, seed); message != "" {
			moves, i = fewer, 0
		} else {
			i++
		}
	}
	return moves
}

// tableau is a random schedule being played: a world whose processes are
// replaced when they die.
type tableau struct {
	world   *world
	random  *rand.Rand
	players [randomProcesses]*process
	named   int
	calls   int
}

func newTableau(f failer, seed uint64) *tableau {
	w := newWorld(f)
	w.random = rand.New(rand.NewPCG(3, seed))
	p := &tableau{world: w, random: w.random}
	z := w.opened("z")
	base(z)
	z.kill()
	for i := range p.players {
		p.replace(i)
	}
	return p
}

func (p *tableau) replace(i int) {
	p.named++
	p.players[i] = p.world.process(fmt.Sprintf("p%d", p.named))
}

func (p *tableau) play(m move) {
	w, q := p.world, p.players[m.process]
	at := stop(never)
	if m.stop >= 0 {
		at = before(m.stop)
	}
	switch {
	case m.what == "call" && q.current == nil:
		p.start(q, m, at)
	case m.what == "call":
		q.goOn(at)
	case m.what == "kill":
		q.kill()
		p.replace(m.process)
	case m.what == "fault" && m.stop >= 0:
		w.note("operation %d of %s from here will fail: %d", m.stop, q.name, m.effect)
		q.fs.Inject(faultfs.Fault{N: m.stop, Effect: m.effect})
	case m.what == "evict":
		w.evict()
	case m.what == "cut":
		p.cut(m)
	}
}

func (p *tableau) start(q *process, m move, at stop) {
	r := roles[m.role]
	if open := q.log != nil; open != r.open {
		r = map[bool]role{false: roles[0], true: roles[1]}[open]
	}
	p.calls++
	q.start(p.call(r, p.calls), at)
}

// call makes each call of a schedule different from the others.
func (p *tableau) call(r role, n int) call {
	switch r.name {
	case "add":
		return addCall(fmt.Sprintf("%s-%d", strings.Repeat("x", n*37%300), n))
	case "batch":
		return updateCall("batch", put(20+n, block(byte(n))), put(3, fmt.Sprint(n)), put(60+n, block(byte(n))))
	case "update":
		return checkedCall(1, []string{"one", "two"}[n%2], []string{"two", "one"}[n/2%2])
	}
	return r.call(n)
}

// cut looks at what a power cut may leave and, sometimes, cuts the power: all
// processes die, and what one image holds is where new ones begin.
func (p *tableau) cut(m move) {
	w := p.world
	w.powerCut(2)
	if m.stop < 0 {
		return
	}
	image := w.disk.CrashImage(p.random)
	for _, q := range p.players {
		q.kill()
	}
	w.note("power cut")
	w.disk = image
	for i := range p.players {
		p.replace(i)
	}
	p.players[0].must(openingCall())
	w.agree()
}

// endWell lets everything that is stopped end, and everything that a fault may
// have hurt die. What is left must be in order.
func (p *tableau) endWell() {
	w := p.world
	for _, q := range p.players {
		q.fs.Clear()
		if q.current != nil {
			q.finish()
		}
		if q.fs.Fired() > 0 {
			q.kill()
		}
	}
	w.opened("last")
	w.close()
}
