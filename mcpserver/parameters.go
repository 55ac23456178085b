package mcpserver

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// kind is the type of a parameter or of a field in one.
type kind string

const (
	kindText    kind = "a string"
	kindInteger kind = "an integer"
	kindTexts   kind = "an array of strings"
	kindRecord  kind = "an object"
	kindRecords kind = "an array of objects"
)

// unbounded is the upper limit of a parameter that has none.
const unbounded = math.MaxInt64

// parameter describes a parameter of a tool, or a field of an object in one.
// The schema that models see and the check of what they send both come from it.
type parameter struct {
	name     string
	kind     kind
	about    string // for models; "" for a field
	required bool
	// encoded marks a string that holds JSON of the kind. The JSON itself is
	// accepted in its place.
	encoded bool
	// blank marks a text whose "" means that it was left out.
	blank       bool
	choices     []string    // every value of a text, or of each of several
	least, most int64       // of an integer
	fields      []parameter // of a record, or of each of several
	// views are those of read_messages that use the parameter, all when nil.
	views    []string
	standard string // the default, where a view that does not use it must know
}

// find returns the parameter of that name.
func find(parameters []parameter, name string) (parameter, bool) {
	i := slices.IndexFunc(parameters, func(p parameter) bool { return p.name == name })
	if i < 0 {
		return parameter{}, false
	}
	return parameters[i], true
}

// nearest returns the name that is the fewest edits away from a misspelt one,
// whatever its case.
func nearest(parameters []parameter, misspelt string) string {
	misspelt = strings.ToLower(shorten(misspelt))
	closest := slices.MinFunc(parameters, func(a, b parameter) int {
		return distance(a.name, misspelt) - distance(b.name, misspelt)
	})
	return closest.name
}

// distance counts the bytes to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// property is a parameter in a schema. It uses no more of JSON Schema than
// every host is known to understand.
type property struct {
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Enum        []string `json:"enum,omitempty"`
	Minimum     *int64   `json:"minimum,omitempty"`
	Maximum     *int64   `json:"maximum,omitempty"`
}

func (p parameter) property() property {
	if p.kind != kindInteger {
		property := property{Type: "string", Description: p.about}
		if !p.encoded {
			property.Enum = p.choices
		}
		return property
	}
	bounded := property{Type: "integer", Description: p.about, Minimum: &p.least}
	if p.most != unbounded {
		bounded.Maximum = &p.most
	}
	return bounded
}

// schema writes the JSON Schema of a tool's arguments. Properties keep the
// order of the parameters, which no Go map would.
func schema(parameters []parameter) json.RawMessage {
	var properties, required bytes.Buffer
	for _, p := range parameters {
		writeItem(&properties, quote(p.name), []byte(":"), quote(p.property()))
		if p.required {
			writeItem(&required, quote(p.name))
		}
	}
	var out bytes.Buffer
	out.WriteString(`{"type":"object","properties":{` + properties.String() + `}`)
	if required.Len() > 0 {
		out.WriteString(`,"required":[` + required.String() + `]`)
	}
	out.WriteString(`,"additionalProperties":false}`)
	return out.Bytes()
}

// writeItem adds an item to a list that commas separate.
func writeItem(list *bytes.Buffer, parts ...[]byte) {
	if list.Len() > 0 {
		list.WriteByte(',')
	}
	for _, part := range parts {
		list.Write(part)
	}
}

// quote is the JSON of a value that always has one.
func quote(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and lists of them cannot fail
	}
	return data
}
