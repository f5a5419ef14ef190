package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/corpus"
)

// TestMain lets the test binary act as a measured program: BENCH_FAKE says what it does
// with the lines of its input.
func TestMain(m *testing.M) {
	if what := os.Getenv("BENCH_FAKE"); what != "" {
		if err := fake(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fake removes duplicates, correctly or with the error that what names.
func fake(what string, args []string) error {
	in := os.Stdin
	if len(args) > 0 {
		var err error
		if in, err = os.Open(args[0]); err != nil {
			return err
		}
		defer in.Close()
	}
	seen := map[string]bool{}
	var kept []string
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if line := lines.Text(); !seen[line] {
			seen[line] = true
			kept = append(kept, line)
		}
	}
	switch what {
	case "drops":
		kept = append(kept[:7:7], kept[9:]...)
	case "repeats":
		kept = append(kept, kept[3])
	case "swaps":
		kept[4], kept[5] = kept[5], kept[4]
	case "fails":
		return errors.New("fails on request")
	}
	_, err := fmt.Println(strings.Join(kept, "\n"))
	return err
}

// fakeWork returns a small work for the fake program with the given error.
func fakeWork(t *testing.T, what string, order order) *work {
	t.Helper()
	t.Setenv("BENCH_FAKE", what)
	in, err := prepareInput(t.Context(), corpus.Config{Kind: corpus.URLs, Lines: 1000, Distinct: 300, Seed: 1}, t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &work{
		plan:  plan{name: "uniq/fake", keep: firstOnly, repeats: 1},
		input: in,
		dir:   filepath.Dir(in.path),
		programs: []program{
			{name: "file", argv: []string{self, in.path}, order: order, ours: true},
			{name: "stdin", argv: []string{self}, order: order, stdin: true, capture: true, ours: true},
		},
	}
}

func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		what           string
		order          order
		lines, dropped uint64
		wrong          string
	}{
		{what: "works", order: inOrder, lines: 300},
		{what: "works", order: anyOrder, lines: 300},
		{what: "works", order: none},
		{what: "drops", order: inOrder, lines: 298, dropped: 2},
		{what: "drops", order: anyOrder, lines: 298, dropped: 2},
		{what: "swaps", order: anyOrder, lines: 300},
		{what: "swaps", order: inOrder, wrong: "is not the correct line"},
		{what: "repeats", order: inOrder, wrong: "is not the correct line"},
		{what: "repeats", order: anyOrder, wrong: "more lines"},
		{what: "fails", order: inOrder, wrong: "fails on request"},
	} {
		t.Run(fmt.Sprintf("%s/%d", c.what, c.order), func(t *testing.T) {
			const runs = 3
			result, err := fakeWork(t, c.what, c.order).measure(t.Context(), runs, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range result.Rows {
				if c.wrong != "" {
					if !strings.Contains(r.Error, c.wrong) || len(r.Timed) > 0 {
						t.Errorf("%s: error %q after %d runs, want one with %q and no runs", r.Name, r.Error, len(r.Timed), c.wrong)
					}
					continue
				}
				if r.Error != "" || r.LinesOut != c.lines || r.Dropped != c.dropped {
					t.Errorf("%s: %d lines, %d dropped, error %q; want %d, %d", r.Name, r.LinesOut, r.Dropped, r.Error, c.lines, c.dropped)
				}
				if len(r.Timed) != runs || r.Wall <= 0 || r.MaxRSS <= 0 {
					t.Errorf("%s: %d runs, %v s, %v bytes; want %d runs that took something", r.Name, len(r.Timed), r.Wall, r.MaxRSS, runs)
				}
			}
		})
	}
}

func TestMeasureStopsWithItsContext(t *testing.T) {
	w := fakeWork(t, "works", inOrder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.measure(ctx, 2, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("measure returns %v, want %v", err, context.Canceled)
	}
}

func TestCheckFilter(t *testing.T) {
	c := corpus.Config{Kind: corpus.Short, Lines: 500, Distinct: 40, Seed: 2}
	var kept []string
	g, err := corpus.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for l, ok := g.Next(); ok; l, ok = g.Next() {
		if l.Ordinal%5 != 0 {
			kept = append(kept, string(l.Text))
		}
	}
	output := func(lines []string) io.Reader { return strings.NewReader(strings.Join(lines, "\n") + "\n") }
	o, err := check(output(kept), c, notInSet, inOrder)
	if err != nil || o.lines != uint64(len(kept)) || o.dropped != 0 {
		t.Errorf("the right lines: %+v, %v", o, err)
	}
	o, err = check(output(append(kept[:10:10], kept[20:]...)), c, notInSet, inOrder)
	if err != nil || o.dropped != 10 {
		t.Errorf("ten lines less: %+v, %v", o, err)
	}
	o, err = check(output(kept[:len(kept)-3]), c, notInSet, inOrder)
	if err != nil || o.dropped != 3 {
		t.Errorf("three lines less at the end: %+v, %v", o, err)
	}
	if _, err := check(strings.NewReader(kept[0]), c, notInSet, inOrder); err == nil || !strings.Contains(err.Error(), "no newline") {
		t.Errorf("a line without newline: error %v", err)
	}
}

func TestPrepareInput(t *testing.T) {
	dir := t.TempDir()
	c := corpus.Config{Kind: corpus.Paths, Lines: 200, Distinct: 200, Seed: 1}
	var progress bytes.Buffer
	prepare := func() []byte {
		t.Helper()
		in, err := prepareInput(t.Context(), c, dir, &progress)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(in.path)
		if err != nil || int64(len(b)) != in.bytes {
			t.Fatalf("%d bytes, said to be %d; %v", len(b), in.bytes, err)
		}
		return b
	}
	want := prepare()
	if prepare(); strings.Count(progress.String(), "making") != 1 {
		t.Errorf("the input was made again although it was there:\n%s", &progress)
	}
	stale, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(stale) != 1 {
		t.Fatal(stale, err)
	}
	if err := os.WriteFile(stale[0], []byte("of an older generator\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := prepare(); !bytes.Equal(got, want) {
		t.Error("an input that the generator does not make was kept")
	}
}

func TestPrepareSet(t *testing.T) {
	in := input{Config: corpus.Config{Kind: corpus.Short, Lines: 100, Distinct: 23, Seed: 1}, path: filepath.Join(t.TempDir(), "in")}
	path, err := prepareSet(t.Context(), in, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, ordinal := range []uint64{0, 5, 10, 15, 20} {
		want = append(in.AppendLine(want, ordinal), '\n')
	}
	if !bytes.Equal(b, want) {
		t.Errorf("the set is %q, want %q", b, want)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		runs []usage
		want float64
	}{
		{nil, 0},
		{[]usage{{Wall: 2}}, 2},
		{[]usage{{Wall: 9}, {Wall: 1}, {Wall: 2}}, 2},
		{[]usage{{Wall: 4}, {Wall: 9}, {Wall: 1}, {Wall: 2}}, 3},
	} {
		if got := median(c.runs, func(u usage) float64 { return u.Wall }); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.runs, got, c.want)
		}
	}
}

func TestPrint(t *testing.T) {
	r := &Report{Machine: "M", Commit: "C", Works: []Work{{Name: "uniq/x", Title: "T", Kind: "x", Lines: 5, Distinct: 3, Bytes: 8e6, Runs: 2, Rows: []Row{
		{Name: "cat", Floor: true, Wall: 0.5, LinesOut: 9},
		{Name: "seen", Ours: true, Wall: 1, MaxRSS: 3e6, LinesOut: 3},
		{Name: "seen 2", Ours: true, Wall: 2},
		{Name: "peer", Wall: 4, CPU: 3.5, LinesOut: 2, Dropped: 1},
		{Name: "broken", Error: "exit\nstatus 1"},
	}}}}
	r.leaveOut([]string{"gawk", "datamash"})
	r.leaveOut([]string{"gawk"})
	var b bytes.Buffer
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Machine: M\nCommit: C",
		"not on this machine: datamash, gawk\n",
		"x: 5 lines, 3 distinct, 8 MB. Medians of 2 runs",
		"| program  | wall s | CPU s | MB/s | peak MB | lines out | wrongly dropped | x cat | x seen |\n" +
			"|----------|-------:|",
		"| `cat`    |  0.500 | 0.000 |   16 |       0 |           |                 |  1.00 |   0.50 |\n",
		"| `seen`   |  1.000 | 0.000 |    8 |       3 |         3 |               0 |  2.00 |   1.00 |\n",
		"| `peer`   |  4.000 | 3.500 |    2 |       0 |         2 |               1 |  8.00 |   4.00 |\n",
		"| `broken` | failed |",
		"`broken` failed: exit status 1\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &b)
		}
	}
}

// TestRun goes from flags to tables with a seen that always fails: its rows have errors,
// and the floors have times.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out.json")
	o, err := parse([]string{"-scale", "1e-4", "-runs", "1", "-seen", "/bin/false", "-dir", dir, "-json", file, "-works", "filter", "-programs", "^$"})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, progress bytes.Buffer
	if err := run(t.Context(), o, &stdout, &progress); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Works) != 1 || r.Works[0].Name != "filter/urls" || r.Works[0].Lines != 2000 {
		t.Fatalf("the JSON output has %+v", r.Works)
	}
	for _, row := range r.Works[0].Rows {
		if row.Floor == row.Ours || row.Ours == (row.Error == "") || row.Floor == (len(row.Timed) == 0) {
			t.Errorf("row %+v", row)
		}
	}
	if !strings.Contains(stdout.String(), "### filter/urls") || !strings.Contains(progress.String(), "making") {
		t.Errorf("output:\n%s\nprogress:\n%s", &stdout, &progress)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-runs", "0"}, "-runs 0"},
		{[]string{"-works", "("}, "-works"},
		{[]string{"-programs", "("}, "-programs"},
		{[]string{"urls"}, "argument \"urls\""},
	} {
		if _, err := parse(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cli %q: error %v, want one with %q", c.args, err, c.want)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-seen", "/bin/false", "-works", "^nothing$"}, "no work matches"},
		{[]string{"-seen", "/bin/false", "-scale", "-1"}, "scale"},
		{[]string{"-root", "/nonexistent"}, "building seen"},
	} {
		o, err := parse(append(c.args, "-dir", t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), o, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cli %q: error %v, want one with %q", c.args, err, c.want)
		}
	}
}
