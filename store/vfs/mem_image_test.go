package vfs_test

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
)

func TestCrashImageWithTwoNamesOfOneFile(t *testing.T) {
	m, _ := newMem(t, "F")
	check(t, m.Rename("f", "g"))
	seen := false
	for image := range m.CrashImages() {
		if disk(image) != "f=F g=F" {
			continue
		}
		seen = true
		file := must(image.Open("f"))(t)
		if !must(image.SameFile("g", file))(t) {
			t.Error("the names stand for different files")
		}
		check(t, image.Rename("f", "g"))
		wantNames(t, image, "f", "g")
		writeAt(t, file, "X", 0)
		if got := disk(image); got != "f=X g=X" {
			t.Errorf("after a write to one: %s", got)
		}
	}
	if !seen {
		t.Error("no image has both names")
	}
}

func TestImagesAreIndependent(t *testing.T) {
	m, f := newMem(t, "aaaabbbb")
	writeAt(t, f, "XXXX", 0)
	create(t, m, "g", "G")
	held := newLock(t, m, "L")
	wantTryLock(t, "source", held, true)
	before := disks(t, m)
	for image := range m.CrashImages() {
		wantDisks(t, image, disk(image)) // all of it is durable
		wantTryLock(t, "image", newLock(t, image, "L"), true)
		scribble(t, image)
		writeAt(t, f, "Y", 5)
		writeAt(t, f, "b", 5)
		check(t, f.Sync())
		writeAt(t, f, "aaaa", 0)
		check(t, f.Sync())
		writeAt(t, f, "XXXX", 0)
	}
	if diff := cmp.Diff(before, disks(t, m)); diff != "" {
		t.Errorf("the source has changed (-before +after):\n%s", diff)
	}
	wantTryLock(t, "source, second handle", newLock(t, m, "L"), false)
}

func scribble(t *testing.T, m *vfs.Mem) {
	t.Helper()
	for _, name := range m.Names() {
		file := must(m.Open(name))(t)
		writeAt(t, file, "scribble", 0)
		check(t, file.Sync())
		check(t, m.Remove(name))
	}
	check(t, m.SyncDir())
}

func TestImagesDoNotShareChanges(t *testing.T) {
	m, f := newMem(t, "aaaabbbb")
	writeAt(t, f, "XXXXYYYY", 0)
	create(t, m, "g", "G")
	images := slices.Collect(m.CrashImages())
	var before []string
	for _, image := range images {
		before = append(before, disk(image))
	}
	for i, image := range images {
		if got := disk(image); got != before[i] {
			t.Errorf("image %d was %s, is %s", i, before[i], got)
		}
		file := must(image.Open("f"))(t)
		writeAt(t, file, "1234", 2)
		check(t, file.Sync())
	}
	wantVisible(t, m, "f=XXXXYYYY g=G")
}

func TestKillSharesNoChanges(t *testing.T) {
	m, f := newMem(t, "aaaabbbb")
	for _, content := range []string{"1", "2", "3"} { // three versions and sizes
		writeAt(t, f, content, 0)
		writeAt(t, f, content, 7+int64(content[0]-'0'))
	}
	killed := m.Kill()
	before := disks(t, m)
	k := must(killed.Open("f"))(t)
	writeAt(t, f, "M", 0)
	check(t, f.Truncate(20))
	afterSource := disks(t, m)
	writeAt(t, k, "K", 0)
	check(t, k.Truncate(30))
	wantVisible(t, m, "f=Maaabbbb123.........")
	wantVisible(t, killed, "f=Kaaabbbb123...................")
	if diff := cmp.Diff(afterSource, disks(t, m)); diff != "" {
		t.Errorf("images of the source (-want +got):\n%s", diff)
	}
	for _, image := range before {
		if !slices.Contains(disks(t, killed), image) {
			t.Errorf("the killed copy has lost the image %s", image)
		}
	}
}

func TestKillKeepsWhatIsVisibleAndPending(t *testing.T) {
	m, f := newMem(t, "aaaa")
	writeAt(t, f, "b", 0)
	create(t, m, "g", "")
	wantTryLock(t, "source", newLock(t, m, "g"), true)
	killed := m.Kill()
	if got := disk(killed); got != "f=baaa g=" {
		t.Errorf("visible: %s", got)
	}
	want := []string{"f=aaaa", "f=baaa", "f=aaaa g=", "f=baaa g="}
	wantDisks(t, killed, want...)
	wantTryLock(t, "killed", newLock(t, killed, "g"), true)
	check(t, must(killed.Open("f"))(t).Sync())
	check(t, killed.SyncDir())
	wantDisks(t, killed, "f=baaa g=")
	wantDisks(t, m, want...)
}

// The end of all processes is the end of those that share a lock too.
func TestImagesHoldNoSharedLock(t *testing.T) {
	m, _ := newMem(t, "content")
	for range 2 {
		wantTryLock(t, "source", newSharedLock(t, m, "f"), true)
	}
	for _, image := range []*vfs.Mem{m.Kill(), first(m.CrashImages()), m.Kill().Kill()} {
		wantTryLock(t, "image", newLock(t, image, "f"), true)
	}
	wantTryLock(t, "source, exclusive", newLock(t, m, "f"), false)
}

func TestCrashImageCountSaturates(t *testing.T) {
	const fits = bits.UintSize - 2 // as a power of two
	overwrite := func(blocks int) *vfs.Mem {
		m, f := newMem(t, strings.Repeat("a", 4*blocks))
		writeAt(t, f, strings.Repeat("b", 4*blocks), 0)
		return m
	}
	names := func(count int) *vfs.Mem {
		m := vfs.NewMem(0)
		for i := range count {
			create(t, m, fmt.Sprint(i), "")
		}
		return m
	}
	twoSizes := overwrite(fits)
	check(t, must(twoSizes.Open("f"))(t).Truncate(1000))
	twoDirectories := overwrite(fits)
	create(t, twoDirectories, "g", "")
	tests := []struct {
		name string
		mem  *vfs.Mem
		want int
	}{
		{"blocks that fit", overwrite(fits), 1 << fits},
		{"blocks that do not fit", overwrite(fits + 1), math.MaxInt},
		{"many more", overwrite(3 * fits), math.MaxInt},
		{"a sum over sizes that does not fit", twoSizes, math.MaxInt},
		{"a sum over directories that does not fit", twoDirectories, math.MaxInt},
		{"names that are counted", names(12), 1 << 12},
		{"too many names", names(13), math.MaxInt},
	}
	for _, test := range tests {
		if got := test.mem.CrashImageCount(); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
