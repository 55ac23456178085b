package convmem_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"pgregory.net/rapid"
)

// fataler is what tests and properties have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// carrier is a store that is exported and imported, with a clock of its own.
type carrier struct {
	fataler
	fsys    vfs.FS
	db      *convmem.DB
	now     time.Time
	entropy *rand.ChaCha8
}

// newCarrier makes an empty store; those of different numbers make different ids.
func newCarrier(t fataler, number byte) *carrier {
	c := &carrier{
		fataler: t, fsys: vfs.NewMem(0), now: time.UnixMilli(1_750_000_000_000),
		entropy: rand.NewChaCha8([32]byte{number}),
	}
	c.db = c.open()
	return c
}

func (c *carrier) open() *convmem.DB {
	c.Helper()
	db, err := convmem.Open(ctx, "", &convmem.Options{
		FS: c.fsys, Now: func() time.Time { return c.now }, Entropy: c.entropy,
	})
	c.ok("open", err)
	return db
}

func (c *carrier) ok(what string, err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
}

func (c *carrier) reopen() {
	c.Helper()
	c.ok("close", c.db.Close())
	c.db = c.open()
}

func (c *carrier) rebuild() {
	c.Helper()
	_, err := c.db.Rebuild(ctx, convmem.RebuildRequest{})
	c.ok("rebuild", err)
}

func (c *carrier) write(namespace string, r convmem.WriteRequest) convmem.WriteResult {
	c.Helper()
	result, err := c.db.Namespace(namespace).Write(ctx, r)
	c.ok("write", err)
	return result
}

// say writes a plain message one millisecond after the one before.
func (c *carrier) say(session, content string) string {
	c.Helper()
	c.now = c.now.Add(time.Millisecond)
	return c.write("", convmem.WriteRequest{SessionID: session, Role: convmem.RoleUser, Content: content}).Message.ID
}

// export checks what holds for every export that succeeds.
func (c *carrier) export(o *convmem.ExportOptions) string {
	c.Helper()
	var out bytes.Buffer
	result, err := c.db.Export(ctx, &out, o)
	c.ok("export", err)
	want := convmem.ExportResult{Messages: int64(strings.Count(out.String(), "\n")) - 1, Bytes: int64(out.Len())}
	if result != want {
		c.Errorf("the export wrote %+v and says %+v", want, result)
	}
	return out.String()
}

// take imports what must be right.
func (c *carrier) take(text string) convmem.ImportResult {
	c.Helper()
	result, err := c.db.Import(ctx, strings.NewReader(text), nil)
	c.ok("import", err)
	if result.Bytes != int64(len(text)) {
		c.Errorf("%d bytes counted, %d given", result.Bytes, len(text))
	}
	return result
}

const exportHead = `{"format":"convmem-export","version":1}` + "\n"

// texts are those that an encoding of text gets wrong first.
var texts = []string{
	"plain words about tea", "東京の天気は晴れです", "a\x00b\x1f\x7f\u0080", "line\u2028end\u2029", "<b>&amp;</b></script>", `"quoted" \ \\u0041`,
	"👩\u200d👩\u200d👧", "\uFFFD", "\uFEFFmark", "\r\n\t", "e\u0301 and é", "\U0010FFFF\uE000", "{}", " ", "null",
}

func drawPhrase(t *rapid.T, name string, most int) string {
	text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(texts), 1, 3).Draw(t, name), "")
	if rapid.IntRange(0, 3).Draw(t, name+" wild") == 0 {
		text += rapid.StringN(0, 8, 16).Draw(t, name+" end")
	}
	return strings.ToValidUTF8(text[:min(len(text), most)], "") + "."
}

// maker fills a store with all there is.
type maker struct {
	*carrier
	t     *rapid.T
	ids   []string // by time of writing
	homes map[string]string
	keyed map[string]convmem.WriteRequest // live ones, by id
}

func newMaker(t *rapid.T, c *carrier) *maker {
	return &maker{carrier: c, t: t, homes: map[string]string{}, keyed: map[string]convmem.WriteRequest{}}
}

func (m *maker) run() {
	for range rapid.IntRange(0, 15).Draw(m.t, "steps") {
		// The clock stands still, goes on or steps back.
		m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 1, 5000, -3000}).Draw(m.t, "ms")) * time.Millisecond)
		switch rapid.IntRange(0, 9).Draw(m.t, "step") {
		default:
			m.add()
		case 7:
			m.alter()
		case 8:
			m.drop()
		case 9:
			m.addLater()
		}
	}
}

