package storetest

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"example.com/convmem"
	"github.com/oklog/ulid/v2"
)

// maxUnixMilli is the last moment that an id, and so a message, can have.
const maxUnixMilli = 1<<48 - 1

func roles() []convmem.Role {
	return []convmem.Role{convmem.RoleUser, convmem.RoleAssistant, convmem.RoleSystem, convmem.RoleTool}
}

func tiers() []convmem.MemoryTier {
	return []convmem.MemoryTier{convmem.TierShort, convmem.TierMid, convmem.TierLong, convmem.TierDiscard}
}

func kinds() []convmem.MemoryKind {
	return []convmem.MemoryKind{
		convmem.KindConversation, convmem.KindEpisode, convmem.KindSemantic,
		convmem.KindProcedure, convmem.KindPreference, convmem.KindSummary,
	}
}

// relationTypes is in the order in which relations are listed.
func relationTypes() []convmem.RelationType {
	return []convmem.RelationType{
		convmem.RelationDependsOn, convmem.RelationDerivedFrom, convmem.RelationSupersedes, convmem.RelationRelatedTo,
	}
}

// problem makes an error. What it formats is never content.
func problem(code convmem.Code, field, format string, args ...any) *convmem.Error {
	return &convmem.Error{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) error {
	return problem(convmem.CodeValidation, field, format, args...)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkLength checks a text of least to most bytes.
func checkLength(field, text string, least, most int) error {
	switch {
	case len(text) < least:
		return invalid(field, "%d bytes, at least %d", len(text), least)
	case len(text) > most:
		return invalid(field, "%d bytes, at most %d", len(text), most)
	case !utf8.ValidString(text):
		return invalid(field, "not valid UTF-8")
	}
	return nil
}

func checkRange[N int | int64](field string, n, least, most N) error {
	if n < least || n > most {
		return invalid(field, "%d, want %d to %d", n, least, most)
	}
	return nil
}

// checkID accepts exactly what a ULID prints as.
func checkID(field, id string) error {
	parsed, err := ulid.ParseStrict(id)
	if err != nil || parsed.String() != id {
		return invalid(field, "%d bytes that are no ULID: want 26 upper-case characters of Crockford's base 32, the first 0 to 7", len(id))
	}
	return nil
}

func checkChoice[S ~string](field string, given S, choices []S) error {
	if !slices.Contains(choices, given) {
		return invalid(field, "%d bytes, want one of %q", len(given), choices)
	}
	return nil
}

func checkChoices[S ~string](field string, given, choices []S) error {
	for i, s := range given {
		if err := checkChoice(item(field, i), s, choices); err != nil {
			return err
		}
	}
	return nil
}

func item(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// draft checks a write and returns its message without identity.
func draft(r convmem.WriteRequest) (convmem.Message, error) {
	err := firstOf(
		checkLength("session_id", r.SessionID, 1, convmem.MaxSessionIDBytes),
		checkChoice("role", r.Role, roles()),
		checkLength("content", r.Content, 1, convmem.MaxContentBytes),
		checkLength("idempotency_key", r.IdempotencyKey, 0, convmem.MaxIdempotencyKeyBytes),
		checkPatch(r.Metadata, ""),
		checkPayload(r.Payload),
	)
	if err != nil {
		return convmem.Message{}, err
	}
	base := convmem.Metadata{Tier: convmem.TierShort, Kind: convmem.KindConversation, Importance: convmem.DefaultImportance}
	return clone(convmem.Message{
		SessionID: r.SessionID, Role: r.Role, Content: r.Content, Metadata: patched(base, r.Metadata), Payload: r.Payload,
	}), nil
}

// checkUpdate checks what can be checked without looking at the message.
func checkUpdate(r convmem.UpdateRequest) error {
	if err := checkID("message_id", r.MessageID); err != nil {
		return err
	}
	if r.Content == nil && r.Metadata == nil && r.Payload == nil {
		return invalid("content", "nothing to change: want content, metadata or payload")
	}
	if r.Content != nil {
		if err := checkLength("content", *r.Content, 1, convmem.MaxContentBytes); err != nil {
			return err
		}
	}
	if r.ExpectedRevision < 0 {
		return invalid("expected_revision", "%d, at least 1", r.ExpectedRevision)
	}
	if r.Payload != nil {
		if err := checkPayload(*r.Payload); err != nil {
			return err
		}
	}
	if r.Metadata == nil {
		return nil
	}
	return checkPatch(*r.Metadata, r.MessageID)
}

// checkPayload checks the sizes. The data may be any bytes.
func checkPayload(p convmem.Payload) error {
	if n := len(p.Data); n > convmem.MaxPayloadBytes {
		return invalid("payload.data", "%d bytes, at most %d", n, convmem.MaxPayloadBytes)
	}
	return checkLength("payload.type", p.Type, 0, convmem.MaxPayloadTypeBytes)
}

// checkPatch checks metadata for the message self, "" for a new one.
func checkPatch(p convmem.MetadataPatch, self string) error {
	if err := firstOf(checkTexts(p), checkTags(p.Tags), checkRelations(p.Relations, self)); err != nil {
		return err
	}
	if n := len(p.SourceMessageIDs); n > convmem.MaxSourceMessageIDs {
		return invalid("source_message_ids", "%d given, at most %d", n, convmem.MaxSourceMessageIDs)
	}
	for i, id := range p.SourceMessageIDs {
		if err := checkID(item("source_message_ids", i), id); err != nil {
			return err
		}
	}
	if p.OccurredAt.IsZero() {
		return nil
	}
	return checkRange("occurred_at", p.OccurredAt.UnixMilli(), 0, maxUnixMilli)
}

// checkTexts checks the fields that are single values.
func checkTexts(p convmem.MetadataPatch) error {
	var errs []error
	if p.ToolCallID != nil {
		errs = append(errs, checkLength("tool_call_id", *p.ToolCallID, 0, convmem.MaxToolCallIDBytes))
	}
	if p.Tier != "" {
		errs = append(errs, checkChoice("memory_tier", p.Tier, tiers()))
	}
	if p.Kind != "" {
		errs = append(errs, checkChoice("memory_kind", p.Kind, kinds()))
	}
	if p.Importance != nil {
		errs = append(errs, checkRange("importance", *p.Importance, 0, convmem.MaxImportance))
	}
	if p.Summary != nil {
		errs = append(errs, checkLength("summary", *p.Summary, 0, convmem.MaxSummaryBytes))
	}
	return firstOf(errs...)
}

// checkTags checks the number of tags and each of them.
func checkTags(tags []string) error {
	if n := len(tags); n > convmem.MaxTags {
		return invalid("tags", "%d given, at most %d", n, convmem.MaxTags)
	}
	for i, tag := range tags {
		if err := checkLength(item("tags", i), tag, 1, convmem.MaxTagBytes); err != nil {
			return err
		}
	}
	return nil
}

// checkRelations checks the number of relations and each of them.
func checkRelations(relations []convmem.Relation, self string) error {
	if n := len(relations); n > convmem.MaxRelations {
		return invalid("relations", "%d given, at most %d", n, convmem.MaxRelations)
	}
	for i, r := range relations {
		field := item("relations", i)
		err := firstOf(checkChoice(field+".type", r.Type, relationTypes()), checkID(field+".message_id", r.MessageID))
		if err != nil {
			return err
		}
		if r.MessageID == self {
			return invalid(field+".message_id", "a message cannot relate to itself")
		}
	}
	return nil
}

// merge returns the message as a checked update wants it.
func merge(message convmem.Message, r convmem.UpdateRequest) convmem.Message {
	if r.Content != nil {
		message.Content = *r.Content
	}
	if r.Metadata != nil {
		message.Metadata = patched(message.Metadata, *r.Metadata)
	}
	if r.Payload != nil {
		message.Payload = *r.Payload
	}
	return clone(message)
}

// patched lays a checked patch over metadata.
func patched(m convmem.Metadata, p convmem.MetadataPatch) convmem.Metadata {
	if p.ToolCallID != nil {
		m.ToolCallID = *p.ToolCallID
	}
	if p.Tags != nil {
		m.Tags = folded(p.Tags)
	}
	if p.Tier != "" {
		m.Tier = p.Tier
	}
	if p.Kind != "" {
		m.Kind = p.Kind
	}
	if p.Importance != nil {
		m.Importance = *p.Importance
	}
	if p.Summary != nil {
		m.Summary = *p.Summary
	}
	if p.Relations != nil {
		m.Relations = folded(p.Relations)
	}
	if p.SourceMessageIDs != nil {
		m.SourceMessageIDs = folded(p.SourceMessageIDs)
	}
	if !p.OccurredAt.IsZero() {
		m.OccurredAt = time.UnixMilli(p.OccurredAt.UnixMilli()).UTC()
	}
	return m
}

// folded leaves out what stands in the list already.
func folded[T comparable](list []T) []T {
	var once []T
	for _, x := range list {
		if !slices.Contains(once, x) {
			once = append(once, x)
		}
	}
	return once
}
