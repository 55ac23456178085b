package storetest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
	"pgregory.net/rapid"
)

// beginHistory begins a run over a session and reads its first page.
func (w *world) beginHistory(r *rapid.T) {
	request := convmem.HistoryRequest{
		SessionID: someSession(r),
		Order:     choose(r, "order", "", convmem.OrderAscending, convmem.OrderDescending, convmem.OrderDescending),
		Limit:     choose(r, "limit", 0, 1, 2, 3, 1, 2, 3, 1001),
	}
	// Together they would ask whether cut content counts in full, and nothing
	// says.
	switch choose(r, "budget", "", "", "characters", "content") {
	case "characters":
		request.MaxCharacters = choose(r, "max characters", 1, 5, 10, 15, 20, 30, 50)
	case "content":
		request.MaxContentCharacters = choose(r, "max content characters", 1, 2, 4, 7, 12)
	}
	w.page(r, run{request: convmem.ReadRequest{History: &request}})
}

// beginSessions begins a run over the sessions.
func (w *world) beginSessions(r *rapid.T) {
	limit := choose(r, "limit", 0, 1, 1, 2)
	w.page(r, run{request: convmem.ReadRequest{Sessions: &convmem.SessionsRequest{Limit: limit}}})
}

// nextPage takes up a run, maybe much later than its last page.
func (w *world) nextPage(r *rapid.T) {
	if len(w.runs) == 0 {
		r.Skip("no run is under way")
	}
	i := choose(r, "run", distinct(len(w.runs), func(i int) int { return i })...)
	next := w.runs[i]
	w.runs = slices.Delete(w.runs, i, i+1)
	w.page(r, next)
}

// page reads a page of a run from both stores and keeps the run if it goes on.
func (w *world) page(r *rapid.T, at run) {
	got, err := w.subject.Store.Read(w.ctx(), withCursor(at.request, at.subjectNext))
	want, modelErr := w.model.Read(w.ctx(), withCursor(at.request, at.modelNext))
	if !compareErrors(r, "read", err, modelErr) {
		return
	}
	if at.request.History != nil {
		at.subjectNext, at.modelNext = got.History.NextCursor, want.History.NextCursor
		compare(r, "history", w.seenAll(got.History.Messages), want.History.Messages)
	} else {
		at.subjectNext, at.modelNext = got.Sessions.NextCursor, want.Sessions.NextCursor
		compare(r, "sessions", got.Sessions.Sessions, want.Sessions.Sessions)
	}
	if (at.subjectNext == "") != (at.modelNext == "") {
		r.Fatalf("next cursor %q, the model's is %q", at.subjectNext, at.modelNext)
	}
	if at.modelNext != "" {
		w.runs = append(w.runs, at)
	}
}

// withCursor returns the request for a run's page.
func withCursor(r convmem.ReadRequest, cursor string) convmem.ReadRequest {
	if r.History != nil {
		r.History = new(*r.History)
		r.History.Cursor = cursor
	} else {
		r.Sessions = new(*r.Sessions)
		r.Sessions.Cursor = cursor
	}
	return r
}

// readContext reads the surroundings of a message.
func (w *world) readContext(r *rapid.T) {
	request := convmem.ContextRequest{
		MessageID:     w.someID(r),
		Before:        maybe(r, "before", func() int { return choose(r, "before", 0, 2, 3, 4) }),
		After:         maybe(r, "after", func() int { return choose(r, "after", 0, 2, 3, 4) }),
		RelationDepth: maybe(r, "depth", func() int { return choose(r, "depth", 0, 1, 2, 2, 2, 3) }),
		RelationTypes: some(r, "types", 2, relationTypes()...),
	}
	want, modelErr := w.model.Read(w.ctx(), convmem.ReadRequest{Context: &request})
	request.MessageID = translated(request.MessageID, w.toSubject)
	got, err := w.subject.Store.Read(w.ctx(), convmem.ReadRequest{Context: &request})
	if !compareErrors(r, "context", err, modelErr) {
		return
	}
	c := *got.Context
	c.Message, c.Before, c.After = w.seen(c.Message), w.seenAll(c.Before), w.seenAll(c.After)
	for i := range c.Relations {
		related := &c.Relations[i]
		related.MessageID = translated(related.MessageID, w.toModel)
		if related.Message != nil {
			related.Message = new(w.seen(*related.Message))
		}
	}
	if len(w.foreign) > 0 {
		inOneOrder(c.Relations)
		inOneOrder(want.Context.Relations)
	}
	compare(r, "context", &c, want.Context)
}

