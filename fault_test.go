package convmem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"example.com/convmem/store"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

func TestErrorsOfTheLog(t *testing.T) {
	id := ulid.MustParseStrict("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	write := &fs.PathError{Op: "write", Path: "/home/somebody/memory/convmem-1.log", Err: syscall.ENOSPC}
	rename := &os.LinkError{Op: "rename", Old: "/home/somebody/a", New: "/home/somebody/b", Err: syscall.EACCES}
	for _, c := range []struct {
		name string
		err  error
		code Code
		want string
	}{
		{"closed", store.ErrClosed, CodeInternal, "the store is closed"},
		{"damaged file", &store.CorruptError{File: "convmem-1.log", Offset: 180, Reason: "bad checksum"},
			CodeCorrupt, "convmem-1.log at offset 180: bad checksum"},
		{"damaged message", fmt.Errorf("get: %w", &store.CorruptError{File: "convmem-1.log", Offset: 180, ID: id, Reason: "bad checksum"}),
			CodeCorrupt, "message 01ARZ3NDEKTSV4RRFFQ69G5FAV, convmem-1.log at offset 180: bad checksum"},
		{"record that breaks an invariant", &store.CorruptError{File: "convmem-1.log", Offset: 180, ID: id, Reason: "x", Err: invalid("tags", "x")},
			CodeCorrupt, "message 01ARZ3NDEKTSV4RRFFQ69G5FAV, convmem-1.log at offset 180: x"},
		{"newer version", &store.VersionError{File: "convmem-1.log", Found: 9, Needed: 8, Supported: 2},
			CodeCorrupt, "convmem-1.log has format version 9 and needs a reader of version 8; this one reads version 2"},
		{"corrupt, no details", store.ErrCorrupt, CodeCorrupt, "corrupt store"},
		{"another process", &store.BusyError{PID: 4711, Reason: "another process holds the store"},
			CodeBusy, "another process holds the store (process 4711)"},
		{"cancelled", fmt.Errorf("%w: %w", &store.BusyError{Reason: "x"}, context.Canceled),
			CodeBusy, "the call was cancelled before anything was stored"},
		{"timed out", context.DeadlineExceeded, CodeBusy, "the call was cancelled before anything was stored"},
		{"index ahead of the log", store.ErrNotFound, CodeInternal, "the index names a message that the log does not hold"},
		{"disk full", write, CodeIO, "write: no space left on device"},
		{"disk full, explained", fmt.Errorf("commit: %w", write), CodeIO, "commit: write: no space left on device"},
		{"poisoned", fmt.Errorf("%w: %w", store.ErrPoisoned, &fs.PathError{Op: "sync", Path: "/home/somebody/x", Err: syscall.EIO}),
			CodeIO, store.ErrPoisoned.Error() + ": sync: input/output error"},
		{"two failures", errors.Join(write, rename), CodeIO, "write: no space left on device; rename: permission denied"},
		{"nested paths", &fs.PathError{Op: "open", Path: "/home/somebody", Err: &fs.PathError{Op: "stat", Path: "/home", Err: syscall.EIO}},
			CodeIO, "open: stat: input/output error"},
		{"this package's own", notFound(id.String()), CodeNotFound, "01ARZ3NDEKTSV4RRFFQ69G5FAV does not exist or is deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got *Error
			if !errors.As(fail("write", c.err), &got) {
				t.Fatal("not an *Error")
			}
			if diff := gocmp.Diff([]string{"write", string(c.code), c.want}, []string{got.Op, string(got.Code), got.Message}); diff != "" {
				t.Errorf("op, code, message (-want +got):\n%s", diff)
			}
			if strings.Contains(got.Error(), "somebody") {
				t.Errorf("the text names a path: %v", got)
			}
			if CodeOf(got) != c.code || !errors.Is(got, &Error{Code: c.code}) {
				t.Errorf("CodeOf is %s, want %s", CodeOf(got), c.code)
			}
		})
	}
}

func TestCausesStayVisible(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to error
	}{
		{"cancelled", fmt.Errorf("%w: %w", store.ErrBusy, context.Canceled), context.Canceled},
		{"timed out", context.DeadlineExceeded, context.DeadlineExceeded},
		{"disk full", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, syscall.ENOSPC},
		{"closed", store.ErrClosed, ErrClosed},
	} {
		if err := fail("read", c.from); !errors.Is(err, c.to) {
			t.Errorf("%s: %v hides its cause", c.name, err)
		}
	}
	if err := fail("read", nil); err != nil {
		t.Errorf("nil becomes %v", err)
	}
}

// TestSentinelsAreNotChanged: naming the operation must not write into a shared
// error.
func TestSentinelsAreNotChanged(t *testing.T) {
	shared := &Error{Code: CodeConflict, Message: "m"}
	if err := fail("update", shared); err == error(shared) || shared.Op != "" {
		t.Errorf("the error that was passed in is now %+v", shared)
	}
}

func TestCodeOf(t *testing.T) {
	for want, err := range map[Code]error{
		"":             nil,
		CodeBusy:       context.Canceled,
		CodeInternal:   errors.New("anything"),
		CodeValidation: fmt.Errorf("wrapped: %w", invalid("f", "m")),
	} {
		if got := CodeOf(err); got != want {
			t.Errorf("CodeOf(%v) is %q, want %q", err, got, want)
		}
	}
}
