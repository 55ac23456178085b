package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// holderVariable makes the test binary a holder: a process that changes the
// store in a directory and can be stopped in the middle of it. Its value names
// the stop, directoryVariable the directory.
const (
	holderVariable    = "CONVMEM_TEST_HOLDER"
	directoryVariable = "CONVMEM_TEST_DIRECTORY"
)

// stop is a place in a commit or a rebuild.
type stop struct {
	name string
	// at says whether a call of the file system is the place, and whether the
	// stop is before it or after it.
	at     func(faultfs.Op) bool
	before bool
	// rebuild: the holder rebuilds the store, else it writes heldMessage.
	rebuild bool
	// free: others can write while the holder is stopped.
	free bool
	// shown: others see heldMessage while the holder is stopped. kept: they see
	// it once the holder was killed.
	shown, kept bool
}

const (
	firstMessage = "the holder opens with a bittern"
	heldMessage  = "the holder goes on with a curlew"
)

func isLog(name string) bool {
	return strings.HasPrefix(name, "convmem-") && strings.HasSuffix(name, ".log")
}

func isWriteTo(prefix string) func(faultfs.Op) bool {
	return func(op faultfs.Op) bool { return op.Kind == faultfs.Write && strings.HasPrefix(op.Name, prefix) }
}

// isAnnouncement: the slots of LOCK end where the mark of those who wait begins.
func isAnnouncement(op faultfs.Op) bool {
	return op.Kind == faultfs.Write && op.Name == "LOCK" && op.Offset < 192
}

var stops = []stop{
	{name: "a commit has the lock", at: func(op faultfs.Op) bool { return op.Kind == faultfs.TryLock && op.Name == "LOCK" }},
	{name: "a commit has written", kept: true, at: func(op faultfs.Op) bool { return op.Kind == faultfs.Write && isLog(op.Name) }},
	{name: "a commit has synced", kept: true, at: func(op faultfs.Op) bool { return op.Kind == faultfs.SyncData && isLog(op.Name) }},
	{name: "a commit is announced", shown: true, kept: true, at: isAnnouncement},
	{name: "a rebuild copies", rebuild: true, free: true, at: isWriteTo("rebuild-")},
	{name: "a rebuild is about to rename", rebuild: true, before: true, at: func(op faultfs.Op) bool { return op.Kind == faultfs.Rename && isLog(op.NewName) }},
	{name: "a rebuild has renamed", rebuild: true, at: func(op faultfs.Op) bool { return op.Kind == faultfs.Rename && isLog(op.NewName) }},
	{name: "a rebuild empties the old log", rebuild: true, at: func(op faultfs.Op) bool { return op.Kind == faultfs.Truncate && isLog(op.Name) }},
	{name: "a rebuild removes the old log", rebuild: true, before: true, at: func(op faultfs.Op) bool { return op.Kind == faultfs.Remove && isLog(op.Name) }},
	{name: "a rebuild writes the snapshot", rebuild: true, free: true, at: isWriteTo("snapshot-")},
}

// hold is the life of a holder. Its first message makes it the one that LOCK
// names, the second change is the one in which it stops.
func hold(name, dir string) error {
	i := slices.IndexFunc(stops, func(s stop) bool { return s.name == name })
	if i < 0 {
		return fmt.Errorf("there is no stop %q", name)
	}
	s := stops[i]
	inner, err := vfs.OS(dir)
	if err != nil {
		return err
	}
	fsys := faultfs.New(inner)
	var armed atomic.Bool
	pause := func(op faultfs.Op, before bool) {
		if s.before == before && s.at(op) && armed.CompareAndSwap(true, false) {
			pauseProcess()
		}
	}
	fsys.Before = func(op faultfs.Op) error { pause(op, true); return nil }
	fsys.After = func(op faultfs.Op) { pause(op, false) }
	ctx := context.Background()
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: fsys, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	if _, err := db.Write(ctx, message(firstMessage)); err != nil {
		return err
	}
	armed.Store(true)
	if s.rebuild {
		_, err = db.Rebuild(ctx, convmem.RebuildRequest{})
	} else {
		_, err = db.Write(ctx, message(heldMessage))
	}
	switch {
	case err != nil:
		return err
	case armed.Load():
		return fmt.Errorf("stop %q is not on the way: %v", name, fsys.Ops())
	}
	return db.Close()
}

// pauseProcess says that this is the place, and waits there until its parent,
// which stops the process meanwhile, closes the input.
func pauseProcess() {
	fmt.Println(atTheStop)
	_, _ = os.Stdin.Read(make([]byte, 1))
}

const atTheStop = "at the stop"

func message(content string) convmem.WriteRequest {
	return convmem.WriteRequest{SessionID: sharedSession, Role: convmem.RoleUser, Content: content}
}
