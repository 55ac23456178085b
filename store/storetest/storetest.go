// Package storetest checks that a [convmem.Store] keeps its promises.
//
// [Run] is a conformance suite: it takes a [Factory] and works through what a
// store must do, one named subtest for each subject. [RunRandom] drives a store
// and the [Model] with the same random operations and compares every answer. A
// new engine, a decorator or a client over a network passes both before
// anybody relies on it:
//
//	func TestStore(t *testing.T) {
//		factory := func(t testing.TB, c storetest.Config) storetest.Subject {
//			return storetest.Subject{Store: mystore.New(c.Now)}
//		}
//		storetest.Run(t, factory)
//		storetest.RunRandom(t, factory)
//	}
//
// The example is a whole decorator with its test.
//
// Two stores may rank by different rules, so scores are never compared between
// them. What must hold for every rule is checked: which messages a search may
// return, how they are ordered once scored, and that neither a restart nor a
// rebuild changes a single bit of the answer.
//
// What a store may do beyond [convmem.Store] is checked when it does:
// [convmem.BatchWriter] and [convmem.SessionDeleter], on the store that the
// factory made and on what Reopen returns.
//
// [Open] is for tests of programs that use a store: it gives them a real one
// that lives in memory.
package storetest

import (
	"testing"
	"time"

	"example.com/convmem"
)

// Config is what a store under test must use instead of the world outside.
type Config struct {
	// Now is the clock for ids and times. It may stand still and it may step
	// back. nil means time.Now.
	Now func() time.Time
}

// Subject is a store under test.
type Subject struct {
	// Store is empty and belongs to the test alone.
	Store convmem.Store

	// Reopen ends the store's present life in good order and returns the
	// store that a new process would find: same data, same Config. The store
	// it replaces is not used again. nil leaves out the checks that need it.
	Reopen func() convmem.Store

	// NoPayload says that Store cannot carry a [convmem.Payload], as a client
	// over a protocol without one. It leaves out the checks of payloads.
	NoPayload bool
}

// Factory makes a new empty store. It reports its own failures with t.Fatal
// and releases what it holds in t.Cleanup. It is called several hundred times.
type Factory func(t testing.TB, c Config) Subject

// Run runs the conformance suite, each check as a subtest with stores of its
// own. It takes about a second plus what the store itself needs.
func Run(t *testing.T, f Factory) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			c.run(&kit{TB: t, factory: f})
		})
	}
}

// check is one subject of the suite. It fails through its kit, so that the
// suite's own tests can watch it fail.
type check struct {
	name string
	run  func(*kit)
}

// checks lists the suite in the order of its files.
func checks() []check {
	var all []check
	for _, group := range [][]check{
		valueChecks(), messageChecks(), idempotencyChecks(), updateChecks(),
		historyChecks(), cursorChecks(), budgetChecks(), contextChecks(),
		sessionsChecks(), searchFilterChecks(), searchTextChecks(),
		searchResultChecks(), deleteChecks(), rebuildChecks(), healthChecks(),
		sharingChecks(), concurrencyChecks(), payloadChecks(), batchChecks(),
		deleteSessionChecks(),
	} {
		all = append(all, group...)
	}
	return all
}
