package convmem_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sampleLine is a line with every field, as a map that cases change.
const sampleLine = `{"namespace":"n","message_id":"01JXS5GRG0000000000000000B","session_id":"s","role":"user","content":"SECRET",
"revision":3,"updated_at":1750000000005,"metadata":{"tool_call_id":"SECRETcall","tags":["SECRETtag","b"],"memory_tier":"long",
"memory_kind":"episode","importance":7,"summary":"SECRETsum","relations":[{"type":"supersedes","message_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}],
"source_message_ids":["01ARZ3NDEKTSV4RRFFQ69G5FAV"],"occurred_at":5},"payload":{"type":"SECRETtype","data":"AP8="},
"idempotency_key":"SECRETkey","request_fingerprint":"AAECAwQFBgcICQoLDA0ODw==","later_fields":"WgNhAGI="}`

const (
	firstLine = `{"message_id":"01JXS5GRG00000000000000001","session_id":"s","role":"user","content":"first"}` + "\n"
	lastLine  = `{"message_id":"01JXS5GRG0000000000000000Z","session_id":"s","role":"tool","content":"last"}`
)

// sample is the line with changed parts; "a.b" names a part of a part, and a nil
// value takes it out.
func sample(changes map[string]any) string {
	var line map[string]any
	if err := json.Unmarshal([]byte(sampleLine), &line); err != nil {
		panic(err)
	}
	for path, value := range changes {
		at, name := line, path
		if outer, inner, ok := strings.Cut(path, "."); ok {
			at, name = line[outer].(map[string]any), inner
		}
		if at[name] = value; value == nil {
			delete(at, name)
		}
	}
	b, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func one(path string, value any) string { return sample(map[string]any{path: value}) }

// raw replaces a text of the sample line that must be there once.
func raw(old, new string) string {
	line := strings.ReplaceAll(sampleLine, "\n", "")
	if strings.Count(line, old) != 1 {
		panic("not there once: " + old)
	}
	return strings.Replace(line, old, new, 1)
}

func repeated(text string, count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprint(text, i))
	}
	return all
}

