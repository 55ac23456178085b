package adk_test

import (
	"fmt"
	"testing"

	"example.com/convmem/examples/adk"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/adk/memory"
)

const (
	tea      = "I always drink green tea."
	japanese = "来週までにデータベースの移行を終える予定です。"
	mixed    = "本番環境ではPostgreSQLを使っています。"
	answer   = "The database is called billing and runs on two replicas."
)

// remarks is a session in which four things are said, and forty that share
// most words with a question about one of them.
func remarks() conversation {
	all := []string{tea, japanese, mixed, answer}
	for i := range 40 {
		all = append(all, fmt.Sprintf("On day %d the backup of the database is what we check.", i))
	}
	return talk("remarks", all...)
}

// What the memory that ADK brings makes of these queries is part of the test: if
// it learns to answer them, the documents are no longer true.
func TestFiveQueriesThatTheInMemoryServiceGetsWrong(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	durable, inMemory := adk.NewMemory(db), memory.InMemoryService()
	add(t, durable, remarks())
	add(t, inMemory, remarks())

	check := func(t *testing.T, durable memory.Service) {
		for query, want := range map[string]string{"tea": tea, "データベース": japanese, "PostgreSQL": mixed, "replica": answer} {
			if diff := cmp.Diff([]string{want}, texts(search(t, durable, query))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
		found := texts(search(t, durable, "what is the database"))
		if len(found) != adk.MaxMemories || found[0] != answer {
			t.Errorf("what is the database: %d memories, first %.1q", len(found), found)
		}
	}
	t.Run("before", func(t *testing.T) { check(t, durable) })
	db.Close()
	t.Run("after reopening", func(t *testing.T) { check(t, adk.NewMemory(open(t, dir))) })

	for _, query := range []string{"tea", "データベース", "PostgreSQL", "replica"} {
		if found := texts(search(t, inMemory, query)); len(found) != 0 {
			t.Errorf("the service in memory finds %q for %s now", found, query)
		}
	}
	if found := search(t, inMemory, "what is the database"); len(found) != 41 {
		t.Errorf("the service in memory finds %d memories for what is the database", len(found))
	}
}
