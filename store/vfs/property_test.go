package vfs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/convmem/store/vfs"
)

// pair runs the same calls on a Mem and on the reference.
type pair struct {
	mem  *vfs.Mem
	want *reference
	open []openPair
}

type openPair struct {
	file vfs.File
	want *referenceFile
}

var pairNames = []string{"a", "b", "c"}

func fatal(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// present draws a name that exists; the step is skipped when none does.
func (p *pair) present(t *rapid.T) string {
	names := p.mem.Names()
	if len(names) == 0 {
		t.Skip("no file")
	}
	return rapid.SampledFrom(names).Draw(t, "name")
}

func (p *pair) file(t *rapid.T) openPair {
	if len(p.open) == 0 {
		t.Skip("no open file")
	}
	return rapid.SampledFrom(p.open).Draw(t, "file")
}

func (p *pair) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"create": func(t *rapid.T) {
			name := rapid.SampledFrom(pairNames).Draw(t, "name")
			if p.want.visible[name] != nil {
				t.Skip("taken")
			}
			file, err := p.mem.Create(name)
			fatal(t, err)
			p.open = append(p.open, openPair{file, p.want.create(name)})
		},
		"rename": func(t *rapid.T) {
			from, to := p.present(t), rapid.SampledFrom(pairNames).Draw(t, "to")
			fatal(t, p.mem.Rename(from, to))
			p.want.rename(from, to)
		},
		"remove": func(t *rapid.T) {
			name := p.present(t)
			fatal(t, p.mem.Remove(name))
			p.want.set(name, nil)
		},
		"write":  p.write,
		"append": p.append,
		"truncate": func(t *rapid.T) {
			f := p.file(t)
			size := rapid.IntRange(0, referenceCapacity).Draw(t, "size")
			fatal(t, f.file.Truncate(int64(size)))
			f.want.truncate(size)
		},
		"sync": func(t *rapid.T) {
			f := p.file(t)
			fatal(t, f.file.SyncData())
			f.want.sync()
		},
		"lose sync": func(t *rapid.T) {
			f := p.file(t)
			syncLosing(f.file)
			f.want.drop()
		},
		"sync directory": func(t *rapid.T) {
			fatal(t, p.mem.SyncDir())
			p.want.syncDir()
		},
		"lose directory sync": func(*rapid.T) {
			syncLosing(p.mem)
			p.want.dropDir()
		},
		"evict": func(*rapid.T) {
			p.mem.Evict()
			p.want.evict()
			p.open = p.stillNamed()
		},
		"": p.compare,
	}
}

// stillNamed forgets handles of files without a name: eviction does not reach
// them in either model, and no crash image shows them.
func (p *pair) stillNamed() []openPair {
	return slices.DeleteFunc(p.open, func(f openPair) bool {
		for _, name := range p.want.names() {
			files := append(p.want.versions[name], p.want.visible[name], p.want.durable[name])
			if slices.Contains(files, f.want) {
				return false
			}
		}
		return true
	})
}

func (p *pair) write(t *rapid.T) {
	f := p.file(t)
	off := rapid.IntRange(0, referenceCapacity-1).Draw(t, "offset")
	p.writeAt(t, f, off)
}

func (p *pair) append(t *rapid.T) {
	f := p.file(t)
	if f.want.size == referenceCapacity {
		t.Skip("full")
	}
	p.writeAt(t, f, f.want.size)
}

func (p *pair) writeAt(t *rapid.T, f openPair, off int) {
	length := rapid.IntRange(1, min(6, referenceCapacity-off)).Draw(t, "length")
	data := rapid.StringOfN(rapid.RuneFrom([]rune("\x00xyz")), length, length, -1).Draw(t, "data")
	_, err := f.file.WriteAt([]byte(data), int64(off))
	fatal(t, err)
	f.want.write(data, off)
}

