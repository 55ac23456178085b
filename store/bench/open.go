package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	recordSize = 200     // of a record in the store that is opened
	batchBytes = 1 << 20 // of payload in a put that fills it
)

// openFigures describe an engine that opens a full store.
type openFigures struct {
	first  time.Duration // to open it and read one record
	whole  time.Duration // to read all records then
	onDisk float64       // bytes of all files for each byte of payload
}

func measureOpen(dir string, p product, records []record) (openFigures, error) {
	home := filepath.Join(dir, p.name+"-open")
	if err := fill(home, p, records); err != nil {
		return openFigures{}, err
	}
	size, err := sizeOf(home)
	if err != nil {
		return openFigures{}, err
	}
	var first, whole []time.Duration
	for range roundCount {
		f, w, err := openOnce(home, p, records)
		if err != nil {
			return openFigures{}, fmt.Errorf("opening %s: %w", p.name, err)
		}
		first, whole = append(first, f), append(whole, w)
	}
	payload := float64(len(records) * len(records[0].payload))
	return openFigures{first: median(first), whole: median(whole), onDisk: float64(size) / payload}, nil
}

// fill makes a closed store in a new directory.
func fill(home string, p product, records []record) error {
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	e, err := p.open(home, 1)
	if err != nil {
		return err
	}
	for len(records) > 0 {
		batch := min(len(records), batchBytes/len(records[0].payload))
		if err := e.put(records[:batch]...); err != nil {
			return err
		}
		records = records[batch:]
	}
	return e.close()
}

func openOnce(home string, p product, records []record) (first, whole time.Duration, err error) {
	start := time.Now()
	e, err := p.open(home, 1)
	if err != nil {
		return 0, 0, err
	}
	if _, err := e.get(records[len(records)/2].id); err != nil {
		return 0, 0, err
	}
	first = time.Since(start)
	start = time.Now()
	count := 0
	if err := e.all(func(record) error { count++; return nil }); err != nil {
		return 0, 0, err
	}
	whole = time.Since(start)
	if count != len(records) {
		return 0, 0, fmt.Errorf("%d records of %d", count, len(records))
	}
	return first, whole, e.close()
}

// sizeOf is the size of all files below dir.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		return nil
	})
	return size, err
}
