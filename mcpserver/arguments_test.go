package mcpserver

import (
	"strings"
	"testing"
	"time"

	"example.com/convmem"
)

// secret is the content of every message of these tests. No error may hold it.
const secret = "xyzzy-hunter2"

// A row is one way to call a tool, and the request that it must become or the
// field that an error must name and what it must say.
type row struct {
	name, tool, args string
	want             any
	field, says      string
}

// The calls that the rows vary, with members added to the arguments.
func writeArgs(more string) string {
	return `{"session_id":"s","role":"user","content":"` + secret + `"` + more + `}`
}
func metadataArgs(json string) string { return writeArgs(`,"metadata_json":` + json) }
func filterArgs(json string) string   { return `{"query":"q","filters_json":` + json + `}` }
func historyArgs(more string) string  { return `{"session_id":"s"` + more + `}` }
func contextArgs(more string) string  { return `{"view":"context","message_id":"m"` + more + `}` }
func sessionsArgs(more string) string { return `{"view":"sessions"` + more + `}` }

// quoted is a text as a JSON string.
func quoted(text string) string { return string(quote(text)) }

// The requests that those calls become.
func written(patch convmem.MetadataPatch) convmem.WriteRequest {
	return convmem.WriteRequest{SessionID: "s", Role: "user", Content: secret, Metadata: patch}
}

func filtered(f convmem.Filters) convmem.SearchRequest {
	return convmem.SearchRequest{Query: "q", Filters: f}
}

func readHistory(change func(*convmem.HistoryRequest)) convmem.ReadRequest {
	r := convmem.HistoryRequest{SessionID: "s"}
	change(&r)
	return convmem.ReadRequest{History: &r}
}

func readContext(change func(*convmem.ContextRequest)) convmem.ReadRequest {
	r := convmem.ContextRequest{MessageID: "m"}
	change(&r)
	return convmem.ReadRequest{Context: &r}
}

func readSessions(change func(*convmem.SessionsRequest)) convmem.ReadRequest {
	r := convmem.SessionsRequest{}
	change(&r)
	return convmem.ReadRequest{Sessions: &r}
}

func limit(n int) convmem.ReadRequest {
	return readHistory(func(r *convmem.HistoryRequest) { r.Limit = n })
}

func importance(n int) convmem.WriteRequest { return written(convmem.MetadataPatch{Importance: &n}) }

// nested is an array in an array, so many levels deep.
func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func plainHistory(*convmem.HistoryRequest) {}

