package main

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/convmem/index"
)

// okapi is the baseline: Okapi BM25 as the textbooks have it, with the usual k1
// and b, over the terms of convmem's own analyzer. So what convmem finds beyond it
// comes from ranking and not from reading text better.
//
//	sum over the terms of the query of  idf * count*(k1+1) / (count + k1*(1-b + b*length/average))
//	idf = ln(1 + (N-df+0.5)/(df+0.5))
//
// Each term of a query counts once, and English function words only where there are
// no others. A length is in terms, repetitions included. Of equal messages the later
// one comes first, as in convmem. Sessions, roles and times do not matter.
type okapi struct {
	ids      []string
	lengths  []float64 // by message, in terms
	average  float64   // of lengths
	postings map[string][]posting
	analyzer index.Analyzer
}

const (
	okapiK1 = 1.2
	okapiB  = 0.75
)

// posting says how often a message, counted from 0, holds a term.
type posting struct {
	message int
	count   float64
}

// termsOf and termsOfQuery are all that the baseline knows of the analyzer a.
func termsOf(a index.Analyzer, text string) (terms []string) {
	a.Analyze(text, func(term string, _ int) { terms = append(terms, term) })
	return terms
}

// termsOfQuery returns distinct terms in a fixed order, so that sums of floating
// point numbers are the same every time.
func termsOfQuery(a index.Analyzer, text string) (terms []string) {
	for _, term := range index.QueryTerms(a, text) {
		terms = append(terms, term.Text)
	}
	return terms
}

func openOkapi(_ context.Context, messages []message) (engine, error) {
	o := &okapi{analyzer: index.Standard(), postings: map[string][]posting{}}
	total := 0.0
	for _, m := range messages {
		total += o.add(m)
	}
	o.average = total / float64(len(messages))
	return o, nil
}

// add returns the length of the message.
func (o *okapi) add(m message) float64 {
	terms := termsOf(o.analyzer, m.Content)
	counts := map[string]float64{}
	for _, term := range terms {
		counts[term]++
	}
	for term, count := range counts {
		o.postings[term] = append(o.postings[term], posting{message: len(o.ids), count: count})
	}
	length := float64(len(terms))
	o.ids, o.lengths = append(o.ids, m.ID), append(o.lengths, length)
	return length
}

func (o *okapi) rank(_ context.Context, text string) ([]string, error) {
	scores := make([]float64, len(o.ids))
	var found []int
	for _, term := range termsOfQuery(o.analyzer, text) {
		idf := o.idf(len(o.postings[term]))
		for _, p := range o.postings[term] {
			if scores[p.message] == 0 {
				found = append(found, p.message)
			}
			scores[p.message] += idf * o.saturated(p)
		}
	}
	slices.SortFunc(found, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
	found = found[:min(len(found), rankingSize)]
	ranking := make([]string, len(found))
	for i, m := range found {
		ranking[i] = o.ids[m]
	}
	return ranking, nil
}

func (o *okapi) idf(df int) float64 {
	return math.Log(1 + (float64(len(o.ids))-float64(df)+0.5)/(float64(df)+0.5))
}

// saturated is the part of the formula after idf.
func (o *okapi) saturated(p posting) float64 {
	relative := o.lengths[p.message] / o.average
	return p.count * (okapiK1 + 1) / (p.count + okapiK1*(1-okapiB+okapiB*relative))
}

func (o *okapi) close() error { return nil }
