package storetest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/convmem"
)

// readMutants are wrong about the three views of a read.
func readMutants() []mutant {
	return slices.Concat(historyMutants(), budgetMutants(), contextMutants(), sessionsMutants())
}

// repeatFirst shows the first message of every page but the first twice.
func repeatFirst(_ *twisted, r convmem.HistoryRequest, page *convmem.HistoryResult) {
	if r.Cursor != "" && len(page.Messages) > 0 {
		page.Messages = slices.Insert(page.Messages, 0, page.Messages[0])
	}
}

// forged changes a cursor and puts a good checksum on it.
func forged(text string, change func(*cursor)) string {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	var c cursor
	if err != nil || len(bytes) < checksumBytes || json.Unmarshal(bytes[checksumBytes:], &c) != nil {
		return text
	}
	change(&c)
	return c.String()
}

// forging accepts cursors over sessions that were changed.
func forging(change func(*twisted, *cursor)) func(*twisted) {
	return func(s *twisted) {
		s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
			if r.Sessions != nil {
				r.Sessions = new(*r.Sessions)
				r.Sessions.Cursor = forged(r.Sessions.Cursor, func(c *cursor) { change(s, c) })
			}
			return s.Model.Read(ctx, r)
		}
	}
}

// byPosition makes cursors that say how many messages were shown.
func byPosition(s *twisted) {
	s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
		if r.History == nil || r.History.Limit > convmem.MaxReadLimit || r.History.MaxCharacters > 0 {
			return s.Model.Read(ctx, r)
		}
		h := *r.History
		shown, err := strconv.Atoi(h.Cursor)
		if h.Cursor != "" && err != nil {
			return convmem.ReadResult{}, invalid("cursor", "damaged")
		}
		limit := orDefault(h.Limit, convmem.DefaultReadLimit)
		h.Cursor, h.Limit = "", min(shown+limit, convmem.MaxReadLimit)
		result, err := s.Model.Read(ctx, convmem.ReadRequest{History: &h})
		if err != nil {
			return result, err
		}
		page := result.History
		page.Messages = page.Messages[min(shown, len(page.Messages)):]
		if page.NextCursor != "" {
			page.NextCursor = strconv.Itoa(shown + limit)
		}
		return result, nil
	}
}

// fillPage joins pages until one is full, whatever its size.
func fillPage(s *twisted, r convmem.HistoryRequest, page *convmem.HistoryResult) {
	for page.NextCursor != "" && len(page.Messages) < orDefault(r.Limit, convmem.DefaultReadLimit) {
		r.Cursor = page.NextCursor
		next, err := s.Model.Read(context.Background(), convmem.ReadRequest{History: &r})
		if err != nil {
			panic(err)
		}
		page.Messages = append(page.Messages, next.History.Messages...)
		page.NextCursor = next.History.NextCursor
	}
}

func historyMutants() []mutant {
	lower := func(s *twisted) {
		beforeWrite(func(r *convmem.WriteRequest) { r.SessionID = strings.ToLower(r.SessionID) })(s)
		beforeHistory(func(r *convmem.HistoryRequest) { r.SessionID = strings.ToLower(r.SessionID) })(s)
	}
	return []mutant{
		{"history/pages", "random: the second page repeats a message", afterHistory(repeatFirst)},
		{"history/pages", "a full last page has a cursor", afterHistory(func(_ *twisted, r convmem.HistoryRequest, page *convmem.HistoryResult) {
			if page.NextCursor == "" && len(page.Messages) == r.Limit {
				page.NextCursor = cursor{View: "history", Session: r.SessionID, Order: "asc", After: page.Messages[r.Limit-1].ID}.String()
			}
		})},
		{"history/pages", "random: descending is ascending", beforeHistory(func(r *convmem.HistoryRequest) {
			if r.Order == convmem.OrderDescending {
				r.Order = convmem.OrderAscending
			}
		})},
		{"history/default limit", "the default limit is 50", beforeHistory(func(r *convmem.HistoryRequest) { r.Limit = orDefault(r.Limit, 50) })},
		{"history/unknown session", "an unknown session is not found", func(s *twisted) {
			s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
				result, err := s.Model.Read(ctx, r)
				if err == nil && r.History != nil && len(result.History.Messages) == 0 {
					err = problem(convmem.CodeNotFound, "session_id", "no such session")
				}
				return result, err
			}
		}},
		{"history/sessions apart", "session ids have no case", lower},
		{"history/paging while things happen", "random: cursors are positions", byPosition},
		{"history/paging while things happen", "updated messages move to the end", afterHistory(func(_ *twisted, _ convmem.HistoryRequest, page *convmem.HistoryResult) {
			slices.SortStableFunc(page.Messages, func(a, b convmem.Message) int { return int(a.Revision - b.Revision) })
		})},
		{"history/size of a page", "a page has no size limit", afterHistory(fillPage)},
		{"cursor/foreign", "a cursor serves every session", beforeHistory(func(r *convmem.HistoryRequest) {
			r.Cursor = forged(r.Cursor, func(c *cursor) { c.Session = r.SessionID })
		})},
		{"cursor/foreign", "a cursor serves both orders", beforeHistory(func(r *convmem.HistoryRequest) {
			r.Cursor = forged(r.Cursor, func(c *cursor) { c.Order = string(r.Order) })
		})},
		{"cursor/foreign", "a cursor of a history serves sessions", forging(func(_ *twisted, c *cursor) { c.View, c.Session, c.Order = "sessions", "", "" })},
		{"cursor/damaged", "cursors are not checked", beforeHistory(func(r *convmem.HistoryRequest) { r.Cursor = forged(r.Cursor, func(*cursor) {}) })},
		{"cursor/damaged", "space around a cursor is ignored", forging(func(*twisted, *cursor) {})},
		{"cursor/made up", "a bad cursor starts anew", func(s *twisted) {
			s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
				result, err := s.Model.Read(ctx, r)
				if err != nil && r.History != nil {
					h := *r.History
					h.Cursor = ""
					return s.Model.Read(ctx, convmem.ReadRequest{History: &h})
				}
				return result, err
			}
		}},
	}
}

