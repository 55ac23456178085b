package convmem

import (
	"bytes"
	"encoding/json"
)

// The format of an export: a header and a line for each message. A version that
// an older one could not read without losing something has a greater number.
const (
	exportFormat  = "convmem-export"
	exportVersion = 1
)

type exportHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// exportLine is a message in an export. The order of its fields is that on the
// line. What is left out has its default, but for importance, where 0 is a value.
type exportLine struct {
	Namespace   string         `json:"namespace,omitempty"`
	MessageID   string         `json:"message_id"`
	SessionID   string         `json:"session_id"`
	Role        Role           `json:"role"`
	Content     string         `json:"content"`
	Revision    *int64         `json:"revision"`   // nil: 1
	UpdatedAt   *int64         `json:"updated_at"` // Unix milliseconds; nil: the time of the id
	Metadata    exportMetadata `json:"metadata"`
	Payload     *exportPayload `json:"payload,omitempty"`
	Key         string         `json:"idempotency_key,omitempty"`
	Fingerprint exportBytes    `json:"request_fingerprint,omitempty"`
	// Later holds the fields of newer versions of the log's format.
	Later exportBytes `json:"later_fields,omitempty"`
}

type exportMetadata struct {
	ToolCallID string           `json:"tool_call_id,omitempty"`
	Tags       []string         `json:"tags,omitempty"`
	Tier       MemoryTier       `json:"memory_tier"`
	Kind       MemoryKind       `json:"memory_kind"`
	Importance int              `json:"importance"`
	Summary    string           `json:"summary,omitempty"`
	Relations  []exportRelation `json:"relations,omitempty"`
	Sources    []string         `json:"source_message_ids,omitempty"`
	OccurredAt *int64           `json:"occurred_at,omitempty"` // Unix milliseconds
}

type exportRelation struct {
	Type      RelationType `json:"type"`
	MessageID string       `json:"message_id"`
}

type exportPayload struct {
	Type string      `json:"type"`
	Data exportBytes `json:"data"`
}

func newExportLine(r *record) exportLine {
	m := &r.message
	l := exportLine{
		Namespace: r.namespace, MessageID: r.id.String(), SessionID: m.SessionID, Role: m.Role, Content: m.Content,
		Revision: &m.Revision, UpdatedAt: new(m.UpdatedAt.UnixMilli()), Metadata: newExportMetadata(&m.Metadata),
		Key: r.key, Fingerprint: exportBytes(r.fingerprint), Later: exportBytes(r.unknown),
	}
	if m.Payload.Type != "" || len(m.Payload.Data) > 0 {
		l.Payload = &exportPayload{m.Payload.Type, m.Payload.Data}
	}
	return l
}

func newExportMetadata(d *Metadata) exportMetadata {
	m := exportMetadata{
		ToolCallID: d.ToolCallID, Tags: d.Tags, Tier: d.Tier, Kind: d.Kind, Importance: d.Importance,
		Summary: d.Summary, Sources: d.SourceMessageIDs,
	}
	for _, relation := range d.Relations {
		m.Relations = append(m.Relations, exportRelation(relation))
	}
	if !d.OccurredAt.IsZero() {
		m.OccurredAt = new(d.OccurredAt.UnixMilli())
	}
	return m
}

// isHeader reports whether a line says what follows: no message has a format.
func isHeader(text []byte) bool {
	if !bytes.Contains(text, []byte(`"format"`)) {
		return false
	}
	var header struct{ Format json.RawMessage }
	return json.Unmarshal(text, &header) == nil && header.Format != nil
}

// checkHeader checks a line that isHeader picked. That of a newer version may say
// more than this one knows.
func checkHeader(text []byte) error {
	var header exportHeader
	err := json.Unmarshal(text, &header)
	switch {
	case err != nil:
		return decodingFailed(err)
	case header.Format != exportFormat:
		return invalid("format", "%s, want %q", describe(header.Format), exportFormat)
	case header.Version < 1 || header.Version > exportVersion:
		return invalid("version", "%d, this program reads 1 to %d", header.Version, exportVersion)
	}
	return decodeLine(text, &header)
}

