package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a line that leaves it out is taken to say.
const (
	defaultSession = "none"
	defaultGroup   = "all"
)

// message is a message of the set.
type message struct {
	ID      string `json:"id"`
	Store   string `json:"store"`
	Session string `json:"session"`
	Role    string `json:"role"`
	Time    *int64 `json:"time"` // Unix milliseconds; not nil once checked
	Content string `json:"content"`

	line int
}

// query is a question of the set.
type query struct {
	ID       string   `json:"id"`
	Store    string   `json:"store"`
	Text     string   `json:"text"`
	Relevant []string `json:"relevant"`
	Group    string   `json:"group"`
	Exclude  []string `json:"exclude"`

	line int
}

// memory is one store of the set, in the order of the file.
type memory struct {
	name     string
	messages []message
	queries  []query
	sessions map[string]string // of each message, by its id
}

// hasSessions reports whether telling sessions apart means anything.
func (m *memory) hasSessions() bool {
	return slices.ContainsFunc(m.messages, func(other message) bool { return other.Session != m.messages[0].Session })
}

// set is a whole file.
type set struct {
	name     string
	memories []*memory // in the order in which the file names them
	notes    []string  // what was changed on reading
}

func (m message) wrap(err error) error {
	return fmt.Errorf("line %d, message %q: %w", m.line, m.ID, err)
}

func (q query) wrap(err error) error {
	return fmt.Errorf("line %d, query %q: %w", q.line, q.ID, err)
}

// readSet reads and checks a file. An error names the line.
func readSet(from io.Reader) (*set, error) {
	r := reader{lines: bufio.NewReader(from), byName: map[string]*memory{}}
	for {
		line, err := r.lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.line++
		if problem := r.add(line); problem != nil {
			return nil, problem
		}
		if err != nil {
			return r.finish()
		}
	}
}

// reader reads one set.
type reader struct {
	lines  *bufio.Reader
	line   int // the number of the line being read
	set    *set
	byName map[string]*memory
}

// add takes in one line.
func (r *reader) add(line []byte) error {
	if r.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	key, value, err := onlyKey(line)
	if err != nil {
		return r.wrap(err)
	}
	if (key == "set") != (r.set == nil) {
		return r.wrap(errors.New("the first line, and no other, has the key set"))
	}
	switch key {
	case "set":
		return r.addSet(value)
	case "message":
		return r.addMessage(value)
	case "query":
		return r.addQuery(value)
	}
	return r.wrap(fmt.Errorf("key %q, want set, message or query", key))
}

func (r *reader) wrap(err error) error { return fmt.Errorf("line %d: %w", r.line, err) }

// onlyKey takes an object with one key apart.
func onlyKey(line []byte) (string, json.RawMessage, error) {
	if !utf8.Valid(line) {
		return "", nil, errors.New("not valid UTF-8")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return "", nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if len(object) != 1 {
		return "", nil, fmt.Errorf("%d keys, want one of set, message and query", len(object))
	}
	var key string
	var value json.RawMessage
	for key, value = range object {
	}
	return key, value, nil
}

// decode says which field has the wrong type.
func decode(value json.RawMessage, to any) error {
	err := json.Unmarshal(value, to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(wrong.Value, " ") // less the number itself
		return fmt.Errorf("%s: a JSON %s, want %s", cmp.Or(wrong.Field, "value"), kind, wanted(wrong.Type.Kind()))
	}
	return err
}

// wanted names what JSON has for a kind of field.
func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "an array of strings"
	case reflect.Int64:
		return "a whole number"
	}
	return "a string"
}

func (r *reader) addSet(value json.RawMessage) error {
	var header struct {
		Name string `json:"name"`
	}
	if err := decode(value, &header); err != nil {
		return r.wrap(err)
	}
	if header.Name == "" {
		return r.wrap(errors.New("set: no name"))
	}
	r.set = &set{name: header.Name}
	return nil
}

func (r *reader) addMessage(value json.RawMessage) error {
	m := message{line: r.line}
	if err := decode(value, &m); err != nil {
		return m.wrap(err)
	}
	m.Session = cmp.Or(m.Session, defaultSession)
	if err := m.check(); err != nil {
		return m.wrap(err)
	}
	to := r.memory(m.Store)
	if _, twice := to.sessions[m.ID]; twice {
		return m.wrap(fmt.Errorf("id: store %q has a message with it already", m.Store))
	}
	to.sessions[m.ID] = m.Session
	to.messages = append(to.messages, m)
	return nil
}

// addQuery does not look for the messages: they may come later.
func (r *reader) addQuery(value json.RawMessage) error {
	q := query{line: r.line}
	if err := decode(value, &q); err != nil {
		return q.wrap(err)
	}
	q.Group = cmp.Or(q.Group, defaultGroup)
	if err := q.check(); err != nil {
		return q.wrap(err)
	}
	if size := len(q.Text); q.cut() {
		r.set.notes = append(r.set.notes, fmt.Sprintf("line %d, query %q: %d bytes, cut to %d", q.line, q.ID, size, len(q.Text)))
	}
	to := r.memory(q.Store)
	to.queries = append(to.queries, q)
	return nil
}

// memory returns the store of that name, new when it is the first time.
func (r *reader) memory(name string) *memory {
	m, ok := r.byName[name]
	if !ok {
		m = &memory{name: name, sessions: map[string]string{}}
		r.byName[name] = m
		r.set.memories = append(r.set.memories, m)
	}
	return m
}

// finish checks what only the whole file can tell.
func (r *reader) finish() (*set, error) {
	if r.set == nil {
		return nil, errors.New("empty file")
	}
	queries := 0
	for _, m := range r.set.memories {
		if err := m.check(); err != nil {
			return nil, err
		}
		queries += len(m.queries)
	}
	if queries == 0 {
		return nil, errors.New("no queries")
	}
	return r.set, nil
}
