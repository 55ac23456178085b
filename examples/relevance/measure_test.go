package main

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var rounding = cmpopts.EquateApprox(0, 1e-12)

// TestOutcome holds the figures of single queries to values worked out by hand.
// In sessions, a message is named after its session and a number.
func TestOutcome(t *testing.T) {
	discount := func(rank int) float64 { return 1 / math.Log2(float64(rank)+1) }
	for name, c := range map[string]struct {
		query   query
		ranking string
		want    outcome
	}{
		"first":        {query{Relevant: ids("a1")}, "a1 b1", outcome{recall: recall{1, 1, 1, 1}, reciprocal: 1, ndcg: 1, session: 1}},
		"second":       {query{Relevant: ids("a1")}, "b1 a1", outcome{recall: recall{0, 1, 1, 1}, reciprocal: .5, ndcg: .6309297535714575, session: 1}},
		"not found":    {query{Relevant: ids("c1")}, "a1 b1", outcome{}},
		"no hits":      {query{Relevant: ids("c1")}, "", outcome{}},
		"fifth":        {query{Relevant: ids("a5")}, "a1 a2 a3 a4 a5", outcome{recall: recall{0, 1, 1, 1}, reciprocal: .2, ndcg: discount(5), session: 1}},
		"sixth":        {query{Relevant: ids("b6")}, "a1 a2 a3 a4 a5 b6", outcome{recall: recall{0, 0, 1, 1}, reciprocal: 1. / 6, ndcg: discount(6), session: 1}},
		"tenth":        {query{Relevant: ids("b1")}, many("a", 9) + "b1", outcome{recall: recall{0, 0, 1, 1}, reciprocal: .1, ndcg: discount(10), session: 1}},
		"eleventh":     {query{Relevant: ids("b1")}, many("a", 10) + "b1", outcome{recall: recall{0, 0, 0, 1}, reciprocal: 1. / 11, session: 1}},
		"twentieth":    {query{Relevant: ids("b1")}, many("a", 19) + "b1", outcome{recall: recall{0, 0, 0, 1}, reciprocal: .05, session: 1}},
		"twenty-first": {query{Relevant: ids("b1")}, many("a", 20) + "b1", outcome{reciprocal: 1. / 21, session: 1}},
		// One of three at 2, one at 7, one nowhere; the best would be 1, 2, 3.
		"several, one missing": {
			query{Relevant: ids("a2 d1 b1")}, "c1 a2 c2 c3 c4 c5 b1",
			outcome{
				recall: recall{0, 1. / 3, 2. / 3, 2. / 3}, reciprocal: .5, session: 1,
				ndcg: (discount(2) + discount(7)) / (1 + discount(2) + .5),
			},
		},
		"several, all in front": {query{Relevant: ids("a1 b1")}, "b1 a1 c1", outcome{recall: recall{.5, 1, 1, 1}, reciprocal: 1, ndcg: 1, session: 1}},
		// More relevant messages than nDCG looks at: ten in front are the best there is.
		"twelve":   {query{Relevant: ids(many("a", 12))}, many("a", 12), outcome{recall: recall{1. / 12, 5. / 12, 10. / 12, 1}, reciprocal: 1, ndcg: 1, session: 1}},
		"excluded": {query{Relevant: ids("a3"), Exclude: ids("a1 a2 z9")}, "a1 b1 a2 a3", outcome{recall: recall{0, 1, 1, 1}, reciprocal: .5, ndcg: discount(2), session: 1}},
		// Sessions are counted once each, by their best message.
		"fifth session":                 {query{Relevant: ids("e9")}, "a1 a2 b1 a3 b2 c1 d1 d2 e1 f1", outcome{session: 1}},
		"sixth session":                 {query{Relevant: ids("f9")}, "a1 a2 b1 a3 b2 c1 d1 d2 e1 f1", outcome{}},
		"sixth session of the message":  {query{Relevant: ids("f1")}, "a1 b1 c1 d1 e1 f1", outcome{recall: recall{0, 0, 1, 1}, reciprocal: 1. / 6, ndcg: discount(6)}},
		"any of the relevant":           {query{Relevant: ids("f9 b9")}, "a1 b1 c1 d1 e1 f1", outcome{session: 1}},
		"excluded session gives way":    {query{Relevant: ids("f9"), Exclude: ids("a1")}, "a1 b1 c1 d1 e1 f1", outcome{session: 1}},
		"excluded, but others are left": {query{Relevant: ids("f9"), Exclude: ids("a1")}, "a1 a2 b1 c1 d1 e1 f1", outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			ranking := ids(c.ranking)
			got := c.query.outcome(ranking, sessionsOf(append(ids(c.ranking), c.query.Relevant...)))
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(outcome{}), rounding); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(ids(c.ranking), ranking); diff != "" {
				t.Errorf("the ranking was changed:\n%s", diff)
			}
		})
	}
}

func ids(list string) []string { return strings.Fields(list) }

