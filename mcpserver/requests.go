package mcpserver

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/convmem"
)

// This file turns checked arguments into the requests of a Store. What was left
// out becomes what the Store takes for not given.

func (a arguments) text(name string) string { return a[name].text }

func (a arguments) number(name string) int { return int(a[name].number) }

// textPointer is nil when the text was left out, which "" is not.
func (a arguments) textPointer(name string) *string {
	if given, ok := a[name]; ok {
		return &given.text
	}
	return nil
}

// numberPointer is nil when the number was left out, which 0 is not.
func (a arguments) numberPointer(name string) *int {
	if given, ok := a[name]; ok {
		return new(int(given.number))
	}
	return nil
}

// moment is the zero Time when the Unix milliseconds were left out.
func (a arguments) moment(name string) time.Time {
	if given, ok := a[name]; ok {
		return time.UnixMilli(given.number).UTC()
	}
	return time.Time{}
}

// choices are texts as a type of the Store: nil when left out.
func choices[T ~string](a arguments, name string) []T {
	given, ok := a[name]
	if !ok {
		return nil
	}
	values := make([]T, len(given.texts))
	for i, text := range given.texts {
		values[i] = T(text)
	}
	return values
}

func writeRequest(a arguments) convmem.WriteRequest {
	return convmem.WriteRequest{
		SessionID:      a.text("session_id"),
		Role:           convmem.Role(a.text("role")),
		Content:        a.text("content"),
		Metadata:       metadataPatch(a["metadata_json"].record),
		IdempotencyKey: a.text("idempotency_key"),
	}
}

func updateRequest(a arguments) convmem.UpdateRequest {
	r := convmem.UpdateRequest{
		MessageID:        a.text("message_id"),
		Content:          a.textPointer("content"),
		ExpectedRevision: a["expected_revision"].number,
	}
	if given, ok := a["metadata_json"]; ok {
		r.Metadata = new(metadataPatch(given.record))
	}
	return r
}

func metadataPatch(a arguments) convmem.MetadataPatch {
	return convmem.MetadataPatch{
		ToolCallID:       a.textPointer("tool_call_id"),
		Tags:             choices[string](a, "tags"),
		Tier:             convmem.MemoryTier(a.text("memory_tier")),
		Kind:             convmem.MemoryKind(a.text("memory_kind")),
		Importance:       a.numberPointer("importance"),
		Summary:          a.textPointer("summary"),
		Relations:        relations(a),
		SourceMessageIDs: choices[string](a, "source_message_ids"),
		OccurredAt:       a.moment("occurred_at"),
	}
}

func relations(a arguments) []convmem.Relation {
	given, ok := a["relations"]
	if !ok {
		return nil
	}
	all := make([]convmem.Relation, len(given.records))
	for i, record := range given.records {
		all[i] = convmem.Relation{
			Type:      convmem.RelationType(record.text("type")),
			MessageID: record.text("message_id"),
		}
	}
	return all
}

func historyRequest(a arguments) convmem.HistoryRequest {
	return convmem.HistoryRequest{
		SessionID:            a.text("session_id"),
		Order:                convmem.Order(a.text("order")),
		Limit:                a.number("limit"),
		Cursor:               a.text("cursor"),
		MaxCharacters:        a.number("max_characters"),
		MaxContentCharacters: a.number("max_content_characters"),
	}
}

func contextRequest(a arguments) convmem.ContextRequest {
	return convmem.ContextRequest{
		MessageID:            a.text("message_id"),
		Before:               a.numberPointer("before"),
		After:                a.numberPointer("after"),
		RelationDepth:        a.numberPointer("relation_depth"),
		RelationTypes:        choices[convmem.RelationType](a, "relation_types_json"),
		MaxContentCharacters: a.number("max_content_characters"),
	}
}

