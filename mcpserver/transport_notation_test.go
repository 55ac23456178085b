package mcpserver

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Lines of transcripts are written as they are, with two exceptions in angle
// brackets that nothing else there uses:
//
//	⟨0D⟩      bytes in hexadecimal: what does not print, white space at an end
//	⟨200×ab⟩  a text so many times
const (
	openBracket  = "⟨"
	closeBracket = "⟩"
	times        = "×"
	longRun      = 40 // a character that stands so often in a row is counted
)

// expand turns the notation into bytes.
func expand(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, openBracket)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		inner, after, closed := strings.Cut(rest, closeBracket)
		if !closed {
			return "", fmt.Errorf("no %s behind %q", closeBracket, rest)
		}
		if number, repeated, counted := strings.Cut(inner, times); counted {
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 {
				return "", fmt.Errorf("no number: %q", number)
			}
			out.WriteString(strings.Repeat(repeated, n))
		} else {
			bytes, err := hex.DecodeString(inner)
			if err != nil {
				return "", fmt.Errorf("no bytes: %q", inner)
			}
			out.Write(bytes)
		}
		text = after
	}
}

// notate turns bytes into the notation.
func notate(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		character := text[:size]
		run := 1
		for strings.HasPrefix(text[run*size:], character) {
			run++
		}
		if run < longRun {
			run = 1
		}
		plain := r != utf8.RuneError && unicode.IsPrint(r) && !strings.Contains(openBracket+closeBracket+times, character)
		edge := r == ' ' && (out.Len() == 0 || run*size == len(text))
		switch {
		case !plain || edge:
			run = 1
			fmt.Fprintf(&out, "%s%X%s", openBracket, character, closeBracket)
		case run > 1:
			fmt.Fprintf(&out, "%s%d%s%s%s", openBracket, run, times, character, closeBracket)
		default:
			out.WriteString(character)
		}
		text = text[run*size:]
	}
	return out.String()
}

func TestNotation(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\": \"漢\"}":                  `{"a": "漢"}`,
		" x \r":                           "⟨20⟩x ⟨0D⟩",
		"x ":                              "x⟨20⟩",
		"\ufeffx\u00a0":                   "⟨EFBBBF⟩x⟨C2A0⟩",
		"\xff\x7f\ufffd":                  "⟨FF⟩⟨7F⟩⟨EFBFBD⟩",
		strings.Repeat("[", 20_000) + "]": "⟨20000×[⟩]",
		"a⟨b⟩×":                           "a⟨E29FA8⟩b⟨E29FA9⟩⟨C397⟩",
	} {
		if got := notate(text); got != want {
			t.Errorf("%.20q is written %s, want %s", text, got, want)
		}
	}
	for _, wrong := range []string{"⟨20", "⟨x×y⟩", "⟨-1×y⟩", "⟨2⟩", "⟨⟨20⟩⟩"} {
		if text, err := expand(wrong); err == nil {
			t.Errorf("%s is read as %q", wrong, text)
		}
	}
}

// TestNotationLosesNothing writes any bytes and reads them back.
func TestNotationLosesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"x", " ", "\n", "\xe2", "⟨", "⟩", "×", "漢", "\u2028", strings.Repeat("[", 50), strings.Repeat(" ", 50), strings.Repeat("\x01", 50)}))
		text := strings.Join(parts.Draw(r, "text"), "")
		written := notate(text)
		if got, err := expand(written); err != nil || got != text {
			r.Fatalf("%q came back as %q: %v", text, got, err)
		}
		if strings.TrimSpace(written) != written || bytes.ContainsFunc([]byte(written), func(c rune) bool { return !unicode.IsPrint(c) }) {
			r.Fatalf("does not print: %q", written)
		}
	})
}
