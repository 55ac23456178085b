package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// report is what the program prints.
type report struct {
	Set    string `json:"set"`
	Engine string `json:"engine"`
	figures
	Groups map[string]figures `json:"groups"`
}

// figures are means over queries.
type figures struct {
	Queries     int      `json:"queries"`
	Recall      recall   `json:"recall"`
	MRR         float64  `json:"mrr"`
	NDCG10      float64  `json:"ndcg10"`
	SessionAny5 *float64 `json:"session_any5"` // nil where there are no sessions to tell apart
	QPS         float64  `json:"qps"`
}

// recall is the share of relevant messages among the first 1, 5, 10 and 20.
type recall struct {
	At1  float64 `json:"1"`
	At5  float64 `json:"5"`
	At10 float64 `json:"10"`
	At20 float64 `json:"20"`
}

func (r recall) plus(other recall) recall {
	return recall{r.At1 + other.At1, r.At5 + other.At5, r.At10 + other.At10, r.At20 + other.At20}
}

func (r recall) over(count float64) recall {
	return recall{r.At1 / count, r.At5 / count, r.At10 / count, r.At20 / count}
}

// tally sums up the outcomes of queries.
type tally struct {
	queries          int
	recall           recall
	reciprocal, ndcg float64
	inSessions       int // the queries that session is about
	session          float64
	took             time.Duration
}

func (t *tally) add(o outcome) {
	one := tally{queries: 1, recall: o.recall, reciprocal: o.reciprocal, ndcg: o.ndcg, took: o.took}
	if o.inSessions {
		one.inSessions, one.session = 1, o.session
	}
	t.merge(one)
}

func (t *tally) merge(other tally) {
	t.queries += other.queries
	t.recall = t.recall.plus(other.recall)
	t.reciprocal += other.reciprocal
	t.ndcg += other.ndcg
	t.inSessions += other.inSessions
	t.session += other.session
	t.took += other.took
}

// figures are all zero for no queries. A clock too coarse to see any time pass
// counts as a nanosecond.
func (t tally) figures() figures {
	if t.queries == 0 {
		return figures{}
	}
	count := float64(t.queries)
	f := figures{
		Queries: t.queries,
		Recall:  t.recall.over(count),
		MRR:     t.reciprocal / count,
		NDCG10:  t.ndcg / count,
		QPS:     count / max(t.took, 1).Seconds(),
	}
	if t.inSessions > 0 {
		share := t.session / float64(t.inSessions)
		f.SessionAny5 = &share
	}
	return f
}

// writeJSON writes one object on one line.
func (r report) writeJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// writeTable writes a row for each group, and the one over all last.
func (r report) writeTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "set %s, engine %s\n\n", r.Set, r.Engine)
	fmt.Fprintln(table, "group\tqueries\trecall@1\t@5\t@10\t@20\tMRR\tnDCG@10\tsession any@5\tqueries/s")
	for _, name := range sortedKeys(r.Groups) {
		r.Groups[name].writeRow(table, name)
	}
	over := "(all)"
	if _, apart := r.Groups[adversarial]; apart {
		over = "(all but " + adversarial + ")"
	}
	r.writeRow(table, over)
	return table.Flush()
}

func (f figures) writeRow(w io.Writer, name string) {
	session := "-"
	if f.SessionAny5 != nil {
		session = fmt.Sprintf("%.3f", *f.SessionAny5)
	}
	fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%s\t%.0f\n", name, f.Queries,
		f.Recall.At1, f.Recall.At5, f.Recall.At10, f.Recall.At20, f.MRR, f.NDCG10, session, f.QPS)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
