package cluster

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/redistest"
)

// sure makes the client write before it asks, as after a long run of new keys.
func (f *Filter) sure() *Filter {
	f.novelty.share.Store(math.Float64bits(1))
	f.current.Load().newest().wroteAt.Store(time.Now().UnixNano())
	return f
}

// calls returns how often the engine was given the command.
func calls(t *testing.T, server *redistest.Server, command string) int {
	t.Helper()
	v, err := server.Info("commandstats", "cmdstat_"+command)
	if err != nil {
		t.Fatal(err)
	}
	if v == "" {
		return 0
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(v, "calls="), ",")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%q: %v", v, err)
	}
	return n
}

// If nearly all keys are new a call is one round trip: keys are written without being read. After keys that were not new, clients ask first again, and so does a filter of
// several layers.
func TestWritesFirst(t *testing.T) {
	server := redistest.NewServer(t)
	client := dial(t, server.Addr())
	f := open(t, client, Config{Capacity: 20_000, ErrorRate: 1e-6})
	const step = 100
	add := func(from int) (answers, asked int) {
		t.Helper()
		before := calls(t, server, "getrange")
		f.current.Load().newest().wroteAt.Store(time.Now().UnixNano()) // however slow the test is
		answers = trues(mustAdd(t, f, keys(from, step)...))
		return answers, calls(t, server, "getrange") - before
	}
	for at := 0; at < 10_000; at += step {
		isNew, asked := add(at)
		if isNew != step {
			t.Fatalf("%d of %d new keys are new", isNew, step)
		}
		if at == 0 && asked == 0 || at > 1000 && asked > 0 {
			t.Errorf("after %d new keys, %d questions for %d more", at, asked, step)
		}
	}
	if isNew, asked := add(0); isNew != 0 || asked > 0 {
		t.Errorf("%d keys are new again, %d questions", isNew, asked)
	}
	if isNew, asked := add(step); isNew != 0 || asked == 0 {
		t.Errorf("%d keys are new again, %d questions", isNew, asked)
	}
	for at := 10_000; at < 40_000; at += step {
		if isNew, _ := add(at); isNew < step-1 {
			t.Fatalf("%d of %d new keys are new", isNew, step)
		}
	}
	if n := len(f.current.Load().layers); n != 2 {
		t.Fatalf("%d layers", n)
	}
	if _, asked := add(40_000); asked == 0 {
		t.Error("a key that the older layer may have was not asked for there")
	}
	if found := trues(mustHas(t, f, keys(0, 40_100)...)); found != 40_100 {
		t.Errorf("%d of 40100 keys are found", found)
	}
}

// A client that writes first, and does not know what others did meanwhile.
func TestWritesFirstLate(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		c := Config{Capacity: 5000, ErrorRate: 1e-6, SliceBytes: 2048}
		key := []byte("k")
		newTo := func(f *Filter, want bool) {
			t.Helper()
			if got := mustAdd(t, f, key)[0]; got != want {
				t.Errorf("new: %v, want %v", got, want)
			}
		}
		t.Run("added", func(t *testing.T) {
			late, other := pair(t, client, c)
			newTo(other, true)
			newTo(late.sure(), false)
		})
		t.Run("grown", func(t *testing.T) {
			late, other := pair(t, client, c)
			other.mustGrow(t)
			newTo(late.sure(), true)
			newTo(other, false)
			if n := len(late.current.Load().layers); n != 2 {
				t.Errorf("the late client knows %d layers", n)
			}
		})
		t.Run("added and grown", func(t *testing.T) {
			late, other := pair(t, client, c)
			newTo(other, true)
			other.mustGrow(t)
			newTo(late.sure(), false)
		})
		t.Run("grown and added", func(t *testing.T) {
			late, other := pair(t, client, c)
			other.mustGrow(t)
			newTo(other, true)
			newTo(late.sure(), false)
		})
		t.Run("cleared", func(t *testing.T) {
			late, other := pair(t, client, c)
			newTo(late, true)
			if err := other.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			newTo(late.sure(), true)
			newTo(other, false)
		})
		t.Run("dropped", func(t *testing.T) {
			late, other := pair(t, client, c)
			if err := other.Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if added, err := late.sure().Add(t.Context(), key); !errors.Is(err, ErrNotFound) {
				t.Errorf("%v, %v; want ErrNotFound", added, err)
			}
			if left := leftOf(t, client, late.name); len(left) != 0 {
				t.Errorf("%d keys are left: %q", len(left), left)
			}
		})
		t.Run("lost", func(t *testing.T) {
			late, _ := pair(t, client, c)
			for i := range late.current.Load().newest().Slices {
				if err := client.Do(t.Context(), client.B().Del().Key(late.current.Load().newest().prefix+strconv.Itoa(int(i))).Build()).Error(); err != nil {
					t.Fatal(err)
				}
			}
			if added, err := late.sure().Add(t.Context(), key); !errors.Is(err, ErrMissingSlice) {
				t.Errorf("%v, %v; want ErrMissingSlice", added, err)
			}
			if left := leftOf(t, client, late.name); len(left) != 1 {
				t.Errorf("beside the record, keys are left that belong to no filter: %q", left)
			}
		})
	})
}

