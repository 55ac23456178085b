package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// shownCharacters is how much of content lists show to people.
const shownCharacters = 80

// print prints a result: as a line of JSON, or as a line of text.
func (c *call) print(document any, format string, values ...any) error {
	if !c.json {
		_, err := fmt.Fprintf(c.out, format+"\n", values...)
		return printed(err)
	}
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := c.out.WriteString(harmless(line.String(), "\n"))
	return printed(err)
}

func printed(err error) error {
	if err != nil {
		return ioFailed("writing the result", err)
	}
	return nil
}

// status is what a document about a change says of itself.
func (c *call) status(err error) string {
	switch {
	case err != nil:
		return "INCOMPLETE"
	case c.dryRun:
		return "DRY_RUN"
	}
	return "OK"
}

// done says that something was done, or would be.
func (c *call) done(past, infinitive string) string {
	if c.dryRun {
		return "would " + infinitive
	}
	return past
}

// characters is how much of content a list wants.
func (c *call) characters() int {
	if c.json {
		return 0
	}
	return shownCharacters
}

// line is text as it stands in a list.
func line(text string, cut bool) string {
	text = harmless(strings.Join(strings.Fields(text), " "), "")
	if cut {
		text += "…"
	}
	return text
}

// harmless writes every character of text as its number that could drive a
// terminal or turn the direction of what follows it, but for those in keep. In JSON
// text, where such characters stand in strings only, the result means the same.
func harmless(text, keep string) string {
	if strings.IndexFunc(text, isHarmful) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isHarmful(r) && !strings.ContainsRune(keep, r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isHarmful covers the controls of C1 too: U+009B alone begins a sequence. All of
// these characters have four digits.
func isHarmful(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// number is a number of things.
func number[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// clock is a time as people read it.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// name is the name of a namespace or session in a list.
func name(text string) string {
	if text == "" {
		return `""`
	}
	return harmless(text, "")
}