// many lists count messages of a session.
func many(session string, count int) string {
	var b strings.Builder
	for i := range count {
		b.WriteString(session)
		b.WriteByte(byte('A' + i))
		b.WriteByte(' ')
	}
	return b.String()
}

func sessionsOf(messages []string) map[string]string {
	sessions := map[string]string{}
	for _, id := range messages {
		sessions[id] = id[:1]
	}
	return sessions
}

// scripted answers each query with the ranking that is its text.
type scripted struct{ closed *int }

var errScripted = errors.New("out of order")

func (s scripted) rank(_ context.Context, text string) ([]string, error) {
	if text == "fail" {
		return nil, errScripted
	}
	return ids(text), nil
}

func (s scripted) close() error { *s.closed++; return nil }

// TestMeasure looks at what means are taken over. Store s has two sessions, store
// u has one.
func TestMeasure(t *testing.T) {
	two := &memory{name: "s", messages: []message{{ID: "a1", Session: "a"}, {ID: "b1", Session: "b"}}, sessions: sessionsOf(ids("a1 b1"))}
	one := &memory{name: "u", messages: []message{{ID: "a1", Session: "a"}, {ID: "a2", Session: "a"}}, sessions: sessionsOf(ids("a1 a2"))}
	two.queries = []query{
		{Text: "a1", Relevant: ids("a1"), Group: "x"},
		{Text: "b1 a1", Relevant: ids("a1"), Group: "y"},
		{Text: "", Relevant: ids("a1"), Group: "x"},
		{Text: "", Relevant: ids("a1"), Group: adversarial},
	}
	one.queries = []query{
		{Text: "a1", Relevant: ids("a1"), Group: "z"},
		{Text: "a2", Relevant: ids("a1 a2"), Group: "y"},
	}
	closed := 0
	open := func(context.Context, []message) (engine, error) { return scripted{&closed}, nil }
	got, err := measure(context.Background(), &set{name: "by hand", memories: []*memory{two, one}}, open)
	if err != nil || closed != 2 {
		t.Fatalf("%v, %d engines closed", err, closed)
	}
	half, whole, none, twoThirds := .5, 1., 0., 2./3
	second := 1 / math.Log2(3)
	missed := 1 / (1 + second) // the first of two
	want := report{
		Set:     "by hand",
		figures: figures{5, recall{.5, .7, .7, .7}, .7, (1 + second + 0 + 1 + missed) / 5, &twoThirds, 0},
		Groups: map[string]figures{
			"x":         {2, recall{.5, .5, .5, .5}, .5, .5, &half, 0},
			"y":         {2, recall{.25, .75, .75, .75}, .75, (second + missed) / 2, &whole, 0},
			"z":         {1, recall{1, 1, 1, 1}, 1, 1, nil, 0},
			adversarial: {1, recall{}, 0, 0, &none, 0},
		},
	}
	if diff := cmp.Diff(want, got, rounding, cmpopts.IgnoreFields(figures{}, "QPS"), cmp.AllowUnexported(report{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Nothing but adversarial queries leaves nothing to take means over.
func TestOnlyAdversarial(t *testing.T) {
	m := &memory{messages: []message{{ID: "a1"}}, sessions: sessionsOf(ids("a1"))}
	m.queries = []query{{Text: "a1", Relevant: ids("a1"), Group: adversarial}}
	open := func(context.Context, []message) (engine, error) { return scripted{new(int)}, nil }
	r, err := measure(context.Background(), &set{memories: []*memory{m}}, open)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(figures{}, r.figures); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := r.writeJSON(&strings.Builder{}); err != nil {
		t.Error(err)
	}
}

// An engine that fails ends the run with the place in the set, and is closed.
func TestEngineFails(t *testing.T) {
	m := &memory{messages: []message{{ID: "a1"}}, sessions: sessionsOf(ids("a1"))}
	m.queries = []query{{ID: "q", Text: "fail", Relevant: ids("a1"), Group: "x", line: 7}}
	closed := 0
	open := func(context.Context, []message) (engine, error) { return scripted{&closed}, nil }
	_, err := measure(context.Background(), &set{memories: []*memory{m}}, open)
	if !errors.Is(err, errScripted) || !strings.HasPrefix(err.Error(), `line 7, query "q": `) || closed != 1 {
		t.Errorf("%v, closed %d times", err, closed)
	}
}

// Speed is queries over the time that they took, in groups and over all.
func TestSpeed(t *testing.T) {
	var all, some tally
	some.add(outcome{took: 100 * time.Millisecond})
	some.add(outcome{took: 300 * time.Millisecond})
	all.merge(some)
	all.add(outcome{took: 600 * time.Millisecond})
	if a, b := some.figures().QPS, all.figures().QPS; math.Abs(a-5) > 1e-9 || math.Abs(b-3) > 1e-9 {
		t.Errorf("%v and %v queries per second, want 5 and 3", a, b)
	}
	var instant tally
	instant.add(outcome{})
	if got := instant.figures().QPS; math.IsInf(got, 0) || got <= 0 {
		t.Errorf("%v queries per second in no time", got)
	}
}