// compare checks what reads see and the set of crash images: all of it when it
// is small, else samples of it. The durable state comes first, and the visible
// state is one of the images unless something was lost.
func (p *pair) compare(t *rapid.T) {
	if diff := cmp.Diff(p.want.disk(), disk(p.mem)); diff != "" {
		t.Fatalf("visible (-want +got):\n%s", diff)
	}
	count := p.mem.CrashImageCount()
	if count > 500 {
		return
	}
	want := p.want.images()
	got := distinctStrings(slices.Clone(p.collect()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("crash images (-want +got):\n%s", diff)
	}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for range 5 {
		if sample := disk(p.mem.CrashImage(r)); !slices.Contains(want, sample) {
			t.Fatalf("CrashImage gave %q, which is not an image", sample)
		}
	}
}

func (p *pair) collect() []string {
	var all []string
	for image := range p.mem.CrashImages() {
		all = append(all, disk(image))
	}
	return all
}

func TestMemAgreesWithReference(t *testing.T) {
	compared, images := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		blockSize := rapid.SampledFrom([]int{1, 3, 4, 6, 12}).Draw(t, "block size")
		p := &pair{mem: vfs.NewMem(blockSize), want: newReference(blockSize)}
		t.Repeat(p.actions())
		compared++
		images += min(p.mem.CrashImageCount(), 500)
	})
	t.Logf("%d runs agreed; their last states alone have %d images", compared, images)
}

// What a sync has promised must be in every image, whatever came after it: the
// case of a log that is only appended to, with blocks that do not line up.
func TestSyncedBytesNeverVary(t *testing.T) {
	images := 0
	rapid.Check(t, func(t *rapid.T) {
		m := vfs.NewMem(rapid.SampledFrom([]int{1, 4, 512}).Draw(t, "block size"))
		f, err := m.Create("log")
		fatal(t, err)
		fatal(t, m.SyncDir())
		content, synced := "", ""
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for step := range rapid.IntRange(1, 20).Draw(t, "steps") {
			record := strings.Repeat(fmt.Sprint(step%10), r.IntN(20)+1)
			_, err := f.WriteAt([]byte(record), int64(len(content)))
			fatal(t, err)
			if content += record; r.IntN(2) == 0 {
				fatal(t, f.SyncData())
				synced = content
			}
			for _, image := range []*vfs.Mem{m.CrashImage(r), m.CrashImage(r), m.CrashImage(r)} {
				got, err := image.ReadFile("log")
				fatal(t, err)
				if images++; !strings.HasPrefix(string(got), synced) || len(got) > len(content) {
					t.Fatalf("%d synced bytes of %d, image %q", len(synced), len(content), got)
				}
			}
		}
	})
	t.Logf("%d images looked at", images)
}

// Sampling must be able to reach every image, and must reach the two ends often.
func TestCrashImageReachesEverything(t *testing.T) {
	m, f := newMem(t, "aaaabbbb")
	writeAt(t, f, "XXXXYYYYZ", 0)
	check(t, m.Rename("f", "g"))
	all := disks(t, m)
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	const samples = 20_000
	for range samples {
		seen[disk(m.CrashImage(r))]++
	}
	if len(seen) != len(all) {
		t.Errorf("%d samples show %d of %d images", samples, len(seen), len(all))
	}
	for _, end := range []string{"f=aaaabbbb", "g=XXXXYYYYZ"} {
		if seen[end] < samples/10 {
			t.Errorf("%q came %d times in %d", end, seen[end], samples)
		}
	}
	t.Logf("%d images, ends %d and %d times", len(all), seen["f=aaaabbbb"], seen["g=XXXXYYYYZ"])
}

// Of many blocks, even choices would never lose or keep just a few.
func TestCrashImageLosesAFewOfMany(t *testing.T) {
	const blocks, samples = 40, 2000
	m, f := newMem(t, strings.Repeat("a", 4*blocks))
	writeAt(t, f, strings.Repeat("b", 4*blocks), 0)
	r := rand.New(rand.NewPCG(3, 4))
	fewOld, fewNew, even := 0, 0, 0
	for range samples {
		switch kept := strings.Count(disk(m.CrashImage(r)), "bbbb"); {
		case kept > 0 && kept <= 4:
			fewNew++
		case kept < blocks && kept >= blocks-4:
			fewOld++
		case kept > blocks/4 && kept < 3*blocks/4:
			even++
		}
	}
	if min(fewOld, fewNew, even) < samples/10 {
		t.Errorf("few old %d, few new %d, even %d of %d", fewOld, fewNew, even, samples)
	}
}