// parseExportLine reads the line of a message.
func parseExportLine(text []byte) (*record, error) {
	l := exportLine{Metadata: exportMetadata{Tier: TierShort, Kind: KindConversation, Importance: DefaultImportance}}
	if err := decodeLine(text, &l); err != nil {
		return nil, err
	}
	return l.record()
}

// record checks a line and makes the record of it.
func (l *exportLine) record() (*record, error) {
	id, err := parseID("message_id", l.MessageID)
	if err != nil {
		return nil, err
	}
	if id.IsZero() { // stands for the start of a history
		return nil, invalid("message_id", "all zero, want a greater one")
	}
	revision, updated := int64(1), int64(id.Time())
	setGiven(&revision, l.Revision)
	setGiven(&updated, l.UpdatedAt)
	metadata, err := l.Metadata.metadata()
	if err := firstError(
		err,
		checkOneOf("role", l.Role, roles),
		checkRange("revision", revision, 1, maxRevision),
		checkRange("updated_at", updated, int64(id.Time()), maxUnixMilli),
		l.checkFingerprint(),
	); err != nil {
		return nil, err
	}
	r := &record{id: id, namespace: l.Namespace, key: l.Key, fingerprint: string(l.Fingerprint), unknown: string(l.Later), message: Message{
		SessionID: l.SessionID, Role: l.Role, Content: l.Content, Revision: revision, UpdatedAt: fromUnixMilli(updated), Metadata: metadata,
	}}
	if l.Payload != nil {
		r.message.Payload = Payload{Type: l.Payload.Type, Data: l.Payload.Data}
	}
	if r.key != "" && r.fingerprint == "" {
		r.fingerprint = fingerprintOf(r.message)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, r.decodesAgain()
}

// checkFingerprint checks what belongs to the key. A key without one stands for a
// request that said what the message says.
func (l *exportLine) checkFingerprint() error {
	if n := len(l.Fingerprint); n != 0 && (n != fingerprintSize || l.Key == "") {
		return invalid("request_fingerprint", "%d bytes, want %d beside an idempotency_key", n, fingerprintSize)
	}
	return nil
}

func (d *exportMetadata) metadata() (Metadata, error) {
	m := Metadata{
		ToolCallID: d.ToolCallID, Tags: d.Tags, Tier: d.Tier, Kind: d.Kind, Importance: d.Importance,
		Summary: d.Summary, SourceMessageIDs: d.Sources,
	}
	for _, relation := range d.Relations {
		m.Relations = append(m.Relations, Relation(relation))
	}
	if d.OccurredAt != nil {
		m.OccurredAt = fromUnixMilli(*d.OccurredAt)
	}
	return m, firstError(
		checkOneOf("memory_tier", m.Tier, tiers),
		checkOneOf("memory_kind", m.Kind, kinds),
		checkRange("importance", m.Importance, 0, MaxImportance),
		checkRelations(m.Relations),
		checkSources(m.SourceMessageIDs),
		checkNoRepeats("tags", m.Tags),
		checkNoRepeats("relations", m.Relations),
		checkNoRepeats("source_message_ids", m.SourceMessageIDs),
		checkOccurredAt(d.OccurredAt),
	)
}

func checkNoRepeats[T comparable](field string, list []T) error {
	if repeats(list) {
		return invalid(field, "an entry stands twice")
	}
	return nil
}

// checkOccurredAt checks the number: one of them makes the zero Time.
func checkOccurredAt(ms *int64) error {
	if ms == nil {
		return nil
	}
	return checkRange("occurred_at", *ms, 0, maxUnixMilli)
}

// decodesAgain makes sure that the log takes the record: it is the last check of
// the fields of newer versions, which nothing else understands.
func (r *record) decodesAgain() error {
	if r.unknown == "" {
		return nil
	}
	again, err := decodeRecord(r.id, r.encode())
	if err != nil || again.unknown != r.unknown {
		return invalid("later_fields", "not what a newer version writes")
	}
	return nil
}
