package store

import (
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"
)

// Errors that callers match with errors.Is. An error of this package that
// matches none of them is a failed read, write or sync and wraps its cause.
var (
	// ErrNotFound: the log holds no live record under the id.
	ErrNotFound = errors.New("no such record")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrBusy: somebody else holds what the call needs, or its context ended
	// before it began. See [BusyError].
	ErrBusy = errors.New("busy")
	// ErrCorrupt: stored bytes are damaged, missing or from a newer version.
	// See [CorruptError] and [VersionError].
	ErrCorrupt = errors.New("corrupt store")
	// ErrPoisoned: a sync, or something as grave, failed. What the disk holds
	// is unknown, and nothing more is written until the log is opened again.
	ErrPoisoned = errors.New("writing ended, open the store again to write")
	// ErrReadOnly: the log was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("the store was opened for reading only")
	// ErrTooLarge: a payload is longer than MaxPayload.
	ErrTooLarge = errors.New("the payload is too large")
)

// BusyError says who or what is in the way. It matches [ErrBusy].
type BusyError struct {
	// PID is the process that last wrote to the store, 0 when unknown. It is
	// a hint: in a container the number may mean another process.
	PID    int
	Reason string
}

func (e *BusyError) Error() string {
	if e.PID == 0 {
		return e.Reason
	}
	return fmt.Sprintf("%s (process %d)", e.Reason, e.PID)
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// CorruptError locates damage. It matches [ErrCorrupt].
type CorruptError struct {
	File   string // name inside the store's directory
	Offset int64
	ID     ulid.ULID // the record whose bytes are damaged, or zero
	Reason string
	Err    error // the cause, or nil
}

func (e *CorruptError) Error() string {
	where := fmt.Sprintf("%s at offset %d: %s", e.File, e.Offset, e.Reason)
	if e.ID.IsZero() {
		return where
	}
	return fmt.Sprintf("record %s: %s", e.ID, where)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// VersionError says that a newer version wrote the store. It matches
// [ErrCorrupt], because this version can do nothing with the store, but no
// byte of it is damaged.
type VersionError struct {
	File string
	// Found is the format version of the file, Needed the oldest version that
	// can read it, Supported what this package reads.
	Found, Needed, Supported uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has format version %d and needs a reader of version %d; this one reads version %d",
		e.File, e.Found, e.Needed, e.Supported)
}

// Is reports whether target is ErrCorrupt.
func (e *VersionError) Is(target error) bool { return target == ErrCorrupt }
