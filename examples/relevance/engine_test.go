package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

// opened gives each message a session of its own, so that none of them is
// another's neighbour.
func opened(t *testing.T, name string, contents ...string) engine {
	t.Helper()
	messages := make([]message, len(contents))
	for i, content := range contents {
		at := int64(1000)
		messages[i] = message{ID: fmt.Sprint("m", i), Session: fmt.Sprint("s", i), Role: "user", Time: &at, Content: content}
	}
	e, err := engineNamed(name)(context.Background(), messages)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func ranked(t *testing.T, e engine, text string) []string {
	t.Helper()
	ranking, err := e.rank(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return ranking
}

// TestEnginesFindTheObvious asks both engines what has one right answer.
func TestEnginesFindTheObvious(t *testing.T) {
	for _, name := range []string{"convmem", "bm25"} {
		t.Run(name, func(t *testing.T) {
			e := opened(t, name,
				"The kettle in the kitchen is broken.",
				"会議は木曜日に移りました。",
				"Deploy failed: readConfig returned E_NO_FILE",
				"The kettle works again, kettle and toaster both.",
			)
			for text, want := range map[string]string{
				"木曜日の会議":               "m1",
				"read config":          "m2",
				"e_no_file":            "m2",
				"is the toaster ready": "m3",
				"broken kettles":       "m0 m3",
				"zebra":                "",
				"?!":                   "",
			} {
				if diff := cmp.Diff(strings.Fields(want), ranked(t, e, text), cmp.Transformer("join", join)); diff != "" {
					t.Errorf("%q, -want +got:\n%s", text, diff)
				}
			}
		})
	}
}

func join(ids []string) string { return strings.Join(ids, " ") }

// Equal messages come newest first and a ranking ends after 100.
func TestTiesAndTheEnd(t *testing.T) {
	var want []string
	for i := range rankingSize {
		want = append(want, fmt.Sprint("m", 149-i))
	}
	for _, name := range []string{"convmem", "bm25"} {
		t.Run(name, func(t *testing.T) {
			same := strings.Split(strings.Repeat("same words,", 150), ",")[:150]
			got := ranked(t, opened(t, name, same...), "words")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOkapi holds scores to the formula, worked out term by term.
func TestOkapi(t *testing.T) {
	e := opened(t, "bm25", "red red blue", "red", "green blue green blue").(*okapi)
	if e.average != 8./3 {
		t.Fatalf("average length %v, want 8/3", e.average)
	}
	idf := math.Log(1 + (3-2+.5)/(2+.5)) // two of three messages hold red
	if got := e.idf(len(e.postings["red"])); got != idf {
		t.Errorf("idf %v, want %v", got, idf)
	}
	for i, want := range []float64{
		2 * 2.2 / (2 + 1.2*(.25+.75*3/(8./3))),
		1 * 2.2 / (1 + 1.2*(.25+.75*1/(8./3))),
	} {
		if got := e.saturated(e.postings["red"][i]); math.Abs(got-want) > 1e-12 {
			t.Errorf("message %d: %v, want %v", i, got, want)
		}
	}
	// Once in a short message is more than twice in a long one: 1.3435 against
	// 1.3283 before idf.
	if diff := cmp.Diff([]string{"m1", "m0"}, ranked(t, e, "red")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The store gets what the set says, in the order of the set even where its times
// step back.
func TestConvmemIsFilledFromTheSet(t *testing.T) {
	late, early := int64(1_700_000_000_500), int64(1_700_000_000_000)
	opened, err := openConvmem(context.Background(), []message{
		{ID: "x", Session: "s", Role: "tool", Time: &late, Content: "alpha one"},
		{ID: "y", Session: "s", Role: "system", Time: &early, Content: "alpha two"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.close()
	e := opened.(*convmemEngine)
	page, err := convmem.History(context.Background(), e.db, convmem.HistoryRequest{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range page.Messages {
		got = append(got, fmt.Sprintln(e.ids[m.ID], m.Role, m.Content, m.Metadata.OccurredAt.UnixMilli(), m.Timestamp.UnixMilli()))
	}
	want := []string{"x tool alpha one 1700000000500 1700000000500\n", "y system alpha two 1700000000000 1700000000500\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What only the store finds wrong is told with its place as well.
func TestConvmemRefuses(t *testing.T) {
	at := int64(5)
	bad := []message{{ID: "x", Role: "user", Time: &at, Content: "one", line: 9}}
	if _, err := openConvmem(context.Background(), bad); err == nil || !strings.HasPrefix(err.Error(), `line 9, message "x": `) {
		t.Errorf("%v", err)
	}
}
