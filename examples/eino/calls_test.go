package eino_test

import (
	"fmt"
	"sync"
	"testing"

	"example.com/convmem"
	"example.com/convmem/examples/eino"
	"example.com/convmem/store/storetest"
	"github.com/cloudwego/eino/schema"
	"pgregory.net/rapid"
)

func answers(id string) *schema.Message { return schema.ToolMessage("result of "+id, id) }

var hello = schema.UserMessage("hello")

// Each turn is an Append of its own. Latest with room for everything must leave out
// what no model takes, and with one message less a call with all its results.
func TestLatestKeepsCallsWhole(t *testing.T) {
	two := asks(call("a", "f", "1"), call("b", "f", "2"))
	unnamed := asks(call("", "f", "1"), call("", "g", "2"))
	mixed := asks(call("", "f", "1"), call("m", "g", "2"))
	reused := asks(call("b", "g", ""), call("a", "h", ""))
	type turns = [][]*schema.Message
	tests := map[string]struct {
		turns turns
		max   int
		want  []*schema.Message
	}{
		"one Append":             {turns{{hello, two, answers("b"), answers("a"), hello}}, 9, []*schema.Message{hello, two, answers("b"), answers("a"), hello}},
		"an Append each":         {turns{{hello}, {two}, {answers("b")}, {answers("a")}, {hello}}, 9, []*schema.Message{hello, two, answers("b"), answers("a"), hello}},
		"the second result last": {turns{{two}, {answers("a"), answers("b")}}, 9, []*schema.Message{two, answers("a"), answers("b")}},
		"too large together":     {turns{{hello, two, answers("b"), answers("a"), hello}}, 3, []*schema.Message{hello}},
		"just large enough":      {turns{{hello, two, answers("b"), answers("a"), hello}}, 4, []*schema.Message{two, answers("b"), answers("a"), hello}},
		"no result yet":          {turns{{hello, two}}, 9, []*schema.Message{hello}},
		"one result of two":      {turns{{hello, two}, {answers("b")}, {hello}}, 9, []*schema.Message{hello, hello}},
		"result without a call":  {turns{{hello, answers("z")}, {answers("")}}, 9, []*schema.Message{hello}},
		"calls without ids":      {turns{{unnamed}, {answers("")}, {answers(""), hello}}, 9, []*schema.Message{unnamed, answers(""), answers(""), hello}},
		"one of two without ids": {turns{{unnamed}, {answers("")}, {hello}}, 9, []*schema.Message{hello}},
		"some without ids":       {turns{{mixed}, {answers("")}, {answers("m")}}, 9, []*schema.Message{mixed, answers(""), answers("m")}},
		"ids again": {turns{{two, answers("a"), answers("b")}, {reused}, {answers("a")}, {answers("b")}}, 9,
			[]*schema.Message{two, answers("a"), answers("b"), reused, answers("a"), answers("b")}},
		"ids again, window of the last": {turns{{two, answers("a"), answers("b")}, {reused}, {answers("a")}, {answers("b")}}, 3,
			[]*schema.Message{reused, answers("a"), answers("b")}},
		"a result of an older message with the same id": {turns{{asks(call("b", "f", ""), call("a", "f", ""))}, {asks(call("b", "f", ""))}, {answers("a"), answers("b")}}, 9,
			[]*schema.Message{asks(call("b", "f", "")), answers("b")}},
		"ids again, and a call further back": {turns{{asks(call("c", "f", ""))}, {two}, {reused}, {answers("a"), answers("b"), answers("c")}}, 9,
			[]*schema.Message{asks(call("c", "f", "")), reused, answers("a"), answers("b"), answers("c")}},
		"a call after its result": {turns{{two, answers("a"), answers("b")}, {answers("b"), reused}, {answers("a"), answers("b")}}, 9,
			[]*schema.Message{two, answers("a"), answers("b"), reused, answers("a"), answers("b")}},
		"two results of a call": {turns{{asks(call("a", "f", "")), answers("a"), answers("a")}}, 9, []*schema.Message{asks(call("a", "f", "")), answers("a")}},
		"a late result of an id used again": {turns{{two, answers("a")}, {asks(call("b", "f", "")), answers("b")}, {answers("b")}}, 9,
			[]*schema.Message{asks(call("b", "f", "")), answers("b")}},
		"the session's order": {turns{{two, answers("a")}, {hello, answers("b")}}, 9, []*schema.Message{two, answers("a"), hello, answers("b")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			messages := eino.NewMessages(storetest.Open(t))
			for _, turn := range test.turns {
				must(t, messages.Append(ctx, "s", turn...))
			}
			latest, err := messages.Latest(ctx, "s", eino.Window{MaxMessages: test.max})
			must(t, err)
			same(t, "latest", latest, test.want)
		})
	}
}

