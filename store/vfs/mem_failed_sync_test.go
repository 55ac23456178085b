package vfs_test

import (
	"testing"

	"example.com/convmem/store/vfs"
)

// syncLosing is a sync that fails and loses data.
func syncLosing(target any) { target.(vfs.Dropper).DropUnsynced() }

func wantVisible(t *testing.T, m *vfs.Mem, want string) {
	t.Helper()
	if got := disk(m); got != want {
		t.Errorf("visible: %s, want %s", got, want)
	}
}

// The trap: reads show the new bytes, the second sync says that all is well,
// and the disk has the old ones.
func TestFailedSyncStaysLost(t *testing.T) {
	m, f := newMem(t, "aaaa")
	writeAt(t, f, "bbbb", 0)
	syncLosing(f)
	wantVisible(t, m, "f=bbbb")
	wantDisks(t, m, "f=aaaa")
	check(t, f.Sync())
	check(t, f.SyncData())
	wantVisible(t, m, "f=bbbb")
	wantDisks(t, m, "f=aaaa")
	wantDisks(t, m.Kill(), "f=aaaa")
	wantVisible(t, m.Kill(), "f=bbbb")
}

func TestRewrittenBlockIsPendingAgain(t *testing.T) {
	m, f := newMem(t, "aaaaAAAA")
	writeAt(t, f, "bbbbBBBB", 0)
	syncLosing(f)
	writeAt(t, f, "c", 0)
	wantVisible(t, m, "f=cbbbBBBB")
	wantDisks(t, m, "f=aaaaAAAA", "f=cbbbAAAA")
	check(t, f.Sync())
	wantDisks(t, m, "f=cbbbAAAA") // the second block is still lost
	writeAt(t, f, "BBBB", 4)      // the bytes that reads show already
	wantDisks(t, m, "f=cbbbAAAA", "f=cbbbBBBB")
	check(t, f.Sync())
	wantDisks(t, m, "f=cbbbBBBB")
}

func TestRewritingTheDurableBytesNeedsNoSync(t *testing.T) {
	m, f := newMem(t, "aaaa")
	writeAt(t, f, "bbbb", 0)
	syncLosing(f)
	writeAt(t, f, "aaaa", 0)
	wantDisks(t, m, "f=aaaa")
	m.Evict()
	wantVisible(t, m, "f=aaaa")
}

func TestLostSize(t *testing.T) {
	m, f := newMem(t, "aaaa")
	writeAt(t, f, "bbbb", 4)
	syncLosing(f)
	wantDisks(t, m, "f=aaaa")
	writeAt(t, f, "X", 0) // within the durable size: the size stays lost
	check(t, f.Sync())
	wantVisible(t, m, "f=Xaaabbbb")
	wantDisks(t, m, "f=Xaaa")
	writeAt(t, f, "Y", 5)
	wantDisks(t, m, "f=Xaaa", "f=Xaaa....", "f=XaaabYbb")
	check(t, f.Sync())
	wantDisks(t, m, "f=XaaabYbb")
}

func TestLostTruncation(t *testing.T) {
	m, f := newMem(t, "aaaabbbb")
	check(t, f.Truncate(2))
	syncLosing(f)
	check(t, f.Sync())
	wantVisible(t, m, "f=aa")
	wantDisks(t, m, "f=aaaabbbb")
	check(t, f.Truncate(2)) // changes nothing to be seen, but is done again
	wantDisks(t, m, "f=aaaabbbb", "f=aa..bbbb", "f=aa")
	check(t, f.Sync())
	wantDisks(t, m, "f=aa")
	check(t, f.Truncate(8)) // what was cut is gone from the disk
	check(t, f.Sync())
	wantDisks(t, m, "f=aa......")
}

// The repair of a store: rewrite what is not known durable, truncate to its
// end, sync.
func TestRewriteAndTruncateRepairs(t *testing.T) {
	m, f := newMem(t, "aaaa")
	writeAt(t, f, "bbbbcc", 4)
	syncLosing(f)
	writeAt(t, f, "bbbbcc", 4)
	check(t, f.Truncate(10))
	check(t, f.Sync())
	wantDisks(t, m, "f=aaaabbbbcc")
}

