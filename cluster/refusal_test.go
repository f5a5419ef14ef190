package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"seen/internal/redistest"
)

// A value of another type where a slice should be is an error for its keys, and for
// no others.
func TestWrongTypeSlice(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		f := open(t, client, Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 4096})
		ks := keys(0, 2000)
		mustAdd(t, f, ks[:1000]...)
		l := f.current.Load().newest()
		key := l.prefix + "2"
		for _, cmd := range []rueidis.Completed{client.B().Del().Key(key).Build(), client.B().Rpush().Key(key).Element("x").Build()} {
			if err := client.Do(t.Context(), cmd).Error(); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, answers []bool, err error, want func(i int) bool) {
			t.Helper()
			if !isA[*NotFilterError](err) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v; want a NotFilterError for %s", what, err, key)
			}
			undecided := undecidedOf(t, err, len(ks))
			for i := range ks {
				switch inIt := l.sliceOf(f.hash.Sum(ks[i])) == 2; {
				case inIt != undecided[i]:
					t.Fatalf("%s: key %d is undecided %v, and in the slice %v", what, i, undecided[i], inIt)
				case !inIt && i < 1000 && answers[i] != want(i):
					t.Fatalf("%s: key %d: %v", what, i, answers[i])
				}
			}
		}
		found, err := f.Has(t.Context(), ks...)
		check("Has", found, err, func(int) bool { return true })
		added, err := f.Add(t.Context(), ks...)
		check("Add", added, err, func(int) bool { return false })
	})
}

