package storetest_test

import (
	"context"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// databases returns a factory of DBs on whatever file system newFS makes.
// Reopening closes a DB and opens the same file system again.
func databases(newFS func(testing.TB) vfs.FS) storetest.Factory {
	return func(t testing.TB, c storetest.Config) storetest.Subject {
		options := &convmem.Options{FS: newFS(t), Now: c.Now}
		var db *convmem.DB
		closeDB := func() {
			if db == nil {
				return
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		open := func() convmem.Store {
			closeDB()
			var err error
			if db, err = convmem.Open(context.Background(), "", options); err != nil {
				t.Fatalf("open: %v", err)
			}
			return db
		}
		t.Cleanup(closeDB)
		return storetest.Subject{Store: open(), Reopen: open}
	}
}

// onDisk makes an empty directory of the operating system.
func onDisk(t testing.TB) vfs.FS {
	fsys, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// inMemory makes an empty directory in memory.
func inMemory(testing.TB) vfs.FS { return vfs.NewMem(0) }

func TestDBOnDisk(t *testing.T) { t.Parallel(); storetest.Run(t, databases(onDisk)) }
func TestDBInMemory(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.Run(t, databases(inMemory))
}
func TestDBOnDiskRandom(t *testing.T) { t.Parallel(); storetest.RunRandom(t, databases(onDisk)) }
func TestDBInMemoryRandom(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	storetest.RunRandom(t, databases(inMemory))
}

// TestOpen writes to two stores of one test: they work and share nothing.
func TestOpen(t *testing.T) {
	ctx := context.Background()
	for range 2 {
		db := storetest.Open(t)
		written, err := db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: "Hello"})
		if err != nil {
			t.Fatal(err)
		}
		read, err := db.Read(ctx, convmem.ReadRequest{History: &convmem.HistoryRequest{SessionID: "s"}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]convmem.Message{written.Message}, read.History.Messages); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	}
}

// TestOpenCloses looks at a store after the test that it was opened for.
func TestOpenCloses(t *testing.T) {
	var db *convmem.DB
	t.Run("inner", func(t *testing.T) { db = storetest.Open(t) })
	if _, err := db.Health(context.Background(), convmem.HealthRequest{}); convmem.CodeOf(err) != convmem.CodeInternal {
		t.Errorf("health of a closed store: %v", err)
	}
}