func TestArguments(t *testing.T) {
	plain := written(convmem.MetadataPatch{})
	runRows(t, []row{
		{name: "an object", tool: "write_message", args: writeArgs(``), want: plain},
		{name: "a string that holds it", tool: "write_message", args: quoted(writeArgs(``)), want: plain},
		{name: "white space around", tool: "write_message", args: " \r\n\t" + writeArgs(``) + "\n", want: plain},
		{name: "a string in a string", tool: "write_message", args: quoted(quoted(writeArgs(``))), field: "arguments", says: "a string, want an object"},
		{name: "missing", tool: "write_message", args: ``, field: "session_id", says: "missing"},
		{name: "null", tool: "write_message", args: `null`, field: "session_id", says: "missing"},
		{name: "a string that holds null", tool: "write_message", args: `"null"`, field: "session_id", says: "missing"},
		{name: "an empty string", tool: "write_message", args: `""`, field: "arguments", says: "ends too early"},
		{name: "an array", tool: "write_message", args: `[` + writeArgs(``) + `]`, field: "arguments", says: "an array, want an object"},
		{name: "a number", tool: "write_message", args: `7`, field: "arguments", says: "a number, want an object"},
		{name: "a boolean", tool: "write_message", args: `true`, field: "arguments", says: "a boolean, want an object"},
		{name: "text after the object", tool: "write_message", args: writeArgs(``) + `{}`, field: "arguments", says: "text after the JSON value"},
		{name: "text after the object in a string", tool: "write_message", args: quoted(writeArgs(``) + ` x`), field: "arguments", says: "text after the JSON value"},
		{name: "cut off", tool: "write_message", args: `{"session_id":"s"`, field: "arguments", says: "ends too early"},
		{name: "cut off in a string", tool: "write_message", args: `{"session_id":"s`, field: "session_id", says: "ends too early"},
		{name: "a comma too many", tool: "write_message", args: `{"session_id":"s",}`, field: "arguments", says: "not valid JSON"},
		{name: "a comment", tool: "write_message", args: `{/**/"session_id":"s"}`, field: "arguments", says: "not valid JSON"},
		{name: "single quotes", tool: "write_message", args: `{'session_id':'s'}`, field: "arguments", says: "not valid JSON"},
		{name: "a bare line break in a string", tool: "write_message", args: "{\"session_id\":\"a\nb\"}", field: "session_id", says: "not valid JSON"},

		{name: "unknown", tool: "write_message", args: writeArgs(`,"sesion_id":"s"`), field: "sesion_id", says: "the nearest known is session_id"},
		{name: "unknown and null", tool: "write_message", args: writeArgs(`,"tags":null`), field: "tags", says: "unknown parameter"},
		{name: "in capitals", tool: "write_message", args: writeArgs(`,"METADATA_JSON":"{}"`), field: "METADATA_JSON", says: "the nearest known is metadata_json"},
		{name: "in another case", tool: "search_messages", args: `{"Query":"q"}`, field: "Query", says: "the nearest known is query"},
		{name: "unknown and long", tool: "write_message", args: writeArgs(`,"` + strings.Repeat("漢", 4000) + `":1`), field: strings.Repeat("漢", 13) + "...", says: "unknown parameter"},
		{name: "twice", tool: "write_message", args: writeArgs(`,"role":"user"`), field: "role", says: "twice"},
		{name: "twice, once escaped", tool: "write_message", args: writeArgs(`,"\u0072ole":"user"`), field: "role", says: "twice"},
		{name: "twice with null", tool: "delete_message", args: `{"message_id":"m","session_id":"s","session_id":null}`, field: "session_id", says: "twice"},
		{name: "an empty key", tool: "delete_message", args: `{"message_id":"m","":1}`, field: `""`, says: "unknown parameter"},

		{name: "null for what is needed", tool: "write_message", args: `{"session_id":"s","role":null,"content":"c"}`, field: "role", says: "missing"},
		{name: "null for what is optional", tool: "write_message", args: writeArgs(`,"metadata_json":null,"idempotency_key":null`), want: plain},
		{name: "a key", tool: "write_message", args: writeArgs(`,"idempotency_key":"k"`), want: convmem.WriteRequest{SessionID: "s", Role: "user", Content: secret, IdempotencyKey: "k"}},
		{name: "an empty key of idempotency", tool: "write_message", args: writeArgs(`,"idempotency_key":""`), want: plain},
		{name: "an empty text goes to the store", tool: "write_message", args: `{"session_id":"","role":"user","content":""}`, want: convmem.WriteRequest{Role: "user"}},
		{name: "an unknown role goes to the store", tool: "write_message", args: `{"session_id":"s","role":"bot","content":"c"}`, want: convmem.WriteRequest{SessionID: "s", Role: "bot", Content: "c"}},
		{name: "an empty role", tool: "write_message", args: `{"session_id":"s","role":"","content":"c"}`, field: "role", says: "user, assistant, system, tool"},

		{name: "a number for a text", tool: "write_message", args: `{"session_id":7,"role":"user","content":"c"}`, field: "session_id", says: "a number, want a string"},
		{name: "a boolean for a text", tool: "write_message", args: `{"session_id":"s","role":"user","content":true}`, field: "content", says: "a boolean, want a string"},
		{name: "an object for a text", tool: "write_message", args: `{"session_id":"s","role":"user","content":{"text":"` + secret + `"}}`, field: "content", says: "an object, want a string"},
		{name: "an array for a text", tool: "write_message", args: `{"session_id":"s","role":"user","content":["` + secret + `"]}`, field: "content", says: "an array, want a string"},
		{name: "a boolean for an enumeration", tool: "read_messages", args: historyArgs(`,"order":false`), field: "order", says: "a boolean, want a string"},

		{name: "every character", tool: "write_message", args: `{"session_id":"s","role":"user","content":"\u0000\t\"\\\/\b\f\n\r\uD83D\uDE00漢\u2028\ufffd\uffff"}`,
			want: convmem.WriteRequest{SessionID: "s", Role: "user", Content: "\x00\t\"\\/\b\f\n\r😀漢\u2028\ufffd\uffff"}},
		{name: "invalid UTF-8", tool: "write_message", args: "{\"session_id\":\"s\",\"role\":\"user\",\"content\":\"" + secret + "\xff\"}", field: "content", says: "not valid UTF-8"},
		{name: "an overlong encoding", tool: "write_message", args: "{\"session_id\":\"\xc0\xaf\",\"role\":\"user\",\"content\":\"c\"}", field: "session_id", says: "not valid UTF-8"},
		{name: "a surrogate in UTF-8", tool: "write_message", args: "{\"session_id\":\"\xed\xa0\x80\"}", field: "session_id", says: "not valid UTF-8"},
		{name: "invalid UTF-8 in a key", tool: "write_message", args: "{\"r\xffole\":\"user\"}", field: "arguments", says: "not valid UTF-8"},
		{name: "invalid UTF-8 outside", tool: "write_message", args: "{\xff}", field: "arguments", says: "not valid JSON"},
		{name: "a lone high surrogate", tool: "write_message", args: `{"session_id":"s","role":"user","content":"` + secret + `\ud83d"}`, field: "content", says: "surrogate"},
		{name: "a lone low surrogate", tool: "write_message", args: `{"session_id":"\uDE00"}`, field: "session_id", says: "surrogate"},
		{name: "surrogates the wrong way round", tool: "write_message", args: `{"session_id":"\ude00\ud83d"}`, field: "session_id", says: "surrogate"},
		{name: "a high surrogate before text", tool: "write_message", args: `{"session_id":"\ud83dde00"}`, field: "session_id", says: "surrogate"},
		{name: "a high surrogate before a backslash", tool: "write_message", args: `{"session_id":"\ud83d\\ude00"}`, field: "session_id", says: "surrogate"},
		{name: "three surrogates", tool: "write_message", args: `{"session_id":"\ud83d\ude00\ud83d"}`, field: "session_id", says: "surrogate"},
		{name: "a lone surrogate in a key", tool: "write_message", args: `{"role\ud800":"user"}`, field: "arguments", says: "surrogate"},
		{name: "an escaped backslash is no surrogate", tool: "write_message", args: `{"session_id":"\\ud800","role":"user","content":"c"}`, want: convmem.WriteRequest{SessionID: `\ud800`, Role: "user", Content: "c"}},

		{name: "32 levels", tool: "write_message", args: metadataArgs(`{"tags":` + nested(30) + `}`), field: "tags[0]", says: "an array, want a string"},
		{name: "33 levels", tool: "write_message", args: metadataArgs(`{"tags":` + nested(31) + `}`), field: "tags" + strings.Repeat("[0]", 30), says: "deeper than 32"},
		{name: "32 levels in a string", tool: "write_message", args: metadataArgs(quoted(`{"tags":` + nested(31) + `}`)), field: "tags[0]", says: "an array, want a string"},
		{name: "33 levels in a string", tool: "write_message", args: metadataArgs(quoted(`{"tags":` + nested(32) + `}`)), field: "tags" + strings.Repeat("[0]", 31), says: "deeper than 32"},
		{name: "too many values", tool: "write_message", args: metadataArgs(`{"tags":[` + strings.Repeat(`"a",`, 10000) + `"a"]}`), field: "tags[9994]", says: "more than 10000"},
	})
}

