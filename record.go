package convmem

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/oklog/ulid/v2"
)

// record is a message as the log holds it, with what the store alone needs.
type record struct {
	id ulid.ULID
	// message lacks what follows from the id (ID and Timestamp) and what
	// only a request brings about (ContentTruncated and ContentBytes).
	message   Message
	namespace string
	// key is the idempotency key of the write, and fingerprint what that write
	// said. Both are "" or neither is.
	key, fingerprint string
	// imported says that the message brought its id along, and that greater ones
	// existed already.
	imported bool
	// unknown holds fields of newer versions as they were found, so that an
	// update by this version does not drop them.
	unknown string
}

// The payload of a log record is a list of fields and the content:
//
//	{tag uvarint, length uvarint, value}...  0  content
//
// Tags ascend, only a message tag (11) repeats, and a value that is its default
// has no field: every record has one encoding. Numbers are uvarints of the
// shortest form. Tags above the last one of this list belong to newer versions
// and come after the others. The content needs no length: it ends the payload.
const (
	fieldContent     = 0  // closes the list; the content follows
	fieldNamespace   = 1  // text; default ""
	fieldSession     = 2  // text
	fieldRole        = 3  // number in the list of roles; default 0
	fieldKind        = 4  // number in the list of kinds; default 0
	fieldTier        = 5  // number in the list of tiers; default 0
	fieldImportance  = 6  // number; default 50
	fieldRevision    = 7  // number; default 1
	fieldUpdated     = 8  // number, milliseconds after the time in the id; default 0
	fieldOccurred    = 9  // number, Unix milliseconds; absent when unset
	fieldToolCall    = 10 // text; default ""
	fieldTag         = 11 // text, once for each tag
	fieldSummary     = 12 // text; default ""
	fieldRelations   = 13 // 17 bytes each: number in the list of types, target id
	fieldSources     = 14 // 16 bytes each: id
	fieldKey         = 15 // text; default ""
	fieldFingerprint = 16 // 16 bytes; there when the key is
	fieldPayloadType = 17 // text; default ""
	fieldPayloadData = 18 // bytes; default none
	fieldImported    = 19 // one byte, 1; absent when not set
	lastField        = fieldImported
)

// Sizes and limits inside a record. Limits that callers meet are in convmem.go.
const (
	relationSize       = 1 + sourceSize
	sourceSize         = len(ulid.ULID{})
	fingerprintSize    = 16
	maxRevision        = 1<<63 - 1
	importedMark       = "\x01"
	recordOverheadHint = 64 // typical size of all fields; only sizes a buffer
)

// encode returns the payload. It is the only encoding of r, so two records say
// the same exactly when their encodings are equal.
func (r *record) encode() []byte {
	m := &r.message
	b := make([]byte, 0, recordOverheadHint+len(m.SessionID)+len(m.Content)+len(m.Metadata.Summary)+len(m.Payload.Data)+len(r.unknown))
	b = appendText(b, fieldNamespace, r.namespace)
	b = appendText(b, fieldSession, m.SessionID)
	b = appendNumber(b, fieldRole, position(roles, m.Role), 0)
	b = appendNumber(b, fieldKind, position(kinds, m.Metadata.Kind), 0)
	b = appendNumber(b, fieldTier, position(tiers, m.Metadata.Tier), 0)
	b = appendNumber(b, fieldImportance, uint64(m.Metadata.Importance), DefaultImportance)
	b = appendNumber(b, fieldRevision, uint64(m.Revision), 1)
	b = appendNumber(b, fieldUpdated, uint64(m.UpdatedAt.UnixMilli())-r.id.Time(), 0)
	if at := m.Metadata.OccurredAt; !at.IsZero() {
		b = appendField(b, fieldOccurred, string(binary.AppendUvarint(nil, uint64(at.UnixMilli()))))
	}
	b = appendText(b, fieldToolCall, m.Metadata.ToolCallID)
	for _, tag := range m.Metadata.Tags {
		b = appendField(b, fieldTag, tag)
	}
	b = appendText(b, fieldSummary, m.Metadata.Summary)
	b = appendText(b, fieldRelations, packRelations(m.Metadata.Relations))
	b = appendText(b, fieldSources, packIDs(m.Metadata.SourceMessageIDs))
	b = appendText(b, fieldKey, r.key)
	b = appendText(b, fieldFingerprint, r.fingerprint)
	b = appendText(b, fieldPayloadType, m.Payload.Type)
	b = appendText(b, fieldPayloadData, string(m.Payload.Data))
	if r.imported {
		b = appendField(b, fieldImported, importedMark)
	}
	b = append(b, r.unknown...)
	b = append(b, fieldContent)
	return append(b, m.Content...)
}

func appendField(b []byte, tag uint64, value string) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// appendText appends a field whose default is "".
func appendText(b []byte, tag uint64, value string) []byte {
	if value == "" {
		return b
	}
	return appendField(b, tag, value)
}

func appendNumber(b []byte, tag, value, otherwise uint64) []byte {
	if value == otherwise {
		return b
	}
	return appendField(b, tag, string(binary.AppendUvarint(nil, value)))
}

// position returns the number of a checked value of an enumeration.
func position[S comparable](list []S, value S) uint64 {
	for i, known := range list {
		if known == value {
			return uint64(i)
		}
	}
	panic("convmem: a value that was not checked reached the log") // every caller checks its enumerations
}

func packRelations(relations []Relation) string {
	var packed []byte
	for _, relation := range relations {
		packed = append(packed, byte(position(relationTypes, relation.Type)))
		packed = append(packed, packIDs([]string{relation.MessageID})...)
	}
	return string(packed)
}

// packIDs packs checked ids.
func packIDs(ids []string) string {
	var packed []byte
	for _, text := range ids {
		id := ulid.MustParseStrict(text)
		packed = append(packed, id[:]...)
	}
	return string(packed)
}

// fingerprintOf condenses what a write says: role, content, payload and metadata
// with the defaults filled in. Times, ids and the key itself have no part in it, so
// a repeated request has the same one.
func fingerprintOf(m Message) string {
	said := record{message: Message{
		Role: m.Role, Content: m.Content, Metadata: m.Metadata, Payload: m.Payload, Revision: 1, UpdatedAt: fromUnixMilli(0),
	}}
	sum := sha256.Sum256(said.encode())
	return string(sum[:fingerprintSize])
}

// complete returns the message as callers see it. It shares no memory with the
// store: r was decoded for this one call.
func (r *record) complete() Message {
	m := r.message
	m.ID = r.id.String()
	m.Timestamp = fromUnixMilli(int64(r.id.Time()))
	return m
}
