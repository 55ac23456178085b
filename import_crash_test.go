package convmem_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"example.com/convmem/store/vfs/faultfs"
	"github.com/google/go-cmp/cmp"
)

// importChunk is how many messages an import makes durable at a time.
const importChunk = 1000

// exportOf returns an export of count small messages.
func exportOf(t fataler, count int) string {
	c := newCarrier(t, 1)
	c.fill(count)
	text := c.export(nil)
	c.ok("close", c.db.Close())
	return text
}

// beginning returns the export of its first messages.
func beginning(text string, messages int64) string {
	for at := 0; ; messages-- {
		at += strings.IndexByte(text[at:], '\n') + 1
		if messages == 0 {
			return text[:at]
		}
	}
}

// resume repeats an import that stored something and checks that it goes on, and
// where it was.
func (c *carrier) resume(text string, stored int64) {
	c.Helper()
	equalText(c, "what is there", beginning(text, stored), c.export(nil))
	total := int64(strings.Count(text, "\n")) - 1
	want := convmem.ImportResult{Lines: total + 1, Bytes: int64(len(text)), Written: total - stored, Present: stored}
	if diff := cmp.Diff(want, c.take(text)); diff != "" {
		c.Fatalf("repeated (-want +got):\n%s", diff)
	}
	equalText(c, "repeated", text, c.export(nil))
}

// An import that ends in the middle has stored whole chunks, says how many
// messages that are, and goes on when it is repeated.
func TestImportInterrupted(t *testing.T) {
	withoutRaceDetector(t)
	const count = 2*importChunk + 300
	text := exportOf(t, count)
	cause := errors.New("the line went dead")
	for _, test := range []struct {
		name string
		code convmem.Code
		run  func(*carrier) (convmem.ImportResult, error)
		want int64
	}{
		{"cancelled before", convmem.CodeBusy, func(c *carrier) (convmem.ImportResult, error) {
			cancelled, cancel := context.WithCancel(ctx)
			cancel()
			return c.db.Import(cancelled, strings.NewReader(text), nil)
		}, 0},
		{"cancelled after two changes", convmem.CodeBusy, func(c *carrier) (convmem.ImportResult, error) {
			cancelled, cancel := context.WithCancel(ctx)
			calls := 0
			return c.db.Import(cancelled, strings.NewReader(text), &convmem.ImportOptions{Progress: func(convmem.ImportResult) {
				if calls++; calls == 2 {
					cancel()
				}
			}})
		}, 2 * importChunk},
		{"the reader fails", convmem.CodeIO, func(c *carrier) (convmem.ImportResult, error) {
			r := io.MultiReader(strings.NewReader(beginning(text, importChunk+7)+`{"message`), iotest.ErrReader(cause))
			result, err := c.db.Import(ctx, r, nil)
			if !errors.Is(err, cause) {
				t.Errorf("the cause is lost: %v", err)
			}
			return result, err
		}, importChunk},
		{"the reader fails beside data", convmem.CodeIO, func(c *carrier) (convmem.ImportResult, error) {
			r := iotest.DataErrReader(io.MultiReader(strings.NewReader(beginning(text, 10)), iotest.ErrReader(cause)))
			return c.db.Import(ctx, r, nil)
		}, 0},
		{"the disk is full", convmem.CodeIO, func(c *carrier) (convmem.ImportResult, error) {
			disk := c.fsys
			f := faultfs.New(disk)
			c.ok("close", c.db.Close())
			c.fsys = f
			c.db = c.open()
			f.SetBudget(150_000) // one chunk and a part of the next
			result, err := c.db.Import(ctx, strings.NewReader(text), nil)
			f.Kill()
			c.fsys = disk
			c.db = c.open() // the lock could not be written either
			return result, err
		}, importChunk},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCarrier(t, 2)
			result, err := test.run(c)
			if convmem.CodeOf(err) != test.code || result.Written != test.want || result.Refused != 0 || result.Present != 0 {
				t.Fatalf("%+v, %v", result, err)
			}
			c.resume(text, test.want)
		})
	}
	t.Run("in small pieces", func(t *testing.T) {
		c := newCarrier(t, 2)
		short := beginning(text, 30)
		if result, err := c.db.Import(ctx, iotest.OneByteReader(strings.NewReader(short)), nil); err != nil || result.Written != 30 {
			t.Errorf("%+v, %v", result, err)
		}
		equalText(t, "imported", short, c.export(nil))
	})
	t.Run("cut off", func(t *testing.T) {
		c := newCarrier(t, 2)
		result, err := c.db.Import(ctx, strings.NewReader(beginning(text, 5)+`{"message_id":"01`), nil)
		if e := refusal(t, err, convmem.CodeValidation); result.Written != 5 || result.Problems[0].Line != 7 || e.Field != "line" {
			t.Errorf("%+v, %v", result, err)
		}
		c.resume(text, 5)
	})
}