func sessionsRequest(a arguments) convmem.SessionsRequest {
	return convmem.SessionsRequest{
		Limit:                a.number("limit"),
		Cursor:               a.text("cursor"),
		MaxContentCharacters: a.number("max_content_characters"),
	}
}

func searchRequest(a arguments) convmem.SearchRequest {
	filters := a["filters_json"].record
	return convmem.SearchRequest{
		Query:     a.text("query"),
		SessionID: a.text("session_id"),
		Filters: convmem.Filters{
			Kinds: choices[convmem.MemoryKind](filters, "kinds"),
			Tiers: choices[convmem.MemoryTier](filters, "tiers"),
			Tags:  choices[string](filters, "tags"),
			Roles: choices[convmem.Role](filters, "roles"),
			Since: filters.moment("since"),
			Until: filters.moment("until"),
		},
		MinImportance:        a.number("min_importance"),
		ContextSize:          a.number("context_size"),
		Limit:                a.number("limit"),
		MaxContentCharacters: a.number("max_content_characters"),
	}
}

// deleteRequest refuses an empty guard: taken for none, it would delete what it
// was given to protect.
func deleteRequest(a arguments) (convmem.DeleteRequest, error) {
	if guard := a.textPointer("session_id"); guard != nil && *guard == "" {
		return convmem.DeleteRequest{}, invalid("session_id", "0 bytes, at least 1: leave it out to delete without this guard")
	}
	return convmem.DeleteRequest{MessageID: a.text("message_id"), SessionID: a.text("session_id")}, nil
}

// viewOf returns the view that a call of read_messages asks for.
func viewOf(parameters []parameter, object value) (string, error) {
	p, _ := find(parameters, "view")
	i := slices.Index(object.names, p.name)
	if i < 0 {
		return viewHistory, nil
	}
	a, present, err := p.decode(object.items[i], p.name)
	switch {
	case err != nil:
		return "", err
	case !present:
		return viewHistory, nil
	case !slices.Contains(p.choices, a.text):
		return "", invalid(p.name, "%d bytes, want one of %s", len(a.text), strings.Join(p.choices, ", "))
	}
	return a.text, nil
}

// narrowToView drops what the view does not use, as long as it says nothing:
// hosts fill in every parameter with its default. A limit may be any integer.
func narrowToView(parameters []parameter, object value) (value, error) {
	view, err := viewOf(parameters, object)
	if err != nil {
		return value{}, err
	}
	kept := value{shape: shapeObject}
	for i, name := range object.names {
		item := object.items[i]
		p, _ := find(parameters, name)
		if p.views != nil && !slices.Contains(p.views, view) {
			if err := p.unused(item, view); err != nil {
				return value{}, err
			}
			continue
		}
		kept.names, kept.items = append(kept.names, name), append(kept.items, item)
	}
	return kept, nil
}

// unused checks a parameter that the view does not use.
func (p parameter) unused(item value, view string) error {
	if p.name == "limit" {
		p.least, p.most = math.MinInt64, unbounded
		if item.shape == shapeString && item.text == "" {
			return nil
		}
		_, _, err := p.decode(item, p.name)
		return err
	}
	if !p.saysNothing(item) {
		return invalid(p.name, "not used by view %s, leave it out", view)
	}
	return nil
}

// saysNothing reports whether a value means the same as leaving it out.
func (p parameter) saysNothing(v value) bool {
	if v.shape == shapeString && v.text == "" {
		return true
	}
	a, present, err := p.decode(v, p.name)
	switch {
	case err != nil:
		return false
	case !present:
		return true
	case p.kind == kindTexts:
		return len(a.texts) == 0
	case p.kind == kindInteger:
		return strconv.FormatInt(a.number, 10) == p.standard
	}
	return a.text == p.standard
}

// wanted is the error for a parameter that only one view cannot do without.
func (a arguments) wanted(name, view string) error {
	if _, ok := a[name]; ok {
		return nil
	}
	return invalid(name, "missing, view %s wants a string", view)
}
