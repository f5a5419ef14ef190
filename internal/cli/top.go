package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/frequent"
	"seen/internal/stream"
)

// topFlags are the flags of "seen top".
type topFlags struct {
	records recordFlags
	hashing hashFlags
	number  int
	memory  flagvalue.Size
	json    bool
	follow  bool
}

// mostTop bounds -n: all these keys are kept twice.
const mostTop = 1_000_000

func (a *app) topCommand() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:         "top [FILE...]",
		Short:       "print the most frequent lines with their counts",
		Annotations: common("number memory follow json key field-separator ignore-case email url"),
		Long: `Print the most frequent lines or keys, each after its count.

The counts are exact while all keys fit into --memory: 12 million at 512 MiB, however
long they are. Past that, rare keys are dropped: a note says how much a count may be too
low, and --json has both bounds of each. A key that is more frequent than that is never
missing.

For exact counts of any number of lines, use "seen uniq -c".`,
		Example: `  seen top access.log                       the 20 most frequent lines
  seen top -n 10 -k 1,1 access.log          the 10 addresses with the most requests
  seen top -k json:/user/id --json events   as JSON
  tail -f access.log | seen top --follow    a view that is always up to date`,
		RunE: func(cmd *cobra.Command, files []string) error { return a.top(cmd, &f, files) },
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.number, "number", "n", 20, "print the `N` most frequent")
	f.memory = defaultMemory
	flags.VarP(&f.memory, "memory", "m", "count exactly up to this size")
	flags.BoolVar(&f.json, "json", false, "report as JSON")
	flags.BoolVar(&f.follow, "follow", false, "show the list on the terminal while the input is read; Ctrl-C ends it")
	f.records.register(cmd)
	f.hashing.registerPrivate(cmd)
	return cmd
}

// topRun is one run of "seen top".
type topRun struct {
	*topFlags
	app      *app
	cmd      *cobra.Command
	counters *stream.Counters
	end      string // of a printed record

	mutex sync.Mutex // guards keys
	keys  *frequent.Counter
}

func (a *app) top(cmd *cobra.Command, f *topFlags, files []string) error {
	screen, isScreen := terminal(a.env.Stdout)
	switch {
	case f.number < 1 || f.number > mostTop:
		return usagef("-n %d is outside 1 to %s", f.number, figure.Comma(mostTop))
	case f.memory < frequent.LeastBytes:
		return usagef("-m %v is too small; give at least %s", &f.memory, figure.Comma(frequent.LeastBytes)+" bytes")
	case f.follow && f.json:
		return usagef("--follow shows a list on the terminal; leave out --json")
	case f.follow && !isScreen:
		return usagef("--follow needs a terminal; without it, the list is printed at the end")
	}
	hash, err := f.hashing.private()
	if err != nil {
		return err
	}
	in, config, err := f.records.open(a, files)
	if err != nil {
		return err
	}
	config.Hash = streamHash(hash)
	r := &topRun{topFlags: f, app: a, cmd: cmd, counters: config.Counters, end: "\n", keys: frequent.New(f.number, uint64(f.memory))}
	if config.Delimiter != nil {
		r.end = string(config.Delimiter)
	}
	stop := func() {}
	if f.follow {
		stop = r.startView(screen)
	}
	err = f.records.run(a.ctx, a, in, config, nil, r.count)
	stop()
	// Interrupted or not, what was counted is told.
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(err, r.report())
}

