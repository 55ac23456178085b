package vfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"example.com/convmem/store/vfs"
)

// Writers, readers and everything that takes images, all at once: for the race
// detector, and for what must hold in every image however the calls interleave.
func TestMemFromManyGoroutines(t *testing.T) {
	const writers, rounds = 4, 150
	m := vfs.NewMem(4)
	check(t, m.WriteFile("synced", []byte("must stay")))
	var writing, watching sync.WaitGroup
	done := make(chan struct{})
	for i := range writers {
		writing.Go(func() {
			if err := churn(m, fmt.Sprintf("w%d", i), rounds); err != nil {
				t.Error(err)
			}
		})
	}
	images := 0
	watching.Go(func() {
		for r := rand.New(rand.NewPCG(1, 2)); ; {
			for _, image := range []*vfs.Mem{m.CrashImage(r), m.Kill(), first(m.CrashImages())} {
				images++
				if !strings.Contains(disk(image), "synced=must stay") {
					t.Errorf("image %q", disk(image))
				}
			}
			m.CrashImageCount()
			select {
			case <-done:
				return
			default:
			}
		}
	})
	writing.Wait()
	close(done)
	watching.Wait()
	t.Logf("%d images taken meanwhile", images)
}

// churn does one of everything with a name of its own and with a shared lock.
func churn(m *vfs.Mem, name string, rounds int) error {
	lock, err := m.Lock("L")
	if err != nil {
		return err
	}
	defer lock.Close()
	for round := range rounds {
		if err := readOnce(m, "synced"); err != nil {
			return err
		}
		file, err := m.Create(name)
		if errors.Is(err, fs.ErrExist) { // a neighbour's Evict has brought it back
			file, err = m.Open(name)
		}
		if err != nil {
			return err
		}
		if _, err := file.WriteAt([]byte(strings.Repeat("x", round%11+1)), 3); err != nil {
			return err
		}
		if _, err := file.ReadAt(make([]byte, 20), 0); err != io.EOF {
			return err
		}
		if round%3 == 0 {
			syncLosing(file)
			syncLosing(m)
			m.Evict()
		}
		taken, err := lock.TryLock()
		if err != nil {
			return err
		}
		if taken {
			err = lock.Unlock()
		}
		if err := firstError(err, file.Truncate(2), file.Sync(), file.Close(), m.SyncDir()); err != nil {
			return err
		}
		// Either name may be gone, or back, after an Evict by a neighbour.
		_ = m.Rename(name, name+"-renamed")
		_ = m.Remove(name + "-renamed")
		_ = m.Remove(name)
	}
	return nil
}

// readOnce does what a process that only reads does, and may find the file locked.
func readOnce(m *vfs.Mem, name string) error {
	lock, err := m.SharedLock(name)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := lock.TryLock(); err != nil {
		return err
	}
	reader, err := m.OpenRead(name)
	if err != nil {
		return err
	}
	_, sizeErr := reader.Size()
	_, sameErr := m.SameFile(name, reader)
	return firstError(sizeErr, sameErr, reader.Close())
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A log of 100 small records, as stores of a crash test have it.
func benchmarkMem(b *testing.B) *vfs.Mem {
	m := vfs.NewMem(0)
	file, err := m.Create("log")
	if err != nil {
		b.Fatal(err)
	}
	for i := range int64(100) {
		if _, err := file.WriteAt(make([]byte, 300), i*300); err != nil {
			b.Fatal(err)
		}
		if _, err := file.WriteAt([]byte{1}, i*300+299); err != nil {
			b.Fatal(err)
		}
		if i < 98 {
			if err := file.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	}
	return m
}

func BenchmarkCrashImage(b *testing.B) {
	m, r := benchmarkMem(b), rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		m.CrashImage(r)
	}
}

func BenchmarkCrashImages(b *testing.B) {
	m, images := benchmarkMem(b), 0
	for b.Loop() {
		for range m.CrashImages() {
			images++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(images), "ns/image")
}

func BenchmarkWriteAndSync(b *testing.B) {
	file, err := vfs.NewMem(0).Create("log")
	if err != nil {
		b.Fatal(err)
	}
	record := []byte(strings.Repeat("x", 300))
	for i := 0; b.Loop(); i++ {
		if _, err := file.WriteAt(record, int64(i%1000)*300); err != nil {
			b.Fatal(err)
		}
		if err := file.SyncData(); err != nil {
			b.Fatal(err)
		}
	}
}
