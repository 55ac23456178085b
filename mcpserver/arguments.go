package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/convmem"
)

// arguments are the parameters that a caller gave, by name. One that was left
// out, in whichever way, is not there.
type arguments map[string]argument

// argument is the value of one parameter, in the field that its kind uses.
type argument struct {
	text    string
	number  int64
	texts   []string
	record  arguments
	records []arguments
}

// invalid makes the error for a wrong argument. Nothing that is formatted into
// it may come from the text of a message.
func invalid(field, format string, args ...any) error {
	return &convmem.Error{Code: convmem.CodeValidation, Field: field, Message: fmt.Sprintf(format, args...)}
}

// decode checks the arguments of a call. A tool without parameters ignores
// them.
func (t tool) decode(raw json.RawMessage) (arguments, error) {
	if len(t.parameters) == 0 {
		return nil, nil
	}
	object, err := argumentsObject(raw)
	if err == nil && t.narrow != nil {
		object, err = t.narrow(t.parameters, object)
	}
	if err != nil {
		return nil, err
	}
	return decodeRecord(t.parameters, object, "", "parameter")
}

// argumentsObject reads arguments as hosts send them: an object, nothing, null,
// or a string that holds the object.
func argumentsObject(raw json.RawMessage) (value, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return value{shape: shapeObject}, nil
	}
	v, f := parse(raw)
	if f == nil && v.shape == shapeString {
		v, f = parse([]byte(v.text))
	}
	switch {
	case f != nil:
		return value{}, invalid(fieldName(f.path, "arguments"), "%s", f.problem)
	case v.shape == shapeNull:
		return value{shape: shapeObject}, nil
	case v.shape != shapeObject:
		return value{}, invalid("arguments", "%s, want an object", v.shape)
	}
	return v, nil
}

// decodeRecord checks an object against its parameters. prefix is the path of
// the object, with the dot that ends it; noun says what its keys are.
func decodeRecord(parameters []parameter, object value, prefix, noun string) (arguments, error) {
	given := arguments{}
	for i, name := range object.names {
		p, known := find(parameters, name)
		if !known {
			return nil, invalid(prefix+shorten(name), "unknown %s, the nearest known is %s", noun, nearest(parameters, name))
		}
		a, present, err := p.decode(object.items[i], prefix+name)
		if err != nil {
			return nil, err
		}
		if present {
			given[name] = a
		}
	}
	for _, p := range parameters {
		if _, present := given[p.name]; p.required && !present {
			return nil, invalid(prefix+p.name, "missing, want %s", p.kind)
		}
	}
	return given, nil
}

// decode checks one value. present is false when it means that the parameter
// was left out.
func (p parameter) decode(v value, path string) (a argument, present bool, err error) {
	if p.encoded {
		if v, err = unwrap(v, path); err != nil {
			return argument{}, false, err
		}
	}
	blank := v.shape == shapeString && v.text == "" && (p.blank || p.encoded)
	if v.shape == shapeNull || blank {
		return argument{}, false, nil
	}
	switch p.kind {
	case kindText:
		a.text, err = p.decodeText(v, path)
	case kindInteger:
		a.number, err = p.decodeInteger(v, path)
	case kindTexts:
		a.texts, err = p.decodeTexts(v, path)
	case kindRecord:
		a.record, err = p.decodeFields(v, path)
	case kindRecords:
		a.records, err = p.decodeRecords(v, path)
	}
	return a, err == nil, err
}

// unwrap reads the JSON in a string, and once more where that is a string too:
// some hosts encode twice.
func unwrap(v value, path string) (value, error) {
	for range 2 {
		if v.shape != shapeString || v.text == "" {
			return v, nil
		}
		inner, f := parse([]byte(v.text))
		if f != nil {
			return value{}, invalid(fieldName(f.inside(path).path, path), "%s", f.problem)
		}
		v = inner
	}
	return v, nil
}

// fieldName shortens a path to the field that a store would name: a field of
// metadata_json or filters_json by itself, an element of relation_types_json
// without the ending. An empty path is the whole.
func fieldName(path, whole string) string {
	if path == "" {
		return whole
	}
	root, inner, nested := strings.Cut(path, "_json")
	switch {
	case !nested || inner == "":
		return path
	case inner[0] == '.':
		return inner[1:]
	}
	return root + inner
}

func (p parameter) wrong(path string, v value) error {
	return invalid(path, "%s, want %s", v.shape, p.kind)
}

// decodeText leaves the limits of a text to the Store, which measures it
// anyway. Only the "" of an enumeration never reaches it: there it would mean
// that the parameter was left out.
func (p parameter) decodeText(v value, path string) (string, error) {
	switch {
	case v.shape != shapeString:
		return "", p.wrong(path, v)
	case v.text == "" && p.choices != nil:
		return "", invalid(path, "0 bytes, want one of %s", strings.Join(p.choices, ", "))
	}
	return v.text, nil
}

// decodeInteger accepts a number with a whole value and the same in quotes. It
// leaves limits to the Store too, except for what a request cannot express:
// zero, where that means not given, the moment that does, and more than an int
// holds.
func (p parameter) decodeInteger(v value, path string) (n int64, err error) {
	var problem string
	switch v.shape {
	case shapeNumber:
		n, problem = wholeNumber(v.text)
	case shapeString:
		n, problem = plainInteger(v.text)
	default:
		return 0, p.wrong(path, v)
	}
	if problem != "" {
		return 0, invalid(path, "%s, want an integer %s", problem, p.limits())
	}
	hidden := n == 0 || time.UnixMilli(n).IsZero() || int64(int(n)) != n
	if hidden && (n < p.least || n > p.most) {
		return 0, invalid(path, "%d, want an integer %s", n, p.limits())
	}
	return n, nil
}

func (p parameter) limits() string {
	if p.most == unbounded {
		return "from " + strconv.FormatInt(p.least, 10)
	}
	return fmt.Sprintf("from %d to %d", p.least, p.most)
}

// decodeTexts checks a list. Its elements go by the name of the list, which
// for relation_types_json is that of the JSON in it.
func (p parameter) decodeTexts(v value, path string) ([]string, error) {
	if v.shape != shapeArray {
		return nil, p.wrong(path, v)
	}
	element := parameter{kind: kindText, choices: p.choices}
	texts := make([]string, len(v.items))
	for i, item := range v.items {
		var err error
		if texts[i], err = element.decodeText(item, fieldName(path+index(i), path)); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// decodeFields checks the object in a _json parameter, whose fields go by their
// own names.
func (p parameter) decodeFields(v value, path string) (arguments, error) {
	if v.shape != shapeObject {
		return nil, p.wrong(path, v)
	}
	return decodeRecord(p.fields, v, "", "field of "+p.name)
}

func (p parameter) decodeRecords(v value, path string) ([]arguments, error) {
	if v.shape != shapeArray {
		return nil, p.wrong(path, v)
	}
	records := make([]arguments, len(v.items))
	for i, item := range v.items {
		at := path + index(i)
		if item.shape != shapeObject {
			return nil, invalid(at, "%s, want %s", item.shape, kindRecord)
		}
		var err error
		if records[i], err = decodeRecord(p.fields, item, at+".", "field of "+p.name); err != nil {
			return nil, err
		}
	}
	return records, nil
}
