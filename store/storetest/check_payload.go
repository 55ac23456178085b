package storetest

import (
	"bytes"
	"time"

	"example.com/convmem"
)

func payloadChecks() []check {
	return []check{
		{"payload/limits", checkPayloadLimits},
		{"payload/byte for byte", checkPayloadBytes},
		{"payload/comes with every message", checkPayloadEverywhere},
		{"payload/update", checkPayloadUpdate},
		{"payload/an update that changes nothing", checkPayloadNoOp},
		{"payload/idempotency", checkPayloadKey},
		{"payload/is copied", checkPayloadCopied},
		{"payload/counts in what a result may hold", checkPayloadBudget},
		{"payload/is not searched", checkPayloadNotSearched},
		{"payload/survives restart and rebuild", checkPayloadSurvives},
	}
}

// parcel is a payload that something on the way might tidy up.
func parcel() convmem.Payload {
	return convmem.Payload{Type: "event/日本", Data: []byte("{\"a\":\"\x00\xff\xfe<b>\"}\r\n")}
}

// carry is say with a payload.
func (l *lab) carry(session, content string, p convmem.Payload) convmem.Message {
	l.Helper()
	l.clock.step(time.Millisecond)
	return l.write(convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: content, Payload: p})
}

func (l *lab) setPayload(id string, p convmem.Payload) convmem.UpdateResult {
	l.Helper()
	return l.update(convmem.UpdateRequest{MessageID: id, Payload: &p})
}

// holds compares payloads that are too large to be shown.
func (k *kit) holds(what string, got, want convmem.Payload) {
	k.Helper()
	if got.Type != want.Type || !bytes.Equal(got.Data, want.Data) {
		k.Errorf("%s: type of %d bytes, data of %d bytes, want %d and %d", what, len(got.Type), len(got.Data), len(want.Type), len(want.Data))
	}
}

// checkPayloadLimits tries each size in a write and in an update.
func checkPayloadLimits(k *kit) {
	for _, c := range []struct {
		name    string
		payload convmem.Payload
		verdict verdict
	}{
		{"none", convmem.Payload{}, allowed()},
		{"type alone", convmem.Payload{Type: "t"}, allowed()},
		{"data alone", convmem.Payload{Data: []byte{0}}, allowed()},
		{"data that is no UTF-8", convmem.Payload{Type: "t", Data: []byte(badUTF8)}, allowed()},
		{"type 256 bytes", convmem.Payload{Type: text(256)}, allowed()},
		{"type 257 bytes", convmem.Payload{Type: text(257)}, refused("payload.type", "257", "256")},
		{"type not UTF-8", convmem.Payload{Type: badUTF8}, refused("payload.type")},
		{"data 1 MiB", convmem.Payload{Data: []byte(text(1 << 20))}, allowed()},
		{"data 1 MiB and 1 byte", convmem.Payload{Data: []byte(text(1<<20 + 1))}, refused("payload.data", "1048577", "1048576")},
	} {
		k.run(c.name, func(k *kit) {
			l := k.openCarrier()
			r := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "content", Payload: c.payload}
			result, err := l.store.Write(l.ctx(), r)
			k.judge(err, c.verdict)
			if err == nil {
				k.holds("written", l.get(result.Message.ID).Payload, c.payload)
			}
			message := l.carry("other", "content", parcel())
			_, err = l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: message.ID, Payload: &c.payload})
			k.judge(err, c.verdict)
			if err == nil {
				k.holds("updated", l.get(message.ID).Payload, c.payload)
			} else {
				same(k, "after a refused update", l.get(message.ID), message)
			}
		})
	}
}

// checkPayloadBytes writes every byte there is, in types and data.
func checkPayloadBytes(k *kit) {
	l := k.openCarrier()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, p := range []convmem.Payload{
		parcel(), {Type: " \x00\r\n", Data: every}, {Type: "e\u0301é", Data: bytes.Repeat([]byte{0}, 1000)}, {Data: []byte(" ")},
	} {
		message := l.carry("s", "content", p)
		same(k, "the answer", message.Payload, p)
		same(k, "the stored payload", l.get(message.ID).Payload, p)
		updated := l.setPayload(l.say("s", "content").ID, p).Message
		same(k, "the answer to an update", updated.Payload, p)
		same(k, "the updated payload", l.get(updated.ID).Payload, p)
	}
}

