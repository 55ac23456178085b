package convmem

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
)

// decodeRecord decodes the payload of the log record id. It accepts exactly
// what encode produces, and what a newer version may add; whatever it returns
// keeps all rules of a message. Its errors tell of fields and sizes, never of
// text. Memory is bounded by the payload's size.
func decodeRecord(id ulid.ULID, payload []byte) (record, error) {
	// One copy backs every text of the record.
	d := decoder{rest: string(payload), r: record{id: id, message: Message{
		Role: roles[0], Revision: 1, UpdatedAt: fromUnixMilli(int64(id.Time())), Metadata: defaultMetadata(),
	}}}
	if err := d.fields(); err != nil {
		return record{}, err
	}
	d.r.message.Content = d.rest
	if err := d.r.check(); err != nil {
		return record{}, uncoded(err)
	}
	return d.r, nil
}

// uncoded takes the code off a validation error: what is wrong with a stored
// value is not the fault of a caller's argument.
func uncoded(err error) error {
	var coded *Error
	if errors.As(err, &coded) {
		return fmt.Errorf("%s: %s", coded.Field, coded.Message)
	}
	return err
}

type decoder struct {
	rest    string // what is not yet read
	r       record
	last    uint64 // the tag before
	unknown string // rest as it was at the first unknown field, or ""
}

var (
	errShort     = errors.New("the record ends too early")
	errUvarint   = errors.New("a number is cut off, too large or longer than needed")
	errOrder     = errors.New("the fields are out of order")
	errIsDefault = errors.New("a default value is stored")
)

// fields reads up to the content. Unknown fields are the last ones, so they are
// one piece of the payload.
func (d *decoder) fields() error {
	for {
		before := d.rest
		tag, err := d.uvarint()
		if err != nil {
			return err
		}
		if tag == fieldContent {
			d.r.unknown = strings.TrimSuffix(d.unknown, before)
			return nil
		}
		if tag < d.last || tag == d.last && tag != fieldTag && tag <= lastField {
			return errOrder
		}
		d.last = tag
		value, err := d.value()
		if err != nil {
			return err
		}
		if tag > lastField {
			d.unknown = cmp.Or(d.unknown, before)
			continue
		}
		if err := d.set(tag, value); err != nil {
			return fmt.Errorf("field %d: %w", tag, uncoded(err))
		}
	}
}

// uvarint reads a number in its shortest form.
func (d *decoder) uvarint() (uint64, error) {
	n, size := readUvarint(d.rest)
	if size == 0 {
		return 0, errUvarint
	}
	d.rest = d.rest[size:]
	return n, nil
}

// readUvarint returns the size 0 when text does not begin with a number in its
// shortest form.
func readUvarint(text string) (n uint64, size int) {
	n, size = binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
	if size <= 0 || size > 1 && text[size-1] == 0 {
		return 0, 0
	}
	return n, size
}

// value reads a length and as many bytes.
func (d *decoder) value() (string, error) {
	length, err := d.uvarint()
	if err != nil {
		return "", err
	}
	if length > uint64(len(d.rest)) {
		return "", errShort
	}
	value := d.rest[:length]
	d.rest = d.rest[length:]
	return value, nil
}

// set takes over the value of a known field.
func (d *decoder) set(tag uint64, value string) error {
	if isNumber(tag) {
		n, size := readUvarint(value)
		if size == 0 || size != len(value) {
			return errUvarint
		}
		return d.setNumber(tag, n)
	}
	if value == "" {
		return errIsDefault
	}
	return d.setText(tag, value)
}

func isNumber(tag uint64) bool { return fieldRole <= tag && tag <= fieldOccurred }

func (d *decoder) setNumber(tag, n uint64) error {
	m := &d.r.message
	switch tag {
	case fieldRole:
		return setEnumeration(&m.Role, roles, n)
	case fieldKind:
		return setEnumeration(&m.Metadata.Kind, kinds, n)
	case fieldTier:
		return setEnumeration(&m.Metadata.Tier, tiers, n)
	case fieldOccurred:
		m.Metadata.OccurredAt = fromUnixMilli(int64(min(n, maxUnixMilli)))
		return checkRange("time", n, 0, maxUnixMilli)
	case fieldImportance:
		return setNumber(&m.Metadata.Importance, n, DefaultImportance, 0, MaxImportance)
	case fieldRevision:
		return setNumber(&m.Revision, n, 1, 2, maxRevision)
	}
	var late int64
	if err := setNumber(&late, n, 0, 1, maxUnixMilli); err != nil { // fieldUpdated
		return err
	}
	m.UpdatedAt = fromUnixMilli(int64(d.r.id.Time()) + late)
	return nil
}

