package main

import (
	"context"
	"fmt"
	"strings"

	"example.com/convmem"
)

func show(ctx context.Context, c *call) error {
	return c.read(ctx, func(db *convmem.DB) error {
		m, err := c.message(ctx, db, c.arguments[0])
		if err != nil {
			return err
		}
		return c.print(newMessage(m), "%s\n\n%s", describe(m), harmless(m.Content, "\n\t"))
	})
}

// message reads one message.
func (c *call) message(ctx context.Context, db *convmem.DB, id string) (convmem.Message, error) {
	found, err := convmem.Context(ctx, c.store(db), convmem.ContextRequest{
		MessageID: id, Before: new(0), After: new(0), RelationDepth: new(0),
	})
	return found.Message, err
}

// describe is all of a message but its content, a line for each thing that is set.
func describe(m convmem.Message) string {
	var lines []string
	add := func(label, format string, values ...any) {
		lines = append(lines, fmt.Sprintf("%-9s  ", label)+harmless(fmt.Sprintf(format, values...), ""))
	}
	d := m.Metadata
	add("message", "%s", m.ID)
	add("session", "%s", m.SessionID)
	add("role", "%s", m.Role)
	add("written", "%s", clock(m.Timestamp))
	add("updated", "%s", clock(m.UpdatedAt))
	add("revision", "%d", m.Revision)
	add("memory", "%s, %s, importance %d", d.Kind, d.Tier, d.Importance)
	if !d.OccurredAt.IsZero() {
		add("occurred", "%s", clock(d.OccurredAt))
	}
	if d.ToolCallID != "" {
		add("tool call", "%s", d.ToolCallID)
	}
	for _, tag := range d.Tags {
		add("tag", "%s", tag)
	}
	if d.Summary != "" {
		add("summary", "%s", line(d.Summary, false))
	}
	for _, relation := range d.Relations {
		add("relation", "%s %s", relation.Type, relation.MessageID)
	}
	for _, source := range d.SourceMessageIDs {
		add("source", "%s", source)
	}
	if m.Payload.Type != "" || len(m.Payload.Data) > 0 {
		add("payload", "%d bytes of type %s", len(m.Payload.Data), name(m.Payload.Type))
	}
	return strings.Join(lines, "\n")
}
