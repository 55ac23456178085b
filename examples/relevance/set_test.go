package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

const setLine = `{"set":{"name":"tiny"}}` + "\n"

func messageLine(id, content string) string {
	return fmt.Sprintf(`{"message":{"id":%q,"store":"s","session":"t","role":"user","time":1,"content":%s}}`+"\n", id, quoted(content))
}

func queryLine(id, text string, relevant ...string) string {
	ids, _ := json.Marshal(relevant)
	return fmt.Sprintf(`{"query":{"id":%q,"store":"s","text":%s,"relevant":%s}}`+"\n", id, quoted(text), ids)
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// TestReadingErrors has every reason to refuse a set. A message says where.
func TestReadingErrors(t *testing.T) {
	start := setLine + messageLine("m", "one")
	for name, c := range map[string]struct{ text, says string }{
		"empty file":             {"", "empty file"},
		"blank file":             {"\n \n", "empty file"},
		"no queries":             {start, "no queries"},
		"set missing":            {messageLine("m", "one"), "line 1: the first line, and no other, has the key set"},
		"set twice":              {start + setLine, "line 3: the first line, and no other, has the key set"},
		"set without a name":     {`{"set":{}}`, "line 1: set: no name"},
		"name of the wrong type": {`{"set":{"name":7}}`, "line 1: name: a JSON number, want a string"},
		"half an object":         {start + `{"query":`, "line 3: not a JSON object"},
		"an array":               {start + `["query"]`, "line 3: not a JSON object"},
		"two objects":            {start + `{"query":{}} {"query":{}}`, "line 3: not a JSON object"},
		"unknown key":            {start + `{"document":{}}`, `line 3: key "document", want set, message or query`},
		"wrongly cased key":      {start + `{"Query":{}}`, `line 3: key "Query", want set, message or query`},
		"two keys":               {start + `{"message":{},"query":{}}`, "line 3: 2 keys, want one"},
		"no key":                 {start + `{}`, "line 3: 0 keys, want one"},
		"not UTF-8":              {start + "{\"query\":{\"text\":\"\xff\"}}", "line 3: not valid UTF-8"},
		"line after blank ones":  {start + "\n\r\n" + `{}`, "line 5: 0 keys"},

		"message no object":  {setLine + `{"message":[]}`, `line 2, message "": value: a JSON array, want an object`},
		"no id":              {setLine + messageLine("", "one"), `line 2, message "": id: empty`},
		"id twice":           {start + messageLine("m", "two"), `line 3, message "m": id: store "s" has a message with it already`},
		"unknown role":       {changed(messageLine("m", "one"), `"user"`, `"narrator"`), `line 2, message "m": role: want user, assistant, system or tool`},
		"no role":            {changed(messageLine("m", "one"), `"role":"user",`, ``), `line 2, message "m": role: want`},
		"no time":            {changed(messageLine("m", "one"), `"time":1,`, ``), `line 2, message "m": time: missing`},
		"time before 1970":   {changed(messageLine("m", "one"), `"time":1`, `"time":-1`), `line 2, message "m": time: -1, want 0 to`},
		"time in nanosec.":   {changed(messageLine("m", "one"), `"time":1`, `"time":1700000000000000000`), `line 2, message "m": time: 1700000000000000000, want 0 to 281474976710655`},
		"time as a string":   {changed(messageLine("m", "one"), `"time":1`, `"time":"now"`), `line 2, message "m": time: a JSON string, want a whole number`},
		"time as a fraction": {changed(messageLine("m", "one"), `"time":1`, `"time":1.5`), `line 2, message "m": time: a JSON number, want a whole number`},
		"empty content":      {setLine + messageLine("m", ""), `line 2, message "m": content: empty`},
		"content too long":   {setLine + messageLine("m", strings.Repeat("a", 1<<20+1)), `line 2, message "m": content: 1048577 bytes, at most 1048576`},
		"session too long":   {changed(messageLine("m", "one"), `"t"`, quoted(strings.Repeat("t", 257))), `line 2, message "m": session: 257 bytes, at most 256`},

		"empty query":           {start + queryLine("q", "", "m"), `line 3, query "q": text: empty`},
		"nothing relevant":      {start + queryLine("q", "one"), `line 3, query "q": relevant: empty`},
		"relevant unknown":      {start + queryLine("q", "one", "m", "n"), `line 3, query "q": relevant: store "s" has no message "n"`},
		"relevant elsewhere":    {start + strings.Replace(queryLine("q", "one", "m"), `"s"`, `"u"`, 1), `line 3, query "q": relevant: store "u" has no message "m"`},
		"relevant twice":        {start + queryLine("q", "one", "m", "m"), `line 3, query "q": relevant: "m" twice`},
		"relevant one string":   {start + strings.Replace(queryLine("q", "one", "m"), `["m"]`, `"m"`, 1), `line 3, query "q": relevant: a JSON string, want an array of strings`},
		"excluded and wanted":   {start + excluding(queryLine("q", "one", "m"), "m"), `line 3, query "q": exclude: "m" is relevant`},
		"too many to leave out": {start + excluding(queryLine("q", "one", "m"), make([]string, 81)...), `line 3, query "q": exclude: 81 messages, at most 80`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readSet(strings.NewReader(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("%v, want %s", err, c.says)
			}
		})
	}
}

// changed is a set whose message has something else in one place.
func changed(message, old, new string) string {
	return setLine + strings.Replace(message, old, new, 1)
}

func excluding(query string, ids ...string) string {
	list, _ := json.Marshal(ids)
	return strings.Replace(query, `}}`, `,"exclude":`+string(list)+`}}`, 1)
}

// What a set may leave out, what is ignored, and what stands in which order.
func TestReadSet(t *testing.T) {
	got, err := readSet(strings.NewReader("\uFEFF" + `{"set":{"name":"tiny","unit":["ignored"]}}` + "\r\n" +
		`{"query":{"text":"q","relevant":["m"],"exclude":["nobody"],"source":{"ignored":1}}}` + "\n\n" +
		`{"message":{"id":"n","store":"b","role":"tool","time":0,"content":"x"}}` + "\n" +
		`{"message":{"id":"m","role":"system","time":2,"content":"\u00e9","ignored":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	at0, at2 := int64(0), int64(2)
	want := &set{name: "tiny", memories: []*memory{
		{
			name:     "",
			messages: []message{{ID: "m", Session: "none", Role: "system", Time: &at2, Content: "é", line: 5}},
			queries:  []query{{Text: "q", Relevant: []string{"m"}, Group: "all", Exclude: []string{"nobody"}, line: 2}},
			sessions: map[string]string{"m": "none"},
		},
		{
			name:     "b",
			messages: []message{{ID: "n", Store: "b", Session: "none", Role: "tool", Time: &at0, Content: "x", line: 4}},
			sessions: map[string]string{"n": "none"},
		},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(set{}, memory{}, message{}, query{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLimitsAreIn reads the largest values that are let in.
func TestLimitsAreIn(t *testing.T) {
	text := setLine + messageLine("m", strings.Repeat("a", convmem.MaxContentBytes)) +
		queryLine("q", strings.Repeat("a", convmem.MaxQueryBytes), "m")
	s, err := readSet(strings.NewReader(text))
	if err != nil || len(s.notes) != 0 {
		t.Errorf("%v, %q", err, s.notes)
	}
}

// A query is cut before the character that does not fit.
func TestLongQueriesAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"one byte each":            {strings.Repeat("a", 4097), 4096},
		"three bytes each":         {strings.Repeat("語", 1366), 4095}, // 1365 of them fit
		"four bytes, one to spare": {"abc" + strings.Repeat("😀", 1024), 4095},
		"fits to the byte":         {"a" + strings.Repeat("語", 1366), 4096},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readSet(strings.NewReader(setLine + messageLine("m", "one") + queryLine("q", c.text, "m")))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.memories[0].queries[0].Text; got != c.text[:c.want] {
				t.Errorf("%d bytes left, want %d", len(got), c.want)
			}
			note := fmt.Sprintf(`line 3, query "q": %d bytes, cut to %d`, len(c.text), c.want)
			if diff := cmp.Diff([]string{note}, s.notes); diff != "" {
				t.Errorf("notes, -want +got:\n%s", diff)
			}
		})
	}
}
