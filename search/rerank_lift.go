package search

// lifts returns what its neighbours add to each candidate. Where all of them
// have one role nobody talks: notes and documents lift nothing.
func lifts(subjects []subject, places []placed, read []float64) []float64 {
	added := make([]float64, len(subjects))
	for at := range places {
		first, last := neighbours(places, at)
		if talk(subjects, places[first:last+1]) {
			added[places[at].of] = liftOf(subjects, places, read, at, first, last)
		}
	}
	return added
}

// neighbours returns the first and the last of the places that are near to one.
func neighbours(places []placed, at int) (first, last int) {
	first, last = at, at
	for places[first].near && places[at].rank-places[first-1].rank <= nearReach {
		first--
	}
	for last+1 < len(places) && places[last+1].near && places[last+1].rank-places[at].rank <= nearReach {
		last++
	}
	return first, last
}

// talk says whether more than one role speaks.
func talk(subjects []subject, places []placed) bool {
	for _, p := range places {
		if subjects[p.of].role != subjects[places[0].of].role {
			return true
		}
	}
	return false
}

// liftOf adds up what the neighbours from first to last give to the one at a
// place.
func liftOf(subjects []subject, places []placed, read []float64, at, first, last int) float64 {
	lift, best := 0.0, 0.0
	for i := first; i <= last; i++ {
		if i == at {
			continue
		}
		from, score := &subjects[places[i].of], read[places[i].of]
		best = max(best, score)
		switch places[i].rank - places[at].rank {
		case -1:
			if from.asks && from.role != subjects[places[at].of].role {
				lift += answerWeight * score
			}
		case +1:
			lift += nextWeight * score
		case -2, +2:
			lift += secondWeight * score
		}
	}
	return lift + nearWeight*best
}