// checkPayloadEverywhere looks at every place where a message comes out, also
// with its content cut: a payload is whole or not there.
func checkPayloadEverywhere(k *kit) {
	l := k.openCarrier()
	p := parcel()
	first := l.carry("s", "quartz before", p)
	second := l.carry("s", "marker", p)
	l.carry("s", "quartz after", p)
	l.setMetadata(second.ID, convmem.MetadataPatch{Relations: relatedTo(first.ID)})
	for _, cut := range []int{0, 3} {
		page := l.history(convmem.HistoryRequest{SessionID: "s", MaxContentCharacters: cut})
		around := l.context(convmem.ContextRequest{MessageID: second.ID, MaxContentCharacters: cut})
		hits := l.search(convmem.SearchRequest{Query: "marker", ContextSize: 1, MaxContentCharacters: cut})
		if len(hits) != 1 || len(around.Relations) != 1 {
			k.Fatalf("%d hits, %d relations", len(hits), len(around.Relations))
		}
		all := append(page.Messages, around.Message, *around.Relations[0].Message, hits[0].Message)
		for _, list := range [][]convmem.Message{around.Before, around.After, hits[0].Before, hits[0].After} {
			all = append(all, list...)
		}
		same(k, "messages", len(all), 10)
		for _, message := range all {
			same(k, "the payload with "+message.Content, message.Payload, p)
		}
	}
}

// checkPayloadUpdate leaves, replaces and clears a payload. Each is a change
// like any other.
func checkPayloadUpdate(k *kit) {
	l := k.openCarrier()
	message := l.carry("s", "content", parcel())
	message.Content, message.Revision = "other", 2
	same(k, "another content", l.setContent(message.ID, "other"), message)
	message.Metadata.Summary, message.Revision = "short", 3
	same(k, "another summary", l.setMetadata(message.ID, convmem.MetadataPatch{Summary: new("short")}), message)
	for i, p := range []convmem.Payload{
		{Type: "event", Data: parcel().Data}, {Type: "event", Data: []byte("x")}, {Type: "event"}, {Data: []byte("event")}, {}, parcel(), {},
	} {
		l.clock.step(time.Second)
		message.Payload, message.Revision, message.UpdatedAt = p, int64(4+i), l.clock.Now()
		same(k, "the answer", l.setPayload(message.ID, p), convmem.UpdateResult{Changed: true, Message: message})
		same(k, "the stored message", l.get(message.ID), message)
	}
	p, before := parcel(), l.health()
	both := l.update(convmem.UpdateRequest{MessageID: message.ID, Content: new("third"), Payload: &p, ExpectedRevision: message.Revision})
	same(k, "content and payload", []any{both.Message.Content, both.Message.Payload, both.Message.Revision}, []any{"third", p, message.Revision + 1})
	same(k, "update records", l.health().UpdateRecords, before.UpdateRecords+1)
	_, err := l.store.Update(l.ctx(), convmem.UpdateRequest{MessageID: message.ID, Payload: new(convmem.Payload), ExpectedRevision: message.Revision})
	k.fails("an old revision", err, convmem.CodeConflict, "")
}

// checkPayloadNoOp asks for the payload that is there already.
func checkPayloadNoOp(k *kit) {
	for name, p := range map[string]convmem.Payload{"a payload": parcel(), "no payload": {}} {
		k.run(name, func(k *kit) {
			l := k.openCarrier()
			message := l.carry("s", "content", p)
			before := l.health()
			l.clock.step(time.Hour)
			again := convmem.Payload{Type: p.Type, Data: append([]byte{}, p.Data...)}
			same(k, "the answer", l.setPayload(message.ID, again), convmem.UpdateResult{Message: message})
			same(k, "the stored message", l.get(message.ID), message)
			same(k, "last sequence", l.health().LastSequence, before.LastSequence)
		})
	}
}

// checkPayloadKey repeats a keyed request with the same payload, an updated one
// and others.
func checkPayloadKey(k *kit) {
	l := k.openCarrier()
	with := func(p convmem.Payload) convmem.WriteRequest {
		return keyed(func(r *convmem.WriteRequest) { r.Payload = p })
	}
	conflicts := func(when string) {
		k.Helper()
		for name, p := range map[string]convmem.Payload{
			"no payload": {}, "no type": {Data: parcel().Data}, "no data": {Type: parcel().Type}, "other data": {Type: parcel().Type, Data: []byte("x")},
			"other type": {Type: "event", Data: parcel().Data}, "a byte more": {Type: parcel().Type, Data: append(parcel().Data, 0)},
			"parted elsewhere": {Type: parcel().Type + "{", Data: parcel().Data[1:]},
		} {
			_, err := l.store.Write(l.ctx(), with(p))
			k.fails(name+" "+when, err, convmem.CodeConflict, "")
		}
	}
	message := l.write(with(parcel()))
	l.replays("the same payload", with(parcel()), message)
	conflicts("at once")
	now := l.setPayload(message.ID, convmem.Payload{Type: "other"}).Message
	l.replays("after an update", with(parcel()), now)
	l.reopen()
	l.replays("after a restart", with(parcel()), now)
	l.rebuild()
	l.replays("after a rebuild", with(parcel()), now)
	conflicts("after a rebuild")
	bare := l.write(keyed(func(r *convmem.WriteRequest) { r.IdempotencyKey = "bare" }))
	l.replays("data of no bytes is none", keyed(func(r *convmem.WriteRequest) { r.IdempotencyKey, r.Payload.Data = "bare", []byte{} }), bare)
}

