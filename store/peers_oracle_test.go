package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// String is equal for equal contents only.
func (c contents) String() string {
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(c), ulid.ULID.Compare) {
		fmt.Fprintf(&b, "%d:", int(key[14])<<8|int(key[15]))
		if payload := c[key]; len(payload) < 64 {
			fmt.Fprintf(&b, "%q ", payload)
		} else {
			fmt.Fprintf(&b, "%q+%d(%x) ", payload[:1], len(payload), sha256.Sum256([]byte(payload)))
		}
	}
	return b.String()
}

// following is the smallest id above i.
func following(i ulid.ULID) ulid.ULID {
	for at := len(i) - 1; at >= 0; at-- {
		if i[at]++; i[at] != 0 {
			break
		}
	}
	return i
}

// state is what a store holds and the greatest id that it ever held.
type state struct {
	held contents
	last ulid.ULID
	key  string
}

func newState(held contents, last ulid.ULID) state {
	for key := range held {
		if last.Compare(key) < 0 {
			last = key
		}
	}
	return state{held: held, last: last, key: held.String() + last.String()}
}

func (s state) with(changes ...change) state {
	last := s.last
	for _, c := range changes {
		if last.Compare(c.id) < 0 {
			last = c.id
		}
	}
	return newState(s.held.with(changes...), last)
}

// oracle knows what a store may hold. Calls overlap, so it keeps all states that
// some order of the calls explains, each call taking effect once, at a moment
// between its begin and its answer, or not at all if it did not succeed. It is a
// check for linearisability that takes power cuts and lost calls into account.
type oracle struct {
	possible  []possibility
	undecided []*operation
}

// possibility is a state and the answers of the undecided calls that have taken
// effect in it.
type possibility struct {
	state   state
	answers map[*operation]string
}

// operation is a call in the eyes of the oracle.
type operation struct {
	call
	// lost says that nobody works on it any more, nor will anybody say how it
	// ended: it may take effect until somebody has repaired the log.
	lost bool
	// overtakes are the calls that were lost when this one began.
	overtakes []*operation
}

func newOracle(held contents) *oracle {
	return &oracle{possible: []possibility{{state: newState(held, ulid.ULID{})}}}
}

func (o *oracle) begin(c call) *operation {
	op := &operation{call: c}
	if c.apply != nil {
		o.undecided = append(o.undecided, op)
	}
	if c.repairs {
		for _, other := range o.undecided {
			if other.lost {
				op.overtakes = append(op.overtakes, other)
			}
		}
	}
	return op
}

// answered says that the call ended with the answer and reports whether it can
// have.
func (o *oracle) answered(op *operation, answer string) bool {
	if op.apply != nil {
		o.grow()
		kept := slices.DeleteFunc(slices.Clone(o.possible), func(p possibility) bool {
			got, took := p.answers[op]
			return !took || got != answer
		})
		if len(kept) == 0 {
			return false
		}
		o.possible = kept
	}
	o.grow()
	o.forget(op)
	if answer == "" {
		for _, lost := range op.overtakes {
			o.forget(lost)
		}
	}
	return true
}

// refused says that the call failed without an effect and reports whether that
// can be.
func (o *oracle) refused(op *operation) bool {
	if op.apply == nil || op.reads {
		o.forget(op)
		return true
	}
	kept := slices.DeleteFunc(slices.Clone(o.possible), func(p possibility) bool {
		_, took := p.answers[op]
		return took
	})
	if len(kept) == 0 {
		return false
	}
	o.possible = kept
	o.forget(op)
	return true
}

// lost says that nobody will ever know how the call ended.
func (o *oracle) lost(op *operation) {
	op.lost = true
	if op.reads {
		o.forget(op)
	}
}

