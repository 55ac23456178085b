package convmem

import (
	"context"
	"errors"
	"strings"
)

// Code classifies an error. The values are those of the tool contract.
type Code string

// The codes.
const (
	// CodeValidation: an argument is wrong; nothing was done.
	CodeValidation Code = "VALIDATION_ERROR"
	// CodeNotFound: the message does not exist or is deleted.
	CodeNotFound Code = "NOT_FOUND"
	// CodeConflict: the expected revision is not the current one, or an
	// idempotency key was used for something else.
	CodeConflict Code = "CONFLICT"
	// CodeBusy: another process was in the middle of a change for longer than
	// the wait allows, or has the store for itself; a rebuild already runs; or
	// the context ended before anything was stored. Trying again may help.
	CodeBusy Code = "BUSY"
	// CodeIO: reading, writing or syncing failed.
	CodeIO Code = "IO_ERROR"
	// CodeCorrupt: stored data fails its checksum or its invariants, or was
	// written by a newer version.
	CodeCorrupt Code = "CORRUPT_STORE"
	// CodeInternal: anything else.
	CodeInternal Code = "INTERNAL_ERROR"
)

// Error is what every method of a Store returns when it fails. Its text never
// holds message content.
type Error struct {
	// Op is the operation: "open", "write", "write batch", "update", "read",
	// "search", "delete", "delete session", "rebuild", "health", "namespaces",
	// "verify", "backup", "export", "import", "close" or "salvage".
	Op   string
	Code Code
	// Field names the argument at fault, as the tool contract spells it
	// ("tags[3]"), or is "".
	Field string
	// Message says what is wrong and what would be right, without Op, Code
	// and Field.
	Message string
	// Revision is the current revision where Code is CodeConflict because of
	// an expected revision, else 0.
	Revision int64
	// NextCursor is set where a page of a history or of the sessions begins
	// at a damaged message: passed as the cursor of the same request, it goes
	// on behind that message. Else it is "".
	NextCursor string
	// Err is the cause, or nil.
	Err error
}

// Error describes the failure in one line.
func (e *Error) Error() string {
	parts := []string{"convmem"}
	for _, part := range []string{e.Op, string(e.Code), e.Field, e.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the sentinel of e's code.
func (e *Error) Is(target error) bool {
	sentinel, ok := target.(*Error)
	return ok && sentinel.Op == "" && sentinel.Message == "" && sentinel.Code == e.Code
}

// Sentinels for errors.Is, one for each code.
var (
	ErrValidation = &Error{Code: CodeValidation}
	ErrNotFound   = &Error{Code: CodeNotFound}
	ErrConflict   = &Error{Code: CodeConflict}
	ErrBusy       = &Error{Code: CodeBusy}
	ErrIO         = &Error{Code: CodeIO}
	ErrCorrupt    = &Error{Code: CodeCorrupt}
	ErrInternal   = &Error{Code: CodeInternal}
)

// ErrClosed is the cause of every error after Close; its code is CodeInternal.
var ErrClosed = errors.New("the store is closed")

// ErrReadOnly is the cause of every change of a store that was opened with
// Options.ReadOnly; its code is CodeIO.
var ErrReadOnly = errors.New("the store was opened for reading only")

// CodeOf returns the code of any error: "" for nil, CodeBusy for a context that
// ended, CodeInternal for an error that did not come from a Store.
func CodeOf(err error) Code {
	var coded *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return CodeBusy
	}
	return CodeInternal
}