// checkPayloadCopied scribbles over what it passed in and what it was given.
func checkPayloadCopied(k *kit) {
	l := k.openCarrier()
	scribbled := func(what string, lists ...convmem.Message) {
		k.Helper()
		for _, message := range lists {
			for i := range message.Payload.Data {
				message.Payload.Data[i] = '#'
			}
		}
		same(k, "after scribbling over "+what, l.history(convmem.HistoryRequest{SessionID: "s"}).Messages[0].Payload, parcel())
	}
	given := parcel()
	request := convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "quartz", IdempotencyKey: "key", Payload: given}
	written := l.write(request)
	same(k, "the request", request.Payload, parcel())
	scribbled("the request", convmem.Message{Payload: given})
	same(k, "the answer after scribbling over the request", written.Payload, parcel())
	scribbled("a write", written)
	request.Payload = parcel()
	l.replays("the request as it was", request, l.get(written.ID))
	replay := l.write(request)
	scribbled("a replay", replay)
	scribbled("an update that changes nothing", l.setPayload(written.ID, parcel()).Message)
	given = parcel()
	l.setPayload(written.ID, convmem.Payload{})
	updated := l.update(convmem.UpdateRequest{MessageID: written.ID, Payload: &given}).Message
	scribbled("the request of an update", convmem.Message{Payload: given})
	same(k, "the answer after scribbling over the request", updated.Payload, parcel())
	scribbled("an update", updated)
	scribbled("history", l.all(convmem.HistoryRequest{SessionID: "s"})...)
	around := l.context(convmem.ContextRequest{MessageID: l.carry("s", "after", parcel()).ID})
	scribbled("context", append(around.Before, around.Message)...)
	for _, hit := range l.search(convmem.SearchRequest{Query: "quartz", ContextSize: 1}) {
		scribbled("search", append(hit.After, hit.Message)...)
	}
}

// checkPayloadBudget has more payload than a result may hold. What counts is
// that a page ends, that the run goes on, and that the others say so.
func checkPayloadBudget(k *kit) {
	const count = 20 // of 1 MiB each, more than twice what a result holds
	l := k.openCarrier()
	var written []string
	for range count {
		written = append(written, l.carry("s", "quartz", convmem.Payload{Data: make([]byte, convmem.MaxPayloadBytes)}).ID)
	}
	fits := func(what string, n int) {
		k.Helper()
		if n < 1 || n > 9 {
			k.Errorf("%s: %d MiB of payload in one result", what, n)
		}
	}
	var seen []string
	r := convmem.HistoryRequest{SessionID: "s"}
	for len(seen) < count {
		page := l.history(r)
		fits("history", len(page.Messages))
		if seen = append(seen, ids(page.Messages)...); page.NextCursor == "" || len(page.Messages) == 0 {
			break
		}
		r.Cursor = page.NextCursor
	}
	same(k, "the whole run", seen, written)
	around := l.context(convmem.ContextRequest{MessageID: written[10], Before: new(10), After: new(9)})
	fits("context", 1+len(around.Before)+len(around.After))
	same(k, "context: truncated", around.Truncated, true)
	found, err := l.store.Search(l.ctx(), convmem.SearchRequest{Query: "quartz", Limit: count})
	k.ok("search", err)
	fits("search", len(found.Hits))
	same(k, "search: truncated", found.Truncated, true)
}

// checkPayloadNotSearched looks for words of the payload alone.
func checkPayloadNotSearched(k *kit) {
	l := k.openCarrier()
	p := convmem.Payload{Type: "obsidian", Data: []byte("topaz and granite 東京")}
	written := l.carry("s", "quartz", p)
	updated := l.setPayload(l.say("s", "quartz").ID, p).Message
	look := func(when string) {
		for _, query := range []string{"topaz", "obsidian", "granite 東京"} {
			same(k, query+" "+when, l.found(convmem.SearchRequest{Query: query}), nil)
		}
		hits := l.search(convmem.SearchRequest{Query: "quartz topaz"})
		if len(hits) != 2 || hits[0].Score != hits[1].Score {
			k.Errorf("%s: %d hits for a word of two messages that say the same: %+v", when, len(hits), hits)
		}
		same(k, "the newer of equal hits "+when, hits[0].ID, updated.ID)
		same(k, "the older "+when, hits[1].ID, written.ID)
	}
	look("at once")
	l.rebuild()
	l.reopen()
	look("after a rebuild")
}

// checkPayloadSurvives wants payloads in later lives of the store.
func checkPayloadSurvives(k *kit) {
	l := k.openCarrier()
	written := l.carry("s", "written", parcel())
	updated := l.setPayload(l.say("s", "updated").ID, parcel()).Message
	cleared := l.setPayload(l.carry("s", "cleared", parcel()).ID, convmem.Payload{}).Message
	l.remove(l.carry("s", "removed", parcel()).ID)
	see := func(when string) {
		same(k, when, l.all(convmem.HistoryRequest{SessionID: "s"}), []convmem.Message{written, updated, cleared})
	}
	see("at once")
	l.reopen()
	see("after a restart")
	l.rebuild()
	see("after a rebuild")
	l.reopen()
	see("after both")
}