func (m *maker) request() convmem.WriteRequest {
	r := convmem.WriteRequest{
		SessionID: rapid.SampledFrom([]string{"s", "会話\x00", "t<"}).Draw(m.t, "session"),
		Role:      rapid.SampledFrom([]convmem.Role{"user", "assistant", "system", "tool"}).Draw(m.t, "role"),
		Content:   drawPhrase(m.t, "content", 400),
		Metadata:  m.patch(),
	}
	if rapid.Bool().Draw(m.t, "payload") {
		r.Payload = m.payload()
	}
	if rapid.Bool().Draw(m.t, "key") {
		r.IdempotencyKey = rapid.SampledFrom([]string{"k", "鍵", "\x00\u2028<", "k2"}).Draw(m.t, "key text")
	}
	return r
}

func (m *maker) payload() convmem.Payload {
	p := convmem.Payload{Data: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(m.t, "data")}
	if rapid.Bool().Draw(m.t, "typed") {
		p.Type = drawPhrase(m.t, "type", 200)
	}
	return p
}

func (m *maker) patch() convmem.MetadataPatch {
	p := convmem.MetadataPatch{
		Tier: rapid.SampledFrom([]convmem.MemoryTier{"", "mid", "long", "discard"}).Draw(m.t, "tier"),
		Kind: rapid.SampledFrom([]convmem.MemoryKind{"", "episode", "summary", "preference"}).Draw(m.t, "kind"),
	}
	if rapid.Bool().Draw(m.t, "more") {
		p.ToolCallID = new(drawPhrase(m.t, "tool call", 200))
		p.Summary = new(drawPhrase(m.t, "summary", 200))
		p.Importance = new(rapid.IntRange(0, 100).Draw(m.t, "importance"))
		p.OccurredAt = time.UnixMilli(rapid.SampledFrom([]int64{0, 1, 1_600_000_000_123, 1<<48 - 1}).Draw(m.t, "occurred"))
		p.Tags = []string{drawPhrase(m.t, "tag", 100), "tea", "tea"}
		p.Relations = m.relations()
		p.SourceMessageIDs = []string{"01ARZ3NDEKTSV4RRFFQ69G5FAV", m.known("source")}
	}
	return p
}

// relations lead to live, deleted and foreign messages.
func (m *maker) relations() []convmem.Relation {
	types := []convmem.RelationType{"depends_on", "derived_from", "supersedes", "related_to"}
	return []convmem.Relation{
		{Type: rapid.SampledFrom(types).Draw(m.t, "relation"), MessageID: m.known("target")},
		{Type: "related_to", MessageID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
	}
}

func (m *maker) known(name string) string {
	if len(m.ids) == 0 {
		return "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
	}
	return rapid.SampledFrom(m.ids).Draw(m.t, name)
}

func (m *maker) add() {
	namespace := rapid.SampledFrom([]string{"", "", "other", "名前\x00"}).Draw(m.t, "namespace")
	r := m.request()
	result, err := m.db.Namespace(namespace).Write(ctx, r)
	if convmem.CodeOf(err) == convmem.CodeConflict {
		return
	}
	m.ok("write", err)
	id := result.Message.ID
	if !result.Replayed {
		m.ids, m.homes[id] = append(m.ids, id), namespace
	}
	if r.IdempotencyKey != "" && !result.Replayed {
		m.keyed[id] = r
	}
}

func (m *maker) alter() {
	if len(m.ids) == 0 {
		return
	}
	id := m.known("altered")
	u := convmem.UpdateRequest{MessageID: id, Content: new(drawPhrase(m.t, "new content", 400)), Metadata: new(m.patch())}
	u.Metadata.Relations = slices.DeleteFunc(u.Metadata.Relations, func(r convmem.Relation) bool { return r.MessageID == id })
	if rapid.Bool().Draw(m.t, "new payload") {
		u.Payload = new(m.payload())
	}
	_, err := m.db.Namespace(m.homes[id]).Update(ctx, u)
	if convmem.CodeOf(err) != convmem.CodeNotFound {
		m.ok("update", err)
	}
}

func (m *maker) drop() {
	if len(m.ids) == 0 {
		return
	}
	id := m.known("dropped")
	_, err := m.db.Namespace(m.homes[id]).Delete(ctx, convmem.DeleteRequest{MessageID: id})
	m.ok("delete", err)
	delete(m.keyed, id)
}

// addLater puts a message with fields of a later version, which only an import
// brings along: tags 90 and 91 of the log's format.
func (m *maker) addLater() {
	later := base64.StdEncoding.EncodeToString([]byte("\x5a\x03a\x00b\x5b\x00"))
	id := fmt.Sprintf("01JX%022d", len(m.ids))
	m.take(fmt.Sprintf(`{"message_id":%q,"session_id":"later","role":"user","content":"later tea","later_fields":%q}`, id, later))
	m.ids, m.homes[id] = append(m.ids, id), ""
}
