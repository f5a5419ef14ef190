package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/redistest"
)

// Replicas that confirm are waited for, and where they do not the keys are named.
func TestWait(t *testing.T) {
	p := lab.Pair(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Sentinel.Addr()}, DisableCache: true, Sentinel: rueidis.SentinelOption{MasterSet: redistest.Master}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c := Config{Capacity: 10000, ErrorRate: 0.01, SliceBytes: 4096, Wait: Wait{Replicas: 1, Timeout: 30 * time.Second}}
	f := open(t, client, c)
	if n := trues(mustAdd(t, f, keys(0, 100)...)); n < 95 {
		t.Errorf("%d of 100 keys are new", n)
	}
	g, err := Open(t.Context(), client, f.name, Config{Wait: Wait{Replicas: 2, Timeout: 10 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	added, err := g.Add(t.Context(), keys(50, 100)...)
	var u *UndecidedError
	if !errors.Is(err, ErrReplicas) || !errors.As(err, &u) {
		t.Fatalf("%v; want ErrReplicas", err)
	}
	if trues(added) != 0 || len(u.Keys) < 45 || u.Keys[0] < 50 {
		t.Errorf("%d are told new, undecided are %v", trues(added), u.Keys)
	}
	// So do recipes, about what was new, and their strings stay as they are.
	n := name(t)
	recipe := func(w Wait) *RecipeFilter {
		r, err := OpenRecipe(t.Context(), client, n, RecipeConfig{Bits: 20, Wait: w})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if added, err := recipe(c.Wait).Add(t.Context(), keys(0, 100)...); err != nil || trues(added) != 100 {
		t.Errorf("a recipe: %d of 100 keys are new, %v", trues(added), err)
	}
	before, err := client.Do(t.Context(), client.B().Get().Key(n+"0").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	impatient := recipe(Wait{Replicas: 2, Timeout: 10 * time.Millisecond})
	added, err = impatient.Add(t.Context(), keys(50, 100)...)
	if !errors.Is(err, ErrReplicas) || !errors.As(err, &u) || u.NotAdded || len(u.Keys) != 50 || u.Keys[0] != 50 || trues(added) != 0 {
		t.Errorf("a recipe: %d are told new, %v", trues(added), err)
	}
	if added, err := impatient.Add(t.Context(), keys(0, 150)...); err != nil || trues(added) != 0 {
		t.Errorf("a recipe: %d old keys are new, %v", trues(added), err)
	}
	if after, err := client.Do(t.Context(), client.B().Get().Key(n+"0").Build()).ToString(); err != nil || len(after) < len(before) || len(after) > 1<<20/8 {
		t.Errorf("the string had %d bytes and has %d, %v", len(before), len(after), err)
	}
}

// Who waits for replicas to have a slice does not make it anew when it has been deleted
// meanwhile, nor takes it for confirmed.
func TestWaitForADroppedSlice(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		f := open(t, client, Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 2048})
		f.wait = Wait{Replicas: 1, Timeout: time.Millisecond}
		slice := f.current.Load().newest().prefix + "0"
		if err := f.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.replicated(t.Context(), []string{slice}, 1)[0]; !errors.Is(err, ErrReplicas) || !errors.Is(err, ErrMissingSlice) {
			t.Errorf("%v; want ErrReplicas and ErrMissingSlice", err)
		}
		if left := leftOf(t, client, f.name); len(left) != 0 {
			t.Errorf("%d keys are left: %q", len(left), left)
		}
	})
}
