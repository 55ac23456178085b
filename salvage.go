package convmem

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"example.com/convmem/index"
	"example.com/convmem/store"
	"example.com/convmem/store/vfs"
)

// SalvageReport says what [Salvage] found and what it could not save.
type SalvageReport struct {
	// File is the log that was read: the newest of which something is left.
	File string
	// Frames is the number of intact entries in it. Among them are earlier
	// revisions of messages, and deletions.
	Frames int64
	// Messages is the number of messages in the new store.
	Messages int64
	// SkippedBytes is how much of File was not intact.
	SkippedBytes int64
	// Gaps are the places where something is lost. Without gaps nothing is.
	Gaps []SalvageGap
	// Refused are intact messages that contradict others and are not in the
	// new store.
	Refused []RefusedMessage
}

// SalvageGap is a place of a damaged store where something is lost.
type SalvageGap struct {
	File   string // name inside the store's directory
	Offset int64
	// Length is in bytes. It goes beyond the end of a file that was cut, and
	// is 0 where two entries stand side by side and others between them are
	// gone.
	Length int64
	Reason string
}

// RefusedMessage is a message that Salvage had to leave out.
type RefusedMessage struct {
	ID     string
	Offset int64 // in SalvageReport.File
	Reason string
}

// Salvage copies every intact message of the damaged store in the directory from
// to a new store in the directory to, which is made when it does not exist, and
// reports what is lost. It is for stores that [Open] refuses with [CodeCorrupt],
// whatever is damaged in them.
//
// Nothing in from is changed or locked, so no process should be using it. Of
// each message the newest intact revision is kept, with its id, times and
// session. Where a gap swallowed an update, the revision before it is back;
// where it swallowed a deletion, the message is: look at the report before the
// new store takes the place of the old. Two messages of a session with one
// idempotency key, which a lost deletion leaves, cannot both be kept: the older
// one is refused and reported.
//
// Of the options, Now, Entropy and Logger are used; FS must be nil. nil options
// are the zero Options.
//
// It fails with [CodeValidation] when from holds no store or to holds one,
// [CodeCorrupt] when nothing in from is intact or a newer version wrote it,
// [CodeBusy] when the context ends or another process uses to, and [CodeIO].
// After an error to holds no store, unless only the last steps failed; then it
// holds the whole one.
//
// The cost is three passes over the old log, one over the new one, and memory
// for an index of all messages.
func Salvage(ctx context.Context, from, to string, o *Options) (SalvageReport, error) {
	if o == nil {
		o = &Options{}
	}
	report, err := salvage(ctx, from, to, *o)
	if err != nil {
		return SalvageReport{}, fail("salvage", err)
	}
	return reportOf(report), nil
}

func salvage(ctx context.Context, from, to string, o Options) (store.SalvageReport, error) {
	if err := checkSalvage(from, to, o); err != nil {
		return store.SalvageReport{}, err
	}
	o = o.withDefaults()
	old, err := damaged(from)
	if err != nil {
		return store.SalvageReport{}, err
	}
	fresh, err := vfs.OS(to)
	if err != nil {
		return store.SalvageReport{}, err
	}
	report, err := store.Salvage(ctx, old, fresh, store.Options{
		NewSink: func() store.Sink { return newCatalog(index.Standard()) },
		Now:     o.Now,
		Rand:    o.Entropy,
		Logger:  o.Logger,
	})
	switch {
	case errors.Is(err, store.ErrNoStore):
		err = invalid("from", "holds no store, want the directory of the damaged one")
	case errors.Is(err, store.ErrStoreExists):
		err = invalid("to", "holds a store already, want a directory without one")
	}
	return report, err
}

func checkSalvage(from, to string, o Options) error {
	switch {
	case from == "":
		return invalid("from", "empty, want the path of a directory")
	case to == "":
		return invalid("to", "empty, want the path of a directory")
	case o.FS != nil:
		return invalid("FS", "set, want nil: Salvage works on directories")
	}
	return nil
}

// damaged opens the directory to be read from, which must not be made.
func damaged(dir string) (vfs.FS, error) {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, invalid("from", "does not exist, want the directory of the damaged store")
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, invalid("from", "is not a directory")
	}
	return vfs.OSReadOnly(dir)
}

func reportOf(r store.SalvageReport) SalvageReport {
	report := SalvageReport{File: r.File, Frames: r.Frames, Messages: r.Records, SkippedBytes: r.SkippedBytes}
	for _, g := range r.Gaps {
		report.Gaps = append(report.Gaps, SalvageGap(g))
	}
	for _, m := range r.Refused {
		report.Refused = append(report.Refused, RefusedMessage{ID: m.ID.String(), Offset: m.Offset, Reason: m.Reason})
	}
	return report
}
