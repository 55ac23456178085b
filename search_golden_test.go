package convmem_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
)

const goldenSearches = "testdata/search"

// What search reaches over the golden queries, less a little. These stand apart
// from the ranked lists: -update moves those, and only a person moves these.
const (
	floorRecall1 = 0.85
	floorRecall5 = 0.98
	floorMRR     = 0.95
)

// goldenMessage is a line of messages.jsonl. Lines stand in the order of
// writing; Key names the message in the other files.
type goldenMessage struct {
	Key        string               `json:"key"`
	Session    string               `json:"session"`
	Time       time.Time            `json:"time"`
	Role       convmem.Role         `json:"role"`
	Content    string               `json:"content"`
	Kind       convmem.MemoryKind   `json:"kind"`
	Tier       convmem.MemoryTier   `json:"tier"`
	Importance *int                 `json:"importance"`
	Tags       []string             `json:"tags"`
	Summary    *string              `json:"summary"`
	Relations  []goldenRelationLine `json:"relations"`
}

// goldenRelationLine points at an earlier message by its key.
type goldenRelationLine struct {
	Type convmem.RelationType `json:"type"`
	Key  string               `json:"key"`
}

// goldenQuery is a line of queries.jsonl. The query is Text, or the id of the
// message that IDOf names. Relevant names the messages that answer; none means
// that nothing may be found.
type goldenQuery struct {
	ID            string               `json:"id"`
	Group         string               `json:"group"`
	Text          string               `json:"text"`
	IDOf          string               `json:"id_of"`
	Relevant      []string             `json:"relevant"`
	Session       string               `json:"session"`
	Kinds         []convmem.MemoryKind `json:"kinds"`
	Tiers         []convmem.MemoryTier `json:"tiers"`
	Tags          []string             `json:"tags"`
	Roles         []convmem.Role       `json:"roles"`
	Since         time.Time            `json:"since"`
	Until         time.Time            `json:"until"`
	MinImportance int                  `json:"min_importance"`
}

// goldenLines reads one of the files of lines. A field that it does not know is
// an error, so that no query loses a filter by a slip of the pen.
func goldenLines[Line any](w *world, name string) (lines []Line) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(goldenSearches, name))
	w.ok("read", err)
	for d := goldenDecoder(text); d.More(); {
		var line Line
		w.ok(fmt.Sprintf("%s, line %d", name, len(lines)+1), d.Decode(&line))
		lines = append(lines, line)
	}
	return lines
}

func goldenDecoder(text []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d
}

// goldenStore is a store with the golden messages and the names they go by.
type goldenStore struct {
	*world
	ids  map[string]string // by key
	keys map[string]string // by id
}

func newGoldenStore(t *testing.T) *goldenStore {
	g := &goldenStore{
		world: newWorld(t, convmem.Options{Entropy: &sequence{}}),
		ids:   map[string]string{}, keys: map[string]string{},
	}
	for _, m := range goldenLines[goldenMessage](g.world, "messages.jsonl") {
		g.add(m)
	}
	return g
}

func (g *goldenStore) add(m goldenMessage) {
	g.Helper()
	if g.ids[m.Key] != "" || !m.Time.After(g.now) && len(g.ids) > 0 {
		g.Fatalf("message %s: the key or the time is not new", m.Key)
	}
	g.now = m.Time
	r := convmem.WriteRequest{SessionID: m.Session, Role: m.Role, Content: m.Content, Metadata: convmem.MetadataPatch{
		Kind: m.Kind, Tier: m.Tier, Importance: m.Importance, Tags: m.Tags, Summary: m.Summary,
	}}
	for _, relation := range m.Relations {
		r.Metadata.Relations = append(r.Metadata.Relations, convmem.Relation{Type: relation.Type, MessageID: g.id(relation.Key)})
	}
	result, err := g.db.Write(ctx, r)
	g.ok("write "+m.Key, err)
	g.ids[m.Key], g.keys[result.Message.ID] = result.Message.ID, m.Key
}

func (g *goldenStore) id(key string) string {
	g.Helper()
	id, ok := g.ids[key]
	if !ok {
		g.Fatalf("no message has the key %q", key)
	}
	return id
}

func (g *goldenStore) request(q goldenQuery) convmem.SearchRequest {
	g.Helper()
	text := q.Text
	if q.IDOf != "" {
		text = g.id(q.IDOf)
	}
	return convmem.SearchRequest{
		Query: text, SessionID: q.Session, MinImportance: q.MinImportance, Limit: 10,
		Filters: convmem.Filters{
			Kinds: q.Kinds, Tiers: q.Tiers, Tags: q.Tags, Roles: q.Roles, Since: q.Since, Until: q.Until,
		},
	}
}