func TestIntegers(t *testing.T) {
	rows := []row{
		{name: "zero is not a limit", tool: "read_messages", args: historyArgs(`,"limit":0`), field: "limit", says: "0, want an integer from 1 to 1000"},
		{name: "zero in quotes is not a limit", tool: "read_messages", args: historyArgs(`,"limit":"0"`), field: "limit", says: "0, want an integer from 1 to 1000"},
		{name: "null is not given", tool: "read_messages", args: historyArgs(`,"limit":null`), want: limit(0)},
		{name: "zero is an importance", tool: "write_message", args: metadataArgs(`{"importance":0}`), want: importance(0)},
		{name: "zero is not a revision", tool: "update_message", args: `{"message_id":"m","content":"c","expected_revision":0}`, field: "expected_revision", says: "from 1"},
		{name: "a large revision", tool: "update_message", args: `{"message_id":"m","content":"c","expected_revision":9223372036854775807}`,
			want: convmem.UpdateRequest{MessageID: "m", Content: new("c"), ExpectedRevision: 1<<63 - 1}},
		{name: "beyond the exact floats", tool: "update_message", args: `{"message_id":"m","content":"c","expected_revision":9007199254740993.0}`,
			want: convmem.UpdateRequest{MessageID: "m", Content: new("c"), ExpectedRevision: 9007199254740993}},
		{name: "beyond 64 bits", tool: "update_message", args: `{"message_id":"m","content":"c","expected_revision":9223372036854775808}`, field: "expected_revision", says: "beyond 64 bits"},
		{name: "beyond 64 bits in quotes", tool: "update_message", args: `{"message_id":"m","content":"c","expected_revision":"-9223372036854775809"}`, field: "expected_revision", says: "beyond 64 bits"},
		{name: "no characters", tool: "read_messages", args: historyArgs(`,"max_characters":0`), field: "max_characters", says: "from 1 to 8388608"},
		{name: "no content", tool: "search_messages", args: `{"query":"q","max_content_characters":-0.0}`, field: "max_content_characters", says: "from 1 to 1048576"},
		{name: "the moment that means none", tool: "search_messages", args: filterArgs(`{"until":-62135596800000}`), field: "until", says: "from 0 to 281474976710655"},
	}
	for literal, n := range map[string]int{
		"10": 10, "10.0": 10, "1e1": 10, "1E+1": 10, "100e-1": 10, "0.1e2": 10, "1.0e1": 10, `"10"`: 10, `"010"`: 10, `"-10"`: -10, "-1e1": -10,
		"1" + strings.Repeat("0", 400) + "e-399": 10, "0." + strings.Repeat("0", 400) + "1e402": 10, "5000": 5000,
	} {
		rows = append(rows, row{name: literal, tool: "read_messages", args: historyArgs(`,"limit":` + literal), want: limit(n)})
	}
	for literal, says := range map[string]string{
		"2.5": "not a whole number", "1e-1": "not a whole number", "1e-999999999999": "not a whole number", "10.00000000000000000001": "not a whole number",
		"1e19": "beyond 64 bits", "1e999999999999": "beyond 64 bits", "-1e400": "beyond 64 bits",
		`"2.5"`: "no integer", `"1e1"`: "no integer", `"10.0"`: "no integer", `" 10"`: "no integer", `"+10"`: "no integer", `"--1"`: "no integer", `""`: "no integer", `"-"`: "no integer",
		`"ten"`: "no integer", `"0x10"`: "no integer", `"1_0"`: "no integer", `"１０"`: "no integer", `"` + secret + `"`: "no integer",
		"true": "a boolean, want an integer", "[10]": "an array, want an integer", `{"limit":10}`: "an object, want an integer",
	} {
		rows = append(rows, row{name: literal, tool: "read_messages", args: historyArgs(`,"limit":` + literal), field: "limit", says: says})
	}
	for _, literal := range []string{"0e999999999999", "0.000", "-0", `"0"`, `"-0"`} {
		rows = append(rows, row{name: literal, tool: "write_message", args: metadataArgs(`{"importance":` + literal + `}`), want: importance(0)})
	}
	for _, literal := range []string{"010", "1.", ".5", "+1", "1e", "0x1", "NaN", "Infinity"} {
		rows = append(rows, row{name: literal, tool: "read_messages", args: historyArgs(`,"limit":` + literal), field: notJSON(literal), says: "not valid JSON"})
	}
	runRows(t, rows)
}

