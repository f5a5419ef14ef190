package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"seen/bloom"
	"seen/internal/bridge"
	"seen/internal/stream"
	"seen/internal/stream/input"
)

// slowState is a state file whose writes wait until a test lets them go on.
type slowState struct {
	sink  *sinkBuffer
	begun chan struct{} // closed by the first write
	goOn  chan struct{} // closed by the test
	once  sync.Once
	fail  error

	saved  []byte // of the checkpoint that has ended
	output string // what was written when its contents were fixed
	final  []byte // of the save at the end
}

func newSlowState(sink *sinkBuffer) *slowState {
	return &slowState{sink: sink, begun: make(chan struct{}), goOn: make(chan struct{})}
}

func (s *slowState) WriteSnapshot(ctx context.Context, set bloom.Set, lock sync.Locker, settle func() error) error {
	file := &slowFile{state: s}
	err := bridge.WriteSnapshot.(func(context.Context, bloom.Set, bridge.SnapshotFile, sync.Locker) error)(ctx, set, file, lock)
	if err == nil {
		err = settle()
	}
	if err != nil {
		return err
	}
	s.saved, s.output = file.data, s.sink.String()
	return nil
}

func (s *slowState) Write(set io.WriterTo) error {
	var b bytes.Buffer
	_, err := set.WriteTo(&b)
	s.final = b.Bytes()
	return err
}

func (s *slowState) Close() error { return nil }

type slowFile struct {
	state *slowState
	data  []byte
}

func (f *slowFile) Write(p []byte) (int, error) {
	f.state.once.Do(func() { close(f.state.begun) })
	<-f.state.goOn
	f.data = append(f.data, p...)
	return len(p), f.state.fail
}

func (f *slowFile) WriteAt(p []byte, off int64) (int, error) { return copy(f.data[off:], p), nil }

// sinkBuffer is an output that can be looked at while it is written.
type sinkBuffer struct {
	mutex sync.Mutex
	data  strings.Builder
	fail  error
}

func (o *sinkBuffer) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.fail != nil {
		return 0, o.fail
	}
	return o.data.Write(p)
}

func (o *sinkBuffer) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.data.String()
}

// slowRun returns a run of "seen uniq" with a state that is due all the time.
func slowRun(t *testing.T, set bloom.Set) (*uniqRun, *slowState, *sinkBuffer) {
	t.Helper()
	sink := new(sinkBuffer)
	slow := newSlowState(sink)
	u := &uniqRun{
		uniqFlags: &uniqFlags{groupFlags: groupFlags{nth: 1}, state: "slow"}, app: &app{ctx: t.Context()}, set: set,
		state: &state{path: "slow", lock: slow}, sink: sink, out: stream.NewWriter(sink, stream.WriterOptions{}),
		occur: occurrences{set: set}, started: time.Now(),
	}
	u.records.quiet = true
	u.config.Counters = new(stream.Counters)
	return u, slow, sink
}

// lineNumber is one of the lines of these runs.
func lineNumber(i int) string { return fmt.Sprintf("this is line number %d", i) }

// runLines runs u over so many lines in small blocks; after is called behind each
// block, with the number of the last line.
func runLines(t *testing.T, u *uniqRun, n int, after func(last int)) error {
	t.Helper()
	var text strings.Builder
	for i := range n {
		text.WriteString(lineNumber(i) + "\n")
	}
	in, err := input.Open(nil, input.Options{Stdin: strings.NewReader(text.String())})
	if err != nil {
		t.Fatal(err)
	}
	config := stream.Config{Jobs: 1, BlockSize: 1000, Hash: streamHash(u.set.Hash())}
	return u.end(stream.Run(t.Context(), in, config, func(b *stream.Block) error {
		err := u.block(b)
		after(int(b.First) + b.Len() - 2)
		return err
	}))
}

// checkpointSets are the kinds of sets that a state holds.
var checkpointSets = map[string]func() (bloom.Set, error){
	"exact": func() (bloom.Set, error) { return bloom.NewAdaptive(bloom.AdaptiveConfig{}) },
	"filter": func() (bloom.Set, error) {
		return bloom.NewScalable(bloom.ScalableConfig{Capacity: 10_000, ErrorRate: 1e-9})
	},
	"window": func() (bloom.Set, error) {
		return bloom.NewWindow(bloom.WindowConfig{SpanKeys: 1_000_000, Capacity: 10_000, ErrorRate: 1e-9})
	},
}