func TestLatestOptions(t *testing.T) {
	db := storetest.Open(t)
	messages := eino.NewMessages(db)
	system, open := schema.SystemMessage("Be brief."), asks(call("a", "lookup", `{"topic":"databases"}`), call("b", "clock", ""))
	must(t, messages.Append(ctx, "s", system, hello, open, answers("a")))
	for name, test := range map[string]struct {
		window eino.Window
		want   []*schema.Message
	}{
		"system":          {eino.Window{MaxMessages: 2, KeepSystem: true}, []*schema.Message{system}},
		"open calls":      {eino.Window{MaxMessages: 2, KeepOpenCalls: true}, []*schema.Message{open, answers("a")}},
		"everything":      {eino.Window{MaxMessages: 5, KeepSystem: true, KeepOpenCalls: true}, []*schema.Message{system, hello, open, answers("a")}},
		"own counter":     {eino.Window{MaxTokens: 3, KeepOpenCalls: true, CountTokens: func(m *schema.Message) int { return 1 + len(m.ToolCalls)/2 }}, []*schema.Message{open, answers("a")}},
		"no session":      {eino.Window{MaxTokens: 3}, []*schema.Message{}},
		"the estimate":    {eino.Window{MaxTokens: eino.EstimateTokens(open) + eino.EstimateTokens(answers("a")), KeepOpenCalls: true}, []*schema.Message{open, answers("a")}},
		"open to the end": {eino.Window{MaxMessages: 9, KeepOpenCalls: true}, []*schema.Message{system, hello, open, answers("a")}},
		"one token less":  {eino.Window{MaxTokens: eino.EstimateTokens(open) + eino.EstimateTokens(answers("a")) - 1, KeepOpenCalls: true}, []*schema.Message{}},
	} {
		t.Run(name, func(t *testing.T) {
			session := "s"
			if name == "no session" {
				session = "none"
			}
			latest, err := messages.Latest(ctx, session, test.window)
			must(t, err)
			same(t, "latest", latest, test.want)
		})
	}
	spoken := schema.AssistantMessage("I look.", nil)
	reasoned := &schema.Message{Role: schema.Assistant, Content: "I look.", ReasoningContent: "They ask for the database of billing."}
	both := schema.AssistantMessage("I look.", open.ToolCalls)
	if a, b, c := eino.EstimateTokens(spoken), eino.EstimateTokens(reasoned), eino.EstimateTokens(both); a >= b || a >= c {
		t.Errorf("estimates %d, %d with reasoning, %d with calls", a, b, c)
	}
}

// The call of a result is found up to MaxCallDistance messages back.
func TestCallDistance(t *testing.T) {
	for _, test := range []struct {
		between int
		group   string
	}{{eino.MaxCallDistance - 1, "a"}, {eino.MaxCallDistance, "b"}} {
		db := storetest.Open(t)
		messages := eino.NewMessages(db)
		must(t, messages.Append(ctx, "s", asks(call("a", "f", ""), call("b", "f", ""))))
		between := make([]*schema.Message, test.between)
		for i := range between {
			between[i] = hello
		}
		must(t, messages.Append(ctx, "s", between...))
		store := &faulty{Store: db}
		must(t, eino.NewMessages(store).Append(ctx, "s", answers("b")))
		all := stored(t, db, "s")
		same(t, "group", all[len(all)-1].Metadata.ToolCallID, test.group)
		same(t, "calls of the store", store.calls.Load(), int64((eino.MaxCallDistance+15)/16+1))
		must(t, eino.NewMessages(store).Append(ctx, "s", hello))
		same(t, "calls for a message", store.calls.Load(), int64((eino.MaxCallDistance+15)/16+2))
	}
}

