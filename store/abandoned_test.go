package store

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/convmem/store/vfs"
)

// explosive is a mirror whose Apply panics at one payload.
type explosive struct{ mirror }

func (e *explosive) Apply(r Record) error {
	if string(r.Payload) == "boom" {
		panic("boom")
	}
	return e.mirror.Apply(r)
}

// A sink that panics ends writing. Whoever rode along is answered, and other
// processes find LOCK free.
func TestSinkPanicsInABatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := vfs.NewMem(0)
		o := testOptions()
		o.NewSink = func() Sink { return &explosive{mirror{held: contents{}}} }
		l, err := Open(context.Background(), m, o)
		must(t, err)
		queued := make(chan struct{})
		leader, follower := make(chan any, 1), make(chan error, 1)
		go func() {
			defer func() { leader <- recover() }()
			_ = l.Update(context.Background(), func(tx *Tx) error {
				<-queued
				tx.Put(id(1), []byte("boom"))
				return nil
			})
		}()
		synctest.Wait()
		go func() { follower <- update(l, put(2, "two")) }()
		synctest.Wait()
		close(queued)
		if got := <-leader; got != "boom" {
			t.Errorf("the leader's panic is %v", got)
		}
		if err := <-follower; err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("the follower hears %v", err)
		}
		if err := update(l, put(3, "three")); !errors.Is(err, ErrPoisoned) {
			t.Errorf("the next update: %v", err)
		}
		must(t, l.Close())
		if found, err := contentsOf(m); err != nil || found[id(1)] != "boom" || found[id(2)] != "two" {
			t.Errorf("another process finds %v, %v", found, err)
		}
	})
}

// A function that ends its goroutine ends its own update only.
func TestFunctionEndsItsGoroutine(t *testing.T) {
	m := vfs.NewMem(0)
	l := mustOpen(t, m)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.Update(context.Background(), func(tx *Tx) error {
			tx.Put(id(9), []byte("never"))
			runtime.Goexit()
			return nil
		})
	}()
	<-done
	must(t, update(l, put(1, "one")))
	must(t, update(mustOpen(t, m), put(2, "two")))
	if found, err := held(l); err != nil || len(found) != 2 {
		t.Errorf("found %v, %v", found, err)
	}
}

// One that ends the goroutine of somebody who leads fails, and so does the leader.
func TestFunctionEndsTheLeadersGoroutine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := vfs.NewMem(0)
		l := mustOpen(t, m)
		queued, leader := make(chan struct{}), make(chan struct{})
		innocent, follower := make(chan error, 1), make(chan error, 1)
		go func() {
			defer close(leader)
			_ = l.Update(context.Background(), func(tx *Tx) error {
				<-queued
				tx.Put(id(1), []byte("one"))
				return nil
			})
		}()
		synctest.Wait()
		go func() { innocent <- update(l, put(3, "queued before")) }()
		synctest.Wait()
		go func() {
			follower <- l.Update(context.Background(), func(*Tx) error {
				runtime.Goexit()
				return nil
			})
		}()
		synctest.Wait()
		close(queued)
		<-leader
		for _, answer := range []chan error{innocent, follower} {
			if err := <-answer; !errors.Is(err, errAbandoned) {
				t.Errorf("a follower hears %v", err)
			}
		}
		must(t, update(l, put(2, "two")))
		must(t, l.Close())
		if found, err := contentsOf(m); err != nil || len(found) != 1 {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

// picky is a sink with a stage that refuses one payload.
type picky struct{ mirror }

func (p *picky) Stage() Stage { return &pickyStage{} }

type pickyStage struct{ taken []string }

func (s *pickyStage) Apply(r Record) error {
	if string(r.Payload) == "refused" {
		return errRefused
	}
	s.taken = append(s.taken, string(r.Payload))
	return nil
}

// Nothing of a refused update stays in the stage that later ones are checked
// against, and what was queued before does.
func TestRefusedUpdateLeavesNoTraceInTheStage(t *testing.T) {
	o := testOptions()
	o.NewSink = func() Sink { return &picky{mirror{held: contents{}}} }
	l, err := Open(context.Background(), vfs.NewMem(0), o)
	must(t, err)
	defer l.Close()
	b := &batch{log: l}
	b.restage()
	putting := func(payloads ...string) *request {
		r := &request{ctx: context.Background(), fn: func(tx *Tx) error {
			for i, payload := range payloads {
				tx.Put(id(i+1), []byte(payload))
			}
			return nil
		}}
		b.include(r)
		return r
	}
	must(t, putting("before").err)
	if err := putting("phantom", "refused").err; !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	if taken := b.stage.(*pickyStage).taken; len(taken) != 1 || taken[0] != "before" {
		t.Errorf("the stage holds %q", taken)
	}
}

// What is queued is found whether it came before or after the first that asked.
func TestQueuedChangesAreFound(t *testing.T) {
	b := &batch{log: mustOpen(t, vfs.NewMem(0))}
	for i := 1; i <= 3; i++ {
		must(t, b.add([]change{put(i, "queued")}))
		if i == 1 {
			continue // nobody has asked yet
		}
		for asked := 1; asked <= i; asked++ {
			if c, ok := b.change(id(asked)); !ok || string(c.payload) != "queued" {
				t.Errorf("after %d changes, change %d is not there", i, asked)
			}
		}
	}
}