// forget takes a call out of what is undecided: from now on it has taken effect
// or it has not.
func (o *oracle) forget(op *operation) {
	o.undecided = slices.DeleteFunc(o.undecided, func(other *operation) bool { return other == op })
	for i, p := range o.possible {
		if _, took := p.answers[op]; took {
			o.possible[i].answers = maps.Clone(p.answers)
			delete(o.possible[i].answers, op)
		}
	}
	seen := map[string]bool{}
	o.possible = slices.DeleteFunc(o.possible, func(p possibility) bool {
		key := p.key(o.undecided)
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// grow lets undecided calls take effect in every order.
func (o *oracle) grow() {
	seen := map[string]bool{}
	for _, p := range o.possible {
		seen[p.key(o.undecided)] = true
	}
	for i := 0; i < len(o.possible); i++ {
		for _, op := range o.undecided {
			if _, took := o.possible[i].answers[op]; took {
				continue
			}
			next := o.possible[i].with(op)
			if key := next.key(o.undecided); !seen[key] {
				seen[key] = true
				o.possible = append(o.possible, next)
			}
		}
	}
}

func (p possibility) with(op *operation) possibility {
	next := possibility{answers: maps.Clone(p.answers)}
	if next.answers == nil {
		next.answers = map[*operation]string{}
	}
	var answer string
	next.state, answer = op.apply(p.state)
	next.answers[op] = answer
	return next
}

func (p possibility) key(undecided []*operation) string {
	var b strings.Builder
	b.WriteString(p.state.key)
	for _, op := range undecided {
		answer, took := p.answers[op]
		fmt.Fprintf(&b, "|%t %s", took, answer)
	}
	return b.String()
}

// allowed returns what may be found after a crash at this moment.
func (o *oracle) allowed() (all []contents) {
	o.grow()
	for _, p := range o.possible {
		if !slices.ContainsFunc(all, func(c contents) bool { return equal(c, p.state.held) }) {
			all = append(all, p.state.held)
		}
	}
	return all
}

func (o *oracle) String() string {
	var lines []string
	for _, c := range o.allowed() {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, " or ")
}

// agree checks that all live processes show the same, that it is one of the
// things they may show, and that sequence numbers never fall. Processes that are
// stopped in the middle of a call, locks in their hands, do not keep it from
// them.
func (w *world) agree() {
	w.t.Helper()
	var first *process
	for _, p := range w.live() {
		p.must(viewCall())
		if first == nil {
			first = p
		}
		if !equal(p.found, first.found) {
			w.fail("%s shows %v, %s shows %v", first.name, first.found, p.name, p.found)
		}
		seq := p.log.Stats().LastSeq
		if seq < w.lastSeq {
			w.fail("%s is at sequence number %d, somebody has seen %d", p.name, seq, w.lastSeq)
		}
		w.lastSeq = seq
	}
}

// goOnWriting checks that every live process can still write, the poisoned ones
// excepted, and that each has an id of its own for it. Nobody may be stopped.
func (w *world) goOnWriting() {
	w.t.Helper()
	for _, p := range w.live() {
		p.extra++
		err := p.do(addCall(fmt.Sprintf("%s-%d", p.name, p.extra)))
		if err != nil && !p.poisoned {
			w.fail("%s cannot write although nobody holds anything: %v", p.name, err)
		}
	}
	w.agree()
}

// powerCut looks at what a power cut at this moment may leave: at limit images
// or all of them, and at what is left when all processes die. It returns how
// many it looked at.
func (w *world) powerCut(limit int) int {
	w.t.Helper()
	allowed := w.oracle.allowed()
	w.checkErased(w.disk)
	return images(w.disk, limit, w.random, func(image *vfs.Mem) {
		w.checkErased(image)
		left := image.Kill()
		if err := survives(image, allowed); err != nil {
			w.fail("after a power cut: %v\nit left %s", err, describe(left))
		}
	})
}

// checkErased looks for the secret in every file.
func (w *world) checkErased(m *vfs.Mem) {
	w.t.Helper()
	if !w.erased {
		return
	}
	for _, name := range m.Names() {
		b, err := m.ReadFile(name)
		if err != nil || bytes.Contains(b, []byte(secret)) {
			w.fail("a rebuild was answered, and %s holds what was deleted before it (%v)", name, err)
		}
	}
}

// describe lists the files of an image with their sizes, and what LOCK says.
func describe(m *vfs.Mem) string {
	var parts []string
	for _, name := range m.Names() {
		b, err := m.ReadFile(name)
		parts = append(parts, fmt.Sprintf("%s (%d bytes, %v)", name, len(b), err))
		if name == lockName && len(b) >= slotB+slotSize {
			for _, at := range []int{slotA, slotB} {
				s, ok := decodeSlot(b[at:])
				parts = append(parts, fmt.Sprintf("slot at %d: %t counter %d generation %d end %d dirty %t",
					at, ok, s.counter, s.generation, s.durableEnd, s.dirty))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// The oracle itself must tell right from wrong.
func TestOracle(t *testing.T) {
	one, two := checkedCall(1, "zero", "one"), checkedCall(1, "zero", "two")
	plain := updateCall("put", put(1, "one"))
	view := viewCall()
	holding := func(text string) string { return contents{id(1): text}.String() }
	none, first, second := holding("zero"), holding("one"), holding("two")
	for name, tt := range map[string]struct {
		steps func(o *oracle) bool
		want  bool
	}{
		"a view of an answered call": {func(o *oracle) bool {
			return o.answered(o.begin(plain), "") && o.answered(o.begin(view), first)
		}, true},
		"a view that misses an answered call": {func(o *oracle) bool {
			return o.answered(o.begin(plain), "") && o.answered(o.begin(view), none)
		}, false},
		"a view that overlaps a call": {func(o *oracle) bool {
			v := o.begin(view)
			return o.answered(o.begin(plain), "") && o.answered(v, none)
		}, true},
		"a call under way is seen and then not": {func(o *oracle) bool {
			o.begin(plain)
			return o.answered(o.begin(view), first) && o.answered(o.begin(view), none)
		}, false},
		"two winners": {func(o *oracle) bool {
			a, b := o.begin(one), o.begin(two)
			return o.answered(a, "") && o.answered(b, "")
		}, false},
		"one winner, answered last": {func(o *oracle) bool {
			a, b := o.begin(one), o.begin(two)
			return o.answered(a, "conflict") && o.answered(b, "") && o.answered(o.begin(view), second)
		}, true},
		"a conflict with nobody": {func(o *oracle) bool { return o.answered(o.begin(one), "conflict") }, false},
		"a refused call is seen": {func(o *oracle) bool {
			return o.refused(o.begin(plain)) && o.answered(o.begin(view), first)
		}, false},
		"a call is refused after it was seen": {func(o *oracle) bool {
			a := o.begin(plain)
			return o.answered(o.begin(view), first) && o.refused(a)
		}, false},
		"a lost call appears late": {func(o *oracle) bool {
			o.lost(o.begin(plain))
			return o.answered(o.begin(view), none) && o.answered(o.begin(view), first)
		}, true},
		"a lost call appears after a repair has left it out": {func(o *oracle) bool {
			o.lost(o.begin(plain))
			return o.answered(o.begin(rebuildCall()), "") && o.answered(o.begin(view), none) &&
				o.answered(o.begin(view), first)
		}, false},
		"an id is used twice": {func(o *oracle) bool {
			add := addCall("x")
			return o.answered(o.begin(add), "") && o.answered(o.begin(updateCall("delete", remove(2))), "") &&
				o.answered(o.begin(add), "") && o.answered(o.begin(view), contents{id(1): "zero", id(2): "x"}.String())
		}, false},
	} {
		if got := tt.steps(newOracle(contents{id(1): "zero"})); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
