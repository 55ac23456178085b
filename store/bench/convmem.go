package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"example.com/convmem/store"
	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

type convmemEngine struct{ log *store.Log }

func openConvmem(dir string, _ int) (engine, error) {
	fsys, err := vfs.OS(dir)
	if err != nil {
		return nil, err
	}
	log, err := store.Open(context.Background(), fsys, store.Options{
		NewSink: func() store.Sink { return &idList{} },
	})
	if err != nil {
		return nil, err
	}
	return convmemEngine{log}, nil
}

// idList is the least that lists what a store holds. The benchmark puts every id
// once and deletes none.
type idList struct{ ids []ulid.ULID }

func (l *idList) Apply(r store.Record) error {
	if r.Deleted {
		return errors.New("a deletion, which the benchmark does not make")
	}
	l.ids = append(l.ids, r.ID)
	return nil
}

// Save implements store.Saver.
func (l *idList) Save() []store.Section {
	ids := slices.Clip(l.ids)
	return []store.Section{{Name: "ids", Version: 1, Write: func(w io.Writer) error {
		for _, id := range ids {
			if _, err := w.Write(id[:]); err != nil {
				return err
			}
		}
		return nil
	}}}
}

// Restore implements store.Saver.
func (l *idList) Restore(find func(string) (store.SavedSection, bool)) (complete bool, err error) {
	section, ok := find("ids")
	if !ok {
		return false, nil
	}
	l.ids = make([]ulid.ULID, section.Size/int64(len(ulid.ULID{})))
	for i := range l.ids {
		if _, err := io.ReadFull(section.Data, l.ids[i][:]); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e convmemEngine) put(records ...record) error {
	return e.log.Update(context.Background(), func(tx *store.Tx) error {
		for _, r := range records {
			tx.Put(r.id, r.payload)
		}
		return nil
	})
}

func (e convmemEngine) get(id ulid.ULID) (payload []byte, err error) {
	err = e.log.View(context.Background(), func(v *store.View) error {
		payload, err = v.Get(id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, errMissing
	}
	return payload, err
}

func (e convmemEngine) all(fn func(record) error) error {
	return e.log.View(context.Background(), func(v *store.View) error {
		for _, id := range v.Sink().(*idList).ids {
			payload, err := v.Get(id)
			if err != nil {
				return err
			}
			if err := fn(record{id, payload}); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle has no other place to move records to than the next log.
func (e convmemEngine) settle() error {
	_, err := e.log.Rebuild(context.Background())
	return err
}

func (e convmemEngine) close() error { return e.log.Close() }
