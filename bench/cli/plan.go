package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"seen/internal/corpus"
)

// program is one row of a table: a command that does the work of the table, or a floor,
// which reads the same input and does less.
type program struct {
	name    string
	argv    []string
	order   order
	ours    bool
	stdin   bool // the input comes on standard input
	capture bool // the output goes to a file when timed
}

// plan is one table whose input is not prepared yet.
type plan struct {
	name   string // what -works matches
	title  string
	config corpus.Config
	fixed  bool // -scale does not change the size
	keep   func(corpus.Line) bool
	// repeats multiplies the number of timed runs, if the runs are short.
	repeats int
	// programs returns the rows that do the work on the input.
	programs func(in input) []program
	// before is a command to run once, on the set of the filter work.
	before func(set string) []string
}

// work is a plan that can be measured.
type work struct {
	plan
	input    input
	programs []program
	missing  []string // executables that the machine does not have
	dir      string
}

// plans returns all tables for a built seen.
func plans(seen, dir string) []plan {
	var all []plan
	for _, kind := range corpus.Kinds() {
		all = append(all, plan{
			name:     "uniq/" + string(kind),
			title:    "Print each line the first time it is seen",
			config:   corpus.Standard(kind),
			keep:     firstOnly,
			repeats:  1,
			programs: func(in input) []program { return uniqPrograms(seen, in) },
		})
	}
	return append(all, plan{
		name:     "filter/urls",
		title:    "Print the lines that are not in a set of one distinct line in five",
		config:   corpus.Standard(corpus.URLs),
		keep:     notInSet,
		repeats:  1,
		programs: func(in input) []program { return filterPrograms(seen, in) },
		before: func(set string) []string {
			return []string{seen, "build", "-q", "-p", "1e-6", "-o", set + ".seen", set}
		},
	}, plan{
		name:     "top/urls",
		title:    "Print the 20 most frequent lines with their counts",
		config:   corpus.Standard(corpus.URLs),
		keep:     func(l corpus.Line) bool { return l.First && l.Ordinal < topLines },
		repeats:  1,
		programs: func(in input) []program { return topPrograms(seen, in) },
	}, plan{
		name:     "start/urls",
		title:    "Print each line the first time it is seen, with so few lines that only the start counts",
		config:   corpus.Config{Kind: corpus.URLs, Lines: 1000, Distinct: 500, Seed: 1},
		fixed:    true,
		keep:     firstOnly,
		repeats:  20,
		programs: func(in input) []program { return uniqPrograms(seen, in) },
	})
}

// jobs are the numbers of cores for which seen is measured.
var jobs = []string{"1", "2"}

func uniqPrograms(seen string, in input) []program {
	var all []program
	n := strconv.FormatUint(in.Distinct, 10)
	for _, mode := range []struct {
		name string
		args []string
	}{
		{"seen uniq", nil},
		{"seen uniq -n N -p 1e-6", []string{"-n", n, "-p", "1e-6"}},
		{"seen uniq -p 1e-6", []string{"-p", "1e-6"}},
		{"seen uniq --exact", []string{"--exact"}},
	} {
		for _, j := range jobs {
			argv := append([]string{seen, "uniq", "-q", "-j", j}, mode.args...)
			all = append(all, program{name: mode.name + " -j " + j, argv: append(argv, in.path), order: inOrder, ours: true})
		}
	}
	return append(all,
		program{name: "sort -u", argv: []string{"sort", "-u", in.path}, order: anyOrder},
		program{name: "mawk '!s[$0]++'", argv: []string{"mawk", "!s[$0]++", in.path}, order: inOrder},
		program{name: "gawk '!s[$0]++'", argv: []string{"gawk", "!s[$0]++", in.path}, order: inOrder},
		program{name: "perl", argv: []string{"perl", "-ne", "print unless $s{$_}++", in.path}, order: inOrder},
		program{name: "datamash rmdup 1", argv: []string{"datamash", "rmdup", "1"}, stdin: true, order: inOrder},
	)
}

