package convmem

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// exportBytes is base64 on a line, in its one spelling: encoding/json would also
// take a list of numbers, line breaks and stray bits.
type exportBytes []byte

var errBase64 = errors.New("not base64")

// UnmarshalJSON implements [json.Unmarshaler].
func (b *exportBytes) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	var encoded string
	if err := json.Unmarshal(text, &encoded); err != nil {
		return errBase64
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || base64.StdEncoding.EncodeToString(decoded) != encoded {
		return errBase64
	}
	*b = decoded
	return nil
}

// decodeLine decodes a line that is one JSON object, and refuses what
// encoding/json would change without a word: broken UTF-8, half of a surrogate
// pair, a key that stands twice or in another case.
func decodeLine(text []byte, into any) error {
	if !utf8.Valid(text) {
		return invalid("line", "not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return decodingFailed(err)
	}
	if len(bytes.TrimSpace(text[decoder.InputOffset():])) > 0 {
		return invalid("line", "text after the JSON object")
	}
	if hasLoneSurrogate(text) {
		return invalid("line", "half of a surrogate pair")
	}
	return checkKeys(text)
}

// checkKeys checks the keys of valid JSON whose fields are all known, but for
// their case: a key is one of small letters, once in its object.
func checkKeys(text []byte) error {
	var seen [][]string // of the objects and lists that are open
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			seen = append(seen, nil)
		case '}', ']':
			seen = seen[:len(seen)-1]
		case '"':
			end := endOfString(text, i)
			if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
				key, keys := string(text[i+1:end-1]), &seen[len(seen)-1]
				if strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
					return errUnknownField()
				}
				if slices.Contains(*keys, key) {
					return invalid("line", "a field stands twice")
				}
				*keys = append(*keys, key)
			}
			i = end - 1
		}
	}
	return nil
}

// endOfString returns the offset behind the string that begins at start.
func endOfString(text []byte, start int) int {
	for i := start + 1; ; i++ {
		i += bytes.IndexAny(text[i:], `"\`)
		if text[i] == '"' {
			return i + 1
		}
		i++ // what is escaped
	}
}

func errUnknownField() error { return invalid("line", "a field that this version does not know") }

// hasLoneSurrogate reports whether valid JSON escapes half of a character beyond
// U+FFFF without its other half.
func hasLoneSurrogate(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return false
		}
		first, size := escaped(text[at:])
		text = text[at+size:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, size := escaped(text)
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		text = text[size:]
	}
}

// escaped reads an escape of valid JSON at the start of text; 0 for one of a
// single character, and for anything else.
func escaped(text []byte) (r rune, size int) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, min(len(text), 2)
	}
	n, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), 6
}

// decodingFailed describes an error of decoding without what stands in the line.
func decodingFailed(err error) error {
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return invalid(wrongType.Field, "of the wrong type or out of range")
	case errors.As(err, &wrongType):
		return invalid("line", "no JSON object")
	case errors.Is(err, errBase64):
		return invalid("line", "bytes that are not base64")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("line", "no whole JSON object")
	case strings.Contains(err.Error(), "unknown field"):
		return errUnknownField()
	}
	return invalid("line", "not valid JSON")
}
