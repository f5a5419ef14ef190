package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// far is a set of keys whose answers come late and in any order.
type far struct {
	mutex sync.Mutex
	keys  map[uint64]bool
	asked map[uint64]int
	fails func(h uint64) bool
}

var errFar = errors.New("the line is down")

func newFar(old ...string) *far {
	f := &far{keys: map[uint64]bool{}, asked: map[uint64]int{}}
	for _, k := range old {
		f.keys[hashOf(k)] = true
	}
	return f
}

func hashOf(key string) uint64 { return new(stream.Config).Hash.Sum([]byte(key)) }

func (f *far) add(_ context.Context, q questions) (isNew []bool, undecided []int, err error) {
	jitter()
	defer jitter()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for i, h := range q.Hashes {
		f.asked[h]++
		if f.fails != nil && f.fails(h) {
			undecided, err = append(undecided, i), errFar
		}
		isNew = append(isNew, !f.keys[h])
		f.keys[h] = true
	}
	return isNew, undecided, err
}

// jitter makes calls overtake each other. Nothing depends on how long it takes.
func jitter() { time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond) }

// answers is what came out: a line for each record.
type answers struct {
	lines     []string
	yes       []bool
	undecided []string
	end       func(lines int) error
}

func (a *answers) deliver(b *stream.Block, v *Verdicts) error {
	for i := range b.Len() {
		a.lines = append(a.lines, string(b.Record(i)))
		a.yes = append(a.yes, v.Yes[i])
	}
	for _, i := range v.Undecided {
		a.undecided = append(a.undecided, string(b.Record(i)))
	}
	if len(v.Undecided) > 0 && len(v.Errs) == 0 {
		return errors.New("undecided without an error")
	}
	if a.end != nil {
		return a.end(len(a.lines))
	}
	return nil
}

// run sends text through a pipe.
func run(ctx context.Context, text string, blockSize int, sc stream.Config, c pipeConfig, change ...func(p *pipe)) (Totals, error) {
	in, err := input.Open(nil, input.Options{Stdin: strings.NewReader(text), Jobs: 1})
	if err != nil {
		return Totals{}, err
	}
	if sc.BlockSize = blockSize; sc.Jobs == 0 {
		sc.Jobs = 2
	}
	p := newPipe(context.Background(), c)
	for _, f := range change {
		f(p)
	}
	err = stream.Run(ctx, in, sc, func(b *stream.Block) error { return p.Consume(ctx, b) })
	if closeErr := p.Close(); err == nil {
		err = closeErr
	}
	return p.Totals(), err
}

func TestFirstOfEqualKeysIsNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SliceOf(rapid.StringMatching("[a-h]{1,2}")).Draw(t, "old")
		lines := rapid.SliceOfN(rapid.StringMatching("[a-h]{1,3}"), 0, 300).Draw(t, "lines")
		f, a := newFar(old...), &answers{}
		totals, err := run(t.Context(), text(lines), rapid.IntRange(1, 200).Draw(t, "block size"), stream.Config{}, pipeConfig{
			Ask: f.add, Adds: true, Deliver: a.deliver,
			BatchKeys: rapid.IntRange(1, 20).Draw(t, "batch"), Calls: rapid.IntRange(1, 8).Draw(t, "calls"),
		}, func(p *pipe) { p.recent.limit = rapid.IntRange(1, 60).Draw(t, "remembered") })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.lines, lines) {
			t.Fatalf("delivered %q", a.lines)
		}
		known := map[string]bool{}
		for _, k := range old {
			known[k] = true
		}
		for i, line := range lines {
			if a.yes[i] == known[line] {
				t.Fatalf("line %d, %s: new is %v", i+1, line, a.yes[i])
			}
			known[line] = true
		}
		if int(totals.Keys+totals.Repeats) != len(lines) || totals.Inflight != 0 {
			t.Fatalf("%+v for %d lines", totals, len(lines))
		}
	})
}

// text joins lines.
func text(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	return b.String()
}

func numbers(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprint(i))
	}
	return lines
}

func TestRepeatsAreNotAskedAbout(t *testing.T) {
	f, a := newFar(), &answers{}
	lines := append(numbers(500), numbers(500)...)
	totals, err := run(t.Context(), text(lines), 100, stream.Config{}, pipeConfig{Ask: f.add, Adds: true, Deliver: a.deliver, BatchKeys: 7})
	if err != nil {
		t.Fatal(err)
	}
	if totals.Keys != 500 || totals.Repeats != 500 {
		t.Errorf("%+v", totals)
	}
	// What is only looked up may have come meanwhile, and is asked about again.
	totals, err = run(t.Context(), text(lines), 100, stream.Config{}, pipeConfig{Ask: f.add, Deliver: a.deliver})
	if err != nil || totals.Keys != 1000 {
		t.Errorf("%+v, %v", totals, err)
	}
}

// A key whose answer takes very long is remembered until it is there.
func TestKeysUnderWayAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := newFar(), &answers{}
		slow := func(ctx context.Context, q questions) ([]bool, []int, error) {
			if q.Hashes[0] == hashOf("0") {
				time.Sleep(time.Hour)
			}
			return f.add(ctx, q)
		}
		lines := append(numbers(30), "0")
		_, err := run(t.Context(), text(lines), 10, stream.Config{Jobs: 1}, pipeConfig{Ask: slow, Adds: true, Deliver: a.deliver, BatchKeys: 1},
			func(p *pipe) { p.recent.limit = 4 })
		if err != nil || !a.yes[0] || a.yes[30] {
			t.Errorf("new is %v and then %v, error %v", a.yes[0], a.yes[30], err)
		}
	})
}