// TestSearchGolden holds every query over the golden messages against the ranked
// lists of before. A change of ranking shows there line by line; to keep it, run
// this test alone with -update, which would else freeze a store anew as well.
func TestSearchGolden(t *testing.T) {
	g := newGoldenStore(t)
	var lists strings.Builder
	for _, q := range goldenLines[goldenQuery](g.world, "queries.jsonl") {
		fmt.Fprintf(&lists, "# %s: %q\n", q.ID, q.Text+q.IDOf)
		for i, hit := range g.search(g.request(q)).Hits {
			fmt.Fprintf(&lists, "%2d %-6s %.6f = %.6f + %.6f + %.6f %v\n", i+1, g.keys[hit.ID], hit.Score,
				hit.Breakdown.Content, hit.Breakdown.Summary, hit.Breakdown.Tags, hit.MatchedFields)
		}
	}
	path := filepath.Join(goldenSearches, "ranking.golden")
	if *updateFrozen {
		g.ok("write", os.WriteFile(path, []byte(lists.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	g.ok("read", err)
	if diff := cmp.Diff(goldenLists(string(want)), goldenLists(lists.String())); diff != "" {
		t.Errorf("ranked lists (-want +got):\n%s", diff)
	}
}

// goldenLists takes a file of ranked lists apart, so that a difference stands
// under its query.
func goldenLists(text string) map[string][]string {
	lists := map[string][]string{}
	for _, list := range strings.Split("\n"+text, "\n# ")[1:] {
		query, hits, _ := strings.Cut(list, "\n")
		lists[query] = strings.Split(hits, "\n")
	}
	return lists
}

// quality sums up how well queries were answered.
type quality struct {
	queries               int
	recall1, recall5, mrr float64
}

func (q *quality) add(relevant []string, ranked []string) {
	q.queries++
	q.recall1 += shareFound(relevant, ranked[:min(1, len(ranked))])
	q.recall5 += shareFound(relevant, ranked[:min(5, len(ranked))])
	for i, key := range ranked {
		if shareFound([]string{key}, relevant) > 0 {
			q.mrr += 1 / float64(i+1)
			return
		}
	}
}

// shareFound is the share of the wanted keys that are among those given.
func shareFound(wanted, given []string) float64 {
	n := 0
	for _, want := range wanted {
		for _, key := range given {
			if key == want {
				n++
			}
		}
	}
	return float64(n) / float64(len(wanted))
}

func (q *quality) mean() (recall1, recall5, mrr float64) {
	n := float64(q.queries)
	return q.recall1 / n, q.recall5 / n, q.mrr / n
}

func (q *quality) String() string {
	recall1, recall5, mrr := q.mean()
	return fmt.Sprintf("%3d queries  recall@1 %.3f  recall@5 %.3f  MRR %.3f", q.queries, recall1, recall5, mrr)
}

// TestSearchQuality judges the same queries by what they ought to find, whatever
// the ranked lists say. With -v it also names each query whose first hit is wrong.
func TestSearchQuality(t *testing.T) {
	g := newGoldenStore(t)
	overall, groups, order := &quality{}, map[string]*quality{}, []string{}
	for _, q := range goldenLines[goldenQuery](g.world, "queries.jsonl") {
		var ranked []string
		for _, hit := range g.search(g.request(q)).Hits {
			ranked = append(ranked, g.keys[hit.ID])
		}
		if len(q.Relevant) == 0 {
			if len(ranked) > 0 {
				t.Errorf("%s finds %v, want nothing", q.ID, ranked)
			}
			continue
		}
		for _, key := range q.Relevant {
			g.id(key)
		}
		if groups[q.Group] == nil {
			groups[q.Group], order = &quality{}, append(order, q.Group)
		}
		overall.add(q.Relevant, ranked)
		groups[q.Group].add(q.Relevant, ranked)
		if shareFound(ranked[:min(1, len(ranked))], q.Relevant) != 1 {
			t.Logf("%s wants %v, finds %v", q.ID, q.Relevant, ranked[:min(5, len(ranked))])
		}
	}
	for _, name := range order {
		t.Logf("%-18s %v", name, groups[name])
	}
	t.Logf("%-18s %v", "all", overall)
	recall1, recall5, mrr := overall.mean()
	if recall1 < floorRecall1 || recall5 < floorRecall5 || mrr < floorMRR {
		t.Errorf("recall@1, recall@5, MRR: want at least %.3f, %.3f, %.3f", floorRecall1, floorRecall5, floorMRR)
	}
}
