package search

// phrase finds a sequence of terms in texts (Knuth, Morris, Pratt), in time linear
// in both.
type phrase struct {
	terms []uint32 // one for each position, the last as in eachPair
	back  []int    // how much of the phrase still stands after a mismatch
}

func newPhrase(text []token) *phrase {
	p := &phrase{}
	for i, t := range text {
		if i+1 == len(text) || text[i+1].Position != t.Position {
			p.terms = append(p.terms, t.Number)
		}
	}
	p.back = make([]int, len(p.terms))
	for i, n := 1, 0; i < len(p.terms); i++ {
		for n > 0 && p.terms[i] != p.terms[n] {
			n = p.back[n-1]
		}
		if p.terms[i] == p.terms[n] {
			n++
		}
		p.back[i] = n
	}
	return p
}

// in says whether the phrase stands in a text. Its last term may be any of those
// at its position, because a longer word or run may begin with the phrase.
func (p *phrase) in(tokens []token) bool {
	if len(p.terms) == 0 {
		return false
	}
	last := len(p.terms) - 1
	n := 0 // terms that stand before this position
	for i, t := range tokens {
		if n == last && t.Number == p.terms[last] {
			return true
		}
		if i+1 < len(tokens) && tokens[i+1].Position == t.Position {
			continue
		}
		for n > 0 && t.Number != p.terms[n] {
			n = p.back[n-1]
		}
		if last > 0 && t.Number == p.terms[n] {
			n++
		}
	}
	return false
}

// share returns how many of the phrases stand in a text, as a part of all.
func share(phrases []*phrase, tokens []token) float64 {
	found := 0
	for _, p := range phrases {
		if p.in(tokens) {
			found++
		}
	}
	return float64(found) / float64(max(1, len(phrases)))
}

// opens says whether a text begins with a term that is scored.
func opens(q *question, tokens []token) bool {
	for _, t := range tokens {
		if t.Position != tokens[0].Position {
			break
		}
		if q.terms[t.Number].scored {
			return true
		}
	}
	return false
}