// notJSON is the field of a number that is none: where its beginning is a
// number, what is wrong comes after it.
func notJSON(literal string) string {
	if literal == "010" || literal == "0x1" {
		return "arguments"
	}
	return "limit"
}

func TestEncodedArguments(t *testing.T) {
	relation := func(json string) string { return metadataArgs(`{"relations":[` + json + `]}`) }
	everything := `{"tool_call_id":"","tags":["a","a"],"memory_tier":"long","memory_kind":"episode","importance":"80","summary":"","relations":[{"type":"supersedes","message_id":"m"}],"source_message_ids":["m"],"occurred_at":0}`
	patch := convmem.MetadataPatch{
		ToolCallID: new(""), Tags: []string{"a", "a"}, Tier: convmem.TierLong, Kind: convmem.KindEpisode, Importance: new(80), Summary: new(""),
		Relations: []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: "m"}}, SourceMessageIDs: []string{"m"}, OccurredAt: time.UnixMilli(0).UTC(),
	}
	runRows(t, []row{
		{name: "a string", tool: "write_message", args: metadataArgs(quoted(everything)), want: written(patch)},
		{name: "an object", tool: "write_message", args: metadataArgs(everything), want: written(patch)},
		{name: "a string in a string", tool: "write_message", args: metadataArgs(quoted(quoted(everything))), want: written(patch)},
		{name: "a string in a string in a string", tool: "write_message", args: metadataArgs(quoted(quoted(quoted(everything)))), field: "metadata_json", says: "a string, want an object"},
		{name: "all in a string", tool: "write_message", args: quoted(metadataArgs(quoted(everything))), want: written(patch)},
		{name: "white space in a string", tool: "write_message", args: metadataArgs(quoted(" \n" + everything + "\n")), want: written(patch)},
		{name: "an empty string", tool: "write_message", args: metadataArgs(`""`), want: written(convmem.MetadataPatch{})},
		{name: "an empty string in a string", tool: "write_message", args: metadataArgs(`"\"\""`), want: written(convmem.MetadataPatch{})},
		{name: "null in a string", tool: "write_message", args: metadataArgs(`"null"`), want: written(convmem.MetadataPatch{})},
		{name: "an empty object", tool: "write_message", args: metadataArgs(`{}`), want: written(convmem.MetadataPatch{})},
		{name: "all null", tool: "write_message", args: metadataArgs(`{"tool_call_id":null,"tags":null,"memory_tier":null,"memory_kind":null,"importance":null,"summary":null,"relations":null,"source_message_ids":null,"occurred_at":null}`),
			want: written(convmem.MetadataPatch{})},
		{name: "empty arrays", tool: "write_message", args: metadataArgs(`"{\"tags\":[],\"relations\":[],\"source_message_ids\":[]}"`),
			want: written(convmem.MetadataPatch{Tags: []string{}, Relations: []convmem.Relation{}, SourceMessageIDs: []string{}})},
		{name: "an array", tool: "write_message", args: metadataArgs(`[]`), field: "metadata_json", says: "an array, want an object"},
		{name: "a number", tool: "write_message", args: metadataArgs(`"7"`), field: "metadata_json", says: "a number, want an object"},
		{name: "a boolean", tool: "write_message", args: metadataArgs(`false`), field: "metadata_json", says: "a boolean, want an object"},
		{name: "no JSON", tool: "write_message", args: metadataArgs(quoted(secret)), field: "metadata_json", says: "not valid JSON"},
		{name: "only a space", tool: "write_message", args: metadataArgs(`" "`), field: "metadata_json", says: "ends too early"},
		{name: "text after it", tool: "write_message", args: metadataArgs(`"{} {}"`), field: "metadata_json", says: "text after the JSON value"},
		{name: "unknown", tool: "write_message", args: metadataArgs(`{"tag":["a"]}`), field: "tag", says: "unknown field of metadata_json, the nearest known is tags"},
		{name: "unknown in a string", tool: "write_message", args: metadataArgs(`"{\"kind\":\"episode\"}"`), field: "kind", says: "unknown field of metadata_json"},
		{name: "in another case", tool: "write_message", args: metadataArgs(`{"Tags":["a"]}`), field: "Tags", says: "the nearest known is tags"},
		{name: "twice", tool: "write_message", args: metadataArgs(`{"tags":["a"],"tags":["b"]}`), field: "tags", says: "twice"},
		{name: "twice in a string", tool: "write_message", args: metadataArgs(`"{\"tags\":[],\"t\\u0061gs\":[]}"`), field: "tags", says: "twice"},
		{name: "a bare string for an array", tool: "write_message", args: metadataArgs(`{"tags":"` + secret + `"}`), field: "tags", says: "a string, want an array of strings"},
		{name: "an array in a string", tool: "write_message", args: metadataArgs(`{"tags":"[\"a\"]"}`), field: "tags", says: "a string, want an array of strings"},
		{name: "an object for an array", tool: "write_message", args: metadataArgs(`{"source_message_ids":{"0":"m"}}`), field: "source_message_ids", says: "an object, want an array of strings"},
		{name: "a number in an array", tool: "write_message", args: metadataArgs(`{"tags":["a","b",3]}`), field: "tags[2]", says: "a number, want a string"},
		{name: "null in an array", tool: "write_message", args: metadataArgs(`{"tags":["a",null]}`), field: "tags[1]", says: "null, want a string"},
		{name: "invalid UTF-8", tool: "write_message", args: metadataArgs("{\"tags\":[\"a\",\"b\",\"c\",\"" + secret + "\xff\"]}"), field: "tags[3]", says: "not valid UTF-8"},
		{name: "a lone surrogate in a string", tool: "write_message", args: metadataArgs(`"{\"tags\":[\"a\",\"\\ud800\"]}"`), field: "tags[1]", says: "surrogate"},
		{name: "a number for a text", tool: "write_message", args: metadataArgs(`{"summary":5}`), field: "summary", says: "a number, want a string"},
		{name: "an empty tier", tool: "write_message", args: metadataArgs(`{"memory_tier":""}`), field: "memory_tier", says: "short, mid, long, discard"},
		{name: "an empty kind", tool: "write_message", args: metadataArgs(`{"memory_kind":""}`), field: "memory_kind", says: "conversation, episode"},
		{name: "an unknown kind goes to the store", tool: "write_message", args: metadataArgs(`{"memory_kind":"fact"}`), want: written(convmem.MetadataPatch{Kind: "fact"})},
		{name: "a fraction", tool: "write_message", args: metadataArgs(`{"importance":0.5}`), field: "importance", says: "not a whole number"},
		{name: "a moment", tool: "write_message", args: metadataArgs(`{"occurred_at":"281474976710655"}`), want: written(convmem.MetadataPatch{OccurredAt: time.UnixMilli(1<<48 - 1).UTC()})},

		{name: "a relation that is no object", tool: "write_message", args: relation(`"m"`), field: "relations[0]", says: "a string, want an object"},
		{name: "a relation that is null", tool: "write_message", args: relation(`null`), field: "relations[0]", says: "null, want an object"},
		{name: "a relation without a type", tool: "write_message", args: relation(`{"message_id":"m"}`), field: "relations[0].type", says: "missing"},
		{name: "a relation to null", tool: "write_message", args: relation(`{"type":"supersedes","message_id":"m"},{"type":"supersedes","message_id":null}`), field: "relations[1].message_id", says: "missing"},
		{name: "a relation to a number", tool: "write_message", args: relation(`{"type":"supersedes","message_id":7}`), field: "relations[0].message_id", says: "a number, want a string"},
		{name: "a relation with more", tool: "write_message", args: relation(`{"type":"supersedes","message_id":"m","messageid":"m"}`), field: "relations[0].messageid", says: "unknown field of relations, the nearest known is message_id"},
		{name: "a relation with a type twice", tool: "write_message", args: relation(`{"type":"supersedes","type":"supersedes"}`), field: "relations[0].type", says: "twice"},
		{name: "relations in an object", tool: "write_message", args: metadataArgs(`{"relations":{"type":"supersedes","message_id":"m"}}`), field: "relations", says: "an object, want an array of objects"},

		{name: "filters", tool: "search_messages", args: filterArgs(`"{\"kinds\":[\"episode\"],\"tiers\":[\"long\"],\"tags\":[\"a\",\"b\"],\"roles\":[\"tool\"],\"since\":1e3,\"until\":\"2000\"}"`),
			want: filtered(convmem.Filters{
				Kinds: []convmem.MemoryKind{"episode"}, Tiers: []convmem.MemoryTier{"long"}, Tags: []string{"a", "b"}, Roles: []convmem.Role{"tool"},
				Since: time.UnixMilli(1000).UTC(), Until: time.UnixMilli(2000).UTC(),
			})},
		{name: "filters, the beginning of time", tool: "search_messages", args: filterArgs(`{"until":0}`), want: filtered(convmem.Filters{Until: time.UnixMilli(0).UTC()})},
		{name: "filters, empty arrays", tool: "search_messages", args: filterArgs(`{"kinds":[],"tags":[]}`), want: filtered(convmem.Filters{Kinds: []convmem.MemoryKind{}, Tags: []string{}})},
		{name: "filters, empty", tool: "search_messages", args: filterArgs(`""`), want: filtered(convmem.Filters{})},
		{name: "filters, unknown", tool: "search_messages", args: filterArgs(`{"kind":["episode"]}`), field: "kind", says: "unknown field of filters_json, the nearest known is kinds"},
		{name: "filters, a bare string", tool: "search_messages", args: filterArgs(`{"roles":"tool"}`), field: "roles", says: "a string, want an array of strings"},
		{name: "filters, an empty kind", tool: "search_messages", args: filterArgs(`{"kinds":["episode",""]}`), field: "kinds[1]", says: "conversation, episode"},
		{name: "filters, a fraction", tool: "search_messages", args: filterArgs(`{"since":1.5}`), field: "since", says: "not a whole number"},
	})
}

