package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"example.com/convmem/store/vfs"
)

const (
	tmpSuffix = ".tmp"
	// newPrefix marks temporary files that are made and removed under LOCK,
	// the others those under MAINT.
	newPrefix      = "new-"
	rebuildPrefix  = "rebuild-"
	snapshotPrefix = "snapshot-"
)

// temporary is a file being built. Its name is unique, so that no process ever
// publishes the unfinished file of another.
type temporary struct {
	fs   vfs.FS
	name string
	file vfs.File
}

func (l *Log) createTemporary(prefix string) (*temporary, error) {
	var suffix [8]byte
	if _, err := io.ReadFull(l.options.Rand, suffix[:]); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s%d-%s%s", prefix, os.Getpid(), hex.EncodeToString(suffix[:]), tmpSuffix)
	file, err := l.fs.Create(name)
	if err != nil {
		return nil, err
	}
	return &temporary{fs: l.fs, name: name, file: file}, nil
}

// rename gives the synced file its final name, closing it first: not every
// system renames an open one. The caller syncs the directory.
func (t *temporary) rename(name string) error {
	if err := t.file.Close(); err != nil {
		return err
	}
	return t.fs.Rename(t.name, name)
}

func (t *temporary) discard() error { return errors.Join(t.file.Close(), t.fs.Remove(t.name)) }

// sweep removes what interrupted rebuilds and snapshots were building, unless
// one of them runs.
func (l *Log) sweep() error {
	for _, prefix := range []string{rebuildPrefix, snapshotPrefix} {
		names, err := l.temporaries(prefix)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			continue
		}
		maint, err := l.lockMaintenance()
		if errors.Is(err, ErrBusy) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := errors.Join(l.removeAll(prefix), maint.Close()); err != nil {
			return err
		}
	}
	return nil
}

var temporaryName = regexp.MustCompile(`^(new|rebuild|snapshot)-[0-9]+-[0-9a-f]{16}\.tmp$`)

// temporaries lists the temporary files with a prefix. Files that only look a
// little like them are somebody else's.
func (l *Log) temporaries(prefix string) ([]string, error) {
	names, err := l.fs.List()
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, prefix) || !temporaryName.MatchString(name)
	}), err
}

func (l *Log) removeAll(prefix string) error {
	names, err := l.temporaries(prefix)
	for _, name := range names {
		err = errors.Join(err, l.fs.Remove(name))
	}
	return err
}

// lockMaintenance takes MAINT without waiting.
func (l *Log) lockMaintenance() (vfs.Lock, error) {
	maint, err := l.fs.Lock(maintName)
	if err != nil {
		return nil, err
	}
	taken, err := maint.TryLock()
	if err == nil && !taken {
		err = errRebuilding
	}
	if err != nil {
		return nil, errors.Join(err, maint.Close())
	}
	return maint, nil
}

var errRebuilding = &BusyError{Reason: "a rebuild already runs, or another process is writing a snapshot"}
