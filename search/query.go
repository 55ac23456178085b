package search

import (
	"slices"
	"strings"

	"example.com/convmem/index"
	"github.com/oklog/ulid/v2"
)

// prepared is a query that was analysed.
type prepared struct {
	filter index.Filter
	limit  int
	id     ulid.ULID // that the text is, or zero
	// terms are the distinct terms: first those that are scored, sorted
	// bytewise, with their weights; then those of the text that are not, such as
	// stop words, which only phrases need.
	terms   []string
	weights []float64
	// text is the terms of the whole text in order, by their places in terms,
	// and phrases those of the parts in quotation marks.
	text        []index.Token
	phrases     [][]index.Token
	fingerprint uint32
}

func prepare(a index.Analyzer, q Query) prepared {
	p := prepared{filter: q.Filter, limit: q.Limit, fingerprint: index.Fingerprint(q.Text)}
	p.id, _ = ulid.ParseStrict(strings.TrimSpace(q.Text))
	for _, t := range index.QueryTerms(a, q.Text) {
		p.terms = append(p.terms, t.Text)
		p.weights = append(p.weights, t.Weight)
	}
	known := map[string]uint32{}
	for i, term := range p.terms {
		known[term] = uint32(i)
	}
	p.text = p.tokens(a, q.Text, known)
	for _, phrase := range quoted(q.Text) {
		tokens := p.tokens(a, phrase, known)
		same := func(other []index.Token) bool { return slices.Equal(other, tokens) }
		if len(tokens) > 0 && !slices.ContainsFunc(p.phrases, same) {
			p.phrases = append(p.phrases, tokens)
		}
	}
	return p
}

// tokens analyses a text and adds the terms that are new to those of the query.
func (p *prepared) tokens(a index.Analyzer, text string, known map[string]uint32) []index.Token {
	var tokens []index.Token
	position, last := uint32(0), -1
	a.Analyze(text, func(term string, at int) {
		number, ok := known[term]
		if !ok {
			number = uint32(len(p.terms))
			known[term] = number
			p.terms = append(p.terms, term)
		}
		if last >= 0 && at != last {
			position++ // as the blocks of the index count
		}
		last = at
		tokens = append(tokens, index.Token{Number: number, Position: position})
	})
	return tokens
}

// quotes are the marks that open a quotation, each with the one that closes it.
var quotes = []struct{ open, end string }{
	{`"`, `"`}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}, {"『", "』"}, {"《", "》"},
}

// maxQuotations is how many quotations of a query count.
const maxQuotations = 8

// quoted returns the first parts of a text that stand in quotation marks.
func quoted(text string) []string {
	var parts []string
	for text != "" && len(parts) < maxQuotations {
		open, part, rest := cutQuoted(text)
		if !open {
			break
		}
		parts, text = append(parts, part), rest
	}
	return slices.DeleteFunc(parts, func(part string) bool { return strings.TrimSpace(part) == "" })
}

// cutQuoted returns the first quotation and what follows it.
func cutQuoted(text string) (found bool, part, rest string) {
	first := len(text)
	for _, q := range quotes {
		start := strings.Index(text, q.open)
		if start < 0 || start >= first {
			continue
		}
		if quotation, after, ok := strings.Cut(text[start+len(q.open):], q.end); ok {
			found, first, part, rest = true, start, quotation, after
		}
	}
	return found, part, rest
}
