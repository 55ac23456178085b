package convmem

import (
	"context"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
)

func (db *DB) history(ctx context.Context, r HistoryRequest) (*HistoryResult, error) {
	r = r.withDefaults()
	if err := r.check(); err != nil {
		return nil, err
	}
	run := historyRun(db.namespace, r.SessionID, r.Order)
	from, err := run.resume(r.Cursor)
	if err != nil {
		return nil, err
	}
	var p historyPage
	err = db.at(ctx, r.MaxContentCharacters, func(m *moment) error {
		p = historyPage{request: r, run: run, room: allowance{left: db.maxResultBytes}}
		return p.fill(m, from)
	})
	if err != nil {
		return nil, err
	}
	return &p.result, nil
}

// historyPage is a page under construction.
type historyPage struct {
	request    HistoryRequest
	run        run
	room       allowance
	characters int
	last       ulid.ULID // of the page
	result     HistoryResult
}

// fill adds messages behind from until one does not fit. That one begins the
// next page.
func (p *historyPage) fill(m *moment, from ulid.ULID) error {
	for id := range m.space.index.History(p.request.SessionID, from, p.request.Order == OrderDescending) {
		added, err := p.add(m, id)
		if err != nil {
			return err
		}
		if !added {
			p.result.NextCursor = p.run.after(p.last)
			return nil
		}
	}
	return nil
}

// add reports whether the message id is now on the page. A damaged message ends
// the page before it; where it is the first, it is the page's error.
func (p *historyPage) add(m *moment, id ulid.ULID) (bool, error) {
	if len(p.result.Messages) == p.request.Limit {
		return false, nil
	}
	message, err := m.message(id)
	if isDamagedMessage(err) {
		if len(p.result.Messages) > 0 {
			return false, nil
		}
		return false, damagedAt(err, p.run.after(id))
	}
	if err != nil || !p.fits(&message) {
		return false, err
	}
	p.result.Messages = append(p.result.Messages, message)
	p.last = id
	return true, nil
}

// fits counts a message against both budgets; the first always fits.
func (p *historyPage) fits(message *Message) bool {
	if most := p.request.MaxCharacters; most > 0 {
		p.characters += utf8.RuneCountInString(message.Content)
		if p.characters > most && len(p.result.Messages) > 0 {
			return false
		}
	}
	return p.room.take(message.size())
}
