package faultfs_test

import (
	"fmt"

	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
)

// Make each call of a run fail in turn, and look at what a power cut would
// leave afterwards.
func Example() {
	save := func(fsys vfs.FS) error {
		file, err := fsys.Create("note")
		if err != nil {
			return err
		}
		defer file.Close()
		if _, err := file.WriteAt([]byte("hello"), 0); err != nil {
			return err
		}
		return file.Sync()
	}
	for n := 0; ; n++ {
		mem := vfs.NewMem(0)
		fsys := faultfs.New(mem)
		fsys.FailNth(faultfs.Any, n, faultfs.ErrInjected)
		err := save(fsys)
		fmt.Printf("call %d: error %v, %d possible disks\n", n, err != nil, mem.CrashImageCount())
		if fsys.Fired() == 0 {
			break
		}
	}
	// Output:
	// call 0: error true, 1 possible disks
	// call 1: error true, 2 possible disks
	// call 2: error true, 4 possible disks
	// call 3: error false, 2 possible disks
	// call 4: error false, 2 possible disks
}
