package convmem_test

import (
	"strings"
	"testing"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
	"github.com/google/go-cmp/cmp"
)

// readHook is a file system that calls a function once, before the read of a log
// that comes after some others.
type readHook struct {
	vfs.FS
	others int
	before func()
}

type hookedFile struct {
	vfs.File
	fs  *readHook
	log bool
}

func (f *readHook) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(name)
	return &hookedFile{file, f, strings.HasPrefix(name, "convmem-")}, err
}

func (f *readHook) SameFile(name string, file vfs.File) (bool, error) {
	return f.FS.SameFile(name, file.(*hookedFile).File)
}

func (f *hookedFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.log && f.fs.before != nil {
		if f.fs.others--; f.fs.others < 0 {
			before := f.fs.before
			f.fs.before = nil
			before()
		}
	}
	return f.File.ReadAt(p, offset)
}

// Another process rebuilds the store while the hits of a search are read: their
// old places are empty then, and the search gives what it would give now.
func TestSearchWhoseHitsAreTakenAway(t *testing.T) {
	for _, options := range []convmem.Options{{}, {MaxResultBytes: 600}, {Reranker: judge(byLength)}} {
		options.FS = vfs.NewMem(0)
		w := newWorld(t, options)
		for range 5 {
			w.say("s", "a fox and more", convmem.MetadataPatch{})
		}
		id := w.say("s", "fox", convmem.MetadataPatch{}).ID
		hook := &readHook{FS: w.fsys}
		options.FS = hook
		db, err := convmem.Open(ctx, "", &options)
		w.ok("open", err)
		defer db.Close()
		for others := range 3 {
			for _, r := range []convmem.SearchRequest{{Query: "fox"}, {Query: "fox", ContextSize: 2}, {Query: id, ContextSize: 2}} {
				w.sameWhenTakenAway(db, hook, others, r)
			}
		}
	}
}

func (w *world) sameWhenTakenAway(db *convmem.DB, hook *readHook, others int, r convmem.SearchRequest) {
	w.Helper()
	_, err := db.Search(ctx, r) // follows the log as it is now
	w.ok("search", err)
	hook.others, hook.before = others, w.rebuild
	got, err := db.Search(ctx, r)
	w.ok("search", err)
	if hook.before != nil {
		w.Fatalf("%+v: no more than %d reads", r, others)
	}
	if diff := cmp.Diff(w.search(r), got); diff != "" || len(got.Hits) == 0 {
		w.Errorf("%+v, taken away after %d reads: %d hits: %s", r, others, len(got.Hits), diff)
	}
}
