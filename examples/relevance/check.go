package main

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"example.com/convmem"
)

const (
	// maxTime is the greatest Unix time, in milliseconds, of a message.
	maxTime = 1<<48 - 1
	// maxExclude leaves room for recall@20 in a ranking.
	maxExclude = rankingSize - 20
)

// check holds a message to the limits of convmem, so that every engine refuses the
// same sets. Errors never repeat what a message says.
func (m message) check() error {
	switch {
	case m.ID == "":
		return errors.New("id: empty")
	case len(m.Session) > convmem.MaxSessionIDBytes:
		return fmt.Errorf("session: %d bytes, at most %d", len(m.Session), convmem.MaxSessionIDBytes)
	case !isRole(m.Role):
		return errors.New("role: want user, assistant, system or tool")
	case m.Time == nil:
		return errors.New("time: missing, want Unix milliseconds")
	case *m.Time < 0 || *m.Time > maxTime:
		return fmt.Errorf("time: %d, want 0 to %d Unix milliseconds", *m.Time, int64(maxTime))
	case m.Content == "":
		return errors.New("content: empty")
	case len(m.Content) > convmem.MaxContentBytes:
		return fmt.Errorf("content: %d bytes, at most %d", len(m.Content), convmem.MaxContentBytes)
	}
	return nil
}

func isRole(role string) bool {
	switch convmem.Role(role) {
	case convmem.RoleUser, convmem.RoleAssistant, convmem.RoleSystem, convmem.RoleTool:
		return true
	}
	return false
}

// check checks what the line of the query alone can tell.
func (q query) check() error {
	switch {
	case q.Text == "":
		return errors.New("text: empty")
	case len(q.Relevant) == 0:
		return errors.New("relevant: empty, want the messages that answer the query")
	case len(q.Exclude) > maxExclude:
		return fmt.Errorf("exclude: %d messages, at most %d", len(q.Exclude), maxExclude)
	}
	for i, id := range q.Relevant {
		if slices.Contains(q.Relevant[:i], id) {
			return fmt.Errorf("relevant: %q twice", id)
		}
		if slices.Contains(q.Exclude, id) {
			return fmt.Errorf("exclude: %q is relevant", id)
		}
	}
	return nil
}

// cut shortens a text that is too long for a query to whole characters that fit,
// and says whether it was.
func (q *query) cut() bool {
	if len(q.Text) <= convmem.MaxQueryBytes {
		return false
	}
	end := convmem.MaxQueryBytes
	for !utf8.RuneStart(q.Text[end]) {
		end--
	}
	q.Text = q.Text[:end]
	return true
}

// check looks for the messages that the queries name as relevant. Excluding a
// message that is not there does no harm.
func (m *memory) check() error {
	for _, q := range m.queries {
		for _, id := range q.Relevant {
			if _, ok := m.sessions[id]; !ok {
				return q.wrap(fmt.Errorf("relevant: store %q has no message %q", m.name, id))
			}
		}
	}
	return nil
}
