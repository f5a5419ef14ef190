package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"seen/internal/figure"
	"seen/internal/stream"
	"seen/internal/stream/input"
)

// progress shows how far a run is: in a line that is updated, if stderr is a terminal,
// and once at each SIGUSR1.
type progress struct {
	a        *app
	in       *input.Files
	counters *stream.Counters
	extra    func() string
	start    time.Time
	bar      *progressbar.ProgressBar
	done     chan struct{}
	ended    sync.WaitGroup
	signals  chan os.Signal
}

func (a *app) startProgress(quiet bool, in *input.Files, c *stream.Counters, extra func() string) *progress {
	p := &progress{
		a: a, in: in, counters: c, extra: extra, start: time.Now(),
		done: make(chan struct{}), signals: make(chan os.Signal, 1),
	}
	notifyStatus(p.signals)
	// Not if the data goes to the same screen.
	if f, ok := terminal(a.env.Stderr); ok && !quiet && !isTerminal(a.env.Stdout) {
		p.bar = newBar(f, in.Progress().Total,
			progressbar.OptionSetWidth(16), progressbar.OptionFullWidth(), progressbar.OptionSetPredictTime(true), progressbar.OptionSpinnerType(14))
	}
	p.ended.Add(1)
	go p.loop()
	return p
}

// newBar returns a bar that shows on a terminal how many of total bytes are done.
func newBar(f *os.File, total int64, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append(more, progressbar.OptionSetWriter(f), progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())...)
}

// terminal returns w as a file if it is a terminal.
func terminal(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

func isTerminal(w io.Writer) bool {
	_, is := terminal(w)
	return is
}

func (p *progress) loop() {
	defer p.ended.Done()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-p.signals:
			if p.bar != nil {
				_ = p.bar.Clear() // there is no place to report that standard error failed
			}
			fmt.Fprintf(p.a.env.Stderr, "seen: %s\n", p.status())
		case <-tick.C:
			if p.bar != nil {
				p.bar.Describe(p.describe())
				_ = p.bar.Set64(p.in.Progress().Read) // there is no place to report that standard error failed
			}
		}
	}
}

// stop ends the display and leaves the line empty.
func (p *progress) stop() {
	signal.Stop(p.signals)
	close(p.done)
	p.ended.Wait()
	if p.bar != nil {
		_ = p.bar.Clear() // there is no place to report that standard error failed
	}
}

// describe returns the part of the line that the bar does not show itself.
func (p *progress) describe() string {
	n := p.counters.Records.Load()
	text := fmt.Sprintf("%s lines, %s lines/s", figure.Short(n), figure.Short(uint64(float64(n)/time.Since(p.start).Seconds())))
	if kept, dropped := p.counters.Kept.Load(), p.counters.Dropped.Load(); kept+dropped > 0 {
		text += fmt.Sprintf(", kept %s, dropped %s", figure.Short(kept), figure.Short(dropped))
	}
	if p.extra != nil {
		if more := p.extra(); more != "" {
			text += ", " + more
		}
	}
	return text
}

// status returns the whole state in one line, for SIGUSR1.
func (p *progress) status() string {
	at := p.in.Progress()
	text := p.describe() + fmt.Sprintf(", %s read", humanize.IBytes(uint64(at.Read)))
	if at.Total > 0 {
		text += fmt.Sprintf(" of %s (%.1f %%)", humanize.IBytes(uint64(at.Total)), 100*float64(at.Read)/float64(at.Total))
	}
	return text + fmt.Sprintf(" of %s, %s since the start", at.Name, time.Since(p.start).Round(time.Millisecond))
}
