package index

// Checked returns an Analyzer that gives the terms of a but for those that break
// its promises: empty ones are left out, long ones cut as in [MaxTermBytes], and a
// position that falls counts as the one before. New calls it.
func Checked(a Analyzer) Analyzer {
	switch a.(type) {
	case *standard, checked:
		return a
	}
	return checked{a}
}

type checked struct{ Analyzer }

func (c checked) Analyze(text string, emit func(term string, position int)) {
	last := 0
	c.Analyzer.Analyze(text, func(term string, position int) {
		if term == "" {
			return
		}
		last = max(last, position)
		emit(bounded(term), last)
	})
}
