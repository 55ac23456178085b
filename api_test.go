package convmem_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The packages that programs import. What they export is promised.
var publicPackages = []string{".", "index", "mcpserver", "search", "store", "store/storetest", "store/vfs", "store/vfs/faultfs"}

const apiBaseline = "testdata/api.txt"

// TestAPI compares what the packages export with what they exported before. A line
// that is gone or different breaks somebody's program; -update takes over what was
// changed on purpose, and the difference is then there to be read.
func TestAPI(t *testing.T) {
	var lines []string
	for _, folder := range publicPackages {
		for _, declaration := range exportedBy(t, folder) {
			lines = append(lines, folder+": "+declaration)
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if *updateFrozen {
		if err := os.WriteFile(apiBaseline, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(apiBaseline)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the exported API (-before +now); go test . -run TestAPI -update takes it over:\n%s", diff)
	}
	t.Logf("%d declarations", len(lines))
}

// exportedBy returns the exported declarations of a package, each on one line.
func exportedBy(t *testing.T, folder string) (declarations []string) {
	t.Helper()
	files := token.NewFileSet()
	for _, file := range parsePackage(t, files, folder, 0) {
		ast.FileExports(file)
		for _, d := range file.Decls {
			for _, one := range withoutValues(d) {
				var text bytes.Buffer
				if err := printer.Fprint(&text, files, one); err != nil {
					t.Fatal(err)
				}
				declarations = append(declarations, strings.Join(strings.Fields(text.String()), " "))
			}
		}
	}
	slices.Sort(declarations)
	return declarations
}

// withoutValues takes bodies of functions and values of variables away, which
// nobody can rely on, and parts groups, but for constants: they may count on.
func withoutValues(d ast.Decl) []ast.Decl {
	switch d := d.(type) {
	case *ast.FuncDecl:
		d.Body = nil
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || len(d.Specs) == 0 {
			return nil
		}
		if d.Tok == token.CONST {
			break
		}
		var parts []ast.Decl
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				v.Values = nil
			}
			parts = append(parts, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}})
		}
		return parts
	}
	return []ast.Decl{d}
}

func parsePackage(t *testing.T, files *token.FileSet, folder string, mode parser.Mode) (parsed []*ast.File) {
	t.Helper()
	names, err := fs.Glob(os.DirFS(folder), "*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(folder, name), nil, mode)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	return parsed
}

// TestDocumented counts the exported names that say nothing of themselves.
func TestDocumented(t *testing.T) {
	documented, silent := 0, []string{}
	count := func(name, text string) {
		if text != "" {
			documented++
		} else {
			silent = append(silent, name)
		}
	}
	for _, folder := range publicPackages {
		files := token.NewFileSet()
		p, err := doc.NewFromFiles(files, parsePackage(t, files, folder, parser.ParseComments), module+"/"+folder)
		if err != nil {
			t.Fatal(err)
		}
		count(folder, p.Doc)
		countValues(slices.Concat(p.Consts, p.Vars), folder, count)
		countFuncs(p.Funcs, folder, count)
		for _, typ := range p.Types {
			name := folder + "." + typ.Name
			count(name, typ.Doc)
			countValues(slices.Concat(typ.Consts, typ.Vars), folder, count)
			countFuncs(slices.Concat(typ.Funcs, typ.Methods), name, count)
		}
	}
	all := documented + len(silent)
	t.Logf("%d of %d exported names have a comment, not %q", documented, all, silent)
	if all < 200 || documented*100 < all*95 {
		t.Errorf("only %d of %d, want 95 %%; without one: %q", documented, all, silent)
	}
}

// countValues counts the names of groups. The comment of a group is one of all its
// names, as go doc shows it.
func countValues(groups []*doc.Value, folder string, count func(name, text string)) {
	for _, group := range groups {
		for _, name := range group.Names {
			if ast.IsExported(name) {
				count(folder+"."+name, group.Doc)
			}
		}
	}
}

func countFuncs(funcs []*doc.Func, of string, count func(name, text string)) {
	for _, f := range funcs {
		count(of+"."+f.Name, f.Doc)
	}
}
