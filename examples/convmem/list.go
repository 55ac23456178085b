package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"example.com/convmem"
)

func namespaces(ctx context.Context, c *call) error {
	return c.read(ctx, func(db *convmem.DB) error {
		names, err := db.Namespaces(ctx)
		if err != nil {
			return err
		}
		for _, n := range names {
			health, err := db.Namespace(n).Health(ctx, convmem.HealthRequest{})
			if err != nil {
				return err
			}
			if err := c.print(namespaceDocument{n, health.ActiveMessages}, "%8d  %s", health.ActiveMessages, name(n)); err != nil {
				return err
			}
		}
		return nil
	})
}

type namespaceDocument struct {
	Namespace      string `json:"namespace"`
	ActiveMessages int64  `json:"active_messages"`
}

func sessions(ctx context.Context, c *call) error {
	return c.read(ctx, func(db *convmem.DB) error {
		request := convmem.SessionsRequest{Limit: c.page(), MaxContentCharacters: c.characters()}
		_, err := each(c, convmem.AllSessions(ctx, c.store(db), request), func(s convmem.SessionInfo) error {
			return c.print(newSession(s), "%s %8d  %-24s  %s",
				clock(s.LastMessageAt), s.MessageCount, name(s.SessionID), line(s.RepresentativeSummary, false))
		})
		return err
	})
}

func history(ctx context.Context, c *call) error {
	return c.read(ctx, func(db *convmem.DB) error {
		request := convmem.HistoryRequest{SessionID: c.arguments[0], Limit: c.page(), MaxContentCharacters: c.characters()}
		if c.newest {
			request.Order = convmem.OrderDescending
		}
		shown, err := each(c, convmem.AllMessages(ctx, c.store(db), request), func(m convmem.Message) error {
			return c.print(newMessage(m), "%s  %s  %-9s  r%-3d  %s",
				m.ID, clock(m.Timestamp), m.Role, m.Revision, line(m.Content, m.ContentTruncated))
		})
		if err == nil && shown == 0 {
			return &convmem.Error{
				Op: "history", Code: convmem.CodeNotFound, Field: "session",
				Message: "it has no messages: convmem sessions lists those that have some",
			}
		}
		return err
	})
}

// page is the size of pages for -limit: no more is read than shown.
func (c *call) page() int { return int(min(c.limit, convmem.MaxReadLimit)) }

// each shows the items of a run, at most -limit of them. It goes on behind damage
// and returns the first of it at the end.
func each[T any](c *call, run iter.Seq2[T, error], show func(T) error) (shown uint, err error) {
	var damage *convmem.Error
	damaged := 0
	for item, err := range run {
		var here *convmem.Error
		switch {
		case err == nil:
			if err := show(item); err != nil {
				return shown, err
			}
			shown++
		case errors.As(err, &here) && here.NextCursor != "":
			damage = firstOf(damage, here)
			damaged++
		default:
			return shown, err
		}
		if shown == c.limit && shown > 0 {
			break
		}
	}
	if damage == nil {
		return shown, nil
	}
	return shown, explained(damage, "%s left out, convmem verify says more", number(damaged, "damaged message"))
}

func firstOf(first, other *convmem.Error) *convmem.Error {
	if first == nil {
		return other
	}
	return first
}

func search(ctx context.Context, c *call) error {
	if c.limit > convmem.MaxSearchLimit {
		return wrong("-limit", "%d, at most %d for search", c.limit, convmem.MaxSearchLimit)
	}
	return c.read(ctx, func(db *convmem.DB) error {
		found, err := c.store(db).Search(ctx, convmem.SearchRequest{
			Query: strings.Join(c.arguments, " "), SessionID: c.session, Filters: c.filters,
			Limit: int(c.limit), MaxContentCharacters: c.characters(),
		})
		if err != nil {
			return err
		}
		for _, hit := range found.Hits {
			if err := c.printHit(hit); err != nil {
				return err
			}
		}
		if found.Truncated {
			return c.searchTruncated(ctx, db)
		}
		return nil
	})
}

func (c *call) printHit(h convmem.Hit) error {
	superseded := ""
	if len(h.SupersededBy) > 0 {
		superseded = "  (superseded)"
	}
	return c.print(newHit(h), "%6.2f  %s  %s  %-9s  %-16s  %s%s",
		h.Score, h.ID, clock(h.Timestamp), h.Role, name(h.SessionID), line(h.Content, h.ContentTruncated), superseded)
}

// searchTruncated tells damage from hits that are too large together. A store that
// met a damaged message says so in its health.
func (c *call) searchTruncated(ctx context.Context, db *convmem.DB) error {
	health, err := db.Health(ctx, convmem.HealthRequest{})
	if err != nil {
		return err
	}
	if health.Status != convmem.HealthOK {
		return &convmem.Error{Op: "search", Code: convmem.CodeCorrupt, Message: "hits were left out: " + health.LastError}
	}
	_, err = fmt.Fprintln(c.around.log, "convmem: search: hits were left out, which are too large together: give a smaller -limit, or a -session")
	return err
}
