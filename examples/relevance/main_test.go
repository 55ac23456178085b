package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asProgram makes the test binary behave as the program.
const asProgram = "CONVMEM_RELEVANCE_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program runs the program as a process of its own.
func program(t *testing.T, args ...string) (out, notes string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self, args...)
	command.Env = append(os.Environ(), asProgram+"=1")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = failed.ExitCode()
	}
	return stdout.String(), stderr.String(), code
}

var speed = regexp.MustCompile(`"qps":[0-9.e+]+`)

// TestJSON pins every byte of the object but the speeds. The set is such that
// neither engine can rank it otherwise.
func TestJSON(t *testing.T) {
	const want = `"queries":4,"recall":{"1":0.875,"5":0.875,"10":0.875,"20":0.875},"mrr":1,` +
		`"ndcg10":0.9032867981913646,"session_any5":1,"qps":0,"groups":{` +
		`"adversarial":{"queries":1,"recall":{"1":0,"5":0,"10":0,"20":0},"mrr":0,"ndcg10":0,"session_any5":0,"qps":0},` +
		`"all":{"queries":2,"recall":{"1":0.75,"5":0.75,"10":0.75,"20":0.75},"mrr":1,"ndcg10":0.8065735963827292,"session_any5":null,"qps":0},` +
		`"garden":{"queries":1,"recall":{"1":1,"5":1,"10":1,"20":1},"mrr":1,"ndcg10":1,"session_any5":1,"qps":0},` +
		`"printer":{"queries":1,"recall":{"1":1,"5":1,"10":1,"20":1},"mrr":1,"ndcg10":1,"session_any5":1,"qps":0}}}` + "\n"
	for _, engine := range []string{"convmem", "bm25"} {
		t.Run(engine, func(t *testing.T) {
			out, notes, code := program(t, "-set", "testdata/own.jsonl", "-json", "-engine", engine)
			if code != 0 || notes != "" {
				t.Fatalf("exit code %d, standard error %q", code, notes)
			}
			got := speed.ReplaceAllString(out, `"qps":0`)
			if diff := cmp.Diff(`{"set":"own","engine":"`+engine+`",`+want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			checkSpeeds(t, out)
		})
	}
}

// checkSpeeds also checks that a JSON reader sees one object and then the end.
func checkSpeeds(t *testing.T, out string) {
	t.Helper()
	var r report
	decoder := json.NewDecoder(strings.NewReader(out))
	if err := decoder.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("something follows the object: %v", err)
	}
	for name, f := range r.Groups {
		if f.QPS <= 0 {
			t.Errorf("group %s: %v queries per second", name, f.QPS)
		}
	}
	if r.QPS <= 0 {
		t.Errorf("%v queries per second over all", r.QPS)
	}
}

func TestTable(t *testing.T) {
	var out, notes strings.Builder
	if code := run(context.Background(), []string{"-set", "testdata/own.jsonl"}, &out, &notes); code != 0 {
		t.Fatalf("exit code %d: %s", code, notes.String())
	}
	for _, row := range []string{
		`set own, engine convmem`,
		`group +queries +recall@1 +@5 +@10 +@20 +MRR +nDCG@10 +session any@5 +queries/s`,
		`adversarial +1 +0\.000 .* +0\.000 +[0-9]+`,
		`all +2 +0\.750 +0\.750 +0\.750 +0\.750 +1\.000 +0\.807 +- +[0-9]+`,
		`\(all but adversarial\) +4 +0\.875 +0\.875 +0\.875 +0\.875 +1\.000 +0\.903 +1\.000 +[0-9]+`,
	} {
		if !regexp.MustCompile("(?m)^" + row + "$").MatchString(out.String()) {
			t.Errorf("no line is %s in\n%s", row, out.String())
		}
	}
}

func TestCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no set":            {args: nil, code: 2, says: "give -set FILE"},
		"unknown engine":    {args: []string{"-set", "testdata/own.jsonl", "-engine", "vectors"}, code: 2, says: `"vectors", want convmem or bm25`},
		"unknown flag":      {args: []string{"-sets", "x"}, code: 2, says: "-sets"},
		"file without flag": {args: []string{"testdata/own.jsonl"}, code: 2, says: "given with -set"},
		"no such file":      {args: []string{"-set", filepath.Join("testdata", "absent.jsonl")}, code: 1, says: "absent.jsonl"},
		"bad set":           {args: []string{"-set", "main.go", "-json"}, code: 1, says: "main.go: line 1: not a JSON object"},
		"help":              {args: []string{"-help"}, code: 0, says: "-engine"},
	} {
		t.Run(name, func(t *testing.T) {
			out, notes, code := program(t, c.args...)
			if code != c.code || out != "" || !strings.Contains(notes, c.says) {
				t.Errorf("exit code %d, standard output %q, standard error %q; want code %d and %q", code, out, notes, c.code, c.says)
			}
		})
	}
}

// A query that was cut is noted beside the object, not in it.
func TestNotesStayOutOfTheJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.jsonl")
	text := setLine + messageLine("m", "one") + queryLine("q", strings.Repeat("one ", 1025), "m")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, notes, code := program(t, "-set", file, "-json")
	if code != 0 || !strings.Contains(notes, `line 3, query "q": 4100 bytes, cut to 4096`) {
		t.Errorf("exit code %d, standard error %q", code, notes)
	}
	checkSpeeds(t, out)
}
