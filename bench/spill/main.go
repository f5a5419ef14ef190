// Command spill compares runs of "seen uniq" that are exact past their memory, with a filter
// of the same input and with sort -u. From the root of the tree:
//
//	go run -C bench ./spill                        a tenth of the full size
//
// In full size, which needs some 20 GB of disk in -dir:
//
//	go run -C bench ./spill -lines 400000000 -distinct 300000000 -memory 256MiB
//
// Each line is a number that says when it occurs first, in 16 hexadecimal digits, so that
// the output is checked in full: lines that are missing, come twice or out of order are
// counted. Repetitions are spread over the whole input. It prints times, the memory at the
// peak, and bytes of disk for each line, with the ratios to the filter and to sort.
//
// It exits with 1 if the output is wrong, and with 2 if it cannot do its work.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"seen/bench/machine"
)

// settings are the flags.
type settings struct {
	dir             string
	seen            string
	memory          string
	lines, distinct uint64
	runs            int
	sort            bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s settings
	flag.StringVar(&s.dir, "dir", filepath.Join(os.TempDir(), "seen-bench-spill"), "folder for inputs, outputs and temporary files; it stays")
	flag.StringVar(&s.seen, "seen", "", "the command; default: build it")
	flag.StringVar(&s.memory, "memory", "32MiB", "memory of exact runs and of sort")
	flag.Uint64Var(&s.lines, "lines", 40_000_000, "lines of the input")
	flag.Uint64Var(&s.distinct, "distinct", 30_000_000, "distinct ones of these")
	flag.IntVar(&s.runs, "runs", 3, "timed runs; the fastest counts")
	flag.BoolVar(&s.sort, "sort", true, "run sort -u, too")
	flag.Parse()
	wrong, err := s.run(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "spill:", err)
		os.Exit(2)
	case wrong:
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context) (wrong bool, err error) {
	if s.distinct == 0 || s.distinct > s.lines || s.runs < 1 {
		return false, fmt.Errorf("%d distinct lines of %d, %d runs", s.distinct, s.lines, s.runs)
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return false, err
	}
	if s.seen == "" {
		s.seen = filepath.Join(s.dir, "seen")
		build := exec.CommandContext(ctx, "go", "build", "-o", s.seen, "./cmd/seen")
		build.Dir, build.Stderr = "..", os.Stderr
		if err := build.Run(); err != nil {
			return false, fmt.Errorf("building the command: %w", err)
		}
	}
	input := filepath.Join(s.dir, fmt.Sprintf("%d-%d.txt", s.lines, s.distinct))
	if err := s.makeInput(input); err != nil {
		return false, err
	}
	if err := machine.Describe(ctx, os.Stdout); err != nil {
		return false, err
	}
	filter := []string{s.seen, "uniq", "-q", "--stats=json", "-n", strconv.FormatUint(s.distinct, 10), "-p", "1e-6", input}
	exact := []string{s.seen, "uniq", "-q", "--stats=json", "-m", s.memory, "--spill", s.dir, input}
	best := map[string]result{}
	for range s.runs { // in turns, so that a busy minute affects all
		for name, argv := range map[string][]string{"filter": filter, "exact": exact} {
			r, err := timed(ctx, argv)
			if err != nil {
				return false, err
			}
			if b, ok := best[name]; !ok || r.wall < b.wall {
				best[name] = r
			}
		}
	}
	f, e := best["filter"], best["exact"]
	fmt.Printf("filter, -p 1e-6   %7.1f s, %s\n", f.wall.Seconds(), size(f.Peak))
	fmt.Printf("exact, -m %s   %7.1f s, %s, %.2f of the time of the filter\n", s.memory, e.wall.Seconds(), size(e.Peak), e.wall.Seconds()/f.wall.Seconds())
	fmt.Printf("disk              %s, %.1f bytes for each distinct line and doubt; %d doubts, %d late lines\n",
		size(e.Disk), float64(e.Disk)/float64(s.distinct+e.Doubts), e.Doubts, e.Late)
	for _, places := range []bool{false, true} {
		bad, err := s.check(ctx, exact, places)
		if err != nil {
			return false, err
		}
		wrong = wrong || bad
	}
	if s.sort {
		r, err := timedWith(ctx, append(os.Environ(), "LC_ALL=C", "TMPDIR="+s.dir), []string{"sort", "-u", "-S", sortMemory(s.memory), "--parallel=2", input})
		if err != nil {
			return false, err
		}
		fmt.Printf("sort -u           %7.1f s, %.1f times the exact run\n", r.wall.Seconds(), r.wall.Seconds()/e.wall.Seconds())
	}
	return wrong, nil
}

