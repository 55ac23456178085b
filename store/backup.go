package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/convmem/store/vfs"
)

// Backup writes a copy of the store into another directory, which must not hold
// one (ErrStoreExists, and nothing is touched) and must not be used by anybody else
// meanwhile. The copy opens like a store that was closed. It holds one state, at
// least as new as everything acknowledged before the call, in whatever process:
// every live record as it is, with its sequence number, and the greatest id and
// sequence number ever used.
//
// The copy is compacted, like a log after [Log.Rebuild]: nothing that was deleted
// or replaced is carried into it, so no backup keeps text that was to be erased
// by then. Its file id is its own, so a LOCK or snapshot of the original that
// gets beside it is recognised as foreign, and its generation is that of the
// original, so that it never passes for the successor of a log.
//
// When Backup returns nil the copy is on stable storage and was read back. A
// crash, or an error, leaves no store in the directory or the whole copy; a file
// that was being written may stay, and the next Backup or Open there removes it.
//
// A live record that is damaged makes it fail with ErrCorrupt. Other errors are
// ErrBusy after the end of ctx, ErrClosed and failed file operations.
//
// It takes no lock of the store: views, updates and rebuilds go on; when a rebuild
// replaces the log, the copying begins again. Close does not wait for it. It works
// with all Options, and after a failed sync: what views show, which is what it
// copies, was durable before. Only where Open has shown an unconfirmed tail to a
// ReadOnly log does the copy have that too.
func (l *Log) Backup(ctx context.Context, to vfs.FS) error {
	names, err := to.List()
	if err != nil {
		return err
	}
	if name, found := fileOfStore(names); found {
		return fmt.Errorf("%w: %s", ErrStoreExists, name)
	}
	target := &Log{options: l.options, fs: vfs.Count(to)}
	if err := target.removeAll(newPrefix); err != nil {
		return err
	}
	c, err := l.copyTo(ctx, target)
	if err != nil {
		return err
	}
	if err := c.old.file.Close(); err != nil {
		l.options.Logger.Warn("closing a copied log failed", "file", c.old.name, "err", err)
	}
	// The copy has its last byte: only its name is missing.
	if err := c.tmp.rename(c.gen.name); err != nil {
		return errors.Join(err, to.Remove(c.tmp.name))
	}
	if err := to.SyncDir(); err != nil {
		return fmt.Errorf("the copy is complete, but its name may not survive a power cut: %w", err)
	}
	return nil
}

// fileOfStore returns one of the names that belongs to a store.
func fileOfStore(names []string) (string, bool) {
	own := []string{lockName, maintName, snapshotName}
	i := slices.IndexFunc(names, func(name string) bool {
		_, isLog := parseLogName(name)
		return isLog || slices.Contains(own, name)
	})
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// copyTo writes into the directory of target, which is no open Log but the place
// where one will be. It makes copies until one is of a log that was not replaced meanwhile.
func (l *Log) copyTo(ctx context.Context, target *Log) (*compaction, error) {
	for {
		if err := l.View(ctx, func(*View) error { return nil }); err != nil {
			return nil, err
		}
		c, err := l.copyOnce(ctx, target)
		if !errors.Is(err, errReplaced) {
			return c, l.state.noteDamage(err)
		}
	}
}

// copyOnce makes a synced copy under a temporary name and reads it back.
func (l *Log) copyOnce(ctx context.Context, target *Log) (*compaction, error) {
	old, live, carry := l.freeze()
	file, err := l.fs.OpenRead(old.name)
	if err != nil {
		return nil, l.unlessReplaced(&old, err)
	}
	old.file = file
	c := &compaction{old: old, live: live, carry: carry}
	if err := c.begin(target, old.header.generation, newPrefix, noSink{}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	err = c.copyRecords(ctx)
	if err == nil {
		err = c.finish(&c.old) // nothing was added: the header
	}
	if err != nil {
		return nil, errors.Join(l.unlessReplaced(&old, err), c.discard())
	}
	return c, nil
}

// unlessReplaced returns err, or why bytes of g are missing without being lost.
func (l *Log) unlessReplaced(g *generation, err error) error {
	if standing := l.standing(g); standing != nil {
		return standing
	}
	return err
}

// noSink is for copies that nobody will look at.
type noSink struct{}

func (noSink) Apply(Record) error { return nil }