// TestStreamGoesOnDuringCheckpoint holds the write of a checkpoint up while the run
// decides and prints the rest of its input. The state must have every line that was
// printed when the checkpoint began, and none that was not printed when it was
// complete.
func TestStreamGoesOnDuringCheckpoint(t *testing.T) {
	for name, newSet := range checkpointSets {
		t.Run(name, func(t *testing.T) {
			const lines, goOnAt = 40_000, 30_000
			set, err := newSet()
			if err != nil {
				t.Fatal(err)
			}
			u, slow, _ := slowRun(t, set)
			first := -1 // the last line before the checkpoint began
			ended := make(chan error, 1)
			go func() {
				released := false
				ended <- runLines(t, u, lines, func(last int) {
					if first < 0 {
						first = last
						<-slow.begun
						u.state.every = time.Hour // no further one
					}
					if last > goOnAt && !released {
						// All this was decided and written beside a checkpoint that
						// could not go on.
						released = true
						close(slow.goOn)
						for len(u.state.ended) == 0 {
							time.Sleep(time.Millisecond)
						}
					}
				})
			}()
			select {
			case err = <-ended:
			case <-time.After(2 * time.Minute):
				t.Fatal("the run waits for the checkpoint")
			}
			if err != nil {
				t.Fatal(err)
			}
			saved, err := bloom.Decode(slow.saved, bloom.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			hash := saved.Hash()
			printed := map[string]bool{}
			for line := range strings.Lines(slow.output) {
				printed[line] = true
			}
			old, recent := 0, 0
			for i := range lines {
				switch has := saved.HasHash(hash.SumString(lineNumber(i))); {
				case !has && i <= first:
					t.Errorf("line %d, printed before the checkpoint, is not in the state", i)
				case has && !printed[lineNumber(i)+"\n"]:
					t.Errorf("line %d is in the state, and was not printed when that was complete", i)
				case has && i > first:
					recent++
				case has:
					old++
				}
				if t.Failed() {
					return
				}
			}
			t.Logf("%d lines of before and %d of during the checkpoint", old, recent)
			final, err := bloom.Decode(slow.final, bloom.LoadOptions{})
			if err != nil || final.Stats().Added != lines {
				t.Errorf("the state at the end has %d lines, %v", final.Stats().Added, err)
			}
		})
	}
}

// TestFailedCheckpoint: a state that cannot be written ends the run.
func TestFailedCheckpoint(t *testing.T) {
	set, err := checkpointSets["filter"]()
	if err != nil {
		t.Fatal(err)
	}
	u, slow, _ := slowRun(t, set)
	slow.fail = errors.New("the disk is full")
	close(slow.goOn)
	if err := runLines(t, u, 20_000, func(int) { <-slow.begun }); !errors.Is(err, slow.fail) {
		t.Errorf("the run ended with %v", err)
	}
}

// TestCheckpointRefuses: no state is saved that would lead the output.
func TestCheckpointRefuses(t *testing.T) {
	for name, spoil := range map[string]func(u *uniqRun, o *sinkBuffer){
		"output": func(_ *uniqRun, o *sinkBuffer) { o.fail = errors.New("closed") },
		"broken": func(u *uniqRun, _ *sinkBuffer) { u.broken = true },
		"torn":   func(u *uniqRun, _ *sinkBuffer) { u.torn = true },
	} {
		set, err := checkpointSets["filter"]()
		if err != nil {
			t.Fatal(err)
		}
		u, slow, sink := slowRun(t, set)
		began := false
		err = runLines(t, u, 1000, func(int) {
			if !began {
				began = true
				<-slow.begun
				u.deciding.Lock()
				spoil(u, sink)
				u.deciding.Unlock()
				close(slow.goOn)
				for len(u.state.ended) == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
		if err == nil || slow.saved != nil {
			t.Errorf("%s: the run ended with %v; a state of %d bytes was saved", name, err, len(slow.saved))
		}
		if name != "torn" && slow.final != nil {
			t.Errorf("%s: the state was saved at the end", name)
		}
	}
}
