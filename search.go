package convmem

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.com/convmem/index"
	"example.com/convmem/search"
	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

// Search implements [Store]. Scoring keeps nobody waiting and reads no message;
// changes wait while the best hits are put in order and read, each hit and each
// neighbour with one read of the disk. With Options.Reranker the best
// [MaxSearchLimit] hits are read besides, unless the query is the id of a message.
func (db *DB) Search(ctx context.Context, r SearchRequest) (SearchResult, error) {
	r = r.withDefaults()
	if err := r.check(); err != nil {
		return SearchResult{}, fail("search", err)
	}
	b := searchBuilder{request: r, budget: db.maxResultBytes}
	find := db.find
	if db.reranker != nil && !isID(r.Query) {
		find = db.findReranked
	}
	if err := find(ctx, &b); err != nil {
		return SearchResult{}, fail("search", err)
	}
	return b.result, nil
}

// find fills in the result of b.
func (db *DB) find(ctx context.Context, b *searchBuilder) error {
	return db.rank(ctx, b.request, func(m *moment, found []search.Hit) error {
		m.cut = b.request.MaxContentCharacters
		return b.build(m, found)
	})
}

// A search whose candidates changed while they were scored begins again, and the
// last time does it all at one moment, for which changes wait.
const searchAttempts = 3

// rank calls use with the hits, best first, at a moment at which they are live.
// use may be called more than once; what it does the last time counts.
func (db *DB) rank(ctx context.Context, r SearchRequest, use func(*moment, []search.Hit) error) error {
	s := search.New(db.analyzer, search.Query{Text: r.Query, Filter: r.filter(), Limit: r.Limit})
	defer s.Release()
	for range searchAttempts - 1 {
		done, err := db.rankBesideChanges(ctx, s, use)
		if done || err != nil {
			return err
		}
	}
	return db.at(ctx, 0, func(m *moment) error {
		s.Begin(m.space.index)
		if err := s.Score(ctx); err != nil {
			return err
		}
		found, _ := s.Finish(m.space.index)
		return use(m, found)
	})
}

// rankBesideChanges is one attempt of rank. It is not done when candidates changed.
func (db *DB) rankBesideChanges(ctx context.Context, s *search.Search, use func(*moment, []search.Hit) error) (done bool, err error) {
	err = db.at(ctx, 0, func(m *moment) error {
		s.Begin(m.space.index)
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := s.Score(ctx); err != nil {
		return false, err
	}
	err = db.at(ctx, 0, func(m *moment) error {
		var found []search.Hit
		if found, done = s.Finish(m.space.index); !done {
			return nil
		}
		return use(m, found)
	})
	return done, err
}

// searchBuilder completes what ranking found. Messages of hits come before
// previews: a preview gets only the room that all hits leave.
type searchBuilder struct {
	request SearchRequest
	budget  int // of the result, in bytes
	room    allowance
	ids     []ulid.ULID // of result.Hits
	result  SearchResult
	// judged holds the revisions that a Reranker saw, nil without one, and
	// damaged says that it could not see all.
	judged  map[ulid.ULID]int64
	damaged bool
}

// isID says whether a query is the id of a message.
func isID(query string) bool {
	_, err := ulid.ParseStrict(strings.TrimSpace(query))
	return err == nil
}

func (b *searchBuilder) build(m *moment, found []search.Hit) error {
	b.room, b.ids = allowance{left: b.budget}, nil
	b.result = SearchResult{RerankError: b.result.RerankError, Truncated: b.damaged}
	if err := b.addHits(m, found); err != nil {
		return err
	}
	return b.addPreviews(m)
}

// addHits skips what is damaged, and what was deleted or changed since it was
// judged, and stops at the limit or where the room ends.
func (b *searchBuilder) addHits(m *moment, found []search.Hit) error {
	for _, f := range found {
		if len(b.result.Hits) == b.request.Limit {
			return nil
		}
		message, err := m.message(f.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && b.judged != nil && b.judged[f.ID] != message.Revision {
			continue
		}
		if isDamagedMessage(err) {
			b.result.Truncated = true
			continue
		}
		if err != nil {
			return err
		}
		if !b.room.take(message.size()) {
			b.result.Truncated = true
			return nil
		}
		hit := m.hit(message, f)
		if !b.room.take(len(hit.SupersededBy) * ulid.EncodedSize) {
			hit.SupersededBy, b.result.Truncated = nil, true
		}
		b.result.Hits = append(b.result.Hits, hit)
		b.ids = append(b.ids, f.ID)
	}
	return nil
}

func (m *moment) hit(message Message, f search.Hit) Hit {
	return Hit{
		Message:       message,
		Score:         f.Score(),
		Breakdown:     ScoreBreakdown{Content: f.Content, Summary: f.Summary, Tags: f.Tags},
		MatchedFields: matchedFields(f.Matched),
		RelationCount: m.space.index.RelationCount(f.ID),
		SupersededBy:  m.supersededBy(f.ID),
	}
}

func matchedFields(matched [3]bool) []Field {
	var fields []Field
	for i, field := range []Field{FieldContent, FieldSummary, FieldTags} {
		if matched[i] {
			fields = append(fields, field)
		}
	}
	return fields
}

// supersededBy lists live messages in the order of their ids.
func (m *moment) supersededBy(id ulid.ULID) []string {
	var newer []string
	for source := range m.space.index.Incoming(id, string(RelationSupersedes)) {
		newer = append(newer, source.String())
	}
	return newer
}

// addPreviews adds neighbours to the hits, best hit first, until one does not
// fit. A preview without a damaged neighbour is still a preview.
func (b *searchBuilder) addPreviews(m *moment) error {
	if b.request.ContextSize == 0 {
		return nil
	}
	for i := range b.result.Hits {
		hit := &b.result.Hits[i]
		near, complete, err := m.neighbours(hit.SessionID, b.ids[i], b.request.ContextSize, b.request.ContextSize, b.room.take)
		hit.Before, hit.After = near.before, near.after
		if err != nil && !isDamagedMessage(err) {
			return err
		}
		if err != nil || !complete {
			b.result.Truncated = true
		}
		if !complete {
			return nil
		}
	}
	return nil
}

// filter is the request's filter as the index knows it.
func (r SearchRequest) filter() index.Filter {
	return index.Filter{
		Session:       r.SessionID,
		Kinds:         distinctTexts(r.Filters.Kinds),
		Tiers:         distinctTexts(r.Filters.Tiers),
		Roles:         distinctTexts(r.Filters.Roles),
		Tags:          distinctTexts(r.Filters.Tags),
		MinImportance: r.MinImportance,
		Since:         unixMilli(r.Filters.Since),
		Until:         unixMilli(r.Filters.Until),
	}
}

func distinctTexts[S ~string](values []S) []string {
	texts := make([]string, 0, len(values))
	for _, value := range values {
		texts = append(texts, string(value))
	}
	return fold(texts)
}

// unixMilli is nil for the zero Time. Part milliseconds count for nothing here
// as they do in a message's own times.
func unixMilli(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}