func TestEvictShowsTheDisk(t *testing.T) {
	tests := []struct {
		name          string
		run           func(t *testing.T, f vfs.File)
		before, after string
	}{
		{
			"dropped blocks",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "XXXXXX", 0); syncLosing(f) },
			"f=XXXXXXbb", "f=aaaabbbb",
		},
		{
			"pending blocks stay",
			func(t *testing.T, f vfs.File) {
				writeAt(t, f, "XXXXXX", 0)
				syncLosing(f)
				writeAt(t, f, "Y", 7)
			},
			"f=XXXXXXbY", "f=aaaaXXbY",
		},
		{
			"dropped growth",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "XXXXXX", 6); syncLosing(f) },
			"f=aaaabbXXXXXX", "f=aaaabbbb",
		},
		{
			"dropped truncation",
			func(t *testing.T, f vfs.File) { check(t, f.Truncate(1)); syncLosing(f) },
			"f=a", "f=aaaabbbb",
		},
		{
			"a pending block is cut to a size that comes back",
			func(t *testing.T, f vfs.File) {
				check(t, f.Truncate(6))
				check(t, f.Sync())
				writeAt(t, f, "XX", 6)
				syncLosing(f)
				writeAt(t, f, "Y", 4)
			},
			"f=aaaaYbXX", "f=aaaaYb",
		},
		{
			"nothing dropped",
			func(t *testing.T, f vfs.File) { writeAt(t, f, "X", 0); check(t, f.Truncate(5)) },
			"f=Xaaab", "f=Xaaab",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, f := newMem(t, "aaaabbbb")
			test.run(t, f)
			wantVisible(t, m, test.before)
			images := disks(t, m)
			m.Evict()
			wantVisible(t, m, test.after)
			check(t, f.Sync())
			wantDisks(t, m, test.after)
			if images[0] == "" {
				t.Error("the file was lost")
			}
		})
	}
}

func TestFailedDirectorySyncStaysLost(t *testing.T) {
	m, _ := newMem(t, "F")
	check(t, create(t, m, "g", "G").Sync())
	syncLosing(m)
	wantVisible(t, m, "f=F g=G")
	wantDisks(t, m, "f=F")
	check(t, m.SyncDir())
	check(t, m.SyncDir())
	wantVisible(t, m, "f=F g=G")
	wantDisks(t, m, "f=F")
	wantDisks(t, m.Kill(), "f=F")
}

// Any new change makes the directory dirty as a whole; that is how a store
// repairs it.
func TestDirectoryDirtiedAgain(t *testing.T) {
	m, _ := newMem(t, "F")
	check(t, create(t, m, "g", "G").Sync())
	check(t, m.Rename("f", "h"))
	syncLosing(m)
	create(t, m, "tmp", "")
	check(t, m.Remove("tmp"))
	wantVisible(t, m, "g=G h=F")
	wantDisks(t, m,
		"", "f=F", "g=G", "h=F", "f=F g=G", "f=F h=F", "g=G h=F", "f=F g=G h=F",
		"tmp=", "f=F tmp=", "g=G tmp=", "h=F tmp=", "f=F g=G tmp=", "f=F h=F tmp=", "g=G h=F tmp=",
		"f=F g=G h=F tmp=")
	check(t, m.SyncDir())
	wantDisks(t, m, "g=G h=F")
}

func TestKilledProcessLeavesTheDirectoryAsItWas(t *testing.T) {
	m, _ := newMem(t, "F")
	check(t, m.Remove("f"))
	syncLosing(m)
	killed := m.Kill()
	check(t, killed.SyncDir())
	wantDisks(t, killed, "f=F")
	create(t, killed, "tmp", "")
	check(t, killed.SyncDir())
	wantDisks(t, killed, "tmp=")
	wantDisks(t, m, "f=F")
}

func TestEvictShowsTheNamesOnDisk(t *testing.T) {
	m, _ := newMem(t, "F")
	check(t, m.Rename("f", "g"))
	m.Evict()
	wantVisible(t, m, "g=F") // pending, so it cannot go
	syncLosing(m)
	m.Evict()
	wantVisible(t, m, "f=F")
	wantDisks(t, m, "f=F")
}

// Bytes that a cut has taken off must not come back when the file grows again,
// in an image as little as after an eviction.
func TestCutBytesStayAway(t *testing.T) {
	m, f := newMem(t, "aaaabb")
	writeAt(t, f, "XX", 6)
	syncLosing(f)
	writeAt(t, f, "Y", 4) // pending as visible, the size stays lost
	check(t, f.Sync())
	image := first(m.CrashImages())
	wantVisible(t, image, "f=aaaaYb")
	check(t, must(image.Open("f"))(t).Truncate(8))
	wantVisible(t, image, "f=aaaaYb..")

	m, f = newMem(t, "aaaabbbb")
	check(t, f.Truncate(4))
	syncLosing(f)
	check(t, f.Truncate(6)) // the second block stays lost
	m.Evict()
	wantVisible(t, m, "f=aaaabb")
	check(t, f.Truncate(8))
	wantVisible(t, m, "f=aaaabb..")
}
