package convmem

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"

	"example.com/convmem/store"
	"github.com/oklog/ulid/v2"
)

// ExportOptions configures a [DB.Export]. The zero value exports everything.
type ExportOptions struct {
	// Namespaces are those to export; nil means all.
	Namespaces []string
	// Progress, unless nil, is told how many messages of how many are written,
	// about every thousand and at the end. It is called by the goroutine that
	// called Export.
	Progress func(done, total int64)
}

// ExportResult says what a [DB.Export] wrote.
type ExportResult struct {
	Messages int64
	Bytes    int64
}

// Export writes every message as one line of JSON, namespace after namespace in
// ascending order and each in the order of ids: with its id, times, revision,
// relations, payload and idempotency key, so that [DB.Import] makes the same
// messages of it. The same messages give the same bytes. The first line says
// which version of the format follows.
//
// Which messages are exported is settled when it begins; each is written as it is
// when its turn comes, and one that is deleted before is left out, so reads and
// changes go on. A damaged message makes it fail with [CodeCorrupt] and an error
// of w with [CodeIO]; what was written by then can be imported. It holds the
// ids of all messages in memory, 16 bytes each.
func (db *DB) Export(ctx context.Context, w io.Writer, o *ExportOptions) (ExportResult, error) {
	if o == nil {
		o = &ExportOptions{}
	}
	counted := &countingWriter{to: w}
	e := export{db: db, options: *o, out: bufio.NewWriterSize(counted, exportBuffer)}
	err := e.run(ctx)
	// What came before a failure is whole lines, and belongs to the caller.
	if flushed := e.out.Flush(); err == nil && flushed != nil {
		err = writingFailed(flushed)
	}
	e.result.Bytes = counted.bytes
	if err != nil {
		return e.result, fail("export", err)
	}
	e.progress(true)
	return e.result, nil
}

const (
	exportBuffer = 1 << 16
	// exportChunk is how many messages are read in one view, which changes wait
	// for.
	exportChunk = 100
	// exportChunkBytes ends a chunk of long messages earlier.
	exportChunkBytes = 1 << 20
	// exportProgress is how many messages lie between two calls of Progress.
	exportProgress = 1000
)

// export is an Export that runs.
type export struct {
	db      *DB
	options ExportOptions
	out     *bufio.Writer
	total   int64
	result  ExportResult
}

// exported is the list of a namespace's messages.
type exported struct {
	namespace string
	ids       []ulid.ULID
}

func (e *export) run(ctx context.Context) error {
	for i, name := range e.options.Namespaces {
		if err := checkText(item("namespaces", i), name, 0, MaxNamespaceBytes); err != nil {
			return err
		}
	}
	lists, err := e.settle(ctx)
	if err != nil {
		return err
	}
	if err := e.line(exportHeader{Format: exportFormat, Version: exportVersion}); err != nil {
		return err
	}
	for _, list := range lists {
		for ids := list.ids; len(ids) > 0; {
			done, err := e.chunk(ctx, list.namespace, ids[:min(len(ids), exportChunk)])
			if err != nil {
				return err
			}
			ids = ids[done:]
		}
	}
	return nil
}

// settle lists the messages to export.
func (e *export) settle(ctx context.Context) ([]exported, error) {
	var lists []exported
	err := e.db.log.View(ctx, func(v *store.View) error {
		lists, e.total = nil, 0
		c := v.Sink().(*catalog)
		for _, name := range c.inhabited() {
			if e.options.Namespaces != nil && !slices.Contains(e.options.Namespaces, name) {
				continue
			}
			ids := slices.SortedFunc(c.spaces[name].index.All(), ulid.ULID.Compare)
			lists = append(lists, exported{name, ids})
			e.total += int64(len(ids))
		}
		return nil
	})
	return lists, err
}

// chunk writes a few messages. They are read before any is written, because a
// view may begin anew and must not wait for w. Those before one that cannot be
// read are written. It says how many ids it is through with.
func (e *export) chunk(ctx context.Context, namespace string, ids []ulid.ULID) (done int, err error) {
	var lines []exportLine
	err = e.db.log.View(ctx, func(v *store.View) error {
		lines, done = lines[:0], 0
		space := v.Sink().(*catalog).space(namespace)
		for size := 0; done < len(ids) && size < exportChunkBytes; done++ {
			if !space.index.Contains(ids[done]) {
				continue // deleted meanwhile
			}
			r, payload, err := load(v, ids[done])
			if err != nil {
				return err
			}
			size += len(payload)
			lines = append(lines, newExportLine(&r))
		}
		return ctx.Err()
	})
	for i := range lines {
		if err := e.line(&lines[i]); err != nil {
			return done, err
		}
		e.result.Messages++
		e.progress(false)
	}
	return done, err
}

// line writes one line.
func (e *export) line(v any) error {
	encoder := json.NewEncoder(e.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return writingFailed(err)
	}
	return nil
}

func (e *export) progress(end bool) {
	if e.options.Progress != nil && (end || e.result.Messages%exportProgress == 0) {
		e.options.Progress(e.result.Messages, e.total)
	}
}

func writingFailed(err error) error {
	return &Error{Code: CodeIO, Message: "writing the export failed", Err: err}
}

// countingWriter counts what it passes on.
type countingWriter struct {
	to    io.Writer
	bytes int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.bytes += int64(n)
	return n, err
}