// Random conversations in random pieces: All returns what was appended, and Latest an
// end of it that a model accepts.
func TestMessagesAgreeWithASlice(t *testing.T) {
	ids := rapid.SampledFrom([]string{"a", "b", "c", "d", ""})
	message := rapid.Custom(func(t *rapid.T) *schema.Message {
		text := rapid.StringN(0, 20, 60).Draw(t, "text")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return schema.UserMessage(text)
		case 1:
			return schema.ToolMessage(text, ids.Draw(t, "result"))
		case 2:
			return schema.AssistantMessage(text, nil)
		}
		var calls []schema.ToolCall
		for _, id := range rapid.SliceOfNDistinct(ids, 1, 3, rapid.ID).Draw(t, "calls") {
			calls = append(calls, call(id, "f", text))
		}
		return schema.AssistantMessage("", calls)
	})
	conversations, taken := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		conversations++
		db := storetest.Open(t)
		messages := eino.NewMessages(db)
		var model []*schema.Message
		for _, turn := range rapid.SliceOfN(rapid.SliceOfN(message, 0, 5), 0, 8).Draw(r, "turns") {
			if err := messages.Append(ctx, "s", turn...); err != nil {
				r.Fatal(err)
			}
			model = append(model, turn...)
		}
		wantAll(t, db, "s", model)
		keepOpen := rapid.Bool().Draw(r, "keepOpen")
		latest, err := messages.Latest(ctx, "s", eino.Window{MaxMessages: rapid.IntRange(1, 30).Draw(r, "max"), KeepOpenCalls: keepOpen})
		if err != nil {
			r.Fatal(err)
		}
		taken += len(latest)
		if reason := rejected(latest, keepOpen); reason != "" {
			r.Fatal(reason)
		}
		if t.Failed() {
			r.Fatal("see above")
		}
	})
	t.Logf("%d conversations, %d messages in their windows", conversations, taken)
}

// rejected says why a model would not take a prompt, or "". It knows nothing of
// convmem: each result answers exactly one call that is open, and in the end none is,
// unless the caller is about to answer them.
func rejected(prompt []*schema.Message, keepOpen bool) string {
	open := map[string]int{}
	for i, message := range prompt {
		if message.Role == schema.Tool {
			if open[message.ToolCallID]--; open[message.ToolCallID] < 0 {
				return fmt.Sprintf("message %d answers no open call", i)
			}
		}
		for _, call := range message.ToolCalls {
			open[call.ID]++
		}
	}
	for id, count := range open {
		if count > 0 && !keepOpen {
			return fmt.Sprintf("call %q has no result", id)
		}
	}
	return ""
}

// Goroutines of two processes append to one session: every turn is there, whole, and
// the turns of each goroutine are in its order.
func TestAppendConcurrently(t *testing.T) {
	dir := t.TempDir()
	stores := []*convmem.DB{open(t, dir), open(t, dir)}
	const writers, turns = 8, 10
	var group sync.WaitGroup
	for writer := range writers {
		messages := eino.NewMessages(stores[writer%2])
		group.Go(func() {
			for turn := range turns {
				id := fmt.Sprintf("%d.%d", writer, turn)
				if err := messages.Append(ctx, "s", hello, asks(call(id, "f", "")), answers(id)); err != nil {
					t.Error(err)
				}
				if _, err := messages.Latest(ctx, "s", eino.Window{MaxMessages: 5}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	all, err := eino.NewMessages(stores[0]).All(ctx, "s")
	must(t, err)
	same(t, "messages", len(all), 3*writers*turns)
	next := map[byte]int{}
	for i := 0; i < len(all); i += 3 {
		id := all[i+2].ToolCallID
		same(t, "turn", all[i:i+3], []*schema.Message{hello, asks(call(id, "f", "")), answers(id)})
		same(t, "order", id, fmt.Sprintf("%c.%d", id[0], next[id[0]]))
		next[id[0]]++
	}
	t.Logf("%d turns", len(all)/3)
}
