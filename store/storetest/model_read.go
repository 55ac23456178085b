package storetest

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

const (
	// resultBytes is where a result stops that would grow without end.
	resultBytes = 8 << 20
	// representativeBytes is the size of a session's representative summary.
	representativeBytes = 512
)

// view copies messages out, cut as the request asked.
func view(entries []*entry, characters int) []convmem.Message {
	messages := []convmem.Message{}
	for _, e := range entries {
		messages = append(messages, viewOf(e, characters))
	}
	return messages
}

func viewOf(e *entry, characters int) convmem.Message {
	message := clone(e.message)
	if text, shorter := cut(message.Content, characters); shorter {
		message.Content, message.ContentTruncated, message.ContentBytes = text, true, len(e.message.Content)
	}
	return message
}

// cut keeps as many whole grapheme clusters as have no more than that many code
// points together, which may be none; 0 keeps all.
func cut(text string, characters int) (kept string, shorter bool) {
	clusters := graphemes.FromString(text)
	for n := 0; characters > 0 && clusters.Next(); {
		if n += utf8.RuneCountInString(clusters.Value()); n > characters {
			return text[:clusters.Start()], true
		}
	}
	return text, false
}

// messageBytes is what a message counts towards resultBytes.
func messageBytes(m convmem.Message) int {
	return int(recordBytes(&entry{message: m}))
}

func checkCut(characters int) error {
	return checkRange("max_content_characters", characters, 0, convmem.MaxContentBytes)
}

// orDefault is the value of a number for which 0 means not given.
func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// orDefaultAt is the value of a number for which nil means not given.
func orDefaultAt(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// history returns one page of a session.
func (m *Model) history(r convmem.HistoryRequest) (*convmem.HistoryResult, error) {
	if r.Order == "" {
		r.Order = convmem.OrderAscending
	}
	start := cursor{View: "history", Session: r.SessionID, Order: string(r.Order)}
	err := firstOf(
		checkLength("session_id", r.SessionID, 1, convmem.MaxSessionIDBytes),
		checkChoice("order", r.Order, []convmem.Order{convmem.OrderAscending, convmem.OrderDescending}),
		checkRange("limit", r.Limit, 0, convmem.MaxReadLimit),
		checkRange("max_characters", r.MaxCharacters, 0, convmem.MaxCharacterBudget),
		checkCut(r.MaxContentCharacters),
		start.resume(r.Cursor),
	)
	if err != nil {
		return nil, err
	}
	rest := m.session(r.SessionID)
	if r.Order == convmem.OrderDescending {
		slices.Reverse(rest)
	}
	rest = slices.DeleteFunc(rest, func(e *entry) bool { return !beyond(e.message.ID, start.After, r.Order) })
	messages := view(rest, r.MaxContentCharacters)
	n := pageLength(messages, r)
	result := &convmem.HistoryResult{Messages: messages[:n]}
	if n < len(messages) {
		next := start
		next.After = messages[n-1].ID
		result.NextCursor = next.String()
	}
	return result, nil
}

// beyond reports whether an id comes after another in a run; "" is the start.
func beyond(id, after string, order convmem.Order) bool {
	if order == convmem.OrderDescending {
		return after == "" || id < after
	}
	return id > after
}

// pageLength counts the messages that fit on a page, at least the first.
func pageLength(messages []convmem.Message, r convmem.HistoryRequest) int {
	limit := min(len(messages), orDefault(r.Limit, convmem.DefaultReadLimit))
	characters, size := 0, 0
	for n, message := range messages[:limit] {
		characters += utf8.RuneCountInString(message.Content)
		size += messageBytes(message)
		if n > 0 && (r.MaxCharacters > 0 && characters > r.MaxCharacters || size > resultBytes) {
			return n
		}
	}
	return limit
}

// sessionKey is a session's place in a run over sessions.
type sessionKey struct {
	name string
	ms   int64 // when its newest message was written
}

// sessions returns one page of the list of sessions. A run lists them by the
// state in which it found the store: a cursor holds the newest id and the last
// change of that moment, and messages deleted since still count for the order.
func (m *Model) sessions(r convmem.SessionsRequest) (*convmem.SessionsResult, error) {
	start := cursor{View: "sessions"}
	err := firstOf(
		checkRange("limit", r.Limit, 0, convmem.MaxReadLimit),
		checkCut(r.MaxContentCharacters),
		start.resume(r.Cursor),
	)
	if err != nil {
		return nil, err
	}
	if r.Cursor == "" {
		start.Horizon, start.Sequence = m.lastID.String(), m.sequence
	}
	rest := m.sessionKeys(start)
	n := min(len(rest), orDefault(r.Limit, convmem.DefaultReadLimit))
	result := &convmem.SessionsResult{Sessions: []convmem.SessionInfo{}}
	for _, key := range rest[:n] {
		result.Sessions = append(result.Sessions, m.sessionInfo(key.name, r.MaxContentCharacters))
	}
	if n < len(rest) {
		next := start
		next.After, next.AfterTime = rest[n-1].name, rest[n-1].ms
		result.NextCursor = next.String()
	}
	return result, nil
}

// sessionKeys lists, in order, the sessions of a run that come after where it
// stands.
func (m *Model) sessionKeys(at cursor) []sessionKey {
	newest := map[string]int64{}
	for _, e := range m.entries {
		counts := e.live() || e.deletedAt > at.Sequence
		if counts && e.message.ID <= at.Horizon && len(m.session(e.message.SessionID)) > 0 {
			newest[e.message.SessionID] = e.message.Timestamp.UnixMilli()
		}
	}
	var keys []sessionKey
	for name, ms := range newest {
		key := sessionKey{name: name, ms: ms}
		if at.After == "" || compareSessions(key, sessionKey{name: at.After, ms: at.AfterTime}) > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareSessions)
	return keys
}

// compareSessions puts newer activity first, then the smaller name.
func compareSessions(a, b sessionKey) int {
	switch {
	case a.ms > b.ms:
		return -1
	case a.ms < b.ms:
		return 1
	}
	return strings.Compare(a.name, b.name)
}

// sessionInfo describes a session that has a live message.
func (m *Model) sessionInfo(name string, characters int) convmem.SessionInfo {
	live := m.session(name)
	info := convmem.SessionInfo{
		SessionID: name, MessageCount: len(live), KindCounts: map[convmem.MemoryKind]int{},
		StartedAt: live[0].message.Timestamp, LastMessageAt: live[len(live)-1].message.Timestamp,
	}
	for _, kind := range kinds() {
		info.KindCounts[kind] = 0
	}
	representative := live[len(live)-1].message.Content
	for _, e := range live {
		info.KindCounts[e.message.Metadata.Kind]++
		if e.message.Metadata.Summary != "" {
			representative = e.message.Metadata.Summary
		}
	}
	info.RepresentativeSummary, _ = cut(prefix(representative, representativeBytes), characters)
	return info
}

// prefix keeps at most size bytes and no part of a character.
func prefix(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

// said is when a message was said: what Since and Until look at.
func said(message convmem.Message) time.Time {
	if message.Metadata.OccurredAt.IsZero() {
		return message.Timestamp
	}
	return message.Metadata.OccurredAt
}
