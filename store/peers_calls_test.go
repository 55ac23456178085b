package store

import (
	"context"
	"errors"
	"fmt"
)

// call is something that a process does with the store, and what it means.
type call struct {
	name string
	run  func(*process) error
	// apply is what it does to the state and what it answers; nil means that
	// it changes and answers nothing.
	apply func(state) (state, string)
	// reads marks a view, which no other process can make fail; repairs a call
	// after which nothing of a dead process can come to life; erases a rebuild.
	reads, repairs, erases bool
}

var errConflict = errors.New("the record is not what was expected")

func openingCall() call {
	return call{name: "open", repairs: true, run: func(p *process) error {
		l, err := Open(context.Background(), p.fs, p.options())
		if err == nil {
			p.log = l
		}
		return err
	}}
}

func closingCall() call {
	return call{name: "close", run: func(p *process) error {
		l := p.log
		p.log = nil
		return l.Close()
	}}
}

func rebuildCall() call {
	return call{name: "rebuild", repairs: true, erases: true, run: func(p *process) error {
		_, err := p.log.Rebuild(context.Background())
		return err
	}}
}

func viewCall() call {
	return call{
		name: "view", reads: true,
		run:   func(p *process) (err error) { p.found, err = held(p.log); return err },
		apply: func(s state) (state, string) { return s, s.held.String() },
	}
}

// updateCall puts and deletes, whatever is there.
func updateCall(name string, changes ...change) call {
	return call{
		name: name, repairs: true,
		run: func(p *process) error { return update(p.log, changes...) },
		apply: func(s state) (state, string) {
			for _, c := range changes {
				if _, ok := s.held[c.id]; c.kind == kindDelete && !ok {
					return s, "not found"
				}
			}
			return s.with(changes...), ""
		},
	}
}

// checkedCall replaces record n if it is still what the caller thinks: of two
// such calls that expect the same, one wins.
func checkedCall(n int, expected, next string) call {
	return call{
		name: fmt.Sprintf("update %q to %q", expected, next), repairs: true,
		run: func(p *process) error {
			return p.log.Update(context.Background(), func(tx *Tx) error {
				if now, err := tx.Get(id(n)); err != nil {
					return err
				} else if string(now) != expected {
					return errConflict
				}
				tx.Put(id(n), []byte(next))
				return nil
			})
		},
		apply: func(s state) (state, string) {
			if now, ok := s.held[id(n)]; !ok {
				return s, "not found"
			} else if now != expected {
				return s, "conflict"
			}
			return s.with(put(n, next)), ""
		},
	}
}

// addCall stores a text under the next free id.
func addCall(text string) call {
	return call{
		name: "add " + text, repairs: true,
		run: func(p *process) error {
			return p.log.Update(context.Background(), func(tx *Tx) error {
				tx.Put(following(tx.LastID()), []byte(text))
				return nil
			})
		},
		apply: func(s state) (state, string) {
			return s.with(change{kind: kindPut, id: following(s.last), payload: []byte(text)}), ""
		},
	}
}
