package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
)

// TestMain is also the child process in which a damaged store is looked at.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-check" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestEngines holds every adapter to what the benchmark assumes: what was put,
// by one, together and by many at once, is there when the store is opened again,
// and nothing else is.
func TestEngines(t *testing.T) {
	const writers, each = 8, 4
	for _, p := range products() {
		for _, settles := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/settled=%t", p.name, settles), func(t *testing.T) {
				dir := t.TempDir()
				records := newRecords(101+writers*each, recordSize)
				e := open(t, p, dir, writers)
				must(t, e.put(records[0]))
				must(t, e.put(records[1:100]...))
				c := &contestant{engine: e, records: records[100 : 100+writers*each]}
				must(t, c.write(writers, each))
				if settles {
					must(t, e.settle())
				}
				stored, missing := records[:len(records)-1], records[len(records)-1]
				holds(t, e, stored, missing.id)
				must(t, e.close())
				e = open(t, p, dir, 1)
				holds(t, e, stored, missing.id)
				must(t, e.close())
			})
		}
	}
}

func open(t *testing.T, p product, dir string, writers int) engine {
	t.Helper()
	e, err := p.open(dir, writers)
	must(t, err)
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds checks that an engine holds the records, and not the one that is missing.
func holds(t *testing.T, e engine, records []record, missing ulid.ULID) {
	t.Helper()
	listed := map[ulid.ULID][]byte{}
	must(t, e.all(func(r record) error {
		if _, twice := listed[r.id]; twice {
			return fmt.Errorf("record %s is listed twice", r.id)
		}
		listed[r.id] = bytes.Clone(r.payload)
		return nil
	}))
	if len(listed) != len(records) {
		t.Errorf("%d records are listed, want %d", len(listed), len(records))
	}
	for _, r := range records {
		got, err := e.get(r.id)
		if err != nil || !bytes.Equal(got, r.payload) || !bytes.Equal(listed[r.id], r.payload) {
			t.Fatalf("record %s: read %d bytes (%v), listed %d bytes, want %d",
				r.id, len(got), err, len(listed[r.id]), len(r.payload))
		}
	}
	if _, err := e.get(missing); !errors.Is(err, errMissing) {
		t.Errorf("reading a record that was not stored: %v, want %v", err, errMissing)
	}
}

// TestVerdicts gives check stores that lack, alter and add something.
func TestVerdicts(t *testing.T) {
	whole := newRecords(damageRecords, payloadSize)
	altered := newRecords(damageRecords, payloadSize)
	altered[7].payload[9] ^= 4
	tests := []struct {
		name    string
		records []record
		want    verdict
	}{
		{"as stored", whole, intact},
		{"one is missing", whole[1:], lost},
		{"one is altered", altered, wrong},
		{"one is altered and one missing", altered[1:], wrong},
		{"one too many", newRecords(damageRecords+1, payloadSize), wrong},
	}
	for _, p := range products() {
		for _, test := range tests {
			t.Run(p.name+"/"+test.name, func(t *testing.T) {
				dir := t.TempDir()
				e := open(t, p, dir, 1)
				must(t, e.put(test.records...))
				must(t, e.close())
				if got := check(p, dir); got != test.want {
					t.Errorf("the verdict is %s, want %s", got, test.want)
				}
			})
		}
	}
}

// TestVerdictOnHalfARecord loses a record to reading all only, or by id only.
func TestVerdictOnHalfARecord(t *testing.T) {
	records := newRecords(damageRecords, payloadSize)
	dir := t.TempDir()
	e := open(t, products()[0], dir, 1)
	must(t, e.put(records...))
	must(t, e.close())
	for _, half := range []forgetful{{unlisted: records[5].id}, {unfound: records[5].id}} {
		p := product{"forgetful", func(dir string, writers int) (_ engine, err error) {
			half.engine, err = openConvmem(dir, writers)
			return half, err
		}}
		if got := check(p, dir); got != lost {
			t.Errorf("unlisted %s, unfound %s: the verdict is %s, want %s", half.unlisted, half.unfound, got, lost)
		}
	}
}

// forgetful hides one record from all, and one from get.
type forgetful struct {
	engine
	unlisted, unfound ulid.ULID
}

func (f forgetful) all(fn func(record) error) error {
	return f.engine.all(func(r record) error {
		if r.id == f.unlisted {
			return nil
		}
		return fn(r)
	})
}

func (f forgetful) get(id ulid.ULID) ([]byte, error) {
	if id == f.unfound {
		return nil, errMissing
	}
	return f.engine.get(id)
}

// TestOneBitIsFlipped finds the middle record in every engine's files, wherever
// it ends up, and flips one bit of it and no other.
func TestOneBitIsFlipped(t *testing.T) {
	records := newRecords(damageRecords, payloadSize)
	for _, p := range products() {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			files, err := filesAfter(filepath.Join(dir, "store"), p, records, killed)
			must(t, err)
			middle := records[len(records)/2].payload[:64]
			found := places(files, middle)
			if len(found) == 0 {
				t.Fatal("the middle record is in no file")
			}
			for _, at := range found {
				flipped := filepath.Join(dir, fmt.Sprint(at))
				must(t, writeFlipped(flipped, files, at))
				damaged, err := readFiles(flipped)
				must(t, err)
				if different := differences(t, files, damaged); different != 1 {
					t.Errorf("flipping at %d: %d bytes differ, want 1", at, different)
				}
				if left := places(damaged, middle); len(left) != len(found)-1 {
					t.Errorf("flipping at %d: %d of %d copies are whole, want one less", at, len(left), len(found))
				}
			}
		})
	}
}

func differences(t *testing.T, files, other map[string][]byte) (count int) {
	t.Helper()
	for name, content := range files {
		if len(other[name]) != len(content) || len(other) != len(files) {
			t.Fatalf("file %s was not copied as it is", name)
		}
		for i := range content {
			if content[i] != other[name][i] {
				count++
			}
		}
	}
	return count
}

// TestCompare runs the whole command, as small as it goes.
func TestCompare(t *testing.T) {
	var out bytes.Buffer
	must(t, compare(&out, t.TempDir(), plan{loneWrites: 1, writers: 2, writesEach: 1, records: 50, flips: 1}))
	performance, damage, found := strings.Cut(out.String(), "\n\n")
	if !found {
		t.Fatalf("not two tables:\n%s", out.String())
	}
	for _, table := range []string{performance, damage} {
		lines := strings.Split(strings.TrimSpace(table), "\n")
		for _, line := range lines {
			if strings.Count(line, "|") != strings.Count(lines[0], "|") || strings.Contains(line, "NaN") {
				t.Errorf("a bad line: %s", line)
			}
		}
		for _, p := range products() {
			if !strings.Contains(table, "\n| "+p.name+" |") {
				t.Errorf("%s is missing in\n%s", p.name, table)
			}
		}
	}
	if !strings.Contains(damage, "| convmem | killed | detected |") {
		t.Errorf("convmem did not detect the bit in its middle record:\n%s", damage)
	}
}
