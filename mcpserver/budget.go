package mcpserver

import (
	"errors"
	"slices"
)

// page is a document whose items a cursor continues.
type page interface {
	historyDocument | sessionsDocument
	// tail counts the last items that add at least size bytes to the document.
	tail(size int) (int, error)
	items() int
}

func (d historyDocument) tail(size int) (int, error) { return tail(d.History, size) }
func (d historyDocument) items() int                 { return len(d.History) }

func (d sessionsDocument) tail(size int) (int, error) { return tail(d.Sessions, size) }
func (d sessionsDocument) items() int                 { return len(d.Sessions) }

// fitPage returns the text of a page within the budget. Only the Store can make
// a cursor, so a page that is too large is not cut: it is read again with as
// many items as fit, at least one. What changed between the two reads may make
// it too large again, by ever fewer items.
func fitPage[P page](budget, limit int, read func(limit int) (P, error)) (string, error) {
	for {
		document, err := read(limit)
		if err != nil {
			return "", err
		}
		text, err := encode(document)
		if err != nil {
			return "", err
		}
		if fits(text, budget) || document.items() <= 1 {
			return text, nil
		}
		last, err := document.tail(wireSize(text) - budget)
		if err != nil {
			return "", err
		}
		limit = max(1, document.items()-last)
	}
}

// tail counts the last items that together add at least that size. Only those
// are measured.
func tail[T any](items []T, size int) (int, error) {
	count := 0
	for _, item := range slices.Backward(items) {
		if size <= 0 {
			break
		}
		added, err := sizeOf(item)
		if err != nil {
			return 0, err
		}
		size -= added
		count++
	}
	return count, nil
}

// fits reports whether a text is within the budget. Most are so far below it
// that they need not be measured.
func fits(text string, budget int) bool {
	return len(text) <= budget/len(`\u0000`) || wireSize(text) <= budget
}

// allowance is how many bytes of a budget are left. The first error of
// measuring sticks and lets nothing more in.
type allowance struct {
	left int
	err  error
}

// newAllowance is the budget less what the document holds already.
func newAllowance(budget int, document any) *allowance {
	size, err := sizeOf(document)
	return &allowance{left: budget - size + len(","), err: err}
}

// admit reports whether a part fits and, if so, takes its size off.
func (a *allowance) admit(part any) bool {
	size, err := sizeOf(part)
	if a.err = errors.Join(a.err, err); a.err != nil || size > a.left {
		return false
	}
	a.left -= size
	return true
}

// fits reports whether a part could be admitted.
func (a *allowance) fits(part any) bool {
	trial := *a
	return trial.admit(part)
}

// leading admits items in order until one does not fit.
func leading[T any](a *allowance, items []T) []T {
	for i, item := range items {
		if !a.admit(item) {
			return items[:i]
		}
	}
	return items
}

// nearest admits neighbours on both sides in turn, from the message outwards,
// on each side until one does not fit.
func (a *allowance) nearest(all neighbours) neighbours {
	first, last := len(all.Before), 0
	before, after := true, true
	for before || after {
		if before = before && first > 0 && a.admit(all.Before[first-1]); before {
			first--
		}
		if after = after && last < len(all.After) && a.admit(all.After[last]); after {
			last++
		}
	}
	return neighbours{Before: all.Before[first:], After: all.After[:last]}
}

// fitContext returns the text of a context within the budget: the message
// always, then the neighbours nearest to it, then relations in order.
func fitContext(budget int, d contextDocument) (string, error) {
	if text, err := encode(d); err != nil || fits(text, budget) {
		return text, err
	}
	around, relations := d.Around, d.Relations
	d.Truncated = true
	d.Around, d.Relations = newNeighbours(nil, nil), []related{}
	a := newAllowance(budget, d)
	d.Around = a.nearest(around)
	d.Relations = leading(a, relations)
	if a.err != nil {
		return "", a.err
	}
	return encode(d)
}

// fitSearch returns the text of search results within the budget: hits in
// order, at least one, then the previews of the best of them.
func fitSearch(budget int, d searchDocument) (string, error) {
	if text, err := encode(d); err != nil || fits(text, budget) {
		return text, err
	}
	hits := slices.Clone(d.Results)
	for i := range hits {
		if hits[i].Preview != nil {
			hits[i].Preview = new(newNeighbours(nil, nil))
		}
	}
	fitted := searchDocument{Truncated: true, RerankError: d.RerankError, Results: []hit{}}
	a := newAllowance(budget, fitted)
	if len(hits) > 0 && !a.fits(hits[0]) {
		hits[0].SupersededBy = nil // of the first hit only the message is sure to stay
	}
	hits = hits[:min(len(hits), max(1, len(leading(a, hits))))]
	for i := range hits {
		if preview := d.Results[i].Preview; preview != nil && a.admit(preview) {
			hits[i].Preview = preview
		}
	}
	if a.err != nil {
		return "", a.err
	}
	fitted.Results = hits
	return encode(fitted)
}
