package convmem_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// between returns what stands between two marks in a file.
func between(t *testing.T, name, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(readFile(t, name), from)
	text, _, closed := strings.Cut(rest, to)
	if !found || !closed {
		t.Fatalf("%s has no %q ... %q", name, from, to)
	}
	return text
}

// The README's quickstart is code that compiles and runs: a function of the
// example of that name.
func TestQuickstartOfTheREADME(t *testing.T) {
	shown := between(t, "README.md", "```go\n", "```")
	run := between(t, "examples/quickstart/main.go", "func firstSteps(ctx context.Context, w io.Writer, dir string) error {\n", "\n}\n")
	run = strings.ReplaceAll("\n"+run, "\n\t", "\n")[1:]
	if diff := cmp.Diff(run+"\n", shown); diff != "" {
		t.Errorf("README.md differs from examples/quickstart (-example +README):\n%s", diff)
	}
}

var testName = regexp.MustCompile(`\b(Test|Fuzz)[A-Z][A-Za-z]+`)

// Documents name tests as evidence. Every one of them must exist.
func TestDocumentsNameRealTests(t *testing.T) {
	exist := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") {
			for _, line := range strings.Split(readFile(t, name), "\n") {
				if rest, ok := strings.CutPrefix(line, "func "); ok {
					exist[testName.FindString(rest)] = true
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	named := 0
	for _, document := range append(documents, "README.md") {
		for _, name := range testName.FindAllString(readFile(t, document), -1) {
			named++
			if !exist[name] {
				t.Errorf("%s names %s, which does not exist", document, name)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d tests named", named)
	}
}

var adapterRow = regexp.MustCompile("(?m)^\\| `([^`]+)` (v[0-9.]+) \\| \\[(examples/[a-z]+)\\]\\(([^)]+)\\)")

// The README names the versions that the adapters are built and tested with.
func TestAdaptersOfTheREADME(t *testing.T) {
	rows := adapterRow.FindAllStringSubmatch(readFile(t, "README.md"), -1)
	for _, row := range rows {
		framework, version, module, manual := row[1], row[2], row[3], row[4]
		if !strings.Contains(readFile(t, module+"/go.mod"), "\t"+framework+" "+version+"\n") {
			t.Errorf("%s does not require %s %s", module, framework, version)
		}
		if !strings.Contains("\n"+readFile(t, manual), "\n// Package ") {
			t.Errorf("%s is no manual", manual)
		}
	}
	if len(rows) != 4 {
		t.Errorf("%d adapters in README.md, want 4", len(rows))
	}
}
