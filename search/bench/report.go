package bench

import (
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/convmem/search/bench/corpus"
)

// compare measures all and prints two tables. Ratios are to the first engine.
func compare(w io.Writer, dir string, p plan) (err error) {
	if err := p.check(); err != nil {
		return err
	}
	contestants, err := measure(dir, p)
	defer func() {
		for _, c := range contestants {
			err = errors.Join(err, c.close())
		}
	}()
	if err != nil {
		return err
	}
	queries := corpus.New(seed).Queries(p.queries)
	printAll(w, contestants, queries, p.messages)
	fmt.Fprintln(w)
	printKinds(w, contestants, queries)
	fmt.Fprintln(w)
	for _, c := range contestants {
		details, err := c.details(p.messages)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", c.name, details)
	}
	return nil
}

// printAll prints what was measured of each engine. Every ratio says how many
// times better the first engine is.
func printAll(w io.Writer, contestants []*contestant, queries []corpus.Query, messages int) {
	first := contestants[0]
	better := "x " + first.name
	row(w, fmt.Sprintf("%d messages", messages), "messages/s", better, "settling", "index bytes/message",
		"query p50", better, "query p95", better)
	row(w, "---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, c := range contestants {
		cells := []string{
			c.name, fmt.Sprintf("%.0f", c.perSecond), times(first.perSecond / c.perSecond),
			fmt.Sprintf("%.1f s", c.settling.Seconds()), fmt.Sprintf("%.1f", c.bytes),
		}
		for _, percent := range []int{50, 95} {
			cells = append(cells, timeCells(c, first, queries, "", percent)...)
		}
		row(w, cells...)
	}
}

// printKinds prints the median time of each kind of query.
func printKinds(w io.Writer, contestants []*contestant, queries []corpus.Query) {
	kinds := []corpus.Kind{corpus.Question, corpus.RareWord, corpus.FrequentWords}
	header, rule := []string{"query p50"}, []string{"---"}
	for _, kind := range kinds {
		header = append(header, string(kind), "x "+contestants[0].name)
		rule = append(rule, "--:", "--:")
	}
	row(w, header...)
	row(w, rule...)
	for _, c := range contestants {
		cells := []string{c.name}
		for _, kind := range kinds {
			cells = append(cells, timeCells(c, contestants[0], queries, kind, 50)...)
		}
		row(w, cells...)
	}
}

// timeCells is a percentile of an engine's times and how many times longer it is
// than that of the first.
func timeCells(c, first *contestant, queries []corpus.Query, kind corpus.Kind, percent int) []string {
	time, least := percentile(c.times(queries, kind), percent), percentile(first.times(queries, kind), percent)
	return []string{microseconds(time), times(float64(time) / float64(least))}
}

func microseconds(d time.Duration) string { return fmt.Sprintf("%.0f us", d.Seconds()*1e6) }

func times(ratio float64) string { return fmt.Sprintf("%.2f", ratio) }

// row prints one line of a Markdown table.
func row(w io.Writer, cells ...string) {
	fmt.Fprint(w, "|")
	for _, cell := range cells {
		fmt.Fprintf(w, " %s |", cell)
	}
	fmt.Fprintln(w)
}
