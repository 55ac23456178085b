package convmem

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

var recordOptions = gocmp.Options{gocmp.AllowUnexported(record{}), cmpopts.EquateEmpty()}

// drawText draws valid UTF-8 of least to most bytes.
func drawText(t *rapid.T, name string, least, most int) string {
	return rapid.StringOfN(rapid.Rune(), least, most, most).Filter(func(s string) bool { return len(s) >= least }).Draw(t, name)
}

func drawID(t *rapid.T, name string) ulid.ULID {
	return ulid.ULID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name))
}

func drawList[T comparable](t *rapid.T, name string, most int, draw func(name string) T) []T {
	var list []T
	for range rapid.IntRange(0, most).Draw(t, name+" count") {
		list = append(list, draw(name))
	}
	return fold(list)
}

// drawRecord draws any record that this version may write, or find written by
// a newer one.
func drawRecord(t *rapid.T) record {
	r := record{id: drawID(t, "id")}
	r.id.SetTime(r.id.Time() / 2) // leaves room for a later update
	m := &r.message
	r.namespace = drawText(t, "namespace", 0, 20)
	m.SessionID = drawText(t, "session", 1, MaxSessionIDBytes)
	m.Role = rapid.SampledFrom(roles).Draw(t, "role")
	m.Content = drawText(t, "content", 1, 200)
	m.Revision = rapid.Int64Min(1).Draw(t, "revision")
	m.UpdatedAt = fromUnixMilli(int64(r.id.Time()) + rapid.Int64Range(0, 1<<47).Draw(t, "updated"))
	m.Metadata = Metadata{
		ToolCallID: drawText(t, "tool call", 0, 20),
		Tier:       rapid.SampledFrom(tiers).Draw(t, "tier"),
		Kind:       rapid.SampledFrom(kinds).Draw(t, "kind"),
		Importance: rapid.IntRange(0, MaxImportance).Draw(t, "importance"),
		Summary:    drawText(t, "summary", 0, 100),
		Tags:       drawList(t, "tags", 5, func(n string) string { return drawText(t, n, 1, 20) }),
		Relations: drawList(t, "relations", 5, func(n string) Relation {
			return Relation{Type: rapid.SampledFrom(relationTypes).Draw(t, n+" type"), MessageID: drawID(t, n).String()}
		}),
		SourceMessageIDs: drawList(t, "sources", 5, func(n string) string { return drawID(t, n).String() }),
	}
	if rapid.Bool().Draw(t, "occurred at all") {
		m.Metadata.OccurredAt = fromUnixMilli(rapid.Int64Range(0, maxUnixMilli).Draw(t, "occurred"))
	}
	if r.key = drawText(t, "key", 0, 20); r.key != "" {
		r.fingerprint = fingerprintOf(*m)
	}
	r.message.Payload.Type = drawText(t, "payload type", 0, 20)
	r.message.Payload.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "payload data")
	for tag := range rapid.IntRange(0, 3).Draw(t, "unknown fields") {
		r.unknown += string(appendField(nil, uint64(lastField+1+tag), drawText(t, "unknown", 0, 10)))
	}
	return r
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecord(t)
		encoded := want.encode()
		got, err := decodeRecord(want.id, encoded)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got, recordOptions); diff != "" {
			t.Fatalf("decoded record (-want +got):\n%s", diff)
		}
		if again := got.encode(); !bytes.Equal(again, encoded) {
			t.Fatalf("encoded again: %x, first %x", again, encoded)
		}
	})
}

// fullRecord has every field.
func fullRecord() record {
	id := ulid.MustParseStrict("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	r := record{
		id: id, namespace: "n", key: "k", imported: true,
		unknown: string(appendField(nil, 99, "later")),
		message: Message{
			SessionID: "s", Role: RoleTool, Content: "content", Revision: 300, Payload: Payload{Type: "t", Data: []byte("\x00\xff")},
			UpdatedAt: fromUnixMilli(int64(id.Time()) + 1000),
			Metadata: Metadata{
				ToolCallID: "call", Tags: []string{"a", "b"}, Tier: TierDiscard, Kind: KindSummary, Importance: 0, Summary: "sum",
				Relations:        []Relation{{Type: RelationSupersedes, MessageID: "01ARZ3NDEKTSV4RRFFQ69G5FAW"}},
				SourceMessageIDs: []string{"01ARZ3NDEKTSV4RRFFQ69G5FAX"},
				OccurredAt:       fromUnixMilli(0),
			},
		},
	}
	r.fingerprint = fingerprintOf(r.message)
	return r
}

