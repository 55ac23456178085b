package convmem

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"example.com/convmem/store"
	"example.com/convmem/store/vfs"
)

// VerifyOptions configures a [DB.Verify]. The zero value is right for most
// programs.
type VerifyOptions struct {
	// Progress, unless nil, is told how many bytes of how many are read: about
	// every MiB, and at the end with two equal numbers. A rebuild meanwhile
	// makes it start again. It is called by the goroutine that called Verify.
	Progress func(done, total int64)
}

// SnapshotState says what the snapshot is worth, which spares the next Open work
// and holds nothing that the log does not.
type SnapshotState string

// The states of a snapshot.
const (
	// SnapshotUnchecked: the log is damaged within what the snapshot covers,
	// so there was nothing to compare it with.
	SnapshotUnchecked SnapshotState = ""
	// SnapshotNone: there is none.
	SnapshotNone SnapshotState = "none"
	// SnapshotGood: it is intact, and where it says that messages stand they
	// stand. What this process took from its index is compared with the log
	// like all that it holds in memory.
	SnapshotGood SnapshotState = "good"
	// SnapshotBad: it is damaged or does not agree with the log. Open passes
	// it over; the next Rebuild replaces it.
	SnapshotBad SnapshotState = "bad"
	// SnapshotForeign: it was made from another log. Open passes it over; the
	// next Rebuild replaces it.
	SnapshotForeign SnapshotState = "foreign"
)

// VerifyResult says what a [DB.Verify] read and what it found.
type VerifyResult struct {
	// Messages is the number of live messages, in all namespaces.
	Messages int64
	// Frames is the number of intact entries of the log: messages, changes,
	// deletions and marks. Bytes is how much of the log was read.
	Frames, Bytes int64
	// Damage describes what is wrong, each with [CodeCorrupt], at most 100;
	// DamageCount is how many there are. A damaged message is named by its id
	// where that is known; it can be deleted, and a Rebuild leaves out damage
	// in what was deleted or overwritten.
	Damage      []*Error
	DamageCount int64
	// Snapshot is the state of the snapshot, and SnapshotProblem says why it
	// is bad, or is "".
	Snapshot        SnapshotState
	SnapshotProblem string
}

// Verify reads every byte of the log that is on stable storage and checks it, goes
// on behind damage, and compares what this process holds in memory, index
// included, with what the log says. It covers all namespaces. nil options are the
// zero VerifyOptions.
//
// Its error is nil when all is well and has [CodeCorrupt] when something is
// damaged; health is then DEGRADED until the store is opened again. The result
// tells the rest, also beside an error. A bad snapshot is no error. It fails with
// [CodeIO] where the disk cannot be read, and with [CodeBusy] when ctx ended.
//
// Reads, changes and rebuilds go on, in all processes; changes of this one wait
// only while the two indexes are compared, for which 100,000 messages of 30 words
// take about a fifth of a second. It needs memory for a second index and changes
// nothing on disk. It works with all Options and after a failed sync. Close does
// not wait for it, and ends it with ErrClosed.
func (db *DB) Verify(ctx context.Context, o *VerifyOptions) (VerifyResult, error) {
	if o == nil {
		o = &VerifyOptions{}
	}
	stats, err := db.log.Verify(ctx, o.Progress)
	result := VerifyResult{
		Messages:    stats.Records,
		Frames:      stats.Frames,
		Bytes:       stats.Bytes,
		DamageCount: stats.DamageCount,
		Snapshot:    SnapshotState(stats.Snapshot),
	}
	for _, damage := range stats.Damaged {
		result.Damage = append(result.Damage, coded(damage))
	}
	if stats.SnapshotError != nil {
		result.SnapshotProblem = withoutPaths(stats.SnapshotError)
	}
	return result, fail("verify", err)
}

// Backup writes a copy of the store, all namespaces, into the directory dir,
// making it where it does not exist, for its owner only. dir must hold no store
// ([CodeValidation]), and nobody else may use it meanwhile. The copy is opened
// with [Open]; to go back to it, use its directory in the place of the old one.
//
// It holds one moment of the store, with every change in it that was answered
// before, in whatever process: every message with its id, revision, times and
// idempotency key; no id is ever allotted twice. What was deleted or overwritten
// is not in it. A backup that was made before a message was deleted still has it:
// erasing text means getting rid of such backups too.
//
// When it returns nil, the copy is on stable storage and was read back. After a
// crash or an error dir holds no store or the whole one. A damaged message makes
// it fail with [CodeCorrupt]. It fails with [CodeBusy] when ctx ended.
//
// Reads, changes and rebuilds go on, in all processes. It needs no lock, so it
// works with all Options and after a failed sync. Close does not wait for it.
func (db *DB) Backup(ctx context.Context, dir string) error {
	return fail("backup", db.backup(ctx, dir))
}

func (db *DB) backup(ctx context.Context, dir string) error {
	if dir == "" {
		return invalid("dir", "empty, want the path of a directory")
	}
	to, err := vfs.OS(dir)
	if err != nil {
		return err
	}
	err = db.log.Backup(ctx, to)
	if errors.Is(err, store.ErrStoreExists) {
		return invalid("dir", "%v, want an empty one", err)
	}
	return err
}

// Check implements [store.Checker]. What only the process remembers of deletions
// does not count, and neither does a namespace without messages.
func (c *catalog) Check(fresh store.Sink) error {
	other := fresh.(*catalog) // both come from the same Options.NewSink
	names := maps.Clone(c.spaces)
	maps.Copy(names, other.spaces)
	for name := range names {
		if err := c.space(name).compare(other.space(name)); err != nil {
			return err
		}
	}
	// Messages of the default namespace have no entry, so both must agree.
	for id, s := range c.elsewhere {
		there, ok := other.elsewhere[id]
		if !ok || there.name != s.name {
			return fmt.Errorf("message %s is not in the same namespace", id)
		}
	}
	if len(c.elsewhere) != len(other.elsewhere) {
		return errors.New("the namespaces hold different messages")
	}
	return nil
}

// compare returns how two namespaces of one name differ, or nil.
func (s *space) compare(t *space) error {
	if err := s.index.Compare(t.index); err != nil {
		return err
	}
	if len(s.revisions) != len(t.revisions) {
		return errors.New("the revisions of some message differ")
	}
	for id, revision := range s.revisions {
		if t.revision(id) != revision {
			return fmt.Errorf("message %s has different revisions", id)
		}
	}
	if !maps.Equal(s.keys, t.keys) || !maps.Equal(s.byKey, t.byKey) {
		return errors.New("the idempotency keys differ")
	}
	return s.checkKeys()
}

// checkKeys checks that both directions of the keys say the same.
func (s *space) checkKeys() error {
	for id, key := range s.keys {
		if owner, ok := s.byKey[key]; !ok || owner != id || !s.index.Contains(id) {
			return fmt.Errorf("the idempotency key of message %s is not its own", id)
		}
	}
	return nil
}
