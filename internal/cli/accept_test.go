package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"seen/internal/corpus"
	"seen/internal/filtertest"
)

// onceChecker is an output that must be the distinct lines of a corpus in the
// order of their first occurrence. It counts those that are missing.
type onceChecker struct {
	config  corpus.Config
	next    uint64 // ordinal that is due
	missing int
	rest    []byte // of a line not yet complete
	want    []byte
	err     error
}

func (c *onceChecker) Write(p []byte) (int, error) {
	n := len(p)
	if len(c.rest) > 0 {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			c.rest = append(c.rest, p...)
			return n, nil
		}
		c.rest = append(c.rest, p[:i]...)
		p = p[i:]
		c.line(c.rest)
		c.rest = c.rest[:0]
	}
	for {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			break
		}
		c.line(p[:i])
		p = p[i:]
	}
	c.rest = append(c.rest, p...)
	return n, c.err
}

// line takes one line of output. If it is not the one that is due, those before
// it are missing; a line that is not among the following was printed twice, out of
// order, or made up.
func (c *onceChecker) line(text []byte) {
	for from := c.next; c.next < c.config.Distinct; c.next++ {
		c.want = append(c.config.AppendLine(c.want[:0], c.next), '\n')
		if bytes.Equal(text, c.want) {
			c.missing += int(c.next - from)
			c.next++
			return
		}
	}
	if c.err == nil {
		c.err = fmt.Errorf("line %q was printed twice, out of order, or never read", text)
	}
}

func (c *onceChecker) end() int {
	return c.missing + int(c.config.Distinct-c.next)
}

// TestUniqAgainstExactSet runs the whole command on crawl-like lines, 20 million
// of them with 5 million distinct, and holds its output against the generator's
// knowledge of what is distinct.
func TestUniqAgainstExactSet(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	config := corpus.Standard(corpus.URLs)
	if filtertest.Race {
		var err error
		if config, err = config.Scale(0.01); err != nil {
			t.Fatal(err)
		}
	}
	written := filepath.Join(t.TempDir(), "out")
	cases := []struct {
		args string
		rate float64 // 0: exact
	}{
		{"uniq", 0},
		{"uniq -j 1 -n 5M", 1e-6},
		{"uniq -n 5M -p 1e-3", 1e-3},
		{"uniq -n 100k -p 1e-2", 1e-2}, // grows by six layers
		{"uniq -m 20MiB -p 1e-4", 1e-4},
		{"uniq -m 20MiB --on-full grow", 1e-6}, // becomes a filter
		{"uniq -m 20MiB -o " + written, 0},     // goes on with temporary files
	}
	type run struct {
		out      onceChecker
		messages strings.Builder
		code     int
	}
	runs := make([]run, len(cases))
	// To make the lines takes twice as long as to read them, so all runs have the same.
	in, err := corpus.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var to []io.Writer
	var ends []*io.PipeWriter
	for i, c := range cases {
		r := &runs[i]
		r.out.config = config
		stdin, feed := io.Pipe()
		to, ends = append(to, feed), append(ends, feed)
		group.Go(func() {
			r.code = Run(context.Background(), Env{Args: strings.Fields(c.args), Stdin: stdin, Stdout: &r.out, Stderr: &r.messages})
			// One that has failed must not hold up the others.
			_, _ = io.Copy(io.Discard, stdin)
		})
	}
	if _, err := io.CopyBuffer(io.MultiWriter(to...), in, make([]byte, 1<<20)); err != nil {
		t.Error(err)
	}
	for _, end := range ends {
		end.Close()
	}
	group.Wait()
	file, err := os.Open(written)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(&runs[len(cases)-1].out, file); err != nil {
		t.Error(err)
	}
	for i, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			r := &runs[i]
			if r.code != 0 || r.out.err != nil {
				t.Fatalf("exit code %d, %v\n%s", r.code, r.out.err, &r.messages)
			}
			wrong := r.out.end()
			_, most := filtertest.Limits(int(config.Distinct), c.rate, 0, len(cases))
			if wrong > most || c.rate == 0 && wrong > 0 {
				t.Errorf("%d of %d distinct lines were dropped wrongly, at most %d are allowed at rate %g", wrong, config.Distinct, most, c.rate)
			}
			t.Logf("%d wrong drops of %d, allowed %d", wrong, config.Distinct, most)
		})
	}
}

// TestCheckerFindsMistakes makes sure that the judge of the test above judges.
func TestCheckerFindsMistakes(t *testing.T) {
	config := corpus.Config{Kind: corpus.URLs, Lines: 100, Distinct: 50, Seed: 3}
	line := func(i uint64) string { return string(config.AppendLine(nil, i)) + "\n" }
	for _, c := range []struct {
		text    string
		missing int
		wrong   bool
	}{
		{line(0) + line(1), 48, false},
		{line(0) + line(2), 48, false},
		{line(0) + line(0), 49, true},
		{line(1) + line(0), 49, true},
		{line(0) + "foreign\n", 49, true},
	} {
		for cut := range c.text {
			out := &onceChecker{config: config}
			_, _ = io.WriteString(out, c.text[:cut])
			_, _ = io.WriteString(out, c.text[cut:])
			if out.err != nil != c.wrong || !c.wrong && out.end() != c.missing {
				t.Fatalf("cut at %d: %d missing, error %v", cut, out.end(), out.err)
			}
		}
	}
}

// TestLongLine sends a line much longer than any block through the command;
// TestSoakLongLine one of 1 GiB.
func TestLongLine(t *testing.T) { uniqLongLine(t, 1<<26) }

func uniqLongLine(t *testing.T, size int64) {
	line := func() io.Reader { return io.MultiReader(io.LimitReader(letters{}, size), strings.NewReader("\n")) }
	in := io.MultiReader(strings.NewReader("short\n"), line(), strings.NewReader("short\nother\n"), line())
	var out counter
	var messages strings.Builder
	code := Run(context.Background(), Env{Args: []string{"uniq"}, Stdin: in, Stdout: &out, Stderr: &messages})
	if want := size + int64(len("short\n\nother\n")); code != 0 || int64(out) != want {
		t.Errorf("exit code %d, %d bytes of output, want %d\n%s", code, out, want, &messages)
	}
}

// letters is an endless line.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// counter counts what is written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// runAsCommand, when set in the environment, makes this test binary be "seen".
const runAsCommand = "RUN_AS_SEEN"

// TestMain lets this test binary be "seen" for the tests that need processes.
func TestMain(m *testing.M) {
	if os.Getenv(runAsCommand) != "" {
		os.Exit(Run(context.Background(), Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ()}))
	}
	// In the background of a script, or under nohup, signals are ignored, and what
	// is started inherits that; a signal that is caught is not.
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	scriptMain(m)
}