// A line that is wrong is refused whole, by its number and field, and all others
// are stored. What encoding/json would silently make of it is wrong as well.
func TestImportRefusesLines(t *testing.T) {
	withoutRaceDetector(t)
	const self = "01JXS5GRG0000000000000000B"
	relation := func(kind, id string) any { return map[string]string{"type": kind, "message_id": id} }
	for _, c := range []struct{ name, line, field string }{
		{"no JSON", `SECRET`, "line"},
		{"cut off", sample(nil)[:200], "line"},
		{"text after", sample(nil) + ` SECRET`, "line"},
		{"a brace after", sample(nil) + `}`, "line"},
		{"a bracket after", sample(nil) + ` ]`, "line"},
		{"two objects", sample(nil) + sample(nil), "line"},
		{"a list", `["SECRET"]`, "line"},
		{"a text", `"SECRET"`, "line"},
		{"a number", `5`, "line"},
		{"null", `null`, ""},
		{"an empty object", `{}`, "message_id"},
		{"a NUL", "\x00", "line"},
		{"a vertical tab", `{"message_id":` + "\v" + sample(nil)[14:], "line"},
		{"bad UTF-8", raw(`"SECRET"`, "\"SECRET\xff\""), "line"},
		{"UTF-8 of a surrogate", raw(`"SECRET"`, "\"SECRET\xed\xa0\x80\""), "line"},
		{"a high surrogate", raw(`"SECRET"`, `"SECRET\ud83d"`), "line"},
		{"a low surrogate", raw(`"SECRET"`, `"SECRET\udE00x"`), "line"},
		{"surrogates the wrong way round", raw(`"SECRET"`, `"SECRET\ude00\ud83d"`), "line"},
		{"a surrogate in a tag", raw(`"SECRETtag"`, `"SECRET\ud83d\n"`), "line"},
		{"an unknown field", one("SECRETfield", 1), "line"},
		{"an unknown field of metadata", one("metadata.SECRETfield", 1), "line"},
		{"a field of metadata outside", one("tags", []string{"a"}), "line"},
		{"a key in capitals", raw(`"content"`, `"Content"`), "line"},
		{"a key with a long s", raw(`"session_id"`, `"ſession_id"`), "line"},
		{"a key that stands twice", raw(`"role":`, `"content":"SECRET2","role":`), "line"},
		{"a key of metadata that stands twice", raw(`"importance":`, `"summary":"SECRET2","importance":`), "line"},
		{"metadata twice", raw(`"payload":`, `"metadata":{"importance":9},"payload":`), "line"},
		{"a key that stands twice, once in capitals", raw(`"role":`, `"CONTENT":"SECRET2","role":`), "line"},
		{"a format", one("format", "convmem-export"), ""},
		{"a format and a version", sample(map[string]any{"format": "convmem-export", "version": 1}), ""},
		{"content of a wrong type", one("content", 5), "content"},
		{"session of a wrong type", one("session_id", []string{"SECRET"}), "session_id"},
		{"importance as a text", one("metadata.importance", "7"), "metadata.importance"},
		{"metadata of a wrong type", one("metadata", "SECRET"), "metadata"},
		{"tags of a wrong type", one("metadata.tags", "SECRET"), "metadata.tags"},
		{"a tag of a wrong type", one("metadata.tags", []any{"a", 1}), "metadata.tags"},
		{"a tag that is null", one("metadata.tags", []any{"a", nil}), "tags[1]"},
		{"a payload of a wrong type", one("payload", "SECRET"), "payload"},
		{"a true revision", one("revision", true), "revision"},
		{"no id", one("message_id", nil), "message_id"},
		{"a lower case id", one("message_id", strings.ToLower(self)), "message_id"},
		{"an id too long", one("message_id", self+"0"), "message_id"},
		{"an id too great", one("message_id", "8"+self[1:]), "message_id"},
		{"the zero id", one("message_id", strings.Repeat("0", 26)), "message_id"},
		{"the greatest id", sample(map[string]any{"message_id": "7" + strings.Repeat("Z", 25), "updated_at": nil}), "message_id"},
		{"no session", one("session_id", nil), "session_id"},
		{"a session too long", one("session_id", strings.Repeat("S", 257)), "session_id"},
		{"a namespace too long", one("namespace", strings.Repeat("S", 257)), "namespace"},
		{"no role", one("role", nil), "role"},
		{"an unknown role", one("role", "SECRET ROLE"), "role"},
		{"an unknown role beside a key without fingerprint", sample(map[string]any{"role": "robot", "request_fingerprint": nil}), "role"},
		{"a role in capitals", one("role", "User"), "role"},
		{"no content", one("content", nil), "content"},
		{"content that is null", raw(`"SECRET"`, `null`), "content"},
		{"empty content", one("content", ""), "content"},
		{"content too long", one("content", strings.Repeat("S", 1<<20+1)), "content"},
		{"revision 0", one("revision", 0), "revision"},
		{"a negative revision", one("revision", -1), "revision"},
		{"a huge revision", raw(`"revision":3`, `"revision":9223372036854775808`), "revision"},
		{"a revision beyond all numbers", raw(`"revision":3`, `"revision":1e999`), "revision"},
		{"a fraction of a revision", raw(`"revision":3`, `"revision":1.5`), "revision"},
		{"updated before the id", one("updated_at", 1749970084351), "updated_at"},
		{"updated at 0", one("updated_at", 0), "updated_at"},
		{"updated before 1970", one("updated_at", -1), "updated_at"},
		{"updated too late", one("updated_at", 1<<48), "updated_at"},
		{"updated far too late", raw(`1750000000005`, `9223372036854775807`), "updated_at"},
		{"an unknown tier", one("metadata.memory_tier", "SECRET TIER"), "memory_tier"},
		{"an empty tier", one("metadata.memory_tier", ""), "memory_tier"},
		{"an unknown kind", one("metadata.memory_kind", "SECRET KIND"), "memory_kind"},
		{"importance 101", one("metadata.importance", 101), "importance"},
		{"importance -1", one("metadata.importance", -1), "importance"},
		{"importance 50.5", one("metadata.importance", 50.5), "metadata.importance"},
		{"a tool call too long", one("metadata.tool_call_id", strings.Repeat("S", 257)), "tool_call_id"},
		{"an empty tag", one("metadata.tags", []string{"a", ""}), "tags[1]"},
		{"a tag too long", one("metadata.tags", []string{strings.Repeat("S", 129)}), "tags[0]"},
		{"33 tags", one("metadata.tags", repeated("t", 33)), "tags"},
		{"a tag twice", one("metadata.tags", []string{"SECRET", "a", "SECRET"}), "tags"},
		{"a summary too long", one("metadata.summary", strings.Repeat("S", 4097)), "summary"},
		{"an unknown relation", one("metadata.relations", []any{relation("SECRET TYPE", self)}), "relations[0].type"},
		{"a relation to no id", one("metadata.relations", []any{relation("supersedes", "SECRET")}), "relations[0].message_id"},
		{"a relation to itself", one("metadata.relations", []any{relation("supersedes", self)}), "relations[0].message_id"},
		{"a relation twice", one("metadata.relations", []any{relation("supersedes", firstID), relation("supersedes", firstID)}), "relations"},
		{"a source that is no id", one("metadata.source_message_ids", []string{"SECRET"}), "source_message_ids[0]"},
		{"a source twice", one("metadata.source_message_ids", []string{firstID, firstID}), "source_message_ids"},
		{"65 sources", one("metadata.source_message_ids", repeated(firstID[:23]+"1", 65)), "source_message_ids"},
		{"said before 1970", one("metadata.occurred_at", -1), "occurred_at"},
		{"said at the zero time", raw(`"occurred_at":5`, `"occurred_at":-62135596800000`), "occurred_at"},
		{"said too late", one("metadata.occurred_at", 1<<48), "occurred_at"},
		{"a payload type too long", one("payload.type", strings.Repeat("S", 257)), "payload.type"},
		{"a payload too long", one("payload.data", make([]byte, 1<<20+1)), "payload.data"},
		{"a payload that is not base64", one("payload.data", "SECRET!"), ""},
		{"a payload with stray bits", one("payload.data", "AP9="), ""},
		{"a payload with a line break", one("payload.data", "AP\n8="), ""},
		{"a payload of numbers", one("payload.data", []int{1, 2}), ""},
		{"a key too long", one("idempotency_key", strings.Repeat("S", 257)), "idempotency_key"},
		{"a fingerprint too short", one("request_fingerprint", "AAEC"), "request_fingerprint"},
		{"a fingerprint without a key", one("idempotency_key", nil), "request_fingerprint"},
		{"later fields that are none", one("later_fields", []byte("SECRET")), "later_fields"},
		{"later fields that this version knows", one("later_fields", []byte("\x02\x01t")), "later_fields"},
		{"later fields that end the fields", one("later_fields", []byte("\x5a\x01a\x00SECRET")), "later_fields"},
		{"later fields out of order", one("later_fields", []byte("\x5b\x01a\x5a\x01a")), "later_fields"},
		{"more than 16 MiB", `{"content":"` + strings.Repeat("S", 16<<20), "line"},
		{"a header of a newer version", `{"format":"convmem-export","version":2}`, "version"},
		{"a header of a newer version that says more", `{"format":"convmem-export","version":2,"SECRET":[]}`, "version"},
		{"a header without a version", `{"format":"convmem-export"}`, "version"},
		{"a header with half a version", `{"format":"convmem-export","version":1.5}`, "version"},
		{"a header of another format", `{"format":"SECRET FORMAT","version":1}`, "format"},
		{"a header with an unknown field", `{"format":"convmem-export","version":1,"SECRET":1}`, "line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			carrier := newCarrier(t, 1)
			// The header again, so that a bad one spoils nothing behind it.
			result, err := carrier.db.Import(ctx, strings.NewReader(exportHead+firstLine+c.line+"\n"+exportHead+lastLine), nil)
			e := refusal(t, err, convmem.CodeValidation)
			if len(result.Problems) != 1 {
				t.Fatalf("%+v", result)
			}
			problem := result.Problems[0]
			if problem.Line != 3 || problem.Err.Code != convmem.CodeValidation || c.field != "" && problem.Err.Field != c.field {
				t.Errorf("line %d: %v, want line 3 and the field %s", problem.Line, problem.Err, c.field)
			}
			if e.Field != problem.Err.Field || !strings.HasSuffix(e.Message, problem.Err.Message) {
				t.Errorf("the import failed with %v, the line with %v", e, problem.Err)
			}
			result.Problems, result.Bytes = nil, 0
			if diff := cmp.Diff(convmem.ImportResult{Lines: 5, Written: 2, Refused: 1}, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"first", "last"}, exportedContents(t, carrier.export(nil))); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

const firstID = "01JXS5GRG00000000000000001"

// refusal checks an error that must not tell what a line says.
func refusal(t fataler, err error, code convmem.Code) *convmem.Error {
	t.Helper()
	e, ok := err.(*convmem.Error)
	if !ok || e.Code != code || e.Op != "import" {
		t.Fatalf("got %v, want code %s", err, code)
	}
	if text := e.Error(); strings.Contains(text, "SECRET") || strings.Contains(text, "SSSS") || len(text) > 500 {
		t.Errorf("the error tells too much: %v", text)
	}
	return e
}

// What a line leaves out has its default, and forms that mean the same are taken.
func TestImportAcceptsLines(t *testing.T) {
	line := strings.ReplaceAll(sampleLine, "\n", "")
	whole := newCarrier(t, 1)
	whole.take(line)
	want := whole.export(nil)
	for _, c := range []struct{ name, text string }{
		{"no header", line},
		{"its own export", want},
		{"a header twice", exportHead + exportHead + line},
		{"a mark of the byte order", "\uFEFF" + exportHead + line},
		{"a mark of the byte order before a message", "\uFEFF" + line},
		{"Windows", strings.ReplaceAll(want, "\n", "\r\n")},
		{"blank lines", "\n \t\r\n" + exportHead + "\n\n" + line + "\n\n   "},
		{"fields in another order", sample(nil)},
		{"spaces", strings.ReplaceAll(sampleLine, "\n", "   ")},
		{"no line feed at the end", strings.TrimRight(want, "\n")},
		{"escapes", raw(`"SECRET"`, `"\u0053ECRET"`)},
		{"exactly 16 MiB", line + strings.Repeat(" ", 16<<20-len(line)-1) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			carrier := newCarrier(t, 2)
			if result := carrier.take(c.text); result.Written != 1 {
				t.Errorf("%+v", result)
			}
			equalText(t, "exported", want, carrier.export(nil))
		})
	}
	t.Run("defaults", func(t *testing.T) {
		carrier := newCarrier(t, 2)
		carrier.take(`{"message_id":"` + firstID + `","session_id":"s","role":"tool","content":"\ud83d\ude00","metadata":null,"payload":null,"revision":null}`)
		got := carrier.answers("").Messages["s"]
		at := time.UnixMilli(1_749_970_084_352).UTC()
		stored := convmem.Message{ID: firstID, SessionID: "s", Role: "tool", Content: "😀", Timestamp: at, UpdatedAt: at, Revision: 1,
			Metadata: convmem.Metadata{Tier: "short", Kind: "conversation", Importance: 50}}
		if diff := cmp.Diff([]convmem.Message{stored}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a key without a fingerprint", func(t *testing.T) {
		carrier := newCarrier(t, 2)
		line := strings.Replace(firstLine, `"role"`, `"idempotency_key":"k","role"`, 1)
		carrier.take(line)
		r := convmem.WriteRequest{SessionID: "s", Role: "user", Content: "first", IdempotencyKey: "k"}
		if again := carrier.write("", r); !again.Replayed || again.Message.ID != firstID {
			t.Errorf("%+v", again)
		}
		if result := carrier.take(line); result.Present != 1 {
			t.Errorf("%+v", result)
		}
	})
}

// Nothing below the header of another version or format is stored: it may mean
// something else than it seems to.
func TestImportOfNewerVersion(t *testing.T) {
	for _, head := range []string{`{"format":"convmem-export","version":2}`, `{"format":"another","version":1}`} {
		c := newCarrier(t, 1)
		result, err := c.db.Import(ctx, strings.NewReader(head+"\n"+firstLine+lastLine), nil)
		e := refusal(t, err, convmem.CodeValidation)
		if result.Written != 0 || result.Refused != 3 || e.Field != "version" && e.Field != "format" || c.export(nil) != exportHead {
			t.Errorf("%s: %+v, %v", head, result, err)
		}
	}
}

// What an import finds in its way is a conflict, and stays as it is.
func TestImportConflicts(t *testing.T) {
	base := exportHead + sample(nil) + "\n"
	other := func(id string, changes map[string]any) string {
		changes["message_id"] = id
		return sample(changes)
	}
	const otherID = "01JXS5GRG0000000000000000C"
	for _, c := range []struct {
		name, line, field string
		present           int64 // when the line is no conflict
	}{
		{"the same", sample(nil), "", 1},
		{"other content", one("content", "SECRET2"), "message_id", 0},
		{"another revision", one("revision", 4), "message_id", 0},
		{"another payload", one("payload.data", "AP8A"), "message_id", 0},
		{"later fields lost", one("later_fields", nil), "message_id", 0},
		{"another fingerprint", one("request_fingerprint", "AQECAwQFBgcICQoLDA0ODw=="), "message_id", 0},
		{"another key", one("idempotency_key", "SECRETother"), "message_id", 0},
		{"another namespace", one("namespace", "SECRETspace"), "message_id", 0},
		{"another session", one("session_id", "SECRETsession"), "message_id", 0},
		{"its key under another id", other(otherID, map[string]any{}), "idempotency_key", 0},
	} {
		for _, where := range []string{"in the store", "in the file"} {
			t.Run(c.name+" "+where, func(t *testing.T) {
				carrier := newCarrier(t, 1)
				text, lines := base+c.line, int64(2)
				if where == "in the store" {
					carrier.take(base)
					text, lines = c.line, 0
				}
				want := "SECRET"
				result, err := carrier.db.Import(ctx, strings.NewReader(text+"\n"+lastLine), nil)
				if c.field == "" {
					carrier.ok("import", err)
				} else if e := refusal(t, err, convmem.CodeConflict); e.Field != c.field || result.Problems[0].Line != lines+1 {
					t.Errorf("line %d: %v", result.Problems[0].Line, e)
				}
				if result.Present != c.present || result.Refused != 1-c.present || result.Lines != lines+2 {
					t.Errorf("%+v", result)
				}
				if diff := cmp.Diff([]string{"last", want}, exportedContents(t, carrier.export(nil))); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// A key belongs to its session in its namespace.
func TestImportSameKeyElsewhere(t *testing.T) {
	text := exportHead
	for i, place := range [][2]string{{"", "s"}, {"", "t"}, {"n", "s"}, {"n", "t"}} {
		text += fmt.Sprintf(`{"namespace":%q,"message_id":"01JXS5GRG0000000000000000%d","session_id":%q,"role":"user","content":"x","idempotency_key":"k"}`+"\n", place[0], i, place[1])
	}
	c := newCarrier(t, 1)
	if result := c.take(text); result.Written != 4 {
		t.Errorf("%+v", result)
	}
}

// Lines that are refused for themselves and those that contradict the store are
// told in the order of the file, whenever they are found out.
func TestImportProblemsInOrder(t *testing.T) {
	c := newCarrier(t, 1)
	c.take(firstLine)
	changed := strings.Replace(firstLine, "first", "changed", 1)
	text := exportHead + changed + "{\n" + changed + strings.Repeat("[]\n", 200)
	var shown []convmem.ImportResult
	result, err := c.db.Import(ctx, strings.NewReader(text), &convmem.ImportOptions{Progress: func(r convmem.ImportResult) { shown = append(shown, r) }})
	e := refusal(t, err, convmem.CodeConflict)
	if !strings.Contains(e.Message, "203 of 204 lines") || !strings.Contains(e.Message, "line 2 first") {
		t.Error(e.Message)
	}
	if result.Refused != 203 || len(result.Problems) != convmem.MaxImportProblems {
		t.Fatalf("%d refused, %d told", result.Refused, len(result.Problems))
	}
	for i, p := range result.Problems {
		if p.Line != int64(i+2) {
			t.Fatalf("problem %d is about line %d", i, p.Line)
		}
	}
	if diff := cmp.Diff(result, shown[len(shown)-1]); diff != "" {
		t.Error(diff)
	}
	shown[0].Problems[0].Line = -1
	if result.Problems[0].Line != 2 {
		t.Error("Progress shares memory with the result")
	}
}

// goldenKeyed is the request of one of its messages.
var goldenKeyed = convmem.WriteRequest{SessionID: "会話", Role: "assistant", Content: "before", IdempotencyKey: "鍵\x00"}

// An export of version 1, once written and never again, is read by every later
// version, and says what it said.
func TestImportVersion1(t *testing.T) {
	golden, err := os.ReadFile("testdata/export-version1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	c := newCarrier(t, 1)
	if result := c.take(string(golden)); result.Written != 6 {
		t.Errorf("%+v", result)
	}
	equalText(t, "exported again", string(golden), c.export(nil))
	last := c.answers("名前\x00").Messages["会話"]
	if len(last) != 1 || last[0].Content != "東京\x00\u2028<b>" || last[0].Revision != 2 || string(last[0].Payload.Data) != "\x00\xff" {
		t.Errorf("%+v", last)
	}
	if again := c.write("名前\x00", goldenKeyed); !again.Replayed {
		t.Errorf("the key is forgotten: %+v", again)
	}
}
