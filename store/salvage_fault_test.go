package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// damagedDisk is a store that has lost its header, an update and a deletion,
// and what a salvage finds in it.
func damagedDisk(t *testing.T) (disk, contents) {
	t.Helper()
	s := soundStore(t, true)
	damaged := bytes.Clone(s.log)
	for _, at := range []int64{0, s.frames[3].offset, s.frames[7].offset} {
		damaged[at]++
	}
	_, left := s.intact(damaged)
	return s.disk.with(s.name, damaged), left
}

// allOrNothing checks that the disk holds no store, or the whole salvaged one.
func allOrNothing(m *vfs.Mem, want contents) error {
	if len(generations(m.Names())) == 0 {
		return nil
	}
	found, err := contentsOf(m)
	if err == nil && !equal(found, want) {
		err = fmt.Errorf("found %v, want %v", found, want)
	}
	return err
}

func TestSalvageEveryFaultOfTheNewStore(t *testing.T) {
	d, want := damagedDisk(t)
	faults, published := 0, 0
	for _, effect := range []faultfs.Effect{faultfs.NotDone, faultfs.Short, faultfs.Done, faultfs.Lost} {
		for _, always := range []bool{false, true} {
			for n := 0; ; n++ {
				inner := vfs.NewMem(0)
				to := faultfs.New(inner)
				to.Inject(faultfs.Fault{N: n, Effect: effect, Always: always})
				from := d.mem(t)
				report, err := Salvage(context.Background(), from, to, testOptions())
				if to.Fired() == 0 {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				faults++
				failed := to.Ops()[n]
				if err == nil && failed.Kind == faultfs.Read && effect == faultfs.Done {
					err, report = faultfs.ErrInjected, SalvageReport{} // all bytes came, whatever was said of them
				}
				if !errors.Is(err, faultfs.ErrInjected) || report.Frames != 0 {
					t.Fatalf("%v: error %v, report %+v", failed, err, report)
				}
				if err := allOrNothing(inner, want); err != nil {
					t.Fatalf("%v: %v", failed, err)
				}
				names := inner.Names()
				if len(generations(names)) > 0 {
					published++
				}
				// What a call made that said it had failed may be left.
				if !always && failed.Kind != faultfs.Create && slices.ContainsFunc(names, temporaryName.MatchString) {
					t.Fatalf("%v: left %v", failed, names)
				}
			}
		}
	}
	if published == 0 {
		t.Error("no fault came after the new log had its name")
	}
	t.Logf("%d faults, %d of them after the new log had its name", faults, published)
}

// TestSalvageEveryFaultOfTheDamagedStore: a read that fails ends the salvage.
func TestSalvageEveryFaultOfTheDamagedStore(t *testing.T) {
	d, _ := damagedDisk(t)
	for n := 0; ; n++ {
		from, to := faultfs.New(d.mem(t)), vfs.NewMem(0)
		from.FailNth(faultfs.Any, n, faultfs.ErrInjected)
		_, err := Salvage(context.Background(), from, to, testOptions())
		if from.Fired() == 0 {
			t.Logf("%d faults", n)
			break
		}
		failed := from.Ops()[n]
		if !errors.Is(err, faultfs.ErrInjected) {
			t.Fatalf("%v: %v", failed, err)
		}
		if failed.Kind != faultfs.Close && len(generations(to.Names())) > 0 {
			t.Fatalf("%v: a store was made", failed)
		}
	}
}

func TestSalvagePowerCut(t *testing.T) {
	d, want := damagedDisk(t)
	inner := vfs.NewMem(0)
	to := faultfs.New(inner)
	r := rand.New(rand.NewPCG(9, 10))
	looks, with := 0, 0
	look := func(what string) {
		looks += images(inner, 50, r, func(image *vfs.Mem) {
			if err := allOrNothing(image, want); err != nil {
				t.Fatalf("before %s: %v", what, err)
			}
			if len(generations(image.Names())) > 0 {
				with++
			}
		})
	}
	to.Before = func(op faultfs.Op) error {
		if changesDisk(op.Kind) {
			look(op.String())
		}
		return nil
	}
	if _, err := Salvage(context.Background(), d.mem(t), to, testOptions()); err != nil {
		t.Fatal(err)
	}
	before := with
	count := images(inner, 1000, r, func(image *vfs.Mem) {
		if found, err := contentsOf(image); err != nil || !equal(found, want) {
			t.Errorf("after the end: found %v (%v), want %v", found, err, want)
		}
	})
	t.Logf("%d images, %d with the new store; %d after the end", looks, before, count)
}

// countdown is a context that ends when it has been asked often enough.
type countdown struct {
	context.Context
	left *int
}

func (c countdown) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestSalvageCancelled(t *testing.T) {
	d, want := damagedDisk(t)
	made := 0
	for asked := 0; ; asked++ {
		left := asked
		to := faultfs.New(vfs.NewMem(0))
		_, err := Salvage(countdown{context.Background(), &left}, d.mem(t), to, testOptions())
		if slices.ContainsFunc(to.Ops(), func(op faultfs.Op) bool { return op.Kind == faultfs.Create }) {
			made++
		}
		names, _ := to.List()
		if err == nil {
			if asked < 5 || made < len(want) {
				t.Errorf("asked %d times, %d of them with a file half made", asked, made)
			}
			return
		}
		if !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) || len(generations(names)) > 0 ||
			slices.ContainsFunc(names, temporaryName.MatchString) {
			t.Fatalf("asked %d times: %v, left %v", asked, err, names)
		}
	}
}

// lyingFile loses writes without saying so.
type lyingFS struct{ vfs.FS }

func (l lyingFS) Create(name string) (vfs.File, error) {
	file, err := l.FS.Create(name)
	return lyingFile{file}, err
}

type lyingFile struct{ vfs.File }

func (l lyingFile) WriteAt(b []byte, at int64) (int, error) {
	if at == 0 {
		return l.File.WriteAt(b, at)
	}
	flipped := bytes.Clone(b)
	flipped[len(b)/2] ^= 1
	return l.File.WriteAt(flipped, at)
}

// TestSalvageReadsTheCopyBack: what did not arrive is noticed before the new log
// gets its name.
func TestSalvageReadsTheCopyBack(t *testing.T) {
	d, _ := damagedDisk(t)
	to := vfs.NewMem(0)
	if _, err := Salvage(context.Background(), d.mem(t), lyingFS{to}, testOptions()); !errors.Is(err, errCopy) {
		t.Errorf("a copy with a flipped bit: %v", err)
	}
	if diff := to.Names(); !slices.Equal(diff, []string{lockName}) {
		t.Errorf("left %v", diff)
	}
}
