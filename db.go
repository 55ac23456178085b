package convmem

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"time"

	"example.com/convmem/index"
	"example.com/convmem/store"
	"example.com/convmem/store/vfs"
)

// Options configures a DB. The zero value is right for most programs.
type Options struct {
	// FS holds the files. nil means the directory that Open names, on the
	// operating system.
	FS vfs.FS
	// Now is the clock; nil means time.Now. It may stand still or step back:
	// ids and times of the store never do. It is called by several goroutines
	// at once.
	Now func() time.Time
	// Entropy gives the random part of ids; nil means crypto/rand. Where the
	// content of messages is not trusted it must be secret. Reads of it are
	// never concurrent.
	Entropy io.Reader
	// LockWait bounds the wait for another process that is in the middle of a
	// change; 0 means 5 seconds. A context that ends earlier ends the wait.
	LockWait time.Duration
	// Exclusive keeps other processes from changing the store for as long as
	// the DB is open; they can read. It saves each change a few microseconds.
	Exclusive bool
	// ReadOnly opens a store that must exist and changes nothing in its
	// directory. Every change fails with ErrReadOnly as its cause.
	ReadOnly bool
	// Analyzer turns text into the terms that search knows; nil means
	// [index.Standard], which knows the scripts of the world. Processes that
	// share a store should use the same one: each finds what its own analyzer
	// makes of the text. With another analyzer than the last time, Open indexes
	// all text again.
	Analyzer Analyzer
	// Reranker, unless nil, puts the best hits of each search in another order.
	Reranker Reranker
	// Logger hears of recoveries and failures; nil discards. It is never told
	// what a message says.
	Logger *slog.Logger
	// MaxResultBytes bounds the content, metadata and payloads of one result, by ending
	// it early: a page of history or sessions gets a cursor, a context or a
	// search is marked Truncated. One message is always returned, whatever its
	// size. 0 means 8 MiB.
	MaxResultBytes int
}

const defaultMaxResultBytes = 8 << 20

// DB is a Store in a directory. Any number of goroutines may use it at once, and
// any number of processes may have the directory open.
//
// A read sees one moment of the store, with every change in it that was answered
// before, in whatever process, and runs beside other reads and changes. Changes
// happen one after another over all processes. One costs one write and one sync
// of the log; those that goroutines make at the same time share them. Each becomes
// visible between reads: it waits for those that run, and reads that begin then
// wait for it, for as long as indexing its text takes.
type DB struct {
	log            *store.Log
	now            func() time.Time
	entropy        io.Reader
	maxResultBytes int
	analyzer       Analyzer
	reranker       Reranker // or nil
	logger         *slog.Logger
	namespace      string // the part of the store that all methods see
}

var _ Store = (*DB)(nil)

// Open opens the store in the directory dir, making both where they do not
// exist, for its owner only. With Options.FS, dir is not used and may be "".
// nil options are the zero Options. The context bounds the wait for another
// process and nothing else.
//
// It fails with [CodeBusy] when another process is in the middle of a change for
// longer than Options.LockWait or has the store for itself, with [CodeCorrupt] when stored data is damaged or of a newer version, in which
// case nothing was changed, and with [CodeIO].
//
// Opening reads the snapshot and the part of the log that it does not cover, the
// text of which is indexed; without a usable snapshot that is the whole log.
func Open(ctx context.Context, dir string, o *Options) (*DB, error) {
	if o == nil {
		o = &Options{}
	}
	db, err := open(ctx, dir, *o)
	if err != nil {
		return nil, fail("open", err)
	}
	return db, nil
}

func open(ctx context.Context, dir string, o Options) (*DB, error) {
	if err := o.check(dir); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.FS == nil {
		fsys, err := directory(dir, o.ReadOnly)
		if err != nil {
			return nil, err
		}
		o.FS = fsys
	}
	log, err := store.Open(ctx, o.FS, store.Options{
		NewSink:   func() store.Sink { return newCatalog(o.Analyzer) },
		LockWait:  o.LockWait,
		Exclusive: o.Exclusive,
		ReadOnly:  o.ReadOnly,
		Now:       o.Now,
		Rand:      o.Entropy,
		Logger:    o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &DB{
		log: log, now: o.Now, entropy: o.Entropy, maxResultBytes: o.MaxResultBytes,
		analyzer: o.Analyzer, reranker: o.Reranker, logger: o.Logger,
	}, nil
}

func directory(dir string, readOnly bool) (vfs.FS, error) {
	if readOnly {
		return vfs.OSReadOnly(dir)
	}
	return vfs.OS(dir)
}

func (o Options) check(dir string) error {
	switch {
	case dir == "" && o.FS == nil:
		return invalid("dir", "empty, want the path of a directory")
	case o.Exclusive && o.ReadOnly:
		return invalid("Exclusive", "set together with ReadOnly, want one of them")
	case o.LockWait < 0:
		return invalid("LockWait", "%v, want 0 or more", o.LockWait)
	case o.MaxResultBytes < 0:
		return invalid("MaxResultBytes", "%d, want 0 or more", o.MaxResultBytes)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Entropy == nil {
		o.Entropy = rand.Reader
	} else {
		o.Entropy = &lockedReader{reader: o.Entropy}
	}
	if o.Analyzer == nil {
		o.Analyzer = index.Standard()
	}
	o.Analyzer = index.Checked(o.Analyzer)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxResultBytes == 0 {
		o.MaxResultBytes = defaultMaxResultBytes
	}
	return o
}

// lockedReader lets a rebuild and a write draw from one source.
type lockedReader struct {
	mu     sync.Mutex
	reader io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reader.Read(p)
}

// Close waits for calls that run, but for Verify, Backup, Export and Import, which
// then fail, and releases the directory. Every later call fails with ErrClosed as
// its cause. Closing again does nothing. All that was
// acknowledged is on stable storage whether Close fails or not.
func (db *DB) Close() error { return fail("close", db.log.Close()) }
