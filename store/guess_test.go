package store

import (
	"context"
	"errors"
	"testing"

	"example.com/convmem/store/vfs"
)

// withoutLock opens a store for reading whose LOCK is lost, so that what is shown
// is a guess, and then damages record 5 of 20.
func withoutLock(t *testing.T) *Log {
	t.Helper()
	d, _, ends := written(t, killed)
	m := d.restore(t, lockName)
	o := testOptions()
	o.ReadOnly = true
	l, err := Open(context.Background(), m, o)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	file, err := m.Open(logName(1))
	must(t, err)
	_, err = file.WriteAt([]byte{0xff}, ends[4]+frameHeaderSize+2)
	must(t, err)
	return l
}

// Damage is no reason to show less: the record is corrupt, every other one is
// there, and health tells.
func TestDamageUnderAGuess(t *testing.T) {
	l := withoutLock(t)
	for range 2 {
		for i := 1; i <= 20; i++ {
			err := l.View(context.Background(), func(v *View) error {
				_, err := v.Get(id(i))
				return err
			})
			if wantDamage := i == 5; errors.Is(err, ErrCorrupt) != wantDamage || !wantDamage && err != nil {
				t.Errorf("record %d: %v", i, err)
			}
		}
	}
	if !errors.Is(l.Stats().LastError, ErrCorrupt) {
		t.Errorf("last error %v", l.Stats().LastError)
	}
}

// A writer moves LOCK, so the log is loaded again, and is damaged by then: what is
// left of it is not shown as all there is.
func TestDamagedLogIsLoadedAgain(t *testing.T) {
	d, _, ends := written(t, killed)
	m := d.restore(t, lockName)
	o := testOptions()
	o.ReadOnly = true
	reader, err := Open(context.Background(), m, o)
	must(t, err)
	t.Cleanup(func() { reader.Close() })
	must(t, update(mustOpen(t, m), put(30, "moves LOCK")))
	file, err := m.Open(logName(1))
	must(t, err)
	_, err = file.WriteAt([]byte{0xff}, ends[4]+frameHeaderSize+2)
	must(t, err)
	if found, err := held(reader); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d records, %v", len(found), err)
	}
}

func TestVerifyAndBackupOfAGuess(t *testing.T) {
	l := withoutLock(t)
	if stats, err := l.Verify(context.Background(), nil); !errors.Is(err, ErrCorrupt) || stats.DamageCount != 1 {
		t.Errorf("verify: %d damaged, %v", stats.DamageCount, err)
	}
	if err := l.Backup(context.Background(), vfs.NewMem(0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("backup: %v", err)
	}
}
