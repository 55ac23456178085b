package search

import "example.com/convmem/index"

// window is how many ordinals are scored at a time. It bounds the memory of a
// search, and small arrays stay in the processor's cache.
const window = 4096

// parts holds one number for each field.
type parts [index.FieldCount]float64

// scorer scores messages window by window.
type scorer struct {
	ix      *index.Index
	terms   []queryTerm // sorted by text, so that sums are always formed alike
	ideal   float64     // the limit of every sum
	average parts

	sums    [window]parts
	counted [window]bool
	touched []uint32 // slots in the window that hold a term
}

type queryTerm struct {
	weight float64 // idf * (k1+1)
	cursor *index.Cursor
}

func newScorer(ix *index.Index, text string) *scorer {
	s := &scorer{ix: ix}
	statistics := ix.Statistics()
	for f, field := range statistics.Fields {
		if field.Messages > 0 {
			s.average[f] = float64(field.Terms) / float64(field.Messages)
		}
	}
	for _, term := range index.QueryTerms(text) {
		df := ix.Frequency(term)
		if df == 0 {
			continue
		}
		weight := idf(statistics.Messages, df) * (k1 + 1)
		s.ideal += weight
		s.terms = append(s.terms, queryTerm{weight: weight, cursor: ix.Occurrences(term)})
	}
	return s
}

// end returns a bound above the ordinals that hold a term.
func (s *scorer) end() uint32 {
	if len(s.terms) == 0 {
		return 0
	}
	return s.ix.Ordinals()
}

// scoreWindow scores the messages from start on. The windows must follow each
// other.
func (s *scorer) scoreWindow(start uint32) {
	for _, slot := range s.touched {
		s.sums[slot], s.counted[slot] = parts{}, false
	}
	s.touched = s.touched[:0]
	for _, t := range s.terms {
		for o, ok := t.cursor.Next(start + window); ok; o, ok = t.cursor.Next(start + window) {
			slot := o.Ordinal - start
			if !s.counted[slot] {
				s.counted[slot] = true
				s.touched = append(s.touched, slot)
			}
			s.add(&s.sums[slot], t.weight, o)
		}
	}
}

// add adds the score of one term to the fields, each by its share of it.
func (s *scorer) add(sum *parts, weight float64, o index.Occurrence) {
	lengths := s.ix.Entry(o.Ordinal).Lengths
	var shares parts
	shares[index.Content] = s.frequency(o, lengths, index.Content, weightContent, lengthContent)
	shares[index.Summary] = s.frequency(o, lengths, index.Summary, weightSummary, lengthSummary)
	shares[index.Tags] = s.frequency(o, lengths, index.Tags, weightTags, lengthTags)
	tf := shares[index.Content] + shares[index.Summary] + shares[index.Tags]
	for f, share := range shares {
		sum[f] += weight * share / (k1 + tf)
	}
}

// frequency is what one field adds to the tf of a term.
func (s *scorer) frequency(o index.Occurrence, lengths [index.FieldCount]uint32, f index.Field, weight, b float64) float64 {
	if o.Counts[f] == 0 {
		return 0
	}
	return weight * float64(o.Counts[f]) / (1 - b + b*float64(lengths[f])/s.average[f])
}

// candidate is a message that may become a hit.
type candidate struct {
	hit        Hit
	score      float64
	importance int
}

func (s *scorer) candidate(start, slot uint32) candidate {
	e := s.ix.Entry(start + slot)
	sum := s.sums[slot]
	h := Hit{
		ID:      e.ID,
		Content: sum[index.Content] / s.ideal,
		Summary: sum[index.Summary] / s.ideal,
		Tags:    sum[index.Tags] / s.ideal,
	}
	h.Matched = [index.FieldCount]bool{h.Content > 0, h.Summary > 0, h.Tags > 0}
	return candidate{hit: h, score: h.Score(), importance: e.Importance}
}