// TestRecordBytes pins the format: what is on somebody's disk must stay readable.
func TestRecordBytes(t *testing.T) {
	full := fullRecord()
	smallest := record{message: Message{SessionID: "s", Role: RoleUser, Content: "c", Revision: 1, UpdatedAt: fromUnixMilli(0), Metadata: defaultMetadata()}}
	for _, c := range []struct {
		name   string
		record record
		want   []string
	}{
		{"smallest", smallest, []string{"020173", "00", "63"}},
		{"every field", full, []string{
			"01016e", "020173", "030103", "040105", "050103", "060100", "0702ac02", "0802e807", "090100", "0a0463616c6c",
			"0b0161", "0b0162", "0c0373756d", "0d11" + "02" + "01563e3ab5d3d6764c61efb99302bd5c",
			"0e10" + "01563e3ab5d3d6764c61efb99302bd5d", "0f016b", "1010" + "348d5afb8c594dd6ad3fccb8ba8552af",
			"110174", "120200ff", "130101", "63056c61746572", "00", "636f6e74656e74",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := hex.EncodeToString(c.record.encode()); got != strings.Join(c.want, "") {
				t.Errorf("encoded as\n%s, want\n%s", got, strings.Join(c.want, ""))
			}
		})
	}
}

// TestRecordIsCompact holds the whole record of a plain message of 1 KiB, with
// the frame around it, below 1.07 times its content.
func TestRecordIsCompact(t *testing.T) {
	const frameHeader, frameAlign, content = 52, 8, 1024
	r := WriteRequest{SessionID: "session-1", Role: RoleUser, Content: strings.Repeat("x", content)}.draft("")
	r.message.UpdatedAt = fromUnixMilli(0)
	size := frameHeader + len(r.encode())
	size += -size & (frameAlign - 1)
	if float64(size) >= 1.07*content {
		t.Errorf("%d bytes are written for %d of content, %.4f times as many", size, content, float64(size)/content)
	}
}

