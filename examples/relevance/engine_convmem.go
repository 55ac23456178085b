package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// maxResultBytes is more than rankingSize messages can be, so that no ranking
// ends early.
const maxResultBytes = 1 << 30

// convmemEngine is a store on files in memory.
type convmemEngine struct {
	db    *convmem.DB
	clock atomic.Int64      // Unix milliseconds
	ids   map[string]string // of the set, by those of the store
}

// openConvmem writes the messages one by one, each at its own time.
func openConvmem(ctx context.Context, messages []message) (engine, error) {
	e := &convmemEngine{ids: make(map[string]string, len(messages))}
	db, err := convmem.Open(ctx, "", &convmem.Options{
		FS:             vfs.NewMem(0),
		Now:            func() time.Time { return time.UnixMilli(e.clock.Load()) },
		Exclusive:      true,
		MaxResultBytes: maxResultBytes,
	})
	if err != nil {
		return nil, err
	}
	e.db = db
	for _, m := range messages {
		if err := e.write(ctx, m); err != nil {
			return nil, errors.Join(m.wrap(err), e.close())
		}
	}
	return e, nil
}

func (e *convmemEngine) write(ctx context.Context, m message) error {
	e.clock.Store(*m.Time)
	written, err := e.db.Write(ctx, convmem.WriteRequest{
		SessionID: m.Session, Role: convmem.Role(m.Role), Content: m.Content,
		Metadata: convmem.MetadataPatch{OccurredAt: time.UnixMilli(*m.Time)},
	})
	e.ids[written.Message.ID] = m.ID
	return err
}

func (e *convmemEngine) rank(ctx context.Context, text string) ([]string, error) {
	found, err := e.db.Search(ctx, convmem.SearchRequest{Query: text, Limit: rankingSize})
	if err != nil {
		return nil, err
	}
	if found.Truncated {
		return nil, fmt.Errorf("the search was cut after %d hits", len(found.Hits))
	}
	ranking := make([]string, len(found.Hits))
	for i, hit := range found.Hits {
		ranking[i] = e.ids[hit.ID]
	}
	return ranking, nil
}

func (e *convmemEngine) close() error { return e.db.Close() }
