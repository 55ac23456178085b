package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/convmem"
)

type exportDocument struct {
	Status   string `json:"status"`
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`
}

func export(ctx context.Context, c *call) error {
	if c.output == "" && c.around.outIsTerminal {
		return wrong("-o", "not given, and standard output is a terminal, which content could drive: give -o FILE or redirect")
	}
	return c.read(ctx, func(db *convmem.DB) error {
		if c.output == "" {
			_, err := c.exportTo(ctx, db, c.around.out)
			return err
		}
		var result convmem.ExportResult
		err := writeFile(c.output, func(w io.Writer) (err error) {
			result, err = c.exportTo(ctx, db, w)
			return err
		})
		var known *convmem.Error
		if err != nil && !errors.As(err, &known) {
			return ioFailed("writing the file", err)
		}
		if err != nil {
			return err
		}
		return c.print(exportDocument{c.status(nil), result.Messages, result.Bytes}, "exported %s, %d bytes", number(result.Messages, "message"), result.Bytes)
	})
}

func (c *call) exportTo(ctx context.Context, db *convmem.DB, w io.Writer) (convmem.ExportResult, error) {
	p := c.progress("exporting", false)
	defer p.end()
	o := convmem.ExportOptions{Progress: p.show}
	if c.namespace != nil {
		o.Namespaces = []string{*c.namespace}
	}
	return db.Export(ctx, w, &o)
}

type importDocument struct {
	Status   string            `json:"status"`
	Lines    int64             `json:"lines"`
	Bytes    int64             `json:"bytes"`
	Written  int64             `json:"written"`
	Present  int64             `json:"present"`
	Refused  int64             `json:"refused"`
	Problems []problemDocument `json:"problems"`
}

type problemDocument struct {
	Line  int64       `json:"line"`
	Error errorDetail `json:"error"`
}

func importMessages(ctx context.Context, c *call) error {
	in, err := c.input(ctx, c.arguments[0])
	if err != nil {
		return err
	}
	defer in.Close()
	run := func(db *convmem.DB) error { return c.importFrom(ctx, db, in) }
	if c.dryRun {
		return c.onCopy(ctx, run)
	}
	return c.with(ctx, c.dir, false, run)
}

func (c *call) importFrom(ctx context.Context, db *convmem.DB, in io.Reader) error {
	p, total := c.progress("importing", true), int64(-1)
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			total = info.Size()
		}
	}
	result, err := db.Import(ctx, in, &convmem.ImportOptions{
		Progress: func(r convmem.ImportResult) { p.show(r.Bytes, total) },
	})
	p.end()
	if printing := c.printImport(result, err); err == nil {
		return printing
	}
	return err
}

func (c *call) printImport(r convmem.ImportResult, err error) error {
	d := importDocument{c.status(err), r.Lines, r.Bytes, r.Written, r.Present, r.Refused, []problemDocument{}}
	for _, problem := range r.Problems {
		d.Problems = append(d.Problems, problemDocument{problem.Line, newErrorDetail(problem.Err)})
		if !c.json {
			if err := c.print(nil, "line %d: %s", problem.Line, harmless(problem.Err.Error(), "")); err != nil {
				return err
			}
		}
	}
	return c.print(d, "%s %s, %d there already, %d of %s refused",
		c.done("imported", "import"), number(r.Written, "message"), r.Present, r.Refused, number(r.Lines, "line"))
}

// onCopy runs something on a copy of the store, an empty one if there is none.
func (c *call) onCopy(ctx context.Context, use func(*convmem.DB) error) error {
	dir, err := os.MkdirTemp("", "convmem-dry-run-")
	if err != nil {
		return ioFailed("making a directory for a copy", err)
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "copy")
	if err := c.copyTo(ctx, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.with(ctx, dir, false, use)
}

func backup(ctx context.Context, c *call) error {
	if err := c.copyTo(ctx, c.arguments[0]); err != nil {
		return err
	}
	return c.print(statusDocument{c.status(nil)}, "the copy is whole and was read back")
}

func (c *call) copyTo(ctx context.Context, dir string) error {
	return c.read(ctx, func(db *convmem.DB) error {
		defer c.spin("copying")()
		return db.Backup(ctx, dir)
	})
}

type statusDocument struct {
	Status string `json:"status"`
}