func TestToolArguments(t *testing.T) {
	around := func(*convmem.ContextRequest) {}
	types := func(all ...convmem.RelationType) convmem.ReadRequest {
		return readContext(func(r *convmem.ContextRequest) { r.RelationTypes = all })
	}
	runRows(t, []row{
		{name: "update, both", tool: "update_message", args: `{"message_id":"m","content":"c","metadata_json":{"summary":"x"},"expected_revision":"3"}`,
			want: convmem.UpdateRequest{MessageID: "m", Content: new("c"), Metadata: &convmem.MetadataPatch{Summary: new("x")}, ExpectedRevision: 3}},
		{name: "update, content null", tool: "update_message", args: `{"message_id":"m","content":null,"metadata_json":"{}"}`, want: convmem.UpdateRequest{MessageID: "m", Metadata: &convmem.MetadataPatch{}}},
		{name: "update, content empty", tool: "update_message", args: `{"message_id":"m","content":""}`, want: convmem.UpdateRequest{MessageID: "m", Content: new("")}},
		{name: "update, metadata empty", tool: "update_message", args: `{"message_id":"m","content":"c","metadata_json":""}`, want: convmem.UpdateRequest{MessageID: "m", Content: new("c")}},
		{name: "update, no id", tool: "update_message", args: `{"content":"c"}`, field: "message_id", says: "missing"},

		{name: "search, everything", tool: "search_messages", args: `{"query":"q","session_id":"s","min_importance":1,"context_size":2,"limit":3,"max_content_characters":4,"filters_json":null}`,
			want: convmem.SearchRequest{Query: "q", SessionID: "s", MinImportance: 1, ContextSize: 2, Limit: 3, MaxContentCharacters: 4}},
		{name: "search, empty session", tool: "search_messages", args: `{"query":"q","session_id":""}`, want: convmem.SearchRequest{Query: "q"}},
		{name: "search, empty query", tool: "search_messages", args: `{"query":""}`, want: convmem.SearchRequest{}},
		{name: "search, null query", tool: "search_messages", args: `{"query":null}`, field: "query", says: "missing"},
		{name: "search, zeros", tool: "search_messages", args: `{"query":"q","min_importance":0,"context_size":0}`, want: convmem.SearchRequest{Query: "q"}},

		{name: "delete", tool: "delete_message", args: `{"message_id":"m","session_id":"s"}`, want: convmem.DeleteRequest{MessageID: "m", SessionID: "s"}},
		{name: "delete, no guard", tool: "delete_message", args: `{"message_id":"m","session_id":null}`, want: convmem.DeleteRequest{MessageID: "m"}},
		{name: "delete, empty guard", tool: "delete_message", args: `{"message_id":"m","session_id":""}`, field: "session_id", says: "0 bytes, at least 1"},
		{name: "delete, a number as guard", tool: "delete_message", args: `{"message_id":"m","session_id":5}`, field: "session_id", says: "a number, want a string"},

		{name: "rebuild ignores what it is given", tool: "rebuild_index", args: `{"force":true,"force":[}`, want: convmem.RebuildRequest{}},
		{name: "health ignores what it is given", tool: "get_system_health", args: "\xff", want: convmem.HealthRequest{}},
		{name: "rebuild without arguments", tool: "rebuild_index", args: ``, want: convmem.RebuildRequest{}},

		{name: "history, everything", tool: "read_messages", args: `{"view":"history","session_id":"s","limit":2,"cursor":"c","order":"desc","max_characters":3,"max_content_characters":4}`,
			want: readHistory(func(r *convmem.HistoryRequest) {
				r.Limit, r.Cursor, r.Order, r.MaxCharacters, r.MaxContentCharacters = 2, "c", "desc", 3, 4
			})},
		{name: "history, view empty", tool: "read_messages", args: historyArgs(`,"view":"","cursor":""`), want: readHistory(plainHistory)},
		{name: "history, view null", tool: "read_messages", args: historyArgs(`,"view":null`), want: readHistory(plainHistory)},
		{name: "history, no session", tool: "read_messages", args: `{}`, field: "session_id", says: "view history wants a string"},
		{name: "history, no arguments", tool: "read_messages", args: `null`, field: "session_id", says: "missing"},
		{name: "history, session null", tool: "read_messages", args: `{"session_id":null}`, field: "session_id", says: "missing"},
		{name: "history, session empty", tool: "read_messages", args: `{"session_id":""}`, want: convmem.ReadRequest{History: &convmem.HistoryRequest{}}},
		{name: "history, order empty", tool: "read_messages", args: historyArgs(`,"order":""`), field: "order", says: "asc, desc"},
		{name: "history, the defaults of others", tool: "read_messages", args: historyArgs(`,"message_id":"","before":1,"after":"1","relation_depth":1.0,"relation_types_json":"[]"`), want: readHistory(plainHistory)},
		{name: "history, the nulls of others", tool: "read_messages", args: historyArgs(`,"message_id":null,"before":null,"after":null,"relation_depth":null,"relation_types_json":null`), want: readHistory(plainHistory)},
		{name: "history, the blanks of others", tool: "read_messages", args: historyArgs(`,"before":"","after":"","relation_depth":"","relation_types_json":""`), want: readHistory(plainHistory)},
		{name: "history with an id", tool: "read_messages", args: historyArgs(`,"message_id":"m"`), field: "message_id", says: "not used by view history"},
		{name: "history with before", tool: "read_messages", args: historyArgs(`,"before":0`), field: "before", says: "not used by view history"},
		{name: "history with a depth", tool: "read_messages", args: historyArgs(`,"relation_depth":true`), field: "relation_depth", says: "not used by view history"},
		{name: "history with types", tool: "read_messages", args: historyArgs(`,"relation_types_json":["supersedes"]`), field: "relation_types_json", says: "not used by view history"},
		{name: "history, unknown", tool: "read_messages", args: historyArgs(`,"max_chars":5`), field: "max_chars", says: "the nearest known is max_characters"},

		{name: "context, everything", tool: "read_messages", args: contextArgs(`,"before":0,"after":10,"relation_depth":2,"relation_types_json":"[\"supersedes\",\"related_to\"]","max_content_characters":4`),
			want: readContext(func(r *convmem.ContextRequest) {
				r.Before, r.After, r.RelationDepth, r.MaxContentCharacters = new(0), new(10), new(2), 4
				r.RelationTypes = []convmem.RelationType{"supersedes", "related_to"}
			})},
		{name: "context, no id", tool: "read_messages", args: `{"view":"context"}`, field: "message_id", says: "view context wants a string"},
		{name: "context, the defaults of others", tool: "read_messages", args: contextArgs(`,"session_id":"","cursor":"","order":"asc","max_characters":null`), want: readContext(around)},
		{name: "context with a limit", tool: "read_messages", args: contextArgs(`,"limit":7`), want: readContext(around)},
		{name: "context with a limit of nothing", tool: "read_messages", args: contextArgs(`,"limit":0`), want: readContext(around)},
		{name: "context with a limit beyond all", tool: "read_messages", args: contextArgs(`,"limit":1001`), want: readContext(around)},
		{name: "context with a limit beyond 64 bits", tool: "read_messages", args: contextArgs(`,"limit":9223372036854775808`), field: "limit", says: "64 bits"},
		{name: "context with a blank limit", tool: "read_messages", args: contextArgs(`,"limit":""`), want: readContext(around)},
		{name: "context with a limit that is none", tool: "read_messages", args: contextArgs(`,"limit":"many"`), field: "limit", says: "no integer"},
		{name: "context with a session", tool: "read_messages", args: contextArgs(`,"session_id":"s"`), field: "session_id", says: "not used by view context"},
		{name: "context with a cursor", tool: "read_messages", args: contextArgs(`,"cursor":"c"`), field: "cursor", says: "not used by view context"},
		{name: "context with an order", tool: "read_messages", args: contextArgs(`,"order":"desc"`), field: "order", says: "not used by view context"},
		{name: "context with characters", tool: "read_messages", args: contextArgs(`,"max_characters":5`), field: "max_characters", says: "not used by view context"},
		{name: "context, types as they are", tool: "read_messages", args: contextArgs(`,"relation_types_json":["supersedes"]`), want: types("supersedes")},
		{name: "context, types encoded twice", tool: "read_messages", args: contextArgs(`,"relation_types_json":` + quoted(quoted(`["supersedes"]`))), want: types("supersedes")},
		{name: "context, no types", tool: "read_messages", args: contextArgs(`,"relation_types_json":"[]"`), want: types([]convmem.RelationType{}...)},
		{name: "context, a bare type", tool: "read_messages", args: contextArgs(`,"relation_types_json":"supersedes"`), field: "relation_types_json", says: "not valid JSON"},
		{name: "context, a type that is no list", tool: "read_messages", args: contextArgs(`,"relation_types_json":"{\"type\":\"supersedes\"}"`), field: "relation_types_json", says: "an object, want an array of strings"},
		{name: "context, a type that is a number", tool: "read_messages", args: contextArgs(`,"relation_types_json":["supersedes",7]`), field: "relation_types[1]", says: "a number, want a string"},
		{name: "context, a type in bad UTF-8", tool: "read_messages", args: contextArgs(",\"relation_types_json\":[\"\xff\"]"), field: "relation_types[0]", says: "not valid UTF-8"},

		{name: "sessions, everything", tool: "read_messages", args: sessionsArgs(`,"limit":"5","cursor":"c","max_content_characters":4`),
			want: readSessions(func(r *convmem.SessionsRequest) { r.Limit, r.Cursor, r.MaxContentCharacters = 5, "c", 4 })},
		{name: "sessions, the defaults of others", tool: "read_messages", args: sessionsArgs(`,"session_id":"","message_id":"","order":"asc","before":1,"after":1,"relation_depth":1,"relation_types_json":[]`),
			want: readSessions(func(*convmem.SessionsRequest) {})},
		{name: "sessions with a session", tool: "read_messages", args: sessionsArgs(`,"session_id":"s"`), field: "session_id", says: "not used by view sessions"},
		{name: "sessions with an order", tool: "read_messages", args: sessionsArgs(`,"order":"newest"`), field: "order", says: "not used by view sessions"},
		{name: "an unknown view", tool: "read_messages", args: `{"view":"everything"}`, field: "view", says: "history, context, sessions"},
		{name: "a view in capitals", tool: "read_messages", args: `{"view":"History","session_id":"s"}`, field: "view", says: "history, context, sessions"},
		{name: "a view that is a list", tool: "read_messages", args: `{"view":["history"]}`, field: "view", says: "an array, want a string"},
	})
}
