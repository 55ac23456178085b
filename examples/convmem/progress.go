package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far something long is. It is silent when to is nil.
type progress struct {
	to    io.Writer
	what  string
	bytes bool // bytes are counted, not messages
	total int64
	bar   *progressbar.ProgressBar
}

// progress is silent unless a person watches.
func (c *call) progress(what string, bytes bool) *progress {
	p := &progress{what: what, bytes: bytes}
	if c.around.logIsTerminal && !c.json {
		p.to = c.around.log
	}
	return p
}

// show shows how much of how much is done; -1 for a total that is not known.
// Another total begins again.
func (p *progress) show(done, total int64) {
	if p.to == nil || total == 0 {
		return
	}
	if p.bar == nil || p.total != total {
		p.end()
		p.bar, p.total = p.newBar(total), total
	}
	p.bar.Set64(done) // what fails here is the terminal, which is no reason to stop
}

func (p *progress) newBar(total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(p.to),
		progressbar.OptionSetDescription(p.what),
		progressbar.OptionShowBytes(p.bytes),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// end leaves an empty line for what is printed next.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