// Clients that add keys in bursts do not go by what they knew of the layer at the last
// one: it has been filled since, and each of them would fill it further.
func TestWritesFirstInBursts(t *testing.T) {
	client := dial(t, lab.Server(t).Addr())
	const capacity, burst = 20_000, 1000
	c := Config{Capacity: capacity, ErrorRate: 1e-3}
	filler := open(t, client, c)
	var late []*Filter
	next := 0
	add := func(f *Filter, n int) {
		t.Helper()
		mustAdd(t, f, keys(next, n)...)
		next += n
	}
	for range 8 {
		f, err := Open(t.Context(), client, filler.name, c)
		if err != nil {
			t.Fatal(err)
		}
		add(f, 100)
		late = append(late, f)
	}
	for len(filler.current.Load().layers) == 1 {
		add(filler, burst)
	}
	for _, f := range late {
		f.sure().current.Load().newest().wroteAt.Add(-int64(100 * time.Millisecond))
		add(f, burst)
	}
	l := filler.current.Load().layers[0]
	ones, err := filler.ones(t.Context(), l, l.Slices)
	if err != nil {
		t.Fatal(err)
	}
	if rate := l.params().ErrorRateAt(ones); rate > l.ErrorRate {
		t.Errorf("the error rate of the first layer is %.3g; want at most %.3g", rate, l.ErrorRate)
	}
}

// A layer that has lost a slice, or is sealed, is not written to before it is asked:
// that would make the slice each time, and leave keys where they do not belong.
func TestWritesFirstOnce(t *testing.T) {
	server := redistest.NewServer(t)
	client := dial(t, server.Addr())
	c := Config{Capacity: 5000, ErrorRate: 1e-6, SliceBytes: 2048}
	lost := open(t, client, c)
	slice := lost.current.Load().newest().prefix + "0"
	if err := client.Do(t.Context(), client.B().Del().Key(slice).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < 1000; at += 500 {
		if _, err := lost.sure().Add(t.Context(), keys(at, 500)...); !errors.Is(err, ErrMissingSlice) {
			t.Errorf("%v; want ErrMissingSlice", err)
		}
		if n := calls(t, server, "unlink"); n != 1 {
			t.Errorf("after %d keys the slice was made by writes, and deleted, %d times", at+500, n)
		}
	}

	// It cannot grow.
	sealed := open(t, client, c)
	if err := sealed.seal(t.Context(), sealed.current.Load().newest()); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Do("ACL", "SETUSER", "default", "-watch"); err != nil {
		t.Fatal(err)
	}
	for i, notAdded := range []bool{false, true} {
		var u *UndecidedError
		if _, err := sealed.sure().Add(t.Context(), keys(i*100, 100)...); !errors.As(err, &u) || u.NotAdded != notAdded {
			t.Errorf("%v; want none added: %v", err, notAdded)
		}
	}
}