func budgetMutants() []mutant {
	// recut cuts the message of a context read by another rule.
	recut := func(rule func(full string, limit int) string) func(*twisted) {
		return afterContext(func(s *twisted, r convmem.ContextRequest, c *convmem.ContextResult) {
			if r.MaxContentCharacters > 0 {
				full := s.must(c.Message.ID).message.Content
				c.Message.Content = rule(full, r.MaxContentCharacters)
				c.Message.ContentTruncated, c.Message.ContentBytes = len(c.Message.Content) < len(full), len(full)
			}
		})
	}
	characters := func(full string, limit int) string {
		runes := []rune(full)
		return string(runes[:min(limit, len(runes))])
	}
	return []mutant{
		{"budget/max characters", "random: bytes are counted", beforeHistory(func(r *convmem.HistoryRequest) { r.MaxCharacters = (r.MaxCharacters + 2) / 3 })},
		{"budget/max characters", "the first message is cut off too", afterHistory(func(_ *twisted, r convmem.HistoryRequest, page *convmem.HistoryResult) {
			if r.MaxCharacters > 0 && utf8.RuneCountInString(page.Messages[0].Content) > r.MaxCharacters {
				page.Messages = nil
			}
		})},
		{"budget/max characters over pages", "a message beyond the budget is skipped", afterHistory(func(_ *twisted, r convmem.HistoryRequest, page *convmem.HistoryResult) {
			page.Messages = slices.DeleteFunc(page.Messages, func(m convmem.Message) bool { return r.MaxCharacters > 0 && len(m.Content) > r.MaxCharacters })
		})},
		{"budget/max content characters", "emoji are torn", recut(characters)},
		{"budget/max content characters", "bytes are counted", recut(prefix)},
		{"budget/max content characters", "the full size is not said", afterContext(func(_ *twisted, _ convmem.ContextRequest, c *convmem.ContextResult) { c.Message.ContentBytes = 0 })},
		{"budget/max content characters everywhere", "previews are whole", afterSearch(func(s *twisted, _ convmem.SearchRequest, result *convmem.SearchResult) {
			for _, hit := range result.Hits {
				for i := range hit.Before {
					hit.Before[i] = clone(s.must(hit.Before[i].ID).message)
				}
			}
		})},
		{"budget/nothing is cut unasked", "half a MiB is enough", afterHistory(func(_ *twisted, _ convmem.HistoryRequest, page *convmem.HistoryResult) {
			for i := range page.Messages {
				page.Messages[i].Content = prefix(page.Messages[i].Content, 1<<19)
			}
		})},
	}
}