func TestUndecidedRecordsAreNamed(t *testing.T) {
	f, a := newFar(), &answers{}
	f.fails = func(h uint64) bool { return h == hashOf("17") || h == hashOf("400") }
	lines := append(numbers(500), numbers(500)...)
	if _, err := run(t.Context(), text(lines), 300, stream.Config{}, pipeConfig{Ask: f.add, Adds: true, Deliver: a.deliver, BatchKeys: 9}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.undecided, []string{"17", "400"}) {
		t.Errorf("undecided: %q", a.undecided)
	}
	for i, yes := range a.yes {
		if want := i < 500 && i != 17 && i != 400; yes != want {
			t.Errorf("record %d: %v", i, yes)
		}
	}
}

func TestAnswersOfAnotherNumberDecideNothing(t *testing.T) {
	a := &answers{}
	ask := func(context.Context, questions) ([]bool, []int, error) { return []bool{true}, nil, nil }
	_, err := run(t.Context(), text(numbers(10)), 1000, stream.Config{}, pipeConfig{Ask: ask, Adds: true, Deliver: a.deliver})
	if err == nil || err.Error() != "1 answers for 10 keys" {
		t.Errorf("error: %v", err)
	}
	if len(a.undecided) != 10 || slices.Contains(a.yes, true) {
		t.Errorf("undecided: %q, yes: %v", a.undecided, a.yes)
	}
}

func TestACallThatFailsAsAWhole(t *testing.T) {
	a := &answers{}
	ask := func(context.Context, questions) ([]bool, []int, error) { return nil, nil, errFar }
	_, err := run(t.Context(), text(numbers(10)), 1000, stream.Config{}, pipeConfig{Ask: ask, Deliver: a.deliver})
	if err != nil || len(a.undecided) != 10 {
		t.Errorf("undecided: %q, error: %v", a.undecided, err)
	}
}

// What was asked about has to be delivered, whatever happens: the filter has it.
func TestAllThatWasSentIsDelivered(t *testing.T) {
	errFull := errors.New("no room for more lines")
	cases := map[string]func(a *answers, cancel func()) error{
		"delivery fails": func(a *answers, _ func()) error {
			a.end = func(lines int) error {
				if lines > 200 {
					return errFull
				}
				return nil
			}
			return errFull
		},
		"interrupted": func(a *answers, cancel func()) error {
			a.end = func(lines int) error {
				if lines > 200 {
					cancel()
				}
				return nil
			}
			return context.Canceled
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f, a := newFar(), &answers{}
			want := prepare(a, cancel)
			lines := numbers(100_000)
			if _, err := run(ctx, text(lines), 500, stream.Config{}, pipeConfig{Ask: f.add, Adds: true, Deliver: a.deliver, BatchKeys: 30, Calls: 5}); !errors.Is(err, want) {
				t.Errorf("error: %v", err)
			}
			if n := len(a.lines); n != len(f.asked) || n <= 200 || n > 90_000 || !slices.Equal(a.lines, lines[:n]) {
				t.Errorf("%d lines delivered, %d asked about", n, len(f.asked))
			}
		})
	}
}

func TestKeysAreThoseOfTheRecords(t *testing.T) {
	key, err := keyspec.Compile(keyspec.Options{Keys: []string{"csv:id"}, Missing: keyspec.MissingMark})
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	got := map[string]bool{}
	ask := func(_ context.Context, q questions) ([]bool, []int, error) {
		mutex.Lock()
		defer mutex.Unlock()
		for i, k := range q.Keys {
			if q.Hashes[i] != hashOf(string(k)) {
				t.Errorf("key %q has another's hash", k)
			}
			got[string(k)] = true
		}
		return make([]bool, len(q.Hashes)), nil, nil
	}
	var b bytes.Buffer
	io.WriteString(&b, "name,id\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "x,%d\n", i)
	}
	io.WriteString(&b, "no column\n")
	a := &answers{}
	_, err = run(t.Context(), b.String(), 300, stream.Config{Key: key}, pipeConfig{Ask: ask, Keys: true, Deliver: a.deliver, BatchKeys: 13})
	if err != nil || len(got) != 1000 || len(a.lines) != 1002 || a.yes[1001] {
		t.Errorf("%d keys, %d lines, %v", len(got), len(a.lines), err)
	}
}

// A stream that waits for its input has to learn of errors.
func TestFailed(t *testing.T) {
	p := newPipe(t.Context(), pipeConfig{
		Ask: func(_ context.Context, q questions) ([]bool, []int, error) {
			return make([]bool, len(q.Hashes)), nil, nil
		},
		Deliver: func(*stream.Block, *Verdicts) error { return errFar },
	})
	in, err := input.Open(nil, input.Options{Stdin: strings.NewReader("a\n"), Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Run(t.Context(), in, stream.Config{Jobs: 1}, func(b *stream.Block) error { return p.Consume(t.Context(), b) }); err != nil {
		t.Fatal(err)
	}
	<-p.Failed()
	if err := p.Close(); !errors.Is(err, errFar) {
		t.Errorf("error: %v", err)
	}
}

// A key of a window is asked about again when a part of its span has passed, and not
// before; one whose answer has not come is not asked about twice.
func TestRecentAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const span = 64 * time.Second
		r := newRecent(span)
		r.age(time.Now())
		r.add(1)
		answered := r.sent()
		time.AfterFunc(2*span, answered)
		time.Sleep(span / 4)
		if r.age(time.Now()); !r.has(1) {
			t.Error("forgotten after a quarter of the span")
		}
		time.Sleep(span)
		began := time.Now()
		r.age(began)
		if waited := time.Since(began); waited != span*3/4 || r.has(1) {
			t.Errorf("waited %v for the answer, and it is remembered: %v", waited, r.has(1))
		}
	})
}
