package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxNesting is how deep arrays and objects may stand in each other.
	maxNesting = 32
	// maxValues bounds the memory that one JSON text can claim. The largest
	// legal arguments hold a few hundred values.
	maxValues = 10_000
)

// shape says what sort of JSON value a value is.
type shape string

// The shapes, named as error texts name them.
const (
	shapeNull    shape = "null"
	shapeBoolean shape = "a boolean"
	shapeNumber  shape = "a number"
	shapeString  shape = "a string"
	shapeArray   shape = "an array"
	shapeObject  shape = "an object"
)

// value is one JSON value.
type value struct {
	shape shape
	text  string   // a string's characters; a number as it is written
	names []string // an object's keys
	items []value  // an array's elements; an object's values, one for each key
}

// fault says what is wrong with a JSON text and where: path leads to the value,
// as in relations[2].type.
type fault struct{ path, problem string }

// inside prefixes the path with the step that led to the value.
func (f *fault) inside(step string) *fault {
	if f.path != "" && f.path[0] != '[' {
		step += "."
	}
	return &fault{step + f.path, f.problem}
}

// parser reads values through the tokens of encoding/json, which forgives four
// things that would change what a caller said: a key that stands twice, a key
// in another case, broken UTF-8, and half of a surrogate pair. The first two
// are refused by working with keys, the others by looking at the bytes behind
// each token.
type parser struct {
	data   []byte
	tokens *json.Decoder
	values int
}

// parse reads a text that holds exactly one JSON value.
func parse(data []byte) (value, *fault) {
	p := parser{data: data, tokens: json.NewDecoder(bytes.NewReader(data))}
	p.tokens.UseNumber()
	v, f := p.value(0)
	if f != nil {
		return value{}, f
	}
	if rest := data[p.tokens.InputOffset():]; len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return value{}, p.fault("text after the JSON value")
	}
	return v, nil
}

// fault reports a problem where the parser stands.
func (p *parser) fault(problem string) *fault {
	return &fault{problem: problem + ", at byte " + strconv.FormatInt(p.tokens.InputOffset(), 10)}
}

// next returns the next token and the bytes it was made from. Those begin with
// the separators before it.
func (p *parser) next() (json.Token, []byte, *fault) {
	start := p.tokens.InputOffset()
	token, err := p.tokens.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, nil, p.fault("not valid JSON: it ends too early")
	case err != nil:
		return nil, nil, p.fault("not valid JSON")
	}
	return token, p.data[start:p.tokens.InputOffset()], nil
}

func (p *parser) value(depth int) (value, *fault) {
	if p.values++; p.values > maxValues {
		return value{}, p.fault("more than " + strconv.Itoa(maxValues) + " JSON values")
	}
	token, raw, f := p.next()
	if f != nil {
		return value{}, f
	}
	switch token := token.(type) {
	case nil:
		return value{shape: shapeNull}, nil
	case bool:
		return value{shape: shapeBoolean}, nil
	case json.Number:
		return value{shape: shapeNumber, text: token.String()}, nil
	case string:
		return value{shape: shapeString, text: token}, p.checkString(raw)
	}
	if depth == maxNesting {
		return value{}, p.fault("nested deeper than " + strconv.Itoa(maxNesting) + " levels")
	}
	if token == json.Delim('{') {
		return p.object(depth + 1)
	}
	return p.array(depth + 1)
}

func (p *parser) array(depth int) (value, *fault) {
	v := value{shape: shapeArray}
	for p.tokens.More() {
		item, f := p.value(depth)
		if f != nil {
			return value{}, f.inside(index(len(v.items)))
		}
		v.items = append(v.items, item)
	}
	_, _, f := p.next()
	return v, f
}

func (p *parser) object(depth int) (value, *fault) {
	v := value{shape: shapeObject}
	seen := map[string]bool{}
	for p.tokens.More() {
		token, raw, f := p.next()
		if f != nil {
			return value{}, f
		}
		name, _ := token.(string)
		if f := p.checkString(raw); f != nil {
			return value{}, f
		}
		if seen[name] {
			return value{}, p.fault("the key stands twice").inside(shorten(name))
		}
		seen[name] = true
		item, f := p.value(depth)
		if f != nil {
			return value{}, f.inside(shorten(name))
		}
		v.names, v.items = append(v.names, name), append(v.items, item)
	}
	_, _, f := p.next()
	return v, f
}

// checkString looks at a string as it is written.
func (p *parser) checkString(raw []byte) *fault {
	switch {
	case !utf8.Valid(raw):
		return p.fault("not valid UTF-8")
	case hasLoneSurrogate(raw):
		return p.fault("half of a surrogate pair")
	}
	return nil
}

// hasLoneSurrogate reports whether a string that is valid JSON escapes half of
// a character beyond U+FFFF without its other half.
func hasLoneSurrogate(raw []byte) bool {
	for {
		start := bytes.IndexByte(raw, '\\')
		if start < 0 {
			return false
		}
		raw = raw[start:]
		first, size := escaped(raw)
		raw = raw[size:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, size := escaped(raw)
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		raw = raw[size:]
	}
}

// escaped returns the \uXXXX that text begins with and its length. Any other
// escape is 0 and two bytes long.
func escaped(text []byte) (rune, int) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, min(2, len(text))
	}
	code, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0, 2
	}
	return rune(code), 6
}

// index is the path to one element of a list.
func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// shorten bounds a name that the caller made up before an error repeats it.
func shorten(name string) string {
	const most = 40
	switch {
	case name == "":
		return `""`
	case len(name) <= most:
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "..."
}
