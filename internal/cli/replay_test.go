package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/internal/spill"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// replayTest is a first pass over some inputs.
type replayTest struct {
	replay
	lines []string // by position
}

// firstPass reads inputs, and spools the records for which spool is true.
func firstPass(t *rapid.T, names []string, stdin io.Reader, key keyspec.Options, jobs int, spooled func(position int) bool) *replayTest {
	k, err := keyspec.Compile(key)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{env: Env{Stdin: stdin, Stdout: io.Discard, Stderr: io.Discard}, ctx: t.Context()}
	r := &replayTest{replay: replay{app: a, records: &recordFlags{}}}
	if r.in, err = input.Open(names, input.Options{Stdin: stdin, Again: true}); err != nil {
		t.Fatal(err)
	}
	if spooled != nil {
		r.spool = spill.NewSpool(spill.SpoolConfig{Memory: 1 << 20})
	}
	r.config = stream.Config{Key: k, Jobs: jobs, BlockSize: 30}
	err = stream.Run(t.Context(), r.in, r.config, func(b *stream.Block) error {
		for i := range b.Len() {
			if b.Header {
				return nil
			}
			if spooled != nil && spooled(len(r.lines)) {
				if err := r.spool.Append(uint64(len(r.lines)), b.Line(i)); err != nil {
					t.Fatal(err)
				}
			}
			r.lines = append(r.lines, string(b.Line(i)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// selection returns a cursor over positions, each with itself as its value.
func selection(t interface{ Fatal(...any) }, positions ...uint64) *spill.Cursor {
	s := spill.NewSelection(spill.SelectionConfig{Values: true})
	for _, p := range positions {
		if err := s.Add(p, p+7); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The second pass has the records of the first one at the same positions, in files of every
// kind and in a spool.
func TestReplayHasTheSamePositions(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		csv := rapid.Bool().Draw(t, "csv")
		key := keyspec.Options{}
		if csv {
			key = keyspec.Options{Keys: []string{"csv:a"}, Missing: keyspec.MissingMark}
		}
		var names []string
		for i := range rapid.IntRange(1, 3).Draw(t, "files") {
			content := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"", "x", "y,z", "longer than others"}), 0, 30).Draw(t, "lines"), "\n")
			if csv {
				content = "a,b\n" + content
			}
			name := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		selected := map[uint64]bool{}
		var positions []uint64
		isSelected := func(position int) bool { return selected[uint64(position)] }
		for _, p := range rapid.SliceOfDistinct(rapid.Uint64Range(0, 60), rapid.ID).Draw(t, "selected") {
			selected[p] = true
			positions = append(positions, p)
		}
		r := &replayTest{}
		all := rapid.Bool().Draw(t, "all")
		if jobs := rapid.IntRange(1, 3).Draw(t, "jobs"); rapid.Bool().Draw(t, "spool") {
			if all {
				isSelected = func(int) bool { return true }
			}
			r = firstPass(t, names, nil, key, jobs, isSelected)
		} else {
			r = firstPass(t, names, nil, key, jobs, nil)
		}
		r.all = all
		r.from = rapid.Uint64Range(0, 30).Draw(t, "from")
		positions = slices.DeleteFunc(positions, func(p uint64) bool { return p < r.from || p >= uint64(len(r.lines)) })
		var want, got []string
		for i, line := range r.lines {
			if is := selected[uint64(i)]; uint64(i) >= r.from && (is || r.all) {
				want = append(want, fmt.Sprintf("%v %q", is, line))
			}
		}
		err := r.run(selection(t, positions...), func(b *replayed) error {
			for i := range b.Len() {
				if b.keep[i] && b.Line(i) != nil && !selected[b.values[i]-7] {
					return fmt.Errorf("the value of a record is %d", b.values[i])
				}
				if b.keep[i] || r.all {
					got = append(got, fmt.Sprintf("%v %q", b.keep[i], b.Line(i)))
				}
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	})
}

// Errors of the consumer, of the inputs and of positions that do not exist are returned.
func TestReplayErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	rapid.Check(t, func(t *rapid.T) {
		if err := os.WriteFile(name, bytes.Repeat([]byte("line\n"), 100), 0o600); err != nil {
			t.Fatal(err)
		}
		var spooled func(int) bool
		if rapid.Bool().Draw(t, "spool") {
			spooled = func(int) bool { return true }
		}
		r := firstPass(t, []string{name}, nil, keyspec.Options{}, 1, spooled)
		if err := r.run(selection(t, 3, 100), func(*replayed) error { return nil }); err == nil || !strings.Contains(err.Error(), "line 101") {
			t.Fatalf("line 101 of 100: %v", err)
		}
		broken := errors.New("broken")
		if err := r.run(selection(t, 3), func(*replayed) error { return broken }); !errors.Is(err, broken) {
			t.Fatalf("an error of the consumer: %v", err)
		}
		if spooled == nil {
			if err := os.WriteFile(name, bytes.Repeat([]byte("link\n"), 100), 0o600); err != nil {
				t.Fatal(err)
			}
			var changed *input.ChangedError
			// Also when no record behind the change is selected.
			if err := r.run(selection(t, 0), func(*replayed) error { return nil }); !errors.As(err, &changed) {
				t.Fatalf("a changed file: %v", err)
			}
		}
	})
}
