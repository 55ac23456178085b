package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// verdict says what an application learns of a store with one wrong bit, from
// best to worst.
type verdict string

const (
	intact   verdict = "intact"   // all records are right: the bit did not matter
	detected verdict = "detected" // an error says so
	crashed  verdict = "crashed"  // the process died, or hung
	lost     verdict = "lost"     // records are missing, without an error
	wrong    verdict = "wrong"    // a record has other content, without an error
)

var verdicts = []verdict{intact, detected, crashed, lost, wrong}

const (
	damageRecords = 128
	checkTimeout  = 20 * time.Second
)

// damageFigures are what flips of one bit at a time led to.
type damageFigures struct {
	// middle is the worst of flips in the middle record, in each place of the
	// files that holds it.
	middle verdict
	// spread counts flips at random places of all files, the same in every run.
	spread map[verdict]int
}

// ending is how a store was left before the damage.
type ending string

const (
	killed  ending = "killed" // while no call was running
	closed  ending = "closed"
	settled ending = "settled" // and closed
)

// measureDamage stores records one by one, each durable, and then looks at
// copies of the directory with one bit flipped.
func measureDamage(dir string, p product, how ending, flips int) (damageFigures, error) {
	home := filepath.Join(dir, fmt.Sprintf("%s-%s", p.name, how))
	records := newRecords(damageRecords, payloadSize)
	files, err := filesAfter(home, p, records, how)
	if err != nil {
		return damageFigures{}, err
	}
	figures := damageFigures{middle: intact, spread: map[verdict]int{}}
	for _, at := range places(files, records[len(records)/2].payload[:64]) {
		v, err := verdictOn(home, p, files, at)
		if err != nil {
			return damageFigures{}, err
		}
		figures.middle = worse(figures.middle, v)
	}
	size := 0
	for _, content := range files {
		size += len(content)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range flips {
		v, err := verdictOn(home, p, files, random.IntN(size))
		if err != nil {
			return damageFigures{}, err
		}
		figures.spread[v]++
	}
	return figures, nil
}

func worse(a, b verdict) verdict {
	return verdicts[max(slices.Index(verdicts, a), slices.Index(verdicts, b))]
}

// filesAfter returns the files of a store by name. Nothing that is read here is
// being written: every put has returned.
func filesAfter(home string, p product, records []record, how ending) (files map[string][]byte, err error) {
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	e, err := p.open(home, 1)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if err := e.put(r); err != nil {
			return nil, err
		}
	}
	switch how {
	case killed:
		files, err = readFiles(home)
		return files, errors.Join(err, e.close())
	case settled:
		err = e.settle()
	}
	if err := errors.Join(err, e.close()); err != nil {
		return nil, err
	}
	return readFiles(home)
}

func readFiles(home string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(home, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		inside, err := filepath.Rel(home, name)
		if err != nil {
			return err
		}
		files[inside], err = os.ReadFile(name)
		return err
	})
	return files, err
}

// places are where the files, laid end to end by name, hold the bytes.
func places(files map[string][]byte, wanted []byte) (at []int) {
	before := 0
	for _, name := range sortedNames(files) {
		for rest := files[name]; ; {
			i := bytes.Index(rest, wanted)
			if i < 0 {
				break
			}
			at = append(at, before+len(files[name])-len(rest)+i+len(wanted)/2)
			rest = rest[i+len(wanted):]
		}
		before += len(files[name])
	}
	return at
}

// verdictOn flips a bit of the byte at a place and lets another process, which
// may die of it, look at the store.
func verdictOn(home string, p product, files map[string][]byte, at int) (verdict, error) {
	scratch := home + "-flipped"
	if err := errors.Join(os.RemoveAll(scratch), writeFlipped(scratch, files, at)); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, self, "-check", p.name, scratch).Output()
	if _, died := errors.AsType[*exec.ExitError](err); died {
		return crashed, nil
	}
	if err != nil {
		return "", err
	}
	v := verdict(strings.TrimSpace(string(output)))
	if !slices.Contains(verdicts, v) {
		return "", fmt.Errorf("the check of %s answered %q", p.name, v)
	}
	return v, nil
}

func writeFlipped(dir string, files map[string][]byte, at int) error {
	for _, name := range sortedNames(files) {
		content := files[name]
		if 0 <= at && at < len(content) {
			content = bytes.Clone(content)
			content[at] ^= 1 << (at % 8)
		}
		at -= len(files[name])
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func sortedNames(files map[string][]byte) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// check opens a store and reads all of it, as a whole and by id.
func check(p product, home string) verdict {
	e, err := p.open(home, 1)
	if err != nil {
		return detected
	}
	wanted := map[[16]byte][]byte{}
	for _, r := range newRecords(damageRecords, payloadSize) {
		wanted[r.id] = r.payload
	}
	found, result := 0, intact
	err = e.all(func(r record) error {
		found++
		if payload, ok := wanted[r.id]; !ok || !bytes.Equal(payload, r.payload) {
			result = wrong
		}
		return nil
	})
	if err != nil {
		return detected
	}
	if found > len(wanted) {
		result = wrong
	}
	if found < len(wanted) {
		result = worse(result, lost)
	}
	for id, payload := range wanted {
		got, err := e.get(id)
		switch {
		case errors.Is(err, errMissing):
			result = worse(result, lost)
		case err != nil:
			return detected
		case !bytes.Equal(got, payload):
			result = wrong
		}
	}
	if err := e.close(); err != nil {
		return detected
	}
	return result
}
