package main

import (
	"io"
	"sync"
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
		p.bar, p.total = p.newBar(total, progressbar.OptionShowCount()), total
	}
	p.bar.Set64(done) // what fails here is the terminal, which is no reason to stop
}

// spin shows that something long goes on that cannot say how much of it is done,
// and for how long, until stop is called.
func (c *call) spin(what string) (stop func()) {
	p := c.progress(what, false)
	if p.to == nil {
		return func() {}
	}
	p.bar = p.newBar(-1, progressbar.OptionThrottle(0))
	stopped := make(chan struct{})
	var turning sync.WaitGroup
	turning.Go(func() { p.turn(stopped) })
	return func() {
		close(stopped)
		turning.Wait()
		p.end()
	}
}

// turn draws the bar again and again.
func (p *progress) turn(stopped <-chan struct{}) {
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		p.bar.RenderBlank()
		select {
		case <-stopped:
			return
		case <-ticks.C:
		}
	}
}

// newBar makes a bar that is drawn when it is told to and at no other time.
func (p *progress) newBar(total int64, options ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(p.to),
		progressbar.OptionSetDescription(p.what),
		progressbar.OptionShowBytes(p.bytes),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSpinnerType(9), // of characters that every terminal has
		progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}, options...)...)
}

// end leaves an empty line for what is printed next.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
