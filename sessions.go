package convmem

import (
	"context"
	"strings"

	"example.com/convmem/index"
	"example.com/convmem/store"
)

// maxRepresentativeBytes is the size of SessionInfo.RepresentativeSummary.
const maxRepresentativeBytes = 512

func (db *DB) sessions(ctx context.Context, r SessionsRequest) (*SessionsResult, error) {
	r = r.withDefaults()
	if err := r.check(); err != nil {
		return nil, err
	}
	start := sessionsPage{request: r, run: sessionsRun(db.namespace), room: allowance{left: db.maxResultBytes}}
	if r.Cursor != "" {
		var err error
		if start.place, err = start.run.resumeSessions(r.Cursor); err != nil {
			return nil, err
		}
	}
	var p sessionsPage
	err := db.at(ctx, 0, func(m *moment) error {
		p = start
		return p.fill(m)
	})
	if err != nil {
		return nil, err
	}
	return &p.result, nil
}

// sessionsPage is a page under construction.
type sessionsPage struct {
	request SessionsRequest
	run     run
	place   sessionsPlace // behind the last session of the page
	room    allowance
	result  SessionsResult
}

// fill adds sessions from its place on until one does not fit. That one begins
// the next page. The first page fixes the moment whose order all pages follow.
func (p *sessionsPage) fill(m *moment) error {
	if p.place.name == "" {
		p.place.horizon = m.space.index.LastID()
		p.place.sequence = m.view.Sink().(*catalog).sequence
	}
	start := p.place
	for name, ms := range m.space.index.Sessions(start.horizon, start.sequence, start.ms, start.name) {
		next := p.place
		next.ms, next.name = ms, name
		added, err := p.add(m, next)
		if err != nil {
			return err
		}
		if !added {
			p.result.NextCursor = p.run.afterSession(p.place)
			return nil
		}
		p.place = next
	}
	return nil
}

// add reports whether the session at a place is now on the page. A damaged
// representative ends the page as a damaged message ends a history's.
func (p *sessionsPage) add(m *moment, at sessionsPlace) (bool, error) {
	if len(p.result.Sessions) == p.request.Limit {
		return false, nil
	}
	info, err := m.session(at.name, p.request.MaxContentCharacters)
	if isDamagedMessage(err) {
		if len(p.result.Sessions) > 0 {
			return false, nil
		}
		return false, damagedAt(err, p.run.afterSession(at))
	}
	if err != nil || !p.room.take(len(info.SessionID)+len(info.RepresentativeSummary)) {
		return false, err
	}
	p.result.Sessions = append(p.result.Sessions, info)
	return true, nil
}

// session describes a session as it is now. It reads one message.
func (m *moment) session(name string, cut int) (SessionInfo, error) {
	found, ok := m.space.index.SessionInfo(name)
	if !ok {
		return SessionInfo{}, store.ErrNotFound // the index has just named it
	}
	representative, err := m.load(found.Representative)
	if err != nil {
		return SessionInfo{}, err
	}
	text := representative.Content
	if found.RepresentativeIsSummary {
		text = representative.Metadata.Summary
	}
	text = cutCharacters(cutBytes(text, maxRepresentativeBytes), cut)
	return SessionInfo{
		SessionID:             name,
		MessageCount:          found.Messages,
		KindCounts:            kindCounts(found),
		RepresentativeSummary: strings.Clone(text), // the rest of the message can go
		StartedAt:             fromUnixMilli(int64(found.First.Time())),
		LastMessageAt:         fromUnixMilli(int64(found.Last.Time())),
	}, nil
}

// kindCounts names every kind, those without messages too.
func kindCounts(info index.SessionInfo) map[MemoryKind]int {
	counts := make(map[MemoryKind]int, len(kinds))
	for _, kind := range kinds {
		counts[kind] = info.KindCounts[string(kind)]
	}
	return counts
}
