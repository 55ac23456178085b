package convmem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"example.com/convmem/store"
)

// fail makes the error that a method returns: an *Error that names the
// operation, or nil for nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	named := *coded(err)
	named.Op = op
	return &named
}

// coded returns err as an *Error. What is none yet came from the log, whose
// unnamed errors are failed reads, writes and syncs. An *Error inside one of the
// log's errors is a detail of it and does not count.
func coded(err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	switch {
	case errors.Is(err, store.ErrClosed):
		return &Error{Code: CodeInternal, Message: ErrClosed.Error(), Err: ErrClosed}
	case errors.Is(err, store.ErrReadOnly):
		return &Error{Code: CodeIO, Message: ErrReadOnly.Error(), Err: ErrReadOnly}
	case errors.Is(err, store.ErrCorrupt):
		return &Error{Code: CodeCorrupt, Message: corruption(err), Err: err}
	case errors.Is(err, store.ErrBusy), isContextError(err):
		return &Error{Code: CodeBusy, Message: busyReason(err), Err: err}
	case errors.Is(err, store.ErrNotFound):
		return &Error{Code: CodeInternal, Message: "the index names a message that the log does not hold", Err: err}
	}
	return &Error{Code: CodeIO, Message: withoutPaths(err), Err: err}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func busyReason(err error) string {
	if isContextError(err) {
		return "the call was cancelled before anything was stored"
	}
	var busy *store.BusyError
	if errors.As(err, &busy) {
		return busy.Error()
	}
	return withoutPaths(err)
}

// corruption names the message, file and offset of damage, or the versions that
// do not fit.
func corruption(err error) string {
	var newer *store.VersionError
	if errors.As(err, &newer) {
		return newer.Error()
	}
	var damage *store.CorruptError
	if !errors.As(err, &damage) {
		return withoutPaths(err)
	}
	where := fmt.Sprintf("%s at offset %d: %s", damage.File, damage.Offset, damage.Reason)
	if damage.ID.IsZero() {
		return where
	}
	return fmt.Sprintf("message %s, %s", damage.ID, where)
}

// isDamagedMessage reports whether err is about the stored bytes of one message,
// so that the messages around it can still be read.
func isDamagedMessage(err error) bool {
	var damage *store.CorruptError
	return errors.As(err, &damage) && !damage.ID.IsZero()
}

// damagedAt is the error of a page that begins at a damaged message. The text
// repeats the cursor for clients that see nothing but the text.
func damagedAt(err error, next string) error {
	e := *coded(err)
	e.NextCursor = next
	e.Message += fmt.Sprintf("; to go on behind it use the cursor %q", next)
	return &e
}

// withoutPaths is the text of err with every file operation in it reduced to its
// name and cause: paths tell of the machine, and mean nothing to a remote caller.
func withoutPaths(err error) string {
	text := err.Error()
	for _, op := range fileOperations(err) {
		text = strings.ReplaceAll(text, op.text, op.name+": "+op.cause.Error())
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// fileOperation is an error of the operating system that names a path.
type fileOperation struct {
	text, name string
	cause      error
}

// fileOperations finds them in the whole tree of err, outer before inner.
func fileOperations(err error) []fileOperation {
	var found []fileOperation
	switch e := err.(type) {
	case *fs.PathError:
		found = append(found, fileOperation{e.Error(), e.Op, e.Err})
	case *os.LinkError:
		found = append(found, fileOperation{e.Error(), e.Op, e.Err})
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			found = append(found, fileOperations(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			found = append(found, fileOperations(inner)...)
		}
	}
	return found
}
