package langchaingo_test

import (
	"fmt"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/langchaingo"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"
	"pgregory.net/rapid"
)

// A history does what a slice does, over any sequence of additions, trims, other
// lists, failures in the middle and reopens.
func TestLikeASlice(t *testing.T) {
	all := variantMessages()
	rapid.Check(t, func(t *rapid.T) {
		fsys := vfs.NewMem(0)
		var db *convmem.DB
		reopen := func() {
			var err error
			if db, err = convmem.Open(ctx, "", &convmem.Options{FS: fsys}); err != nil {
				t.Fatal(err)
			}
		}
		reopen()
		defer func() { db.Close() }()
		model := []llms.ChatMessage{}
		some := rapid.SliceOfN(rapid.SampledFrom(all), 0, 4)
		set := func(list []llms.ChatMessage) {
			c := &calls{Store: db}
			if n := rapid.IntRange(0, 8).Draw(t, "call that fails"); n > 0 {
				c.failFrom(n)
			}
			err := langchaingo.NewHistory(c, "s").SetMessages(ctx, list)
			got, readErr := langchaingo.NewHistory(db, "s").Messages(ctx)
			if readErr != nil || err == nil && !cmp.Equal(got, list) || !cmp.Equal(got, model) && !cmp.Equal(got, list) {
				t.Fatalf("set failed with %v; then read %v, %v", err, got, readErr)
			}
			model = got
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				m := rapid.SampledFrom(all).Draw(t, "message")
				if err := langchaingo.NewHistory(db, "s").AddMessage(ctx, m); err != nil {
					t.Fatal(err)
				}
				model = append(model, m)
			},
			"trim": func(t *rapid.T) {
				set(append([]llms.ChatMessage{}, model[rapid.IntRange(0, len(model)).Draw(t, "n"):]...))
			},
			"extend": func(t *rapid.T) { set(append(append([]llms.ChatMessage{}, model...), some.Draw(t, "more")...)) },
			"other":  func(t *rapid.T) { set(some.Draw(t, "list")) },
			"reopen": func(t *rapid.T) {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				reopen()
			},
			"": func(t *rapid.T) {
				got, err := langchaingo.NewHistory(db, "s").Messages(ctx)
				if diff := cmp.Diff(model, got); err != nil || diff != "" {
					t.Fatal(fmt.Sprint(err, diff))
				}
			},
		})
	})
}
