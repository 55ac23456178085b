package eino

import (
	"cmp"
	"context"
	"slices"

	"example.com/convmem"
	"github.com/cloudwego/eino/schema"
)

// MaxCallDistance is how many messages Append looks back for the call of a result
// that is not in the same Append.
const MaxCallDistance = 1000

// callPage is the size of the pages it looks back in: the call is mostly near.
const callPage = 16

// withoutID is the ToolCallID of calls, and of results, to which the model gave no
// id. Results then belong to the newest such call, as convmem.Window has it.
const withoutID = "eino.call-without-id"

// groupID is the one ToolCallID of a message with calls, which its results get too:
// convmem knows one for each message.
func groupID(calls []schema.ToolCall) string {
	for _, call := range calls {
		if call.ID != "" {
			return call.ID
		}
	}
	return withoutID
}

// tieCalls gives calls and results among the messages their ToolCallID.
func (m *Messages) tieCalls(ctx context.Context, session string, messages []*schema.Message, requests []convmem.WriteRequest) error {
	groups := map[string]string{} // by call, those of the messages so far
	waiting := map[string][]int{} // by call, places of results whose call is older
	for i, message := range messages {
		switch {
		case message.Role == schema.Assistant && len(message.ToolCalls) > 0:
			group := groupID(message.ToolCalls)
			requests[i].Metadata.ToolCallID = &group
			for _, call := range message.ToolCalls {
				groups[call.ID] = group
			}
		case message.Role == schema.Tool:
			if group, known := groups[message.ToolCallID]; known {
				requests[i].Metadata.ToolCallID = &group
			} else {
				waiting[message.ToolCallID] = append(waiting[message.ToolCallID], i)
			}
		}
	}
	older, err := m.olderGroups(ctx, session, waiting)
	if err != nil {
		return err
	}
	for call, places := range waiting {
		group := cmp.Or(older[call], call, withoutID)
		for _, i := range places {
			requests[i].Metadata.ToolCallID = &group
		}
	}
	return nil
}

// olderGroups looks for calls in the session, newest message first.
func (m *Messages) olderGroups(ctx context.Context, session string, wanted map[string][]int) (map[string]string, error) {
	groups := map[string]string{}
	if len(wanted) == 0 {
		return groups, nil
	}
	distance := 0
	request := convmem.HistoryRequest{SessionID: session, Order: convmem.OrderDescending, Limit: callPage}
	for stored, err := range convmem.AllMessages(ctx, m.store, request) {
		if err != nil {
			return nil, err
		}
		ids, err := callsOf(stored)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if wanted[id] != nil && groups[id] == "" {
				groups[id] = stored.Metadata.ToolCallID
			}
		}
		if distance++; len(groups) == len(wanted) || distance == MaxCallDistance {
			break
		}
	}
	return groups, nil
}

// callsOf returns the ids of the calls that a stored message makes.
func callsOf(stored convmem.Message) ([]string, error) {
	group := stored.Metadata.ToolCallID
	if stored.Role != convmem.RoleAssistant || group == "" {
		return nil, nil
	}
	message, err := decode(stored)
	if err != nil {
		return nil, err
	}
	if len(message.ToolCalls) == 0 {
		return []string{group}, nil // written by another program
	}
	ids := make([]string, len(message.ToolCalls))
	for i, call := range message.ToolCalls {
		ids[i] = call.ID
	}
	return ids, nil
}

// onlyWholeGroups leaves out results that answer no open call of the message they
// belong to, and, unless keepOpen, messages of which a call has no result, with the
// results they have. convmem.Window knows one id for all calls of a message: it leaves
// out those without any result.
func onlyWholeGroups(stored []convmem.Message, messages []*schema.Message, keepOpen bool) []*schema.Message {
	var groups []*callGroup
	newest := map[string]*callGroup{}
	for i, message := range messages {
		id := stored[i].Metadata.ToolCallID
		switch message.Role {
		case schema.Assistant: // without calls, where another program wrote it
			newest[id] = newCallGroup(i, message.ToolCalls)
			groups = append(groups, newest[id])
		case schema.Tool:
			if !newest[id].answer(i, message.ToolCallID) {
				messages[i] = nil
			}
		}
	}
	for _, group := range groups {
		if keepOpen || len(group.open) == 0 {
			continue
		}
		for _, place := range group.places {
			messages[place] = nil
		}
	}
	return slices.DeleteFunc(messages, func(message *schema.Message) bool { return message == nil })
}

// callGroup is a message with calls and the results that follow it.
type callGroup struct {
	places []int
	open   map[string]int // how many calls lack a result, by id
}

func newCallGroup(place int, calls []schema.ToolCall) *callGroup {
	group := &callGroup{places: []int{place}, open: map[string]int{}}
	for _, call := range calls {
		group.open[call.ID]++
	}
	return group
}

// answer takes a result. It reports false where no call with its id is open.
func (g *callGroup) answer(place int, call string) bool {
	if g == nil || g.open[call] == 0 {
		return false
	}
	g.places = append(g.places, place)
	if g.open[call]--; g.open[call] == 0 {
		delete(g.open, call)
	}
	return true
}