// An engine that is out of memory and evicts nothing takes no more keys; it still
// answers, says of what it did not take that it is undecided, and goes on when it has
// memory again. Of every key one call is told that it is new.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t, "maxmemory 5mb", "maxmemory-policy noeviction")
	client := dial(t, server.Addr())
	ctx := t.Context()
	if _, err := Open(ctx, client, name(t), Config{Capacity: 50_000_000, ErrorRate: 0.01, SliceBytes: 1 << 20}); CodeOf(err) != OutOfMemory {
		t.Errorf("a filter larger than the memory: %v", err)
	}
	if _, err := server.Do("FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	f := open(t, client, Config{Capacity: 10000, ErrorRate: 1e-6, SliceBytes: 64 << 10})
	const total, step = 60_000, 2000
	told := make([]bool, total)
	refusals := 0
	var left []int
	for from := 0; from < total; from += step {
		added, err := f.Add(ctx, keys(from, step)...)
		undecided := undecidedOf(t, err, step)
		if err != nil {
			refusals++
			var u *UndecidedError
			if CodeOf(err) != OutOfMemory || !errors.As(err, &u) || !u.NotAdded {
				t.Fatal(err)
			}
		}
		for i := range added {
			told[from+i] = added[i] && !undecided[i]
			if undecided[i] {
				left = append(left, from+i)
			}
		}
		if from == 30_000 {
			// Others take the memory.
			if _, err := server.Do("DEBUG", "POPULATE", "1000", "other", "10000"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if refusals == 0 {
		t.Error("the engine has refused nothing")
	}
	found := mustHas(t, f, keys(0, total)...)
	for i := range told {
		if told[i] && !found[i] {
			t.Fatalf("key %d was added and is not found", i)
		}
	}
	if _, err := server.Do("CONFIG", "SET", "maxmemory", "0"); err != nil {
		t.Fatal(err)
	}
	for _, k := range left {
		// The engine has refused it, so this is the first.
		if found[k] {
			t.Errorf("key %d was refused and is there", k)
		}
	}
	missed := 0
	for from := 0; from < len(left); from += step {
		var ks [][]byte
		for _, k := range left[from:min(from+step, len(left))] {
			ks = append(ks, keys(k, 1)...)
		}
		missed += len(ks) - trues(mustAdd(t, f, ks...))
	}
	if missed > 3 {
		t.Errorf("%d of %d refused keys are not new", missed, len(left))
	}
	if n := trues(mustHas(t, f, keys(0, total)...)); n != total {
		t.Errorf("%d of %d keys are found in the end", n, total)
	}
}

// A filter is dropped, to the last key, in an engine that has no memory
// left for a change of its record, too.
func TestDropOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t, "maxmemory 5mb", "maxmemory-policy noeviction")
	client := dial(t, server.Addr())
	f := open(t, client, Config{Capacity: 10000, ErrorRate: 1e-6, SliceBytes: 2048})
	mustAdd(t, f, keys(0, 1000)...)
	raw, r, err := f.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Do("CONFIG", "SET", "maxmemory", "1mb"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.swap(t.Context(), raw, r); CodeOf(err) != OutOfMemory {
		t.Fatalf("changing the record: %v; the engine is to refuse that", err)
	}
	if err := f.Clear(t.Context()); CodeOf(err) != OutOfMemory {
		t.Errorf("Clear: %v; the engine is to refuse that", err)
	}
	mustHas(t, f, keys(0, 1000)...)
	if err := f.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := leftOf(t, client, f.name); len(left) != 0 {
		t.Errorf("%d keys are left: %q", len(left), left)
	}
	if _, err := f.Has(t.Context(), keys(0, 1)...); err == nil {
		t.Error("a dropped filter answers")
	}
}

// An engine that evicts takes slices away: that is an error, and never a "not seen".
func TestEviction(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t, "maxmemory 6mb", "maxmemory-policy allkeys-random")
	client := dial(t, server.Addr())
	f := open(t, client, Config{Capacity: 200_000, ErrorRate: 0.001, SliceBytes: 16 << 10})
	const total = 5000
	ks := keys(0, total)
	mustAdd(t, f, ks...)
	lost := 0
	for round := range 30 {
		for i := range 100 {
			if _, err := server.Do("SET", fmt.Sprintf("other-%d-%d", round, i), strings.Repeat("x", 5000)); err != nil {
				t.Fatal(err)
			}
		}
		for what, answers := range map[string]func() ([]bool, error){
			"Has": func() ([]bool, error) { return f.Has(t.Context(), ks...) },
			"Add": func() ([]bool, error) { return f.Add(t.Context(), ks...) },
		} {
			got, err := answers()
			if err != nil && !errors.Is(err, ErrMissingSlice) && !errors.Is(err, ErrNotFound) {
				t.Fatalf("%s: %v", what, err)
			}
			undecided := undecidedOf(t, err, total)
			lost = max(lost, len(undecided))
			for i := range got {
				if !undecided[i] && got[i] != (what == "Has") {
					t.Fatalf("%s: key %d, which was added: %v", what, i, got[i])
				}
			}
		}
		if lost == total {
			break
		}
	}
	if lost == 0 {
		t.Error("nothing was evicted")
	}
	t.Logf("at most %d of %d keys undecided", lost, total)
}

// What the engine's refusals are taken for, also within other errors.
func TestRefusals(t *testing.T) {
	client := dial(t, lab.Server(t).Addr())
	for text, want := range map[string]struct {
		code    Code
		passing bool
	}{
		"ERR no such thing":                                              {"ERR", false},
		"MOVED 1 127.0.0.1:1":                                            {Moved, true},
		"ASK 1 127.0.0.1:1":                                              {"ASK", true},
		"READONLY a replica":                                             {"READONLY", true},
		"OOM too much":                                                   {OutOfMemory, false},
		"NOPERM this user has no permissions":                            {NoPermission, false},
		"NOAUTH Authentication required.":                                {NoLogin, false},
		"WRONGPASS invalid username-password pair":                       {WrongPassword, false},
		"ERR unknown command 'BF.INFO', with args":                       {UnknownCommand, false},
		"OOMPH is another word":                                          {"OOMPH", false},
		"EXECABORT Transaction discarded because of: OOM too much":       {OutOfMemory, false},
		"EXECABORT Transaction discarded because of: READONLY a replica": {"READONLY", true},
		"EXECABORT Transaction discarded because of previous errors.":    {"EXECABORT", false},
	} {
		err := client.Do(t.Context(), client.B().Eval().Script("return redis.error_reply(ARGV[1])").Numkeys(0).Arg(text).Build()).Error()
		err = errors.Join(context.Canceled, fmt.Errorf("record: %w", about("k", err)))
		if !refused(err) || CodeOf(err) != want.code || passing(err) != want.passing {
			t.Errorf("%v: refused %v, code %q, passing %v", err, refused(err), CodeOf(err), passing(err))
		}
	}
	if code := CodeOf(fmt.Errorf("NOPERM is only a word: %w", rueidis.Nil)); code != "" {
		t.Errorf("what is not a refusal has the code %q", code)
	}
}
