package convmem_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "example.com/convmem"

// What others made.
const (
	flockModule    = "github.com/gofrs/flock"
	cmpModule      = "github.com/google/go-cmp"
	sdkModule      = "github.com/modelcontextprotocol/go-sdk"
	rapidModule    = "pgregory.net/rapid"
	snowballModule = "github.com/kljensen/snowball"
	uax29Module    = "github.com/clipperhouse/uax29/v2"
	ulidModule     = "github.com/oklog/ulid/v2"
	sysModule      = "golang.org/x/sys"
	textModule     = "golang.org/x/text"
)

// arrows says what the packages of each folder may import beside the standard
// library: folders of this module, "." being the root, and modules of others. A
// folder that ends in "/..." stands for all below it. The Model in storetest cuts
// and folds text by itself: if it asked the engine, both would err alike.
var arrows = map[string][]string{
	"store/vfs":         {flockModule},
	"store/vfs/faultfs": {"store/vfs"},
	"store":             {"store/vfs", ulidModule},
	"index":             {ulidModule, textModule, snowballModule, uax29Module},
	"search":            {"index", ulidModule},
	".":                 {"store", "store/vfs", "index", "search", ulidModule, uax29Module},
	"store/storetest":   {".", "store/vfs", ulidModule, cmpModule, rapidModule, uax29Module, textModule},
	"mcpserver":         {".", sdkModule, ulidModule},
	"examples/...":      {".", "mcpserver", "store/vfs", "store/storetest", sdkModule},
	// Its baseline reads text as the engine does.
	"examples/relevance": {".", "store/vfs", "index"},
}

// TestImports holds every file that is not a test to its row. A package without
// a row fails, so that a new one is thought about.
func TestImports(t *testing.T) {
	files := sources(t)
	if len(files) < 20 {
		t.Fatalf("only %d source files found", len(files))
	}
	for _, file := range files {
		folder := path.Dir(file)
		allowed, ok := rowOf(folder)
		if !ok {
			t.Errorf("%s: folder %s has no row in arrows", file, folder)
			continue
		}
		for _, imported := range importsOf(t, file) {
			if !allows(allowed, imported) {
				t.Errorf("%s imports %s; its folder may import %v", file, imported, allowed)
			}
		}
	}
}

// sources lists the files of this module that are not tests, by slash path.
func sources(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name != "." && notOurs(name) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// notOurs reports whether the go command would not take a folder for a part of
// this module.
func notOurs(folder string) bool {
	base := path.Base(folder)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func rowOf(folder string) ([]string, bool) {
	if row, ok := arrows[folder]; ok {
		return row, true
	}
	for name, row := range arrows {
		if above, ok := strings.CutSuffix(name, "..."); ok && strings.HasPrefix(folder, above) {
			return row, true
		}
	}
	return nil, false
}

func importsOf(t *testing.T, file string) (imports []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, imported)
	}
	return imports
}

// allows reports whether a row allows an import. Paths of the standard library
// have no dot before their first slash.
func allows(row []string, imported string) bool {
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true
	}
	if imported == module || strings.HasPrefix(imported, module+"/") {
		folder := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
		return slices.Contains(row, path.Clean("./"+folder))
	}
	return slices.ContainsFunc(row, func(allowed string) bool { return belongsTo(imported, allowed) })
}

func belongsTo(imported, of string) bool {
	return imported == of || strings.HasPrefix(imported, of+"/")
}

// TestDependencies holds what a program links that imports nothing but the root,
// on every kind of system.
func TestDependencies(t *testing.T) {
	linked := []string{ulidModule, textModule, snowballModule, uax29Module, flockModule, sysModule}
	ours := []string{module, module + "/store", module + "/store/vfs", module + "/index", module + "/search"}
	for _, system := range []string{"linux", "darwin", "windows"} {
		command := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
		command.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		output, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		packages := strings.Fields(string(output))
		if !slices.Contains(packages, module) {
			t.Fatalf("%s: the list lacks the root: %q", system, packages)
		}
		for _, name := range packages {
			if !slices.Contains(ours, name) && !slices.ContainsFunc(linked, func(of string) bool { return belongsTo(name, of) }) {
				t.Errorf("%s: the root links %s", system, name)
			}
		}
	}
}
