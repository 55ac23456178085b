package bench

import (
	"context"
	"encoding/binary"
	"fmt"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"example.com/convmem/search/bench/corpus"
	"github.com/oklog/ulid/v2"
)

type convmemEngine struct{ index *index.Index }

func openConvmem(string) (engine, error) {
	return convmemEngine{index.New(index.Standard())}, nil
}

func (e convmemEngine) add(messages []corpus.Message) error {
	for _, m := range messages {
		e.index.Put(uint64(m.Number), index.Doc{
			ID: idOf(m), Session: m.Session, Role: m.Role, Kind: "conversation",
			Time: m.Time, Tags: m.Tags, Summary: m.Summary, Content: m.Content,
		})
	}
	return nil
}

// idOf puts the number of a message where an id is random.
func idOf(m corpus.Message) (id ulid.ULID) {
	_ = id.SetTime(uint64(m.Time)) // fails after the year 10889
	binary.BigEndian.PutUint64(id[8:], uint64(m.Number))
	return id
}

func (e convmemEngine) settle() error { return nil } // it does nothing in the background

func (e convmemEngine) search(text string, limit int) ([]int, error) {
	hits, err := search.Run(context.Background(), e.index, search.Query{Text: text, Limit: limit})
	numbers := make([]int, len(hits))
	for i, h := range hits {
		numbers[i] = int(binary.BigEndian.Uint64(h.ID[8:]))
	}
	return numbers, err
}

func (e convmemEngine) size(heap int64) (int64, error) { return heap, nil }

func (e convmemEngine) details(messages int) (string, error) {
	m := e.index.Memory()
	each := func(bytes int64) float64 { return float64(bytes) / float64(messages) }
	return fmt.Sprintf("by its own estimate, search takes %.1f bytes/message, columns %.1f, history %.1f, relations %.1f",
		each(m.Search), each(m.Columns), each(m.History), each(m.Relations)), nil
}

func (e convmemEngine) close() error { return nil }
