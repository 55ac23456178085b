package index

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// tables reads the cases of a function that is one switch from strings to a
// string: what it returns for each.
func tables(t *testing.T, file, function string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok {
			return f.Name.Name == function
		}
		if c, ok := n.(*ast.CaseClause); ok {
			value := c.Body[0].(*ast.ReturnStmt).Results[0]
			for _, key := range c.List {
				cases[text(t, key)] = text(t, value)
			}
		}
		return true
	})
	return cases
}

func text(t *testing.T, e ast.Expr) string {
	t.Helper()
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		return "" // true
	}
	s, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every irregular form gives the term of its base, which no rule but the table
// does, and the table leads nowhere else: a base is no form, and neither is a
// stop word.
func TestIrregularForms(t *testing.T) {
	verbs := tables(t, "analyzer_verbs.go", "baseVerb")
	nouns := tables(t, "analyzer_nouns.go", "baseNoun")
	for _, table := range []map[string]string{verbs, nouns} {
		for form, base := range table {
			term := analyzed(base)
			if got := analyzed(form); len(got) != 1 || got[0] != term[0] {
				t.Errorf("%s gives %q, %s %q", form, got, base, term)
			}
			if verbs[base] != "" || nouns[base] != "" || verbs[form] != "" && nouns[form] != "" {
				t.Errorf("%s for %s is not the last word", base, form)
			}
			if isStopWord(form) || isStopWord(base) {
				t.Errorf("%s or %s is a stop word", form, base)
			}
			if !isLowerLatin(form) || !isLowerLatin(base) {
				t.Errorf("%q or %q can never be met", form, base)
			}
		}
	}
	t.Log(len(verbs), "forms of verbs,", len(nouns), "of nouns")
	if len(verbs) < 150 || len(nouns) < 40 {
		t.Error("hardly any forms: were the tables read?")
	}
}

// Regular forms of the same words give that term, too, as far as the stemmer
// knows them.
func TestRegularForms(t *testing.T) {
	for _, words := range [][]string{
		{"go", "goes", "going", "went"}, {"child", "child's", "children", "children's"},
		{"write", "writes", "writing", "written"}, {"lie", "lies", "lying", "lain"}, {"fly", "flies", "flying", "flew"},
		{"begin", "begins", "beginning", "begun"}, {"choose", "choosing", "chosen"}, {"knife", "knives"},
		{"lose", "losing", "lost"}, {"story", "stories"}, {"potato", "potatoes"}, {"travel", "travelled", "traveling"},
	} {
		for _, word := range words {
			if got, want := analyzed(word)[0], analyzed(words[0])[0]; got != want {
				t.Errorf("%s gives %q, %s %q", word, got, words[0], want)
			}
		}
	}
}

// The terms of stop words weigh nothing, as they arrive in [Analyzer.Weight].
func TestStopWords(t *testing.T) {
	words := tables(t, "analyzer_english.go", "isStopWord")
	for word := range words {
		terms := analyzed(word)
		if len(terms) != 1 || terms[0] != word || Standard().Weight(word) != 0 {
			t.Errorf("%s gives %q of weight %g", word, terms, Standard().Weight(word))
		}
	}
	t.Log(len(words), "stop words")
	if len(words) < 150 {
		t.Error("hardly any: was the list read?")
	}
	for _, word := range []string{"may", "us", "like", "get", "don", "haven", "won", "well", "hell", "plan", ""} {
		if weight := Standard().Weight(word); weight != 1 {
			t.Errorf("%q weighs %g", word, weight)
		}
	}
}
