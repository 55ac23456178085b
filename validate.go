package convmem

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
)

// The values of every enumeration. The first of each list is the default, and
// the position of a value is its number in the log: lists grow at the end only.
var (
	roles = []Role{RoleUser, RoleAssistant, RoleSystem, RoleTool}
	tiers = []MemoryTier{TierShort, TierMid, TierLong, TierDiscard}
	kinds = []MemoryKind{
		KindConversation, KindEpisode, KindSemantic, KindProcedure, KindPreference, KindSummary,
	}
	relationTypes = []RelationType{
		RelationDependsOn, RelationDerivedFrom, RelationSupersedes, RelationRelatedTo,
	}
)

// maxUnixMilli is the greatest time that a message id can carry.
const maxUnixMilli = 1<<48 - 1

// invalid makes a validation error. Nothing that is formatted into it may come
// from the text of a message.
func invalid(field, format string, args ...any) error {
	return &Error{Code: CodeValidation, Field: field, Message: fmt.Sprintf(format, args...)}
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func item(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// checkText checks a text of least to most bytes of UTF-8.
func checkText(field, text string, least, most int) error {
	switch {
	case len(text) < least:
		return invalid(field, "%d bytes, at least %d", len(text), least)
	case len(text) > most:
		return invalid(field, "%d bytes, at most %d", len(text), most)
	case !utf8.ValidString(text):
		return invalid(field, "not valid UTF-8, first at byte %d", firstInvalidByte(text))
	}
	return nil
}

func firstInvalidByte(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return i
		}
	}
	return len(text)
}

func checkCount(field string, count, most int) error {
	if count > most {
		return invalid(field, "%d given, at most %d", count, most)
	}
	return nil
}

func checkRange[N int | int64 | uint64](field string, n, least, most N) error {
	if n < least || n > most {
		return invalid(field, "%d, want %d to %d", n, least, most)
	}
	return nil
}

// checkOptional checks a number whose zero means "not given".
func checkOptional(field string, n, most int) error {
	if n == 0 {
		return nil
	}
	return checkRange(field, n, 1, most)
}

// checkOneOf checks a value of an enumeration.
func checkOneOf[S ~string](field string, given S, known []S) error {
	if slices.Contains(known, given) {
		return nil
	}
	return invalid(field, "%s, want %s", describe(string(given)), alternatives(known))
}

func checkEach[S ~string](field string, given, known []S) error {
	for i, value := range given {
		if err := checkOneOf(item(field, i), value, known); err != nil {
			return err
		}
	}
	return nil
}

