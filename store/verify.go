package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// VerifyStats says what [Log.Verify] read and what it found.
type VerifyStats struct {
	// Frames is the number of intact frames, and Bytes what was read of the
	// log.
	Frames int64
	Bytes  int64
	// Records is the number of live records.
	Records int64
	// Damaged holds what is wrong, at most 100 errors that match ErrCorrupt;
	// DamageCount is how many there are.
	Damaged     []error
	DamageCount int64
	// Snapshot is the state of the snapshot on disk, which is only a cache.
	// SnapshotError says why it is SnapshotBad, else it is nil.
	Snapshot      SnapshotState
	SnapshotError error
}

// maxDamaged bounds VerifyStats.Damaged.
const maxDamaged = 100

// Checker is a Sink that can be compared with another one.
type Checker interface {
	Sink
	// Check returns how the sink differs from fresh, another one made by
	// Options.NewSink to which all records of the log were applied from its
	// beginning, or nil. It changes neither. It is called inside a View, so
	// writers wait for it. The error must not repeat what payloads say.
	Check(fresh Sink) error
}

// Verify reads every frame of the live log, up to what is durable, and checks
// everything that can be checked: header, checksums, the chain of frames,
// sequence numbers and what frames say was durable. It makes the record table
// and the sink anew from them and compares both with those in use, the sink if it
// is a [Checker]. The snapshot is checked section by section; its record table
// must be what the log made up to the place that it covers.
//
// It goes on behind damage: a frame whose header is intact is reported with the
// id of its record; where no frame can be made out the reading goes on at the
// next one, and the live records that stood between are reported. In a damaged
// log nothing is compared behind the first damage.
//
// The error is nil when all is well and matches ErrCorrupt when something is
// damaged, which [Stats].LastError then tells too. It tells, also or alone, why
// Verify could not go on: a failed read, ErrBusy after the end of ctx, ErrClosed.
// The stats are of what was read until then. A bad snapshot is no error.
//
// Views, updates and rebuilds go on meanwhile, of this and of other processes;
// when a rebuild replaces the log, Verify begins again. Nobody waits, but for the
// comparison of the sink and the last bytes of the log, which are one View. Close
// does not wait for Verify. It costs a read of log and snapshot and the memory of
// a second table and sink, changes no file, and works whatever the Options are and
// after a failed sync.
//
// progress, unless nil, is called by the goroutine that called Verify with how
// many bytes of how many are read: about every MiB, and at the end with two equal
// numbers. After a rebuild it starts again.
func (l *Log) Verify(ctx context.Context, progress func(done, total int64)) (VerifyStats, error) {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	for {
		stats, err := l.verify(ctx, progress)
		if !errors.Is(err, errReplaced) {
			return stats, l.state.noteDamage(err)
		}
	}
}

// verify reads one log file. It fails with errReplaced when the log was replaced
// under it.
func (l *Log) verify(ctx context.Context, progress func(done, total int64)) (VerifyStats, error) {
	// What the snapshot covers was durable before it got its name, so a state
	// that is taken later has it too.
	snapshot := l.openSnapshot()
	defer snapshot.close()
	if err := l.View(ctx, func(*View) error { return nil }); err != nil {
		return VerifyStats{}, err
	}
	then, live, _ := l.freeze()
	v := &verification{log: l, then: &then, snapshot: snapshot, whole: true, progress: progress}
	var err error
	if v.file, err = l.fs.OpenRead(then.name); err != nil {
		return VerifyStats{}, v.notOpened(err)
	}
	defer v.file.Close() // it was only read
	err = v.run(ctx, live)
	v.reportGaps(live)
	return v.stats, v.conclude(err)
}

// conclude returns what Verify returns, given why the reading could not go on.
func (v *verification) conclude(err error) error {
	if v.stats.DamageCount > 0 {
		if standing := v.log.standing(v.then); standing != nil {
			return standing
		}
	}
	if err == nil {
		v.progress(v.stats.Bytes, v.stats.Bytes)
	}
	if v.stats.DamageCount > 0 {
		return errors.Join(v.stats.Damaged[0], err)
	}
	return err
}

// verification is one reading of a log file from its beginning.
type verification struct {
	log      *Log
	then     *generation // the log as it was when the reading began
	file     vfs.File    // a handle of its own: that of then is closed by a rebuild
	snapshot *snapshotCheck
	progress func(done, total int64)

	// fresh is made of the frames read; its end is where the reading is.
	fresh *generation
	// whole: nothing was damaged so far, so fresh is complete.
	whole bool
	open  bool // an atomic group goes on in the next frame
	gaps  []gap
	shown int64 // the last offset that progress was told
	buf   []byte
	stats VerifyStats
}

// standing returns errReplaced when g is not the log any more, so that its bytes
// may be missing without being damaged, and ErrClosed after Close. Whoever met
// damage asks afterwards: a replaced log loses its bytes only when both this
// process and LOCK know of its successor.
func (l *Log) standing(g *generation) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return ErrClosed
	}
	if l.gen.header.generation != g.header.generation {
		return errReplaced
	}
	return l.whyUnreadable(g, nil)
}