// count counts the keys of a block.
func (r *topRun) count(b *stream.Block) error {
	if b.Header {
		return nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for lo, hi := range b.Keyed() {
		for i := lo; i < hi; i++ {
			r.keys.Add(b.Hashes[i], func() []byte { return b.Key(i) })
		}
	}
	return nil
}

// topReport is what top reports; its JSON names are an interface to scripts.
type topReport struct {
	Keys       []topEntry `json:"keys"`
	Exact      bool       `json:"exact"`
	TooLowBy   uint64     `json:"too_low_by_at_most"`
	Distinct   *uint64    `json:"distinct,omitempty"` // unknown once keys were dropped
	Lines      uint64     `json:"lines"`
	WithoutKey uint64     `json:"without_key"`
	Bytes      uint64     `json:"bytes"`
}

// topEntry is one key; its JSON names are an interface to scripts.
type topEntry struct {
	Key     *string `json:"key,omitempty"`
	Base64  []byte  `json:"key_base64,omitempty"` // where the key is not UTF-8, which JSON cannot hold
	Count   uint64  `json:"count"`
	AtMost  uint64  `json:"at_most"`
	printed []byte
}

// look returns the report of what was counted so far.
func (r *topRun) look() *topReport {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	report := &topReport{
		Keys: []topEntry{}, Exact: r.keys.Error() == 0, TooLowBy: r.keys.Error(),
		Lines: r.counters.Records.Load(), WithoutKey: r.counters.Missing.Load(), Bytes: r.counters.Bytes.Load(),
	}
	if n, known := r.keys.Keys(); known {
		report.Distinct = &n
	}
	for _, e := range r.keys.Top(r.number) {
		entry := topEntry{Count: e.Count, AtMost: e.AtMost, printed: e.Key}
		if utf8.Valid(e.Key) {
			text := string(e.Key)
			entry.Key = &text
		} else {
			entry.Base64 = e.Key
		}
		report.Keys = append(report.Keys, entry)
	}
	return report
}

func (r *topRun) report() error {
	report := r.look()
	if r.json {
		return printJSON(r.app.env.Stdout, report)
	}
	var b strings.Builder
	for _, e := range report.Keys {
		fmt.Fprintf(&b, "%7d %s%s", e.Count, e.printed, r.end)
	}
	if _, err := io.WriteString(r.app.env.Stdout, b.String()); err != nil {
		return err
	}
	if !r.records.quiet {
		r.app.say(r.cmd, "%s", report.describe())
	}
	return nil
}

// describe says what was counted, and how exactly.
func (r *topReport) describe() string {
	text := figure.Comma(r.Lines) + " lines"
	if r.Distinct != nil {
		text = fmt.Sprintf("%s distinct of %s", figure.Comma(*r.Distinct), text)
	}
	if r.WithoutKey > 0 {
		text += fmt.Sprintf(", %s without key left out", figure.Comma(r.WithoutKey))
	}
	if r.Exact {
		return text + ", exact"
	}
	return text + fmt.Sprintf("; each count may be too low by up to %s, and keys with fewer may be missing; for exact counts give more -m",
		figure.Comma(r.TooLowBy))
}

// viewEvery is how often the view on a terminal is drawn.
const viewEvery = time.Second / 2

// startView draws the list on the screen again and again. The function that it returns
// ends that and gives the screen back.
func (r *topRun) startView(screen *os.File) (stop func()) {
	r.records.quiet = true // there is no room for a progress line
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(viewEvery)
		defer tick.Stop()
		for {
			width, height, err := term.GetSize(int(screen.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				width, height = helpWidth, 24
			}
			_, _ = io.WriteString(screen, r.look().view(width, height)) // the report at the end says so if the terminal is gone
			select {
			case <-done:
				_, _ = io.WriteString(screen, eraseScreen) // likewise
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

// eraseScreen erases the screen of a terminal and moves to its first line.
const eraseScreen = "\x1b[H\x1b[2J"

// view returns what a screen of that size shows.
func (r *topReport) view(width, height int) string {
	var b strings.Builder
	b.WriteString(eraseScreen)
	b.WriteString(cutTo(r.describe(), width))
	for _, e := range r.Keys[:min(len(r.Keys), max(0, height-2))] {
		b.WriteString("\r\n")
		b.WriteString(cutTo(fmt.Sprintf("%7d %s", e.Count, e.printed), width))
	}
	return b.String()
}

// cutTo returns the text in at most width columns, without control characters, which
// could do anything to a terminal.
func cutTo(text string, width int) string {
	var b strings.Builder
	columns := 0
	for _, r := range text {
		if columns++; columns > width {
			break
		}
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}