// sortMemory writes a size as sort takes it.
func sortMemory(s string) string {
	b := bytes.TrimSuffix(bytes.TrimSuffix([]byte(s), []byte("B")), []byte("i"))
	return string(b)
}

func size(bytes uint64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// Lines have the numbers of their first occurrence, mixed by a bijection.
const odd = 0x9e3779b97f4a7c15

func mix(n uint64) uint64 { return bits.Reverse64((n + 1) * odd) }

func unmix(h uint64) uint64 {
	inverse := uint64(odd)
	for range 6 {
		inverse *= 2 - odd*inverse
	}
	return bits.Reverse64(h)*inverse - 1
}

const lineBytes = 17

// makeInput writes the input unless it is there.
func (s *settings) makeInput(name string) error {
	if info, err := os.Stat(name); err == nil && uint64(info.Size()) == s.lines*lineBytes {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	var line [lineBytes]byte
	for i, next := uint64(0), uint64(0); i < s.lines; i++ {
		n := next
		if next == 0 || r.Uint64N(s.lines-i) < s.distinct-next {
			next++
		} else {
			n = r.Uint64N(next)
		}
		for h, j := mix(n), lineBytes-2; j >= 0; j-- {
			line[j] = "0123456789abcdef"[h&15]
			h >>= 4
		}
		line[lineBytes-1] = '\n'
		w.Write(line[:]) // the error stays for Flush
	}
	return errors.Join(w.Flush(), file.Close())
}

// result is what a run took.
type result struct {
	wall   time.Duration
	Peak   uint64 `json:"peak_memory_bytes"`
	Disk   uint64 `json:"peak_disk_bytes"`
	Doubts uint64 `json:"doubts"`
	Late   uint64 `json:"late"`
}

func timed(ctx context.Context, argv []string) (result, error) {
	return timedWith(ctx, nil, argv)
}

// timedWith runs a program whose output is discarded.
func timedWith(ctx context.Context, env, argv []string) (r result, err error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stderr = env, &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%q: %w: %s", argv, err, &said)
	}
	r.wall = time.Since(began)
	if said.Len() > 0 {
		err = json.Unmarshal(said.Bytes(), &r)
	}
	return r, err
}

// check runs argv once more and checks its output, or with places that of -o FILE.
func (s *settings) check(ctx context.Context, argv []string, places bool) (wrong bool, err error) {
	title := "output"
	name := filepath.Join(s.dir, "out.txt")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var lines io.Reader
	if places {
		title = "output of -o"
		cmd.Args = append(cmd.Args, "-o", name)
		if err := cmd.Run(); err != nil {
			return false, err
		}
		file, err := os.Open(name)
		if err != nil {
			return false, err
		}
		defer os.Remove(name)
		defer file.Close()
		lines = file
	} else {
		if lines, err = cmd.StdoutPipe(); err != nil {
			return false, err
		}
		if err := cmd.Start(); err != nil {
			return false, err
		}
	}
	seen := make([]uint64, s.distinct/64+1)
	var count, twice, strange, falls, last uint64
	in := bufio.NewScanner(lines)
	for in.Scan() {
		h, err := strconv.ParseUint(in.Text(), 16, 64)
		n := unmix(h)
		switch {
		case err != nil || n >= s.distinct:
			strange++
			continue
		case seen[n/64]>>(n%64)&1 != 0:
			twice++
		}
		seen[n/64] |= 1 << (n % 64)
		if count++; n < last {
			falls++
		}
		last = n
	}
	if err := in.Err(); err != nil {
		return false, err
	}
	if !places {
		if err := cmd.Wait(); err != nil {
			return false, err
		}
	}
	missing := s.distinct - (count - twice)
	most := uint64(1) // where the late lines begin
	if places {
		most = 0
	}
	fmt.Printf("%-17s %d wrong drops, %d twice, %d that are not in the input, the order breaks %d times of at most %d\n", title, missing, twice, strange, falls, most)
	return missing+twice+strange > 0 || falls > most, nil
}
