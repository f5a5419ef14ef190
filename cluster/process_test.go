package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/filtertest"
)

// workerEnv, set in the environment to a workOrder, makes the test binary add keys
// and end.
const workerEnv = "SEEN_CLUSTER_WORKER"

type workOrder struct {
	Addrs  []string
	Name   string
	Config Config
	Seed   uint64
	Keys   int
	Batch  int
}

// report is what a worker has to say of a key, a line each.
type report struct {
	Key       int
	New       bool
	Undecided bool
}

// work does what the order says: it adds keys 0 to Keys, in an order of its own, as
// soon as a line has come in, and reports of each key what it was told.
func work(order string, in io.Reader, out io.Writer) error {
	var o workOrder
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return err
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: o.Addrs, DisableCache: true})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	f, err := Open(ctx, client, o.Name, o.Config)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "{}"); err != nil {
		return err
	}
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	r := rand.New(rand.NewPCG(o.Seed, 5))
	for order := r.Perm(o.Keys); len(order) > 0; {
		batch := order[:min(len(order), 1+r.IntN(o.Batch))]
		order = order[len(batch):]
		var ks [][]byte
		for _, k := range batch {
			ks = append(ks, keys(k, 1)...)
		}
		added, err := f.Add(ctx, ks...)
		var u *UndecidedError
		if err != nil && !errors.As(err, &u) {
			return err
		}
		for i, k := range batch {
			if err := lines.Encode(report{k, added[i], u != nil && slices.Contains(u.Keys, i)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Separate processes add the same keys at the same time: of each key exactly one is
// told that it is new, and none is lost, while the filter grows.
func TestProcesses(t *testing.T) {
	t.Parallel()
	const processes, total = 8, 8000
	for _, e := range []struct {
		name  string
		addrs []string
	}{
		{"single", []string{lab.Server(t).Addr()}},
		{"cluster", lab.Cluster(t).Addrs()},
	} {
		t.Run(e.name, func(t *testing.T) {
			o := workOrder{Addrs: e.addrs, Name: name(t), Keys: total, Batch: 500, Config: Config{Capacity: 400, ErrorRate: 1e-6, SliceBytes: 4096}}
			var all []*worker
			for i := range processes {
				o.Seed = uint64(i)
				all = append(all, startWorker(t, o))
			}
			for _, w := range all {
				w.ready(t)
			}
			for _, w := range all {
				w.begin(t)
			}
			told := make([]int, total)
			for _, w := range all {
				reports := w.wait(t)
				if len(reports) != total {
					t.Errorf("a process has reported %d keys", len(reports))
				}
				for _, r := range reports {
					if r.Undecided {
						t.Errorf("key %d is undecided", r.Key)
					}
					if r.New {
						told[r.Key]++
					}
				}
			}
			never := 0
			for k, n := range told {
				if n > 1 {
					t.Errorf("key %d was new %d times", k, n)
				}
				if n == 0 {
					never++
				}
			}
			if _, hi := filtertest.Limits(total, o.Config.ErrorRate, 0, 1); never > hi {
				t.Errorf("%d of %d keys were new for no client; want at most %d", never, total, hi)
			}
			f, err := Open(t.Context(), dial(t, e.addrs...), o.Name, Config{})
			if err != nil {
				t.Fatal(err)
			}
			if layers := len(f.current.Load().layers); layers < 4 {
				t.Errorf("the filter has %d layers; it should have grown", layers)
			}
			if found := trues(mustHas(t, f, keys(0, total)...)); found != total {
				t.Errorf("%d of %d keys are found", found, total)
			}
		})
	}
}

// worker is a process that follows a workOrder.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func startWorker(t *testing.T, o workOrder) *worker {
	t.Helper()
	order, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	w.cmd.Env = append(os.Environ(), workerEnv+"="+string(order))
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// ready returns when the worker has opened the filter.
func (w *worker) ready(t *testing.T) {
	t.Helper()
	if _, err := w.out.ReadString('\n'); err != nil {
		t.Fatalf("a process did not begin: %v\n%s", err, &w.stderr)
	}
}

func (w *worker) begin(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(w.in, "\n"); err != nil {
		t.Fatal(err)
	}
}

// wait returns what the worker has reported in the end.
func (w *worker) wait(t *testing.T) []report {
	t.Helper()
	var all []report
	for lines := json.NewDecoder(w.out); ; {
		var r report
		if err := lines.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("a process: %v\n%s", err, &w.stderr)
	}
	return all
}
