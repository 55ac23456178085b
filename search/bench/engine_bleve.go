package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"example.com/convmem/search/bench/corpus"
	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/mapping"
	api "github.com/blevesearch/bleve_index_api"
)

type bleveEngine struct{ index bleve.Index }

const bleveField = "Text"

func openBleve(dir string) (engine, error) {
	// Without a directory it would never merge. With this setting no call waits
	// until the disk has its files.
	config := map[string]any{"unsafe_batch": true}
	index, err := bleve.NewUsing(filepath.Join(dir, "bleve"), bleveMapping(), scorch.Name, scorch.Name, config)
	if err != nil {
		return nil, err
	}
	return bleveEngine{index}, nil
}

// bleveMapping is one English field that is indexed and nothing else.
func bleveMapping() mapping.IndexMapping {
	text := bleve.NewTextFieldMapping()
	text.Analyzer = en.AnalyzerName
	text.Store, text.DocValues, text.IncludeInAll, text.IncludeTermVectors = false, false, false, false
	document := bleve.NewDocumentStaticMapping()
	document.AddFieldMappingsAt(bleveField, text)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = document
	m.ScoringModel = api.BM25Scoring
	return m
}

func (e bleveEngine) add(messages []corpus.Message) error {
	batch := e.index.NewBatch()
	for _, m := range messages {
		err := batch.Index(strconv.Itoa(m.Number), struct{ Text string }{wholeText(m)})
		if err != nil {
			return err
		}
	}
	return e.index.Batch(batch)
}

// settle waits until all is in files, and merges them into one.
func (e bleveEngine) settle() error {
	saved := make(chan error, 1)
	last := e.index.NewBatch()
	last.SetInternal([]byte("last"), nil)
	last.SetPersistedCallback(func(err error) { saved <- err })
	if err := errors.Join(e.index.Batch(last), <-saved); err != nil {
		return err
	}
	advanced, err := e.index.Advanced()
	if err != nil {
		return err
	}
	return mergeAll(advanced.(*scorch.Scorch), e.segments)
}

// mergeAll merges until one segment is left, or as few as can be: one call leaves
// more than one.
func mergeAll(index *scorch.Scorch, segments func() (uint64, error)) error {
	before := uint64(math.MaxUint64)
	for {
		now, err := segments()
		if err != nil || now <= 1 || now >= before {
			return err
		}
		before = now
		if err := index.ForceMerge(context.Background(), &mergeplan.SingleSegmentMergePlanOptions); err != nil {
			return err
		}
	}
}

func (e bleveEngine) search(text string, limit int) ([]int, error) {
	query := bleve.NewMatchQuery(text)
	query.SetField(bleveField)
	result, err := e.index.Search(bleve.NewSearchRequestOptions(query, limit, 0, false))
	if err != nil {
		return nil, err
	}
	numbers := make([]int, len(result.Hits))
	for i, hit := range result.Hits {
		if numbers[i], err = strconv.Atoi(hit.ID); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// size counts the files that are searched, not those that merging left behind.
func (e bleveEngine) size(int64) (int64, error) {
	bytes, err := e.stat("num_bytes_used_disk_by_root")
	return int64(bytes), err
}

func (e bleveEngine) details(int) (string, error) {
	count, err := e.segments()
	return fmt.Sprintf("BM25, segments after merging: %d", count), err
}

func (e bleveEngine) segments() (uint64, error) {
	inMemory, err := e.stat("num_root_memorysegments")
	inFiles, otherErr := e.stat("num_root_filesegments")
	return inMemory + inFiles, errors.Join(err, otherErr)
}

func (e bleveEngine) stat(name string) (uint64, error) {
	stats, _ := e.index.StatsMap()["index"].(map[string]any)
	value, ok := stats[name].(uint64)
	if !ok {
		return 0, fmt.Errorf("bleve has no number %q", name)
	}
	return value, nil
}

func (e bleveEngine) close() error { return e.index.Close() }
