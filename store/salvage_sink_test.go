package store

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

// pickySink refuses one payload.
type pickySink struct {
	Sink
	bad string
}

func (p pickySink) Apply(r Record) error {
	if string(r.Payload) == p.bad {
		return errors.New("not wanted")
	}
	return p.Sink.Apply(r)
}

func TestSalvageRefusedRecord(t *testing.T) {
	s := soundStore(t, true)
	to := vfs.NewMem(0)
	o := testOptions()
	o.NewSink = func() Sink { return pickySink{newMirror(), "number five"} }
	report, err := Salvage(context.Background(), s.disk.mem(t), to, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []RefusedRecord{{ID: id(5), Offset: s.frames[5].offset, Reason: "not wanted"}}
	if diff := cmp.Diff(want, report.Refused); diff != "" || report.Records != 3 {
		t.Errorf("%d records; refused (-want +got):\n%s", report.Records, diff)
	}
	_, left := s.intact(s.log)
	delete(left, id(5))
	if found, err := contentsOf(to); err != nil || !equal(found, left) {
		t.Errorf("found %v (%v), want %v", found, err, left)
	}
}

// TestSalvageKeepsTheNewer: of two records that exclude each other the older one
// is left out, and the sinks get rising sequence numbers.
func TestSalvageKeepsTheNewer(t *testing.T) {
	d, frames := handmade(frameOf(put(1, "key"), 1), frameOf(put(2, "other"), 2), frameOf(put(3, "key"), 3))
	to := vfs.NewMem(0)
	o := testOptions()
	o.NewSink = func() Sink { return &uniqueSink{mirror: mirror{held: contents{}}} }
	report, err := Salvage(context.Background(), d.mem(t), to, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []RefusedRecord{{ID: id(1), Offset: frames[0].offset, Reason: "twice"}}
	if diff := cmp.Diff(want, report.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	left := contents{id(2): "other", id(3): "key"}
	if found, err := contentsOf(to); err != nil || !equal(found, left) {
		t.Errorf("found %v (%v), want %v", found, err, left)
	}
}

// uniqueSink refuses a payload that it has.
type uniqueSink struct{ mirror }

func (u *uniqueSink) Apply(r Record) error {
	for _, payload := range u.held {
		if payload == string(r.Payload) {
			return errors.New("twice")
		}
	}
	return u.mirror.Apply(r)
}

// lastOf returns the greatest id and sequence number that a store knows of.
func lastOf(t *testing.T, m *vfs.Mem) (last ulid.ULID, seq uint64) {
	t.Helper()
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Update(context.Background(), func(tx *Tx) error {
		last = tx.LastID()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last, l.Stats().LastSeq
}

// TestSalvageLastID: an id is never given twice, even if nothing but a header or
// a deletion tells of it.
func TestSalvageLastID(t *testing.T) {
	m := vfs.NewMem(0)
	l, err := openTest(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := update(l, put(1, "one"), put(2, "two"), put(500, "last"), put(300, "then"), remove(300)); err != nil {
		t.Fatal(err)
	}
	if err := update(l, remove(500)); err != nil {
		t.Fatal(err)
	}
	withDeletion := filesOf(t, m)
	if _, err := l.Rebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	rebuilt := filesOf(t, m)
	lostHeader := bytes.Clone(rebuilt[logName(2)])
	clear(lostHeader[:headerSize])
	for _, tt := range []struct {
		name string
		disk disk
		id   ulid.ULID
		seq  uint64
	}{
		{"in a deletion", withDeletion, id(500), 6},
		{"in the header", rebuilt, id(500), 6},
		{"in the header of an older log", rebuilt.with(logName(2), lostHeader).with(logName(1), rebuilt[logName(2)]), id(500), 6},
		{"in the frames that are left", rebuilt.with(logName(2), lostHeader), id(2), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to := vfs.NewMem(0)
			if _, err := Salvage(context.Background(), tt.disk.mem(t), to, testOptions()); err != nil {
				t.Fatal(err)
			}
			if last, seq := lastOf(t, to); last != tt.id || seq != tt.seq {
				t.Errorf("last id %v and sequence number %d, want %v and %d", last, seq, tt.id, tt.seq)
			}
		})
	}
}
