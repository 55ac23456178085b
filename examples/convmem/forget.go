package main

import (
	"context"
	"errors"
	"iter"

	"example.com/convmem"
)

type forgetDocument struct {
	Status   string           `json:"status"`
	Sessions int              `json:"sessions"`
	Deleted  int64            `json:"deleted"`
	Searched int              `json:"searched"`
	Proven   bool             `json:"proven"`
	Rebuild  *rebuildDocument `json:"rebuild,omitempty"`
}

func forget(ctx context.Context, c *call) error {
	request, err := c.forgetRequest()
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.read(ctx, func(db *convmem.DB) error { return c.rehearseForget(ctx, db, request) })
	}
	return c.change(ctx, func(db *convmem.DB) error {
		stop := c.spin("forgetting")
		result, err := convmem.Forget(ctx, c.store(db), request)
		stop()
		if err != nil && result.Deleted == 0 && !result.Rebuilt {
			return err // nothing was done
		}
		d := forgetDocument{Status: c.status(err), Sessions: result.Sessions, Deleted: int64(result.Deleted), Searched: result.Searched, Proven: result.Proven}
		if result.Rebuilt {
			d.Rebuild = new(rebuildDocument(result.Rebuild))
		}
		if printing := c.printForget(d); err == nil {
			return printing
		}
		return err
	})
}

func (c *call) forgetRequest() (convmem.ForgetRequest, error) {
	switch {
	case !c.all && len(c.arguments) == 0:
		return convmem.ForgetRequest{}, wrong("session", `none given: name one, or give -all and -namespace NAME, which may be ""`)
	case !c.all:
		return convmem.ForgetRequest{SessionID: c.arguments[0]}, nil
	case len(c.arguments) > 0:
		return convmem.ForgetRequest{}, wrong("session", "given together with -all, want one of them")
	case c.namespace == nil:
		return convmem.ForgetRequest{}, wrong("-all", `without -namespace NAME, which must say what is meant; it may be ""`)
	}
	return convmem.ForgetRequest{AllSessions: true}, nil
}

func (c *call) printForget(d forgetDocument) error {
	text := "%s %s of %s"
	values := []any{c.done("forgot", "forget"), number(d.Deleted, "message"), number(d.Sessions, "session")}
	switch {
	case c.dryRun:
		text += ", and rebuild the store"
	case d.Proven:
		text += ", rebuilt the store (%d bytes before, %d after), and searched for %d of the texts in vain"
		values = append(values, d.Rebuild.BytesBefore, d.Rebuild.BytesAfter, d.Searched)
	default:
		text += ", but could not end: run it again"
	}
	return c.print(d, text, values...)
}

// rehearseForget counts what would go.
func (c *call) rehearseForget(ctx context.Context, db *convmem.DB, r convmem.ForgetRequest) (err error) {
	d := forgetDocument{Status: c.status(nil), Sessions: 1}
	if !r.AllSessions {
		run := convmem.AllMessages(ctx, c.store(db), convmem.HistoryRequest{SessionID: r.SessionID, Limit: convmem.MaxReadLimit, MaxContentCharacters: 1})
		d.Deleted, err = count(run)
	} else {
		var health convmem.HealthResult
		if health, err = c.store(db).Health(ctx, convmem.HealthRequest{}); err != nil {
			return err
		}
		var sessions int64
		sessions, err = count(convmem.AllSessions(ctx, c.store(db), convmem.SessionsRequest{Limit: convmem.MaxReadLimit}))
		d.Sessions, d.Deleted = int(sessions), health.ActiveMessages
	}
	if err != nil {
		return err
	}
	return c.printForget(d)
}

// count counts the items of a run, damaged ones too, which can be deleted.
func count[T any](run iter.Seq2[T, error]) (n int64, err error) {
	for _, err := range run {
		var damage *convmem.Error
		if err != nil && (!errors.As(err, &damage) || damage.NextCursor == "") {
			return n, err
		}
		n++
	}
	return n, nil
}
