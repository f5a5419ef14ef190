package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// usage has the time and memory of one run.
type usage struct {
	Wall   float64 `json:"wall_s"`
	CPU    float64 `json:"cpu_s"`         // user and system
	MaxRSS int64   `json:"max_rss_bytes"` // see command.start
}

// runLimit is the longest time of a run.
const runLimit = 30 * time.Minute

// measure checks every program once, times those that passed, in turns, and returns the
// rows.
func (w *work) measure(ctx context.Context, runs int, progress io.Writer) (Work, error) {
	result := Work{
		Name: w.name, Title: w.title, Kind: string(w.input.Kind), Lines: w.input.Lines,
		Distinct: w.input.Distinct, Bytes: w.input.bytes, Runs: runs * w.repeats,
	}
	for _, p := range w.programs {
		fmt.Fprintf(progress, "%s: %s, checked\n", w.name, p.name)
		row := Row{Name: p.name, Command: p.argv, Ours: p.ours, Floor: p.order == none}
		o, err := w.checked(ctx, p)
		if err != nil {
			row.Error = err.Error()
		}
		row.LinesOut, row.Dropped = o.lines, o.dropped
		result.Rows = append(result.Rows, row)
	}
	for run := range runs * w.repeats {
		if run%w.repeats == 0 {
			fmt.Fprintf(progress, "%s: timed, turn %d of %d\n", w.name, run/w.repeats+1, runs)
		}
		for i, p := range w.programs {
			row := &result.Rows[i]
			if row.Error != "" {
				continue
			}
			u, err := w.timed(ctx, p)
			if err != nil {
				row.Error = err.Error()
				continue
			}
			row.Timed = append(row.Timed, u)
		}
		if err := ctx.Err(); err != nil {
			return result, err
		}
	}
	for i := range result.Rows {
		result.Rows[i].summarize()
	}
	return result, nil
}

// checked runs p and compares its output with the correct output.
func (w *work) checked(ctx context.Context, p program) (outcome, error) {
	r, stdout, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	defer r.Close()
	type verdict struct {
		outcome
		err error
	}
	done := make(chan verdict, 1)
	go func() {
		var v verdict
		if p.order != none {
			v.outcome, v.err = check(r, w.input.Config, w.keep, p.order)
		}
		// Read the rest of the output: otherwise the program would block.
		_, err := io.Copy(io.Discard, r)
		v.err = errors.Join(v.err, err)
		done <- v
	}()
	_, err = w.start(ctx, p, stdout)
	stdout.Close()
	v := <-done
	return v.outcome, errors.Join(err, v.err)
}

// timed runs p and discards its output.
func (w *work) timed(ctx context.Context, p program) (usage, error) {
	name := os.DevNull
	if p.capture {
		name = filepath.Join(w.dir, "output")
		defer os.Remove(name)
	}
	stdout, err := os.Create(name)
	if err != nil {
		return usage{}, err
	}
	defer stdout.Close()
	return w.start(ctx, p, stdout)
}

// start runs p until it ends. Programs other than seen have a limit of address space,
// most of the machine's memory, so that a program that needs more fails without harm to
// others.
//
// The kernel reports the peak of resident memory at the end. It includes the memory that
// the new process shared with this one before exec, so values below the few megabytes of
// this program are not distinguishable.
func (w *work) start(ctx context.Context, p program, stdout *os.File) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	argv := p.argv
	if !p.ours && w.repeats == 1 {
		argv = append([]string{"sh", "-c", `ulimit -v "$0" && exec "$@"`, fmt.Sprint(memoryTotal() / 1024 * 4 / 5)}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+w.dir)
	cmd.Stdout = stdout
	message := &tail{}
	cmd.Stderr = message
	if p.stdin {
		f, err := os.Open(w.input.path)
		if err != nil {
			return usage{}, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err != nil {
		return usage{}, fmt.Errorf("%w: %s", err, message)
	}
	u := usage{Wall: wall.Seconds(), CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.MaxRSS = int64(r.Maxrss) * 1024
	}
	return u, nil
}

// tail keeps the end of a program's standard error.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - 512; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(bytes.TrimSpace(t.kept)) }

// median returns the median of the values that the function of returns for the runs: for
// an even number of runs, the mean of the middle two.
func median(runs []usage, of func(usage) float64) float64 {
	values := make([]float64, len(runs))
	for i, u := range runs {
		values[i] = of(u)
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}