// A file of nothing but refused lines can be cancelled as well.
func TestImportOfRefusedLinesEnds(t *testing.T) {
	c := newCarrier(t, 1)
	cancelled, cancel := context.WithCancel(ctx)
	lines := 0
	endless := readerFunc(func(p []byte) (int, error) {
		if lines++; lines == 5 {
			cancel()
		}
		if lines == 5000 {
			return 0, errors.New("never ends")
		}
		return copy(p, "{}\n"), nil
	})
	result, err := c.db.Import(cancelled, endless, nil)
	if convmem.CodeOf(err) != convmem.CodeBusy {
		t.Errorf("%d lines, %v", result.Lines, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The power is cut before every file operation of an import of three changes:
// whole changes are there, and repeating the import ends it.
func TestImportPowerCuts(t *testing.T) {
	withoutRaceDetector(t)
	const count = 2*importChunk + 100
	text := exportOf(t, count)
	disk := vfs.NewMem(0)
	fsys := faultfs.New(disk)
	c := newCarrier(t, 2)
	c.fsys = fsys
	c.db = c.open()
	stored, points, images := int64(0), 0, 0
	found := map[int64]int{}
	random := rand.New(rand.NewPCG(1, 2))
	look := func() {
		points++
		for _, left := range []*vfs.Mem{disk.Kill(), disk.CrashImage(random)}[points%2:] {
			after := newCarrier(t, 3)
			after.fsys = left
			after.db = after.open()
			there := after.count()
			if there < stored || there > stored+importChunk || there%importChunk != 0 && there != count {
				t.Fatalf("point %d: %d messages, %d were acknowledged", points, there, stored)
			}
			if images++; images%9 == 0 {
				after.resume(text, there)
			}
			found[there]++
			after.ok("close", after.db.Close())
		}
	}
	fsys.Before = func(op faultfs.Op) error {
		if op.Kind != faultfs.Read {
			look()
		}
		return nil
	}
	_, err := c.db.Import(ctx, strings.NewReader(text), &convmem.ImportOptions{Progress: func(r convmem.ImportResult) { stored = r.Written }})
	c.ok("import", err)
	look()
	t.Logf("%d points, %d images, messages found: %v", points, images, found)
	if len(found) != 4 || points < 10 {
		t.Error("hardly anything was tried")
	}
}

func (c *carrier) count() int64 {
	c.Helper()
	return c.health().ActiveMessages
}

func changes(op faultfs.Op) bool {
	return slices.Contains([]faultfs.Kind{faultfs.Write, faultfs.Sync, faultfs.SyncData, faultfs.SyncDir, faultfs.Truncate, faultfs.Rename}, op.Kind)
}

// Every file operation of an import that changes something fails, in every way: what was acknowledged is
// there afterwards, whole changes are, and repeating the import ends it.
func TestImportFailures(t *testing.T) {
	withoutRaceDetector(t)
	const count = importChunk + 100
	text := exportOf(t, count)
	tried := 0
	for _, effect := range []faultfs.Effect{faultfs.NotDone, faultfs.Short, faultfs.Lost} {
		for n := 0; ; n++ {
			c := newCarrier(t, 2)
			fsys := faultfs.New(c.fsys)
			c.ok("close", c.db.Close())
			after := *c
			c.fsys = fsys
			c.db = c.open()
			fsys.Inject(faultfs.Fault{N: n, Effect: effect, Match: changes})
			result, err := c.db.Import(ctx, strings.NewReader(text), nil)
			if fsys.Fired() == 0 {
				c.ok("import", err)
				break
			}
			tried++
			if err != nil && convmem.CodeOf(err) != convmem.CodeIO {
				t.Fatalf("operation %d: %v", n, err)
			}
			fsys.Kill()
			after.db = after.open()
			there := after.count()
			if there < result.Written || there%importChunk != 0 && there != count {
				t.Fatalf("operation %d, effect %d: %d messages there, %d acknowledged", n, effect, there, result.Written)
			}
			if n%3 == int(effect)%3 {
				after.resume(text, there)
			}
			after.ok("close", after.db.Close())
		}
	}
	t.Logf("%d failures", tried)
	if tried < 12 {
		t.Error("hardly anything was tried")
	}
}

var importMessages = flag.Int("import-messages", 3300, "messages that TestImportResumes imports")

// A long import shows how far it is and goes on after an interruption; neither
// it nor an export holds all messages in memory.
func TestImportResumes(t *testing.T) {
	withoutRaceDetector(t)
	count := int64(*importMessages)
	source := newCarrier(t, 1)
	var err error
	source.db, err = convmem.Open(ctx, t.TempDir(), &convmem.Options{Now: func() time.Time { return source.now }})
	source.ok("open", err)
	source.fill(int(count))
	began := time.Now()
	text := source.export(nil)
	exported := time.Since(began)
	source.ok("close", source.db.Close())

	c := newCarrier(t, 2)
	c.db, err = convmem.Open(ctx, t.TempDir(), &convmem.Options{Now: func() time.Time { return c.now }})
	c.ok("open", err)
	defer c.db.Close()
	half := count / 2 / importChunk * importChunk
	cancelled, cancel := context.WithCancel(ctx)
	began = time.Now()
	result, err := c.db.Import(cancelled, strings.NewReader(text), &convmem.ImportOptions{Progress: func(r convmem.ImportResult) {
		if r.Written == half {
			cancel()
		}
	}})
	if convmem.CodeOf(err) != convmem.CodeBusy || result.Written != half {
		t.Fatalf("%+v, %v", result, err)
	}
	first := time.Since(began)
	var shown []convmem.ImportResult
	began = time.Now()
	result, err = c.db.Import(ctx, strings.NewReader(text), &convmem.ImportOptions{Progress: func(r convmem.ImportResult) { shown = append(shown, r) }})
	c.ok("import", err)
	second := time.Since(began)
	if result.Written != count-half || result.Present != half || int64(len(shown)) < count/importChunk {
		t.Errorf("%+v, %d reports", result, len(shown))
	}
	for i, r := range shown[1:] {
		if r.Lines < shown[i].Lines || r.Bytes < shown[i].Bytes || r.Written+r.Present-shown[i].Written-shown[i].Present > importChunk {
			t.Errorf("report %d: %+v, then %+v", i, shown[i], r)
		}
	}
	began = time.Now()
	again := c.take(text)
	third := time.Since(began)
	if again.Present != count {
		t.Errorf("%+v", again)
	}
	equalText(t, "in the end", text, c.export(nil))
	t.Logf("%d messages, %d bytes: export %v, half of the import %v, repeated to the end %v, once more %v, %d reports",
		count, len(text), exported, first, second, third, len(shown))
}

// An export of small messages holds little more than their ids, and an import
// little more than a chunk beyond what the store itself keeps.
func TestPortableMemory(t *testing.T) {
	withoutRaceDetector(t)
	count := int64(*importMessages)
	c := newCarrier(t, 1)
	var err error
	c.db, err = convmem.Open(ctx, t.TempDir(), &convmem.Options{Now: func() time.Time { return c.now }})
	c.ok("open", err)
	defer c.db.Close()
	payload := strings.Repeat("A", 2000)
	r, w := io.Pipe()
	go func() {
		for i := range count {
			fmt.Fprintf(w, `{"message_id":"01JXS5GRG0%016d","session_id":"s%d","role":"user","content":"message %d","payload":{"data":"%s"}}`+"\n", i, i%50, i, payload)
		}
		w.Close()
	}()
	before, most := liveHeap(), uint64(0)
	result, err := c.db.Import(ctx, r, &convmem.ImportOptions{Progress: func(r convmem.ImportResult) {
		if r.Written/importChunk%10 == 3 || r.Written == count {
			most = max(most, liveHeap())
		}
	}})
	c.ok("import", err)
	kept := liveHeap()
	most = max(most, kept) - kept
	exporting := uint64(0)
	out := &counter{step: 1 << 21, each: func() { exporting = max(exporting, liveHeap()) }}
	_, err = c.db.Export(ctx, out, nil)
	c.ok("export", err)
	exporting = max(exporting, kept) - kept
	t.Logf("%d messages, %d bytes read: the store keeps %d KiB, importing needs %d KiB more at the end of a change, exporting %d KiB",
		count, result.Bytes, (kept-before)>>10, most>>10, exporting>>10)
	if limit := uint64(3<<20 + 40*count); most > 4*limit || exporting > limit {
		t.Errorf("at most %d bytes are right for exporting", limit)
	}
	runtime.KeepAlive(c)
}