// setEnumeration refuses the default, which is not stored, and numbers that a
// newer version might know: it would also have raised the log's version.
func setEnumeration[S any](value *S, list []S, n uint64) error {
	if n == 0 {
		return errIsDefault
	}
	if n >= uint64(len(list)) {
		return fmt.Errorf("%d names no value", n)
	}
	*value = list[n]
	return nil
}

// setNumber refuses the default, which is not stored.
func setNumber[N int | int64](value *N, n, otherwise, least, most uint64) error {
	if n == otherwise {
		return errIsDefault
	}
	*value = N(n)
	return checkRange("number", n, least, most)
}

func (d *decoder) setText(tag uint64, value string) (err error) {
	m := &d.r.message
	switch tag {
	case fieldNamespace:
		d.r.namespace = value
	case fieldSession:
		m.SessionID = value
	case fieldToolCall:
		m.Metadata.ToolCallID = value
	case fieldTag:
		m.Metadata.Tags = append(m.Metadata.Tags, value)
	case fieldSummary:
		m.Metadata.Summary = value
	case fieldRelations:
		m.Metadata.Relations, err = unpackRelations(value)
	case fieldSources:
		m.Metadata.SourceMessageIDs, err = unpackIDs(value)
	case fieldKey:
		d.r.key = value
	case fieldFingerprint:
		d.r.fingerprint = value
	case fieldPayloadType:
		m.Payload.Type = value
	case fieldPayloadData:
		m.Payload.Data = []byte(value)
	case fieldImported:
		d.r.imported = true
		if value != importedMark {
			return errUvarint
		}
	}
	return err
}

func unpackRelations(packed string) ([]Relation, error) {
	count := len(packed) / relationSize
	if len(packed)%relationSize != 0 || count > MaxRelations {
		return nil, fmt.Errorf("%d bytes, want a multiple of %d up to %d", len(packed), relationSize, MaxRelations*relationSize)
	}
	relations := make([]Relation, 0, count)
	for ; packed != ""; packed = packed[relationSize:] {
		number := int(packed[0])
		if number >= len(relationTypes) {
			return nil, fmt.Errorf("%d names no relation type", number)
		}
		target := ulid.ULID([]byte(packed[1:relationSize]))
		relations = append(relations, Relation{Type: relationTypes[number], MessageID: target.String()})
	}
	return relations, nil
}

func unpackIDs(packed string) ([]string, error) {
	count := len(packed) / sourceSize
	if len(packed)%sourceSize != 0 || count > MaxSourceMessageIDs {
		return nil, fmt.Errorf("%d bytes, want a multiple of %d up to %d", len(packed), sourceSize, MaxSourceMessageIDs*sourceSize)
	}
	ids := make([]string, 0, count)
	for ; packed != ""; packed = packed[sourceSize:] {
		ids = append(ids, ulid.ULID([]byte(packed[:sourceSize])).String())
	}
	return ids, nil
}

// check checks the rules that the encoding itself does not enforce. A repeated
// entry in a list breaks one of them: lists are folded before they are stored.
func (r *record) check() error {
	m := &r.message
	if r.fingerprint != "" && len(r.fingerprint) != fingerprintSize || (r.key == "") != (r.fingerprint == "") {
		return fmt.Errorf("a fingerprint of %d bytes beside a key of %d", len(r.fingerprint), len(r.key))
	}
	if m.UpdatedAt.UnixMilli() > maxUnixMilli {
		return errors.New("updated after the last moment that a time can have")
	}
	err := firstError(
		checkText("namespace", r.namespace, 0, MaxNamespaceBytes),
		checkSession(m.SessionID),
		checkText("content", m.Content, 1, MaxContentBytes),
		checkText("tool_call_id", m.Metadata.ToolCallID, 0, MaxToolCallIDBytes),
		checkTags("tags", m.Metadata.Tags),
		checkText("summary", m.Metadata.Summary, 0, MaxSummaryBytes),
		checkNotRelatedTo(r.id.String(), m.Metadata.Relations),
		checkText("idempotency_key", r.key, 0, MaxIdempotencyKeyBytes),
		m.Payload.check(),
	)
	if err != nil {
		return err
	}
	if repeats(m.Metadata.Tags) || repeats(m.Metadata.Relations) || repeats(m.Metadata.SourceMessageIDs) {
		return errors.New("a list holds the same entry twice")
	}
	return nil
}

func repeats[T comparable](list []T) bool {
	for i, value := range list {
		if slices.Contains(list[:i], value) {
			return true
		}
	}
	return false
}