func contextMutants() []mutant {
	// relations changes the list of relations of a context read.
	relations := func(change func(s *twisted, r convmem.ContextRequest, list []convmem.RelatedMessage) []convmem.RelatedMessage) func(*twisted) {
		return afterContext(func(s *twisted, r convmem.ContextRequest, c *convmem.ContextResult) {
			c.Relations = change(s, r, c.Relations)
		})
	}
	return []mutant{
		{"context/neighbours", "random: the nearest comes first", afterContext(func(_ *twisted, _ convmem.ContextRequest, c *convmem.ContextResult) { slices.Reverse(c.Before) })},
		{"context/neighbours live in the same session", "deleted messages are counted", afterContext(func(s *twisted, _ convmem.ContextRequest, c *convmem.ContextResult) {
			c.Session.MessageCount = len(s.entries)
		})},
		{"context/not found", "what is not there is invalid", func(s *twisted) {
			s.read = func(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
				result, err := s.Model.Read(ctx, r)
				if convmem.CodeOf(err) == convmem.CodeNotFound {
					err = invalid("message_id", "not there")
				}
				return result, err
			}
		}},
		{"context/relations", "random: the order is that of ids", relations(func(_ *twisted, _ convmem.ContextRequest, list []convmem.RelatedMessage) []convmem.RelatedMessage {
			slices.SortStableFunc(list, func(a, b convmem.RelatedMessage) int { return strings.Compare(a.MessageID, b.MessageID) })
			return list
		})},
		{"context/relations", "random: the filter holds at the first hop only", relations(func(s *twisted, r convmem.ContextRequest, list []convmem.RelatedMessage) []convmem.RelatedMessage {
			if orDefaultAt(r.RelationDepth, 1) == 2 {
				for _, related := range list {
					if related.Depth == 1 && related.Message != nil {
						for _, further := range s.related(related.MessageID, 1, nil) {
							further.Depth = 2
							list = append(list, further)
						}
					}
				}
			}
			return list
		})},
		{"context/relations", "deleted targets are left out", relations(func(_ *twisted, _ convmem.ContextRequest, list []convmem.RelatedMessage) []convmem.RelatedMessage {
			return slices.DeleteFunc(list, func(r convmem.RelatedMessage) bool { return r.Message == nil })
		})},
		{"context/related messages are whole", "related messages are only named", relations(func(_ *twisted, _ convmem.ContextRequest, list []convmem.RelatedMessage) []convmem.RelatedMessage {
			for i := range list {
				list[i].Message = nil
			}
			return list
		})},
		{"context/relations of updated and deleted messages", "relations stay as they were written", func(s *twisted) {
			s.update = func(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
				if r.Metadata != nil && len(r.Metadata.Relations) == 0 {
					r.Metadata = new(*r.Metadata)
					r.Metadata.Relations = nil
				}
				return s.Model.Update(ctx, r)
			}
		}},
		{"context/at most 50 messages", "nothing is ever truncated", afterContext(func(_ *twisted, _ convmem.ContextRequest, c *convmem.ContextResult) { c.Truncated = false })},
		{"context/size of a response", "neighbours have no size limit", afterContext(func(s *twisted, r convmem.ContextRequest, c *convmem.ContextResult) {
			before, after := s.neighbours(s.must(r.MessageID), 10, 10)
			c.Before, c.After = view(before, 0), view(after, 0)
		})},
	}
}

func sessionsMutants() []mutant {
	info := func(change func(s *twisted, info *convmem.SessionInfo)) func(*twisted) {
		return afterSessions(func(s *twisted, page *convmem.SessionsResult) {
			for i := range page.Sessions {
				change(s, &page.Sessions[i])
			}
		})
	}
	now := func(s *twisted, c *cursor) { c.Horizon, c.Sequence = s.lastID.String(), s.sequence }
	return []mutant{
		{"sessions/order", "random: sessions are in alphabetical order", afterSessions(func(_ *twisted, page *convmem.SessionsResult) {
			slices.SortFunc(page.Sessions, func(a, b convmem.SessionInfo) int { return strings.Compare(a.SessionID, b.SessionID) })
		})},
		{"sessions/pages", "sessions of one moment are skipped", forging(func(_ *twisted, c *cursor) { c.After = "\U0010ffff" })},
		{"sessions/values", "random: only kinds that occur are counted", info(func(_ *twisted, info *convmem.SessionInfo) {
			for kind, n := range info.KindCounts {
				if n == 0 {
					delete(info.KindCounts, kind)
				}
			}
		})},
		{"sessions/values", "an update is activity", info(func(s *twisted, info *convmem.SessionInfo) {
			for _, e := range s.session(info.SessionID) {
				info.LastMessageAt = later(info.LastMessageAt, e.message.UpdatedAt)
			}
		})},
		{"sessions/representative summary", "random: the newest content represents", info(func(s *twisted, info *convmem.SessionInfo) {
			live := s.session(info.SessionID)
			info.RepresentativeSummary = prefix(live[len(live)-1].message.Content, 512)
		})},
		{"sessions/representative summary", "characters are torn", info(func(s *twisted, info *convmem.SessionInfo) {
			live := s.session(info.SessionID)
			if content := live[len(live)-1].message.Content; len(content) > 512 {
				info.RepresentativeSummary = content[:512]
			}
		})},
		{"sessions/deleted messages", "deleted messages are counted", info(func(s *twisted, info *convmem.SessionInfo) {
			info.MessageCount = 0
			for _, e := range s.entries {
				if e.message.SessionID == info.SessionID {
					info.MessageCount++
				}
			}
		})},
		{"sessions/paging while things happen", "random: pages follow the activity of the moment", forging(now)},
		{"sessions/paging while things happen", "deletes move sessions", forging(func(s *twisted, c *cursor) { c.Sequence = s.sequence })},
		{"sessions/paging while everything is written to", "counts are those of the first page", func(s *twisted) {
			first := map[string]int{}
			info(func(_ *twisted, info *convmem.SessionInfo) {
				if len(first) == 0 {
					first[fmt.Sprint(info.MessageCount)] = info.MessageCount
				}
				for _, n := range first {
					info.MessageCount = n
				}
			})(s)
		}},
	}
}
