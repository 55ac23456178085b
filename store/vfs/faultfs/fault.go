package faultfs

import (
	"fmt"
	"syscall"

	"example.com/convmem/store/vfs"
)

// Kind says which method an Op is.
type Kind string

// The kinds of calls. A fault for Any matches every call. A fault for Sync
// matches SyncData too, since they promise the same; the log tells them apart.
const (
	Any Kind = ""

	Create   Kind = "create"
	Open     Kind = "open" // Open and OpenRead
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	List     Kind = "list"
	SyncDir  Kind = "syncdir"
	SameFile Kind = "samefile"

	Read     Kind = "read"
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	SyncData Kind = "syncdata"
	Size     Kind = "size"
	Close    Kind = "close" // of a file or of a lock

	Lock    Kind = "lock" // making the handle, with Lock or SharedLock
	TryLock Kind = "trylock"
	Unlock  Kind = "unlock"
)

// Op is one call.
type Op struct {
	Index   int    // 0, 1, 2 ... in the order in which calls began
	Kind    Kind   //
	Name    string // of the file or lock, as it was opened; empty for List and SyncDir
	NewName string // of a Rename
	Offset  int64  // of a Read or Write
	Length  int64  // bytes to read or write; the size to Truncate to
	Err     error  // what the caller got; nil while the call is running
}

// String returns the call on one line, for messages of tests.
func (o Op) String() string {
	text := fmt.Sprintf("#%d %s", o.Index, o.Kind)
	if o.Name != "" {
		text += " " + o.Name
	}
	switch o.Kind {
	case Rename:
		text += " to " + o.NewName
	case Read, Write:
		text += fmt.Sprintf(" [%d,%d)", o.Offset, o.Offset+o.Length)
	case Truncate:
		text += fmt.Sprintf(" to %d", o.Length)
	}
	if o.Err != nil {
		text += ": " + o.Err.Error()
	}
	return text
}

// Effect is what a call that a fault makes fail does all the same.
type Effect int

const (
	// NotDone does nothing. Closing is the exception: a Close that fails has
	// closed the file, and let go of the lock.
	NotDone Effect = iota

	// Short makes a Write write, and report as written, its first bytes. For
	// other kinds it is NotDone.
	Short

	// Done does everything, and the caller hears that it failed: a sync that
	// has reached the disk, a rename that has happened. A handle that was
	// opened, or a lock that was taken, is released again at once.
	Done

	// Lost makes a sync lose what it should have written, as Linux does, see
	// [vfs.Mem]. For other kinds it is NotDone.
	Lost
)

// Fault makes calls fail. The zero value makes the first call fail with
// ErrInjected and do nothing.
type Fault struct {
	Kind   Kind          // kind of call it counts
	Match  func(Op) bool // when set, it counts only these; must not call the FS
	N      int           // how many of those succeed before one fails
	Always bool          // all later ones fail too
	Err    error         // what the caller gets; nil: ErrInjected
	Effect Effect        // what happens nevertheless
	Keep   int           // bytes that Short writes, at most all; 0: half of them
}

// rule is a fault that has seen some calls.
type rule struct {
	Fault
	seen int
}

// FailNth makes one call of the kind fail with err, after n others of the kind
// have passed; counting starts now.
func (f *FS) FailNth(kind Kind, n int, err error) {
	f.Inject(Fault{Kind: kind, N: n, Err: err})
}

// FailFrom is FailNth for that call and all later ones of the kind.
func (f *FS) FailFrom(kind Kind, n int, err error) {
	f.Inject(Fault{Kind: kind, N: n, Err: err, Always: true})
}

// Inject adds a fault; it starts counting now. Every fault counts every call
// that it matches; when several want the same call, the one added first has it.
// Inject panics when the effect is Lost and the inner file system is no
// [vfs.Dropper], because the test would then not test what it says.
func (f *FS) Inject(fault Fault) {
	if _, ok := f.inner.(vfs.Dropper); fault.Effect == Lost && !ok {
		panic(fmt.Sprintf("faultfs: a %T cannot lose data", f.inner))
	}
	if fault.Err == nil {
		fault.Err = ErrInjected
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &rule{Fault: fault})
}

// SetBudget lets writes write bytes more bytes, overwritten ones included. The
// write that would exceed them writes what is left of them and fails with
// syscall.ENOSPC, as do all later ones that are not empty. Nothing gives bytes
// back. A negative number means no limit.
func (f *FS) SetBudget(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.budget = bytes
}

// Clear removes all faults and the byte budget. The log, the count of fired
// faults and the hooks stay.
func (f *FS) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.budget = nil, -1
}

// decide returns the fault for a call; one without an error lets it pass.
func (f *FS) decide(op Op, refused error) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := f.firstMatch(op)
	if refused != nil {
		fault = Fault{Err: refused}
	}
	if fault.Err == nil && op.Kind == Write {
		fault = f.spend(op.Length)
	}
	if fault.Err != nil {
		f.fired++
	}
	return fault
}

func (f *FS) firstMatch(op Op) (fault Fault) {
	for _, r := range f.rules {
		if r.fires(op) && fault.Err == nil {
			fault = r.Fault
		}
	}
	if fault.Effect == Short && fault.Keep == 0 {
		fault.Keep = int(op.Length / 2)
	}
	return fault
}

func (r *rule) fires(op Op) bool {
	kind := op.Kind
	if kind == SyncData && r.Kind == Sync {
		kind = Sync
	}
	if r.Kind != Any && r.Kind != kind || r.Match != nil && !r.Match(op) {
		return false
	}
	r.seen++
	return r.seen == r.N+1 || r.Always && r.seen > r.N
}

// spend takes length bytes out of the budget, or what is left of it.
func (f *FS) spend(length int64) Fault {
	if f.budget < 0 || length <= f.budget {
		f.budget = max(f.budget-length, -1)
		return Fault{}
	}
	left := f.budget
	f.budget = 0
	return Fault{Err: syscall.ENOSPC, Effect: Short, Keep: int(left)}
}
