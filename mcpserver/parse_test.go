package mcpserver

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// plain is v as encoding/json would have decoded it.
func (v value) plain() any {
	switch v.shape {
	case shapeNumber:
		return json.Number(v.text)
	case shapeString:
		return v.text
	case shapeBoolean:
		return true // which of the two is not kept: no parameter is a boolean
	case shapeArray:
		return list(v.items, value.plain)
	case shapeObject:
		members := map[string]any{}
		for i, name := range v.names {
			members[name] = v.items[i].plain()
		}
		return members
	}
	return nil
}

// FuzzParse compares the parser with encoding/json: what it accepts is valid
// and means the same, and what it refuses is invalid or one of the things that
// encoding/json forgives.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,"x\u00e9\ud83d\ude00",null,true,{"b":{}}],"c":""}`, `[]`, ` "x" `, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `[1,]`, `01`, `{} {}`,
		strings.Repeat("[", 32) + strings.Repeat("]", 32), strings.Repeat("[", 33) + strings.Repeat("]", 33), `{"a" 1}`, `["\u12"]`, "\ufeff{}", `{"a":}`, `[1 2]`, `{1:2}`, `nul`, `"\x"`, `[}`, `{]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, problem := parse(data)
		if problem != nil {
			if json.Valid(data) && !forgiven(problem.problem) {
				t.Fatalf("refused valid JSON: %+v", problem)
			}
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil || !json.Valid(data) || !utf8.Valid(data) {
			t.Fatalf("accepted invalid JSON: %v", err)
		}
		// Not cmp: its time doubles with every level of nested lists.
		if got := v.plain(); !reflect.DeepEqual(onlyTrue(want), got) {
			t.Fatalf("got %v, want %v", got, onlyTrue(want))
		}
	})
}

func forgiven(problem string) bool {
	for _, reason := range []string{"twice", "UTF-8", "surrogate", "deeper", "more than"} {
		if strings.Contains(problem, reason) {
			return true
		}
	}
	return false
}

// onlyTrue makes false true, as plain does.
func onlyTrue(v any) any {
	switch v := v.(type) {
	case bool:
		return true
	case []any:
		return list(v, onlyTrue)
	case map[string]any:
		for name := range v {
			v[name] = onlyTrue(v[name])
		}
	}
	return v
}

// TestWholeNumber compares with exact rational arithmetic.
func TestWholeNumber(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`).Draw(r, "literal")
		exact, ok := new(big.Rat).SetString(literal)
		if !ok {
			r.Fatalf("%s is no number", literal)
		}
		n, problem := wholeNumber(literal)
		switch {
		case !exact.IsInt():
			if problem != "not a whole number" {
				r.Fatalf("%s: %d, %q", literal, n, problem)
			}
		case !exact.Num().IsInt64():
			if problem != "beyond 64 bits" {
				r.Fatalf("%s: %d, %q", literal, n, problem)
			}
		case problem != "" || n != exact.Num().Int64():
			r.Fatalf("%s: %d, %q", literal, n, problem)
		}
	})
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"tags", "tag", 1}, {"tags", "gats", 2}, {"limit", "limit", 0}, {"kitten", "sitting", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