// inOneOrder sorts relations by the Model's ids. An id that is not translated may
// stand elsewhere among those of the store than among those of the Model.
func inOneOrder(all []convmem.RelatedMessage) {
	slices.SortFunc(all, func(a, b convmem.RelatedMessage) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), compareSteps(step{a.Direction, a.Type, a.MessageID}, step{b.Direction, b.Type, b.MessageID}))
	})
}

// someFilters draws a search for one marker, of which the contract says which
// messages it finds.
func someFilters(r *rapid.T) convmem.SearchRequest {
	request := convmem.SearchRequest{
		Query:         choose(r, "query", markers()...),
		MinImportance: choose(r, "min importance", 0, 0, 0, 50, 80),
		ContextSize:   choose(r, "context size", 0, 1, 2),
		Limit:         convmem.MaxSearchLimit,
	}
	switch choose(r, "filter", "", "", "kinds", "tiers", "roles", "tags") {
	case "kinds":
		request.Filters.Kinds = some(r, "kinds", 4, kinds()...)
	case "tiers":
		request.Filters.Tiers = some(r, "tiers", 3, tiers()...)
	case "roles":
		request.Filters.Roles = some(r, "roles", 3, roles()...)
	case "tags":
		request.Filters.Tags = some(r, "tags", 2, "red", "green", "topaz")
	}
	if oneIn(r, 3, "in a session") {
		request.SessionID = someSession(r)
	}
	if oneIn(r, 3, "bounded") {
		moment := func(label string) func() time.Time {
			return func() time.Time {
				return time.UnixMilli(choose[int64](r, label, 0, 1_700_000_000_000, 1_750_000_000_000, 1_750_000_000_001, 1_750_000_001_000))
			}
		}
		set(&request.Filters.Since, maybe(r, "since", moment("since")))
		set(&request.Filters.Until, maybe(r, "until", moment("until")))
	}
	return request
}

// searchSomething compares which messages are found and what is said about
// them. How the store ranks is its own affair, but it must be in order, and a
// smaller limit must give a beginning.
func (w *world) searchSomething(r *rapid.T) {
	request := someFilters(r)
	got, err := w.subject.Store.Search(w.ctx(), request)
	want, modelErr := w.model.Search(w.ctx(), request)
	if !compareErrors(r, "search", err, modelErr) {
		return
	}
	(&kit{TB: w.scope}).wellRanked("search", got.Hits)
	request.Limit = 1 + len(got.Hits)/2
	fewer, err := w.subject.Store.Search(w.ctx(), request)
	if err != nil {
		r.Fatalf("search with a smaller limit: %v", err)
	}
	compare(r, "search with a smaller limit", fewer.Hits, got.Hits[:min(request.Limit, len(got.Hits))])
	for i := range got.Hits {
		hit := &got.Hits[i]
		hit.Message, hit.Before, hit.After = w.seen(hit.Message), w.seenAll(hit.Before), w.seenAll(hit.After)
		hit.SupersededBy = translateIDs(hit.SupersededBy, w.toModel)
	}
	compare(r, "search", unranked(got.Hits), unranked(want.Hits))
}

// unranked takes the scores and the order out of hits.
func unranked(hits []convmem.Hit) []convmem.Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].Score, hits[i].Breakdown = 0, convmem.ScoreBreakdown{}
	}
	slices.SortFunc(hits, func(a, b convmem.Hit) int { return strings.Compare(a.ID, b.ID) })
	return hits
}