// notOpened says what it means that the log could not be opened.
func (v *verification) notOpened(err error) error {
	if standing := v.log.standing(v.then); standing != nil {
		return standing
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &CorruptError{File: v.then.name, Reason: "the log is not in the directory", Err: err}
	}
	return err
}

func (v *verification) run(ctx context.Context, live *frozenTable) error {
	v.fresh = newGeneration(v.then.name, v.file, v.then.header, v.log.options.NewSink())
	if err := v.checkHeader(); err != nil {
		return err
	}
	v.meetSnapshot()
	if err := v.advance(ctx, v.then.end.offset); err != nil {
		return err
	}
	v.reached(v.then)
	v.compareTable(live)
	v.concludeSnapshot()
	return v.compareSink(ctx)
}

// damage notes that something is wrong. What follows cannot be compared.
func (v *verification) damage(err error) {
	v.whole = false
	v.stats.DamageCount++
	if len(v.stats.Damaged) < maxDamaged {
		v.stats.Damaged = append(v.stats.Damaged, err)
	}
}

func (v *verification) damageAt(offset int64, id ulid.ULID, reason string) {
	v.damage(&CorruptError{File: v.then.name, Offset: offset, ID: id, Reason: reason})
}

// checkHeader reads the header again: nobody has since the log was opened.
func (v *verification) checkHeader() error {
	h, err := readHeader(v.then.name, v.file)
	switch {
	case errors.Is(err, ErrCorrupt):
		v.damage(err)
	case err != nil:
		return err
	case h != v.then.header:
		v.damageAt(0, ulid.ULID{}, "the header is not that of the log that was opened")
	}
	return nil
}

// checkName finds out whether the file in use is the one that the next Open would
// find.
func (v *verification) checkName(now *generation) error {
	same, err := v.log.fs.SameFile(now.name, now.file)
	if err == nil && !same {
		v.damageAt(0, ulid.ULID{}, "the name leads to another file than the one in use")
	}
	return err
}

// reached compares where the frames lead with where g ends.
func (v *verification) reached(g *generation) {
	if !v.whole {
		return
	}
	if v.fresh.end != g.end {
		v.damageAt(v.fresh.end.offset, ulid.ULID{}, "the log is not what was made durable")
	}
	if v.open {
		v.damageAt(v.fresh.end.offset, ulid.ULID{}, "an atomic group is cut off")
	}
}

// compareTable compares what the frames made with the table of the same moment.
func (v *verification) compareTable(live *frozenTable) {
	if !v.whole {
		return
	}
	if id, differ := v.fresh.table.differs(live); differ {
		v.damageAt(v.fresh.end.offset, id, "the record table in memory does not agree with the log")
	} else if v.fresh.counts != v.then.counts || v.fresh.lastID != v.then.lastID {
		v.damageAt(v.fresh.end.offset, ulid.ULID{}, "the counters in memory do not agree with the log")
	}
}

// differs reports whether the two tables differ, and names a record, if there is
// one, that only other has or has elsewhere.
func (t *table) differs(other *frozenTable) (ulid.ULID, bool) {
	for id, at := range other.inLogOrder() {
		if here, ok := t.get(id); !ok || here != at {
			return id, true
		}
	}
	return ulid.ULID{}, t.len() != other.len()
}

// maxRounds bounds how often Verify follows a log that grows, before it reads the
// rest while writers wait; fewer are enough when little is left.
const (
	maxRounds  = 8
	littleLeft = 64 << 10
)

// compareSink brings the fresh sink up to the one in use and compares the two.
func (v *verification) compareSink(ctx context.Context) error {
	for range maxRounds {
		var end int64
		err := v.view(ctx, func(now *generation) error {
			end = now.end.offset
			return nil
		})
		if err != nil {
			return err
		}
		if end-v.fresh.end.offset <= littleLeft {
			break
		}
		if err := v.advance(ctx, end); err != nil {
			return err
		}
	}
	return v.view(ctx, func(now *generation) error {
		if err := v.advance(ctx, now.end.offset); err != nil {
			return err
		}
		v.stats.Bytes, v.stats.Records = v.fresh.end.offset, int64(now.table.len())
		v.reached(now)
		if sink, ok := now.sink.(Checker); ok && v.whole {
			if err := sink.Check(v.fresh.sink); err != nil {
				v.damage(&CorruptError{File: v.then.name, Offset: now.end.offset, Err: err,
					Reason: fmt.Sprintf("what is derived from the log does not agree with it: %v", err)})
			}
		}
		return v.checkName(now)
	})
}

// view runs fn on the newest state of the log that is being read.
func (v *verification) view(ctx context.Context, fn func(now *generation) error) error {
	return v.log.View(ctx, func(view *View) error {
		if view.gen.header != v.then.header {
			return errReplaced
		}
		return fn(view.gen)
	})
}
