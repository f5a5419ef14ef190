package fair

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

type guest struct {
	since   time.Duration
	overdue bool
	served  bool
	known   bool
	evicted int
}

func (g *guest) Waits(time.Time) (time.Duration, bool, bool) { return g.since, g.overdue, !g.served }
func (g *guest) Known() bool                                 { return g.known }
func (g *guest) Evict()                                      { g.evicted++ }

// An address that has taken everything gives way to others; guests being served, and
// addresses with few places, stay.
func TestPlacesAreFair(t *testing.T) {
	now := time.Now()
	p := NewPlaces(10, 0)
	take := func(key string, g *guest) (*Place, error) { return p.Take(key, g, now) }
	victim := &guest{known: true, since: time.Hour}
	if _, err := take("victim", victim); err != nil {
		t.Fatal(err)
	}
	var attack []*guest
	for i := range 9 {
		g := &guest{known: true, since: time.Duration(i)}
		attack = append(attack, g)
		if _, err := take("attacker", g); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // the attacker's own guests are not worth more than each other
		if _, err := take("attacker", &guest{}); err != ErrFull {
			t.Errorf("a place too many: %v", err)
		}
	}
	friend := &guest{}
	if _, err := take("friend", friend); err != nil || attack[8].evicted != 1 || victim.evicted != 0 {
		t.Errorf("%v, evicted: %d times the longest-waiting of the attacker, %d the victim", err, attack[8].evicted, victim.evicted)
	}
	// Overdue guests leave first, strangers before known clients.
	attack[0].overdue, attack[1].overdue, attack[1].known = true, true, false
	if _, err := take("attacker", &guest{}); err != nil || attack[1].evicted != 1 || attack[0].evicted != 0 {
		t.Errorf("%v: the overdue stranger was evicted %d times", err, attack[1].evicted)
	}
	for _, g := range attack {
		g.served = true
	}
	friend.served = true
	if _, err := take("victim", &guest{}); err != nil {
		t.Error(err) // in the place of one of the guests of the attacker that wait
	}
}

func TestPlacesOfOneAddress(t *testing.T) {
	p, now := NewPlaces(10, 3), time.Now()
	var places []*Place
	for range 3 {
		place, err := p.Take("a", &guest{served: true}, now)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	if _, err := p.Take("a", &guest{}, now); err != ErrAddress {
		t.Error(err)
	}
	if _, err := p.Take("b", &guest{}, now); err != nil {
		t.Error(err)
	}
	places[0].Leave()
	places[0].Leave() // frees one place
	late := &guest{overdue: true}
	if _, err := p.Take("a", late, now); err != nil {
		t.Error(err)
	}
	if _, err := p.Take("a", &guest{}, now); err != nil || late.evicted != 1 {
		t.Errorf("%v, evicted %d times", err, late.evicted)
	}
	if n := p.Len(); n != 4 || p.count["a"] != 3 || p.count["b"] != 1 {
		t.Errorf("%d places, %v", n, p.count)
	}
}

// Whatever happens, counts are those of the guests there are.
func TestPlacesCountRight(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := NewPlaces(20, 8)
	var places []*Place
	for range 20_000 {
		if r.IntN(2) == 0 && len(places) > 0 {
			places[r.IntN(len(places))].Leave()
		} else if place, err := p.Take(fmt.Sprint(r.IntN(5)), &guest{since: time.Duration(r.IntN(9)), overdue: r.IntN(2) == 0, served: r.IntN(3) == 0}, time.Time{}); err == nil {
			places = append(places, place)
		}
		sum := 0
		for key, n := range p.count {
			if n <= 0 || n > 8 {
				t.Fatalf("%s has %d places", key, n)
			}
			sum += n
		}
		if sum != len(p.all) || sum > 20 {
			t.Fatalf("%d places, and %d counted", len(p.all), sum)
		}
	}
}

// Two clients that hold everything cannot keep it from a third.
func TestBudgetIsShared(t *testing.T) {
	b := NewBudget(1000)
	dropped := map[string]bool{}
	idle := map[string]time.Duration{}
	holder := func(name string) *Holder {
		return b.Holder(func() time.Duration { return idle[name] }, func() { dropped[name] = true })
	}
	one, two, three := holder("one"), holder("two"), holder("three")
	if !one.Take(500) || !two.Take(500) {
		t.Fatal("there is room")
	}
	if one.Take(1) {
		t.Error("one takes from two, which holds less")
	}
	idle["two"] = time.Minute
	if !three.Take(10) || !dropped["two"] || dropped["one"] || dropped["three"] {
		t.Errorf("dropped: %v", dropped)
	}
	if two.Take(1) || !two.Dropped() {
		t.Error("who was dropped takes more")
	}
	two.Give(500) // it ends, and has nothing to give
	two.Close()
	if b.Used() != 510 {
		t.Errorf("%d bytes are used", b.Used())
	}
	if three.Take(600) || dropped["one"] {
		t.Error("three would hold more than one, and drops it")
	}
	if !three.Take(480) || !three.Take(5) || dropped["one"] {
		t.Error("there was room")
	}
	one.Give(9999) // gives back at most all
	three.Close()
	if b.Used() != 0 || len(b.holders) != 0 {
		t.Errorf("%d bytes of %d holders", b.Used(), len(b.holders))
	}
}

func TestPaidReader(t *testing.T) {
	b := NewBudget(100)
	h := b.Holder(nil, nil)
	text, err := io.ReadAll(h.Reader(io.NopCloser(strings.NewReader(strings.Repeat("x", 100)))))
	if err != nil || len(text) != 100 || b.Used() != 100 {
		t.Errorf("%d bytes, %v, %d used", len(text), err, b.Used())
	}
	if _, err := io.ReadAll(h.Reader(io.NopCloser(strings.NewReader("y")))); err != ErrBudget {
		t.Error(err)
	}
	h.Close()
	if b.Used() != 0 {
		t.Errorf("%d bytes are used", b.Used())
	}
}