// malformed lists payloads that break one rule each.
func malformed() map[string][]byte {
	field := func(tag uint64, value string) string { return string(appendField(nil, tag, value)) }
	session, end := field(fieldSession, "s"), "\x00content"
	relation := "\x02" + strings.Repeat("x", 16)
	cases := map[string]string{
		"nothing":                       "",
		"no session":                    end,
		"no content":                    session + "\x00",
		"no end of fields":              session,
		"tag cut off":                   session + "\x80",
		"length cut off":                session + "\x0c\xff",
		"value cut off":                 session + "\x0c\x05abc",
		"value cut off by a byte":       session + "\x0c\x04abc",
		"length beyond the payload":     session + "\x0c\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + end,
		"tag of more than 64 bits":      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00" + end,
		"tag longer than needed":        "\x82\x00\x01s" + end,
		"length longer than needed":     "\x02\x81\x00s" + end,
		"session twice":                 session + session + end,
		"fields out of order":           field(fieldRole, "\x01") + session + end,
		"known after unknown":           field(99, "x") + session + end,
		"unknown out of order":          session + field(99, "x") + field(98, "x") + end,
		"empty text":                    session + field(fieldSummary, "") + end,
		"empty number":                  session + field(fieldRole, "") + end,
		"number longer than needed":     session + field(fieldRole, "\x81\x00") + end,
		"number and more":               session + field(fieldRole, "\x01\x01") + end,
		"number of more than 64 bits":   session + field(fieldRevision, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02") + end,
		"unknown role":                  session + field(fieldRole, "\x04") + end,
		"unknown kind":                  session + field(fieldKind, "\x06") + end,
		"unknown tier":                  session + field(fieldTier, "\x04") + end,
		"default role":                  session + field(fieldRole, "\x00") + end,
		"default importance":            session + field(fieldImportance, "\x32") + end,
		"default revision":              session + field(fieldRevision, "\x01") + end,
		"default update time":           session + field(fieldUpdated, "\x00") + end,
		"revision 0":                    session + field(fieldRevision, "\x00") + end,
		"revision beyond int64":         session + field(fieldRevision, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01") + end,
		"importance 101":                session + field(fieldImportance, "\x65") + end,
		"update time beyond the last":   session + field(fieldUpdated, "\x80\x80\x80\x80\x80\x80\x40") + end,
		"occurred beyond the last":      session + field(fieldOccurred, "\x80\x80\x80\x80\x80\x80\x40") + end,
		"empty tag":                     session + field(fieldTag, "") + end,
		"long tag":                      session + field(fieldTag, strings.Repeat("x", 129)) + end,
		"repeated tag":                  session + field(fieldTag, "x") + field(fieldTag, "x") + end,
		"33 tags":                       session + strings.Repeat(field(fieldTag, "x"), 33) + end,
		"half a relation":               session + field(fieldRelations, relation[:16]) + end,
		"unknown relation type":         session + field(fieldRelations, "\x04"+relation[1:]) + end,
		"repeated relation":             session + field(fieldRelations, relation+relation) + end,
		"33 relations":                  session + field(fieldRelations, strings.Repeat(relation, 33)) + end,
		"relation to itself":            session + field(fieldRelations, "\x02"+strings.Repeat("\x00", 16)) + end,
		"half a source":                 session + field(fieldSources, "xxxxxxxx") + end,
		"repeated source":               session + field(fieldSources, strings.Repeat("x", 32)) + end,
		"65 sources":                    session + field(fieldSources, strings.Repeat("x", 16*65)) + end,
		"key without fingerprint":       session + field(fieldKey, "k") + end,
		"fingerprint without key":       session + field(fieldFingerprint, strings.Repeat("f", 16)) + end,
		"short fingerprint":             session + field(fieldKey, "k") + field(fieldFingerprint, "f") + end,
		"long key":                      session + field(fieldKey, strings.Repeat("k", 257)) + field(fieldFingerprint, strings.Repeat("f", 16)) + end,
		"long session":                  field(fieldSession, strings.Repeat("s", 257)) + end,
		"long namespace":                field(fieldNamespace, strings.Repeat("n", 257)) + session + end,
		"long tool call":                session + field(fieldToolCall, strings.Repeat("c", 257)) + end,
		"long summary":                  session + field(fieldSummary, strings.Repeat("c", 4097)) + end,
		"long content":                  session + "\x00" + strings.Repeat("c", MaxContentBytes+1),
		"long payload type":             session + field(fieldPayloadType, strings.Repeat("p", 257)) + end,
		"long payload data":             session + field(fieldPayloadData, strings.Repeat("p", 1<<20+1)) + end,
		"content that is not UTF-8":     session + "\x00\xff",
		"session that is not UTF-8":     field(fieldSession, "\xff") + end,
		"summary that is not UTF-8":     session + field(fieldSummary, "\xc3") + end,
		"namespace that is not UTF-8":   field(fieldNamespace, "\xff") + session + end,
		"key that is not UTF-8":         session + field(fieldKey, "\xff") + field(fieldFingerprint, strings.Repeat("f", 16)) + end,
		"tool call that is not UTF-8":   session + field(fieldToolCall, "\xff") + end,
		"tag that is not UTF-8":         session + field(fieldTag, "\xff") + end,
		"payload type that's not UTF-8": session + field(fieldPayloadType, "\xff") + end,
	}
	payloads := map[string][]byte{}
	for name, text := range cases {
		payloads[name] = []byte(text)
	}
	return payloads
}

func TestMalformedRecords(t *testing.T) {
	sound := []byte("\x02\x01s\x00content")
	if _, err := decodeRecord(ulid.ULID{}, sound); err != nil {
		t.Fatalf("the payload that all cases are made from: %v", err)
	}
	for name, payload := range malformed() {
		t.Run(name, func(t *testing.T) {
			if r, err := decodeRecord(ulid.ULID{}, payload); err == nil {
				t.Errorf("decoded as %+v", r)
			} else if CodeOf(err) == CodeValidation {
				t.Errorf("stored data fails as if a caller had given it: %v", err)
			}
		})
	}
}

// TestRecordErrorsTellNoText damages a record at every byte; what is refused
// must not quote what the record says.
func TestRecordErrorsTellNoText(t *testing.T) {
	r := fullRecord()
	r.message.Content, r.message.Metadata.Summary = "xyzzy", "plugh"
	sound := r.encode()
	refused := 0
	for i := range sound {
		for _, flip := range []byte{1, 0x80, 0xff} {
			damaged := slices.Clone(sound)
			damaged[i] ^= flip
			_, err := decodeRecord(r.id, damaged)
			if err == nil {
				continue
			}
			refused++
			if strings.Contains(err.Error(), "xyzzy") || strings.Contains(err.Error(), "plugh") {
				t.Errorf("byte %d: %v", i, err)
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d damaged records were refused", refused)
	}
}

// TestUnknownFieldsSurviveUpdates stands for a store that a newer version wrote
// to and this one updates.
func TestUnknownFieldsSurviveUpdates(t *testing.T) {
	r := fullRecord()
	r.unknown = string(appendField(appendField(nil, 40, "one"), 1<<40, "two"))
	got, err := decodeRecord(r.id, r.encode())
	if err != nil {
		t.Fatal(err)
	}
	content := "other content"
	updated := got.with(UpdateRequest{Content: &content})
	again, err := decodeRecord(r.id, updated.encode())
	if err != nil {
		t.Fatal(err)
	}
	if again.unknown != r.unknown || again.message.Content != content {
		t.Errorf("unknown fields %q, want %q", again.unknown, r.unknown)
	}
	if again.message.Payload.Type != r.message.Payload.Type || !bytes.Equal(again.message.Payload.Data, r.message.Payload.Data) || again.key != r.key {
		t.Errorf("the update changed what it did not name: %+v", again)
	}
}

func TestFingerprint(t *testing.T) {
	base := WriteRequest{SessionID: "s", Role: RoleUser, Content: "c", Metadata: MetadataPatch{Tags: []string{"a", "b"}, OccurredAt: time.UnixMilli(7)}}
	fifty, none, when := 50, "", time.UnixMilli(5)
	elsewhere := time.UnixMilli(7).In(time.FixedZone("elsewhere", 3600)).Add(time.Microsecond)
	for name, c := range map[string]struct {
		change func(*WriteRequest)
		same   bool
	}{
		"nothing changed":     {func(r *WriteRequest) {}, true},
		"defaults said aloud": {func(r *WriteRequest) { r.Metadata.Importance, r.Metadata.Summary = &fifty, &none }, true},
		"kind and tier said":  {func(r *WriteRequest) { r.Metadata.Kind, r.Metadata.Tier = KindConversation, TierShort }, true},
		"repeated tag":        {func(r *WriteRequest) { r.Metadata.Tags = []string{"a", "b", "a"} }, true},
		"empty lists":         {func(r *WriteRequest) { r.Metadata.Relations = []Relation{} }, true},
		"same ms elsewhere":   {func(r *WriteRequest) { r.Metadata.OccurredAt = elsewhere }, true},
		"other content":       {func(r *WriteRequest) { r.Content = "d" }, false},
		"other role":          {func(r *WriteRequest) { r.Role = RoleAssistant }, false},
		"other order of tags": {func(r *WriteRequest) { r.Metadata.Tags = []string{"b", "a"} }, false},
		"tags merged":         {func(r *WriteRequest) { r.Metadata.Tags = []string{"ab"} }, false},
		"other kind":          {func(r *WriteRequest) { r.Metadata.Kind = KindSummary }, false},
		"other time":          {func(r *WriteRequest) { r.Metadata.OccurredAt = when }, false},
	} {
		r := base
		c.change(&r)
		first, second := base.draft("").message, r.draft("").message
		if same := fingerprintOf(first) == fingerprintOf(second); same != c.same {
			t.Errorf("%s: same fingerprint %t, want %t", name, same, c.same)
		}
	}
}

func FuzzRecord(f *testing.F) {
	full := fullRecord()
	f.Add(full.encode())
	for _, payload := range malformed() {
		if len(payload) < 1<<12 {
			f.Add(payload)
		}
	}
	id := full.id
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := decodeRecord(id, payload)
		if err != nil {
			return
		}
		if again := r.encode(); !bytes.Equal(again, payload) {
			t.Fatalf("%x decodes and encodes as %x", payload, again)
		}
		if err := checkComplete(r); err != nil {
			t.Fatalf("%x decodes to what no caller could have written: %v", payload, err)
		}
	})
}

// checkComplete checks a decoded record as if a caller had just written it.
func checkComplete(r record) error {
	m := r.complete()
	d := m.Metadata
	if m.UpdatedAt.Before(m.Timestamp) || m.Revision < 1 {
		return fmt.Errorf("revision %d, written at %v, updated at %v", m.Revision, m.Timestamp, m.UpdatedAt)
	}
	return WriteRequest{SessionID: m.SessionID, Role: m.Role, Content: m.Content, IdempotencyKey: r.key, Metadata: MetadataPatch{
		ToolCallID: &d.ToolCallID, Tags: d.Tags, Tier: d.Tier, Kind: d.Kind, Importance: &d.Importance, Summary: &d.Summary,
		Relations: d.Relations, SourceMessageIDs: d.SourceMessageIDs, OccurredAt: d.OccurredAt,
	}}.check()
}

// TestDecodingIsBoundedByItsInput decodes a long run of tiny unknown fields: the
// work must not grow with the square of it, nor memory beyond a few copies.
func TestDecodingIsBoundedByItsInput(t *testing.T) {
	payload := appendField(nil, fieldSession, "s")
	for range 1 << 18 {
		payload = append(binary.AppendUvarint(payload, 99), 0)
	}
	payload = append(payload, "\x00content"...)
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := decodeRecord(ulid.ULID{}, payload); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 20 {
		t.Errorf("%v allocations for one record", allocations)
	}
}
