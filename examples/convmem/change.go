package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"example.com/convmem"
)

type editDocument struct {
	Status  string          `json:"status"`
	Changed bool            `json:"changed"`
	Message messageDocument `json:"message"`
}

func edit(ctx context.Context, c *call) error {
	if c.revision < 1 {
		return wrong("-revision", "%d, want the one that convmem show prints, 1 or more", c.revision)
	}
	content, err := c.newContent(ctx)
	if err != nil {
		return err
	}
	request := convmem.UpdateRequest{MessageID: c.arguments[0], Content: &content, ExpectedRevision: c.revision}
	if c.dryRun {
		return c.read(ctx, func(db *convmem.DB) error { return c.rehearseEdit(ctx, db, request) })
	}
	return c.change(ctx, func(db *convmem.DB) error {
		result, err := c.store(db).Update(ctx, request)
		if errors.Is(err, convmem.ErrConflict) {
			return explained(err, "convmem show prints what it is now")
		}
		if err != nil {
			return err
		}
		return c.printEdit(result.Message, result.Changed)
	})
}

// rehearseEdit finds what an update would: the arguments are checked by a store
// that then refuses to change.
func (c *call) rehearseEdit(ctx context.Context, db *convmem.DB, r convmem.UpdateRequest) error {
	if _, err := c.store(db).Update(ctx, r); !errors.Is(err, convmem.ErrReadOnly) {
		return err
	}
	m, err := c.message(ctx, db, r.MessageID)
	if err != nil {
		return err
	}
	if m.Revision != r.ExpectedRevision {
		return &convmem.Error{
			Op: "update", Code: convmem.CodeConflict, Field: "expected_revision", Revision: m.Revision,
			Message: fmt.Sprintf("%d given, the message is at revision %d: convmem show prints what it is now", r.ExpectedRevision, m.Revision),
		}
	}
	changed := m.Content != *r.Content
	if changed {
		m.Content = *r.Content
		m.Revision++
	}
	return c.printEdit(m, changed)
}

func (c *call) printEdit(m convmem.Message, changed bool) error {
	document := editDocument{c.status(nil), changed, newMessage(m)}
	if !changed {
		return c.print(document, "%s has that content already, at revision %d", m.ID, m.Revision)
	}
	return c.print(document, "%s %s of session %s: %s at revision %d",
		c.done("changed", "change"), m.ID, name(m.SessionID), number(len(m.Content), "byte"), m.Revision)
}

// newContent is what -content, -file or standard input says.
func (c *call) newContent(ctx context.Context) (string, error) {
	switch {
	case c.content != nil && c.file != "":
		return "", wrong("-file", "given together with -content, want one of them")
	case c.content != nil:
		return *c.content, nil
	}
	in, err := c.input(ctx, c.file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	content, err := io.ReadAll(io.LimitReader(in, convmem.MaxContentBytes+1))
	switch {
	case err != nil:
		return "", ioFailed("reading the content", err)
	case len(content) > convmem.MaxContentBytes:
		return "", wrong("content", "more than %d bytes", convmem.MaxContentBytes)
	case !utf8.Valid(content):
		return "", wrong("content", "not UTF-8")
	}
	return string(content), nil
}

// input opens a file, or standard input for "" and "-".
func (c *call) input(ctx context.Context, file string) (io.ReadCloser, error) {
	if file == "" || file == "-" {
		return io.NopCloser(&interruptible{ctx: ctx, from: c.around.in}), nil
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, ioFailed("opening the file", err)
	}
	return in, nil
}

type deleteDocument struct {
	Status    string `json:"status"`
	MessageID string `json:"message_id"`
}

// deleteMessage reads nothing but with -dry-run, so that it deletes damaged
// messages.
func deleteMessage(ctx context.Context, c *call) error {
	id := c.arguments[0]
	if c.dryRun {
		return c.read(ctx, func(db *convmem.DB) error {
			m, err := c.message(ctx, db, id)
			what := fmt.Sprintf("%s at revision %d", number(len(m.Content), "byte"), m.Revision)
			switch {
			case errors.Is(err, convmem.ErrCorrupt):
				what = "which is damaged"
			case err != nil:
				return err
			}
			return c.print(deleteDocument{c.status(nil), id}, "would delete %s, %s", id, what)
		})
	}
	return c.change(ctx, func(db *convmem.DB) error {
		result, err := c.store(db).Delete(ctx, convmem.DeleteRequest{MessageID: id})
		if err != nil {
			return err
		}
		if !result.Deleted {
			return &convmem.Error{Op: "delete", Code: convmem.CodeNotFound, Field: "message_id", Message: "there is no such message in this namespace"}
		}
		return c.print(deleteDocument{c.status(nil), id}, "deleted %s; its bytes leave the disk with the next convmem rebuild", id)
	})
}

type rebuildPlan struct {
	Status          string `json:"status"`
	DeletedMessages int64  `json:"deleted_messages"`
	UpdateRecords   int64  `json:"update_records"`
	DeadBytes       int64  `json:"dead_bytes"`
	BytesBefore     int64  `json:"bytes_before"`
}

func rebuild(ctx context.Context, c *call) error {
	if c.dryRun {
		return c.read(ctx, func(db *convmem.DB) error {
			h, err := db.Health(ctx, convmem.HealthRequest{})
			if err != nil {
				return err
			}
			return c.print(rebuildPlan{c.status(nil), h.DeletedMessages, h.UpdateRecords, h.DeadBytes, h.LogSize},
				"would remove %s and %s, about %d of %d bytes", number(h.DeletedMessages, "deleted message"), number(h.UpdateRecords, "update"), h.DeadBytes, h.LogSize)
		})
	}
	return c.change(ctx, func(db *convmem.DB) error {
		stop := c.spin("rebuilding")
		r, err := db.Rebuild(ctx, convmem.RebuildRequest{})
		stop()
		if err != nil {
			return err
		}
		return c.print(struct {
			Status string `json:"status"`
			rebuildDocument
		}{c.status(nil), rebuildDocument(r)},
			"rebuilt: %s, %s removed, %d bytes before and %d after", number(r.MessagesIndexed, "message"), number(r.RecordsRemoved, "record"), r.BytesBefore, r.BytesAfter)
	})
}
