package convmem_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"example.com/convmem"
)

// Import takes any bytes: it never panics, counts every line, tells nothing of
// what they say, and what it stores can be exported and imported again as it is.
func FuzzImport(f *testing.F) {
	golden, err := os.ReadFile("testdata/export-version1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for line := range bytes.Lines(golden) {
		f.Add(line)
	}
	f.Add([]byte(strings.ReplaceAll(sampleLine, "\n", "")))
	f.Add([]byte("\uFEFF\r\n" + exportHead + firstLine + firstLine + lastLine))
	f.Add([]byte(one("role", "robot") + "\n" + one("revision", 0) + "\n" + `{"format":"x","version":2}` + "\n" + firstLine))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newCarrier(t, 1)
		result, err := c.db.Import(ctx, bytes.NewReader(text), nil)
		code := convmem.CodeOf(err)
		if (code == "") != (result.Refused == 0) || code != "" && code != convmem.CodeValidation && code != convmem.CodeConflict {
			t.Fatalf("%+v, %v", result, err)
		}
		lines := int64(bytes.Count(text, []byte("\n")))
		if len(text) > 0 && text[len(text)-1] != '\n' {
			lines++
		}
		if result.Lines != lines || result.Bytes != int64(len(text)) || result.Written+result.Present+result.Refused > lines {
			t.Fatalf("%d lines in %d bytes: %+v", lines, len(text), result)
		}
		exported := c.export(nil)
		if n := int64(strings.Count(exported, "\n")) - 1; n != result.Written {
			t.Fatalf("%d messages exported: %+v", n, result)
		}
		again := newCarrier(t, 2)
		again.take(exported)
		equalText(t, "imported again", exported, again.export(nil))
		c.reopen()
		equalText(t, "opened again", exported, c.export(nil))
		if result := c.take(exported); result.Written != 0 || result.Present != int64(strings.Count(exported, "\n"))-1 {
			t.Fatalf("imported where it is: %+v", result)
		}
	})
}