// describe repeats a short plain word and only measures anything else: where a
// caller mixed up two arguments, the value may be the text of a message.
func describe(given string) string {
	plain := func(r rune) bool { return r == '_' || r == '-' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
	other := func(r rune) bool { return !plain(r) }
	if len(given) == 0 || len(given) > 16 || strings.ContainsFunc(given, other) {
		return fmt.Sprintf("%d bytes", len(given))
	}
	return fmt.Sprintf("%q", given)
}

func alternatives[S ~string](known []S) string {
	words := make([]string, len(known))
	for i, value := range known {
		words[i] = string(value)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// parseID accepts the one spelling that a store gives an id and no other.
func parseID(field, text string) (ulid.ULID, error) {
	id, err := ulid.ParseStrict(text)
	if err != nil || id.String() != text {
		return ulid.ULID{}, invalid(field,
			"%d bytes that are no message id: want 26 upper-case characters of Crockford base 32, the first one 0 to 7", len(text))
	}
	return id, nil
}

func checkID(field, text string) error {
	_, err := parseID(field, text)
	return err
}

func checkSession(session string) error {
	return checkText("session_id", session, 1, MaxSessionIDBytes)
}

func (r WriteRequest) check() error {
	return firstError(
		checkSession(r.SessionID),
		checkOneOf("role", r.Role, roles),
		checkText("content", r.Content, 1, MaxContentBytes),
		checkText("idempotency_key", r.IdempotencyKey, 0, MaxIdempotencyKeyBytes),
		r.Metadata.check(),
		r.Payload.check(),
	)
}

func (p Payload) clone() Payload { return Payload{Type: p.Type, Data: append([]byte(nil), p.Data...)} }

func (p Payload) check() error {
	if err := checkText("payload.type", p.Type, 0, MaxPayloadTypeBytes); err != nil {
		return err
	}
	if len(p.Data) > MaxPayloadBytes {
		return invalid("payload.data", "%d bytes, at most %d", len(p.Data), MaxPayloadBytes)
	}
	return nil
}

// check also checks that no relation leads to the message itself.
func (r UpdateRequest) check() error {
	if err := checkID("message_id", r.MessageID); err != nil {
		return err
	}
	if r.Content == nil && r.Metadata == nil && r.Payload == nil {
		return invalid("content", "nothing to change: give content, metadata or both")
	}
	if r.ExpectedRevision < 0 {
		return invalid("expected_revision", "%d, at least 1", r.ExpectedRevision)
	}
	if r.Content != nil {
		if err := checkText("content", *r.Content, 1, MaxContentBytes); err != nil {
			return err
		}
	}
	if r.Payload != nil {
		if err := r.Payload.check(); err != nil {
			return err
		}
	}
	if r.Metadata == nil {
		return nil
	}
	return firstError(r.Metadata.check(), checkNotRelatedTo(r.MessageID, r.Metadata.Relations))
}

func (r DeleteRequest) check() error {
	return firstError(
		checkID("message_id", r.MessageID),
		checkText("session_id", r.SessionID, 0, MaxSessionIDBytes),
	)
}

// check checks every value that is given. It does not know the message.
func (p MetadataPatch) check() error {
	return firstError(
		checkGiven("tool_call_id", p.ToolCallID, MaxToolCallIDBytes),
		checkTags("tags", p.Tags),
		p.checkEnumerations(),
		checkGiven("summary", p.Summary, MaxSummaryBytes),
		checkRelations(p.Relations),
		checkSources(p.SourceMessageIDs),
		checkTime("occurred_at", p.OccurredAt),
	)
}

// checkGiven checks a text that may be left out, and may be empty.
func checkGiven(field string, text *string, most int) error {
	if text == nil {
		return nil
	}
	return checkText(field, *text, 0, most)
}

func (p MetadataPatch) checkEnumerations() error {
	if p.Tier != "" {
		if err := checkOneOf("memory_tier", p.Tier, tiers); err != nil {
			return err
		}
	}
	if p.Kind != "" {
		if err := checkOneOf("memory_kind", p.Kind, kinds); err != nil {
			return err
		}
	}
	if p.Importance != nil {
		return checkRange("importance", *p.Importance, 0, MaxImportance)
	}
	return nil
}

func checkTags(field string, tags []string) error {
	if err := checkCount(field, len(tags), MaxTags); err != nil {
		return err
	}
	for i, tag := range tags {
		if err := checkText(item(field, i), tag, 1, MaxTagBytes); err != nil {
			return err
		}
	}
	return nil
}

func checkRelations(relations []Relation) error {
	if err := checkCount("relations", len(relations), MaxRelations); err != nil {
		return err
	}
	for i, relation := range relations {
		field := item("relations", i)
		if err := firstError(
			checkOneOf(field+".type", relation.Type, relationTypes),
			checkID(field+".message_id", relation.MessageID),
		); err != nil {
			return err
		}
	}
	return nil
}

func checkNotRelatedTo(id string, relations []Relation) error {
	for i, relation := range relations {
		if relation.MessageID == id {
			return invalid(item("relations", i)+".message_id", "the message itself, want another one")
		}
	}
	return nil
}

func checkSources(ids []string) error {
	if err := checkCount("source_message_ids", len(ids), MaxSourceMessageIDs); err != nil {
		return err
	}
	for i, id := range ids {
		if err := checkID(item("source_message_ids", i), id); err != nil {
			return err
		}
	}
	return nil
}
