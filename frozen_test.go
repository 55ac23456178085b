package convmem_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var updateFrozen = flag.Bool("update", false, "write the frozen messages of the present format anew")

// frozenMessages is a store with every field of a message, as version 2 of the
// format writes it. It stays for ever: every later version must read it.
const frozenMessages = "store/testdata/messages-format2"

// keyed is a write of a frozen store, to be repeated.
var keyed = convmem.WriteRequest{
	SessionID: "会話", Role: convmem.RoleAssistant, Content: "東京の天気は晴れです。\x00\r\n", IdempotencyKey: "key-1",
	Metadata: convmem.MetadataPatch{Tags: []string{"天気", "tokyo"}, Summary: new("weather")},
}

func writeFrozen(w *world) {
	first := w.say("s", "The deploy failed with E_CONN_RESET in foo.go:42.", convmem.MetadataPatch{
		ToolCallID: new("call-1"), Tags: []string{"deploy", "incident"}, Kind: convmem.KindEpisode, Tier: convmem.TierLong,
		Importance: new(0), Summary: new("a failed deploy"), OccurredAt: time.UnixMilli(1_600_000_000_123),
	})
	w.tick()
	_, err := w.db.Write(ctx, keyed)
	w.ok("write with a key", err)
	gone := w.say("s", "deleted", convmem.MetadataPatch{})
	second := w.say("s", "It is fixed.", convmem.MetadataPatch{
		Relations:        []convmem.Relation{{Type: convmem.RelationSupersedes, MessageID: first.ID}, {Type: convmem.RelationDependsOn, MessageID: gone.ID}},
		SourceMessageIDs: []string{first.ID, gone.ID},
	})
	w.remove(gone.ID)
	w.rebuild()
	w.tick()
	w.update(convmem.UpdateRequest{MessageID: second.ID, Content: new("It is fixed since noon.")})
}

// Messages that an earlier version has written are read as they were, found, and
// keep their keys.
func TestFrozenMessages(t *testing.T) {
	if *updateFrozen {
		w := newWorld(t, convmem.Options{})
		writeFrozen(w)
		w.ok("close", w.db.Close())
		freezeFiles(w, w.fsys.(*vfs.Mem))
	}
	m := vfs.NewMem(0)
	names, err := filepath.Glob(filepath.Join(frozenMessages, "*"))
	if err != nil || len(names) < 4 {
		t.Fatalf("%d frozen files, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".golden") {
			m.WriteFile(filepath.Base(name), b)
		}
	}
	w := newWorld(t, convmem.Options{FS: m})
	golden, err := os.ReadFile(filepath.Join(frozenMessages, "messages.golden"))
	w.ok("golden", err)
	var want []convmem.Message // a field that came later is not in the file and not in the store
	w.ok("decode", json.Unmarshal(golden, &want))
	if diff := cmp.Diff(want, w.frozen(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	again, err := w.db.Write(ctx, keyed)
	if err != nil || !again.Replayed {
		t.Errorf("the key is forgotten: %+v, %v", again, err)
	}
	found, err := w.db.Search(ctx, convmem.SearchRequest{Query: "天気"})
	if err != nil || len(found.Hits) != 1 {
		t.Errorf("%d hits, %v", len(found.Hits), err)
	}
}

// frozen is all messages.
func (w *world) frozen() []convmem.Message {
	var all []convmem.Message
	for _, session := range []string{"s", "会話"} {
		all = append(all, w.history(convmem.HistoryRequest{SessionID: session}).Messages...)
	}
	return all
}

// freezeFiles writes a closed store into testdata.
func freezeFiles(w *world, m *vfs.Mem) {
	w.ok("remove", os.RemoveAll(frozenMessages))
	w.ok("make", os.MkdirAll(frozenMessages, 0o755))
	for _, name := range m.Names() {
		b, err := m.ReadFile(name)
		w.ok("read", err)
		w.ok("write", os.WriteFile(filepath.Join(frozenMessages, name), b, 0o644))
	}
	w.open()
	b, err := json.MarshalIndent(w.frozen(), "", "\t")
	w.ok("encode", err)
	w.ok("golden", os.WriteFile(filepath.Join(frozenMessages, "messages.golden"), append(b, '\n'), 0o644))
}
