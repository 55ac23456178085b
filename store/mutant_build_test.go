package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// To compile the package once for every mutant would take a quarter of an hour.
// Instead it is compiled once, with all of them: each function that mutants change
// stands there once more for each of these, and begins with a choice between them.

// chosenMutant is the variable of the environment that says which mutant is
// active, by its number, counted from 1.
const chosenMutant = "CONVMEM_STORE_MUTANT"

const choice = `package store

import (
	"os"
	"strconv"
)

var activeMutant, _ = strconv.Atoi(os.Getenv("` + chosenMutant + `"))
`

// workshop collects mutants of the files of this package.
type workshop struct {
	t     *testing.T
	files map[string]*mutatedFile
}

// mutatedFile is a source file and what mutants add to it.
type mutatedFile struct {
	source    []byte
	functions map[string]function
	choices   map[string][]string // by function: where to go for which mutant
	variants  bytes.Buffer
}

// function is a declaration and its text.
type function struct {
	decl       *ast.FuncDecl
	text       string
	start, end int // in the file
	body       int // behind the brace that opens it
	name       int // behind the name
}

func newWorkshop(t *testing.T) *workshop {
	return &workshop{t: t, files: map[string]*mutatedFile{}}
}

// tests returns the names of the tests of this package.
func (w *workshop) tests() map[string]bool {
	w.t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	must(w.t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		must(w.t, err)
		functions, err := functionsOf(source)
		must(w.t, err)
		for name := range functions {
			names[name] = true
		}
	}
	return names
}

func (w *workshop) file(name string) (*mutatedFile, error) {
	if f := w.files[name]; f != nil {
		return f, nil
	}
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	functions, err := functionsOf(source)
	w.files[name] = &mutatedFile{source: source, functions: functions, choices: map[string][]string{}}
	return w.files[name], err
}

// functionsOf returns the functions and methods of a file by receiver and name.
func functionsOf(source []byte) (map[string]function, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]function{}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		f := function{decl: decl, start: at(decl.Pos()), end: at(decl.End()), body: at(decl.Body.Lbrace) + 1, name: at(decl.Name.End())}
		f.text = string(source[f.start:f.end])
		key := decl.Name.Name
		if decl.Recv != nil {
			r := decl.Recv.List[0].Type
			key = string(source[at(r.Pos()):at(r.End())]) + "." + key
		}
		found[key] = f
	}
	return found, nil
}

// apply adds a mutant under a number.
func (w *workshop) apply(number int, m mutant) error {
	file, err := w.file(m.file)
	if err != nil {
		return err
	}
	if n := bytes.Count(file.source, []byte(m.old)); n != 1 {
		return fmt.Errorf("the old text stands %d times in %s, not once", n, m.file)
	}
	source := bytes.Replace(file.source, []byte(m.old), []byte(m.new), 1)
	mutated, err := functionsOf(source)
	if err != nil {
		return err
	}
	changed := 0
	for key, f := range mutated {
		if f.text == file.functions[key].text {
			continue
		}
		changed++
		file.add(number, m, key, f, string(source[f.start:f.name]), string(source[f.name:f.end]))
	}
	if changed == 0 || len(mutated) != len(file.functions) {
		return errors.New("the change is not within a function")
	}
	return nil
}

// add writes the mutated function, whose text comes in two parts, under a name
// of its own.
func (f *mutatedFile) add(number int, m mutant, key string, mutated function, upToName, rest string) {
	// Errors of the compiler name the mutant.
	line := strings.NewReplacer(":", " -", "\n", " ").Replace(m.name)
	fmt.Fprintf(&f.variants, "\n//line mutant %d (%s):1\n%s_mutant%d%s\n", number, line, upToName, number, rest)
	call := fmt.Sprintf("%s_mutant%d(%s)", mutated.decl.Name.Name, number, arguments(mutated.decl))
	if mutated.decl.Recv != nil {
		call = mutated.decl.Recv.List[0].Names[0].Name + "." + call
	}
	if mutated.decl.Type.Results != nil {
		call = "return " + call
	} else {
		call += "; return"
	}
	f.choices[key] = append(f.choices[key], fmt.Sprintf("if activeMutant == %d { %s }", number, call))
}

// arguments passes the parameters on. One without a name is nil: nobody looks at
// it, and those that there are can be nil.
func arguments(decl *ast.FuncDecl) string {
	var names []string
	for _, field := range decl.Type.Params.List {
		if len(field.Names) == 0 {
			names = append(names, "nil")
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return strings.Join(names, ", ")
}

// text returns the file with its mutants.
func (f *mutatedFile) text() []byte {
	var b bytes.Buffer
	end := 0
	for _, key := range f.inOrder() {
		body := f.functions[key].body
		b.Write(f.source[end:body])
		b.WriteString(" " + strings.Join(f.choices[key], "; ") + "; ")
		end = body
	}
	b.Write(f.source[end:])
	b.Write(f.variants.Bytes())
	return b.Bytes()
}

// inOrder returns the functions with mutants as they stand in the file.
func (f *mutatedFile) inOrder() []string {
	return slices.SortedFunc(maps.Keys(f.choices), func(a, b string) int {
		return cmp.Compare(f.functions[a].body, f.functions[b].body)
	})
}

// overlay writes the files to dir and returns the name of the one that makes the
// go command take them.
func (w *workshop) overlay(dir string) string {
	w.t.Helper()
	replace := map[string]string{}
	write := func(name string, text []byte) {
		path, err := filepath.Abs(name)
		must(w.t, err)
		replace[path] = filepath.Join(dir, name)
		must(w.t, os.WriteFile(replace[path], text, 0o600))
	}
	write("mutant_choice.go", []byte(choice))
	for name, file := range w.files {
		write(name, file.text())
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	must(w.t, err)
	path := filepath.Join(dir, "overlay.json")
	must(w.t, os.WriteFile(path, list, 0o600))
	return path
}