// topLines is how many lines the most frequent are.
const topLines = 20

func topPrograms(seen string, in input) []program {
	var all []program
	for _, j := range jobs {
		all = append(all, program{name: "seen top -j " + j, argv: []string{seen, "top", "-q", "-j", j, in.path}, order: anyOrder, ours: true})
	}
	for _, count := range []string{"sort $0 | uniq -c", "mawk '{n[$0]++} END {for (l in n) print n[l], l}' $0"} {
		all = append(all, program{
			name: strings.ReplaceAll(count, " $0", "") + " | sort -rn | head -n 20",
			argv: []string{"sh", "-c", count + " | sort -rn | head -n 20", in.path}, order: anyOrder,
		})
	}
	return all
}

func filterPrograms(seen string, in input) []program {
	set := in.path + ".set"
	var all []program
	for _, form := range []struct{ name, set string }{
		{"seen filter -v --set TEXT", set},
		{"seen filter -v --set FILTER", set + ".seen"},
	} {
		for _, j := range jobs {
			all = append(all, program{
				name:  form.name + " -j " + j,
				argv:  []string{seen, "filter", "-q", "-v", "-j", j, "--set", form.set, in.path},
				order: inOrder, ours: true,
			})
		}
	}
	const awk = "NR==FNR{s[$0];next}!($0 in s)"
	return append(all,
		program{name: "grep -vxFf", argv: []string{"grep", "-vxFf", set, in.path}, order: inOrder},
		program{name: "mawk", argv: []string{"mawk", awk, set, in.path}, order: inOrder},
		program{name: "gawk", argv: []string{"gawk", awk, set, in.path}, order: inOrder},
		program{name: "perl", argv: []string{"perl", "-ne", "if (@ARGV) { $s{$_}=1 } else { print unless $s{$_} }", set, in.path}, order: inOrder},
	)
}

// floors read the input and do nothing with its lines.
func floors(in input) []program {
	return []program{
		{name: "cat FILE >/dev/null", argv: []string{"cat", in.path}},
		{name: "cat FILE >file", argv: []string{"cat", in.path}, capture: true},
		{name: "wc -l FILE", argv: []string{"wc", "-l", in.path}},
	}
}

// prepare makes the input of p and finds out which of its programs are installed.
func (p plan) prepare(ctx context.Context, o options, progress io.Writer) (*work, error) {
	c := p.config
	if !p.fixed {
		var err error
		if c, err = c.Scale(o.scale); err != nil {
			return nil, err
		}
	}
	in, err := prepareInput(ctx, c, o.dir, progress)
	if err != nil {
		return nil, err
	}
	w := &work{plan: p, input: in, dir: o.dir}
	if p.before != nil {
		set, err := prepareSet(ctx, in, progress)
		if err != nil {
			return nil, err
		}
		argv := p.before(set)
		if message, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			fmt.Fprintf(progress, "%q: %v\n%s", argv, err, message)
		}
	}
	for _, candidate := range append(floors(in), p.programs(in)...) {
		switch name := candidate.argv[0]; {
		case !has(name):
			w.missing = append(w.missing, name)
		case candidate.ours || candidate.order == none || o.programs.MatchString(candidate.name):
			w.programs = append(w.programs, candidate)
		}
	}
	return w, nil
}

func has(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// buildSeen returns the path of the seen to measure, and builds it if necessary.
func buildSeen(ctx context.Context, o options) (string, error) {
	if o.seen != "" {
		return filepath.Abs(o.seen)
	}
	path, err := filepath.Abs(filepath.Join(o.dir, "seen"))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./cmd/seen")
	build.Dir = o.root
	build.Env = append(os.Environ(), "GOWORK=off")
	if message, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cli: building seen in %s: %w\n%s", o.root, err, message)
	}
	return path, nil
}
