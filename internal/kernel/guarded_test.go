package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"seen/internal/keyhash"
)

// guarders lists the ways to guard an array; files for single processors add theirs.
var guarders = map[string]func(l Layout, words []uint64, stripes []Slots, perRegion int, taken *uint32) *Guarded{
	"dispatched": func(l Layout, words []uint64, stripes []Slots, perRegion int, taken *uint32) *Guarded {
		g := l.Guard(words, keyhash.Hash{}, stripes, perRegion, taken)
		return &g
	},
}

// TestGuarded adds hashes and keys that are new or not, with all locks free or some
// of them held, and compares array, answers, locks and counts with what must be.
func TestGuarded(t *testing.T) {
	if unsafe.Offsetof(Guarded{}.stripes) != 40 || unsafe.Sizeof(Slots{}) != 64 || Busy != 2 {
		t.Fatal("a Guarded is not what the generator knows of it")
	}
	for name, guard := range guarders {
		for lines := 1; lines <= 3; lines++ {
			for lanes := 1; lanes <= LineWords; lanes++ {
				for _, perRegion := range []int{1, 4, 16} {
					g := newGuardTest(Layout{RegionLines: 23, Lines: lines, Lanes: lanes}, perRegion)
					g.by = guard(g.l, g.words, g.stripes, perRegion, &g.taken)
					for i := range 600 {
						if wrong := g.step(i); wrong != "" {
							t.Fatalf("%s, %+v, %d stripes, step %d: %s", name, g.l, perRegion, i, wrong)
						}
					}
				}
			}
		}
	}
}

// guardTest is a guarded array and what must be in it.
type guardTest struct {
	l           Layout
	by          *Guarded
	r           *rand.Rand
	words, want []uint64
	stripes     []Slots
	perRegion   int
	taken       uint32
	added       uint64
	hashes      []uint64
}

func newGuardTest(l Layout, perRegion int) *guardTest {
	return &guardTest{
		l: l, r: rand.New(rand.NewPCG(uint64(l.Lines), uint64(l.Lanes))), words: make([]uint64, l.Words()), want: make([]uint64, l.Words()),
		stripes: make([]Slots, l.Lines*perRegion), perRegion: perRegion,
	}
}

// step adds a hash or a key, and says what was wrong.
func (g *guardTest) step(i int) (wrong string) {
	key := make([]byte, g.r.IntN(40))
	for i := range key {
		key[i] = byte(g.r.Uint32())
	}
	h := new(keyhash.Hash).Sum(key)
	if i%3 == 0 {
		h = g.r.Uint64()
	}
	if i%5 == 0 && len(g.hashes) > 0 {
		h = g.hashes[g.r.IntN(len(g.hashes))]
	}
	held := g.hold()
	before := slices.Clone(g.stripes)
	outcome := Outcome(0)
	switch {
	case i%3 == 0 || i%5 == 0:
		outcome = g.by.AddHash(h)
	case i%3 == 1:
		outcome = g.by.AddKey(key)
	default:
		outcome = g.by.AddString(string(key))
	}
	want := Present
	switch {
	case !Assembly():
		want = Busy
	case g.l.hasRef(g.want, h):
	case g.taken != 0 || g.anyHeld(h, held):
		want = Busy
	default:
		want = New
		g.l.addRef(g.want, h)
		g.hashes = append(g.hashes, h)
		before[Line(h, g.l.RegionLines)%uint64(g.perRegion)][0] += 2
		g.added++
	}
	switch {
	case outcome != want:
		return "the outcome is another one"
	case !slices.Equal(g.words, g.want):
		return "the array has other bits"
	case !slices.Equal(g.stripes, before):
		return "the locks are not as they were, but for the count"
	}
	for _, s := range held {
		g.stripes[s][0]--
	}
	g.taken = 0
	return ""
}

// hold makes others hold some locks, and returns which.
func (g *guardTest) hold() (held []int) {
	switch g.r.IntN(8) {
	case 0:
		g.taken = 1
	case 1, 2:
		for s := range g.stripes {
			if g.r.IntN(2) == 0 {
				g.stripes[s][0]++
				held = append(held, s)
			}
		}
	}
	return held
}

// anyHeld reports whether one of the stripes of h is held.
func (g *guardTest) anyHeld(h uint64, held []int) bool {
	for j := range g.l.Lines {
		if slices.Contains(held, j*g.perRegion+int(Line(h, g.l.RegionLines)%uint64(g.perRegion))) {
			return true
		}
		h = Next(h)
	}
	return false
}

func TestGuardRefusesTooFew(t *testing.T) {
	l := Layout{RegionLines: 10, Lines: 2, Lanes: 8}
	var taken uint32
	if !panics(func() { l.Guard(make([]uint64, l.Words()-1), keyhash.Hash{}, make([]Slots, 8), 4, &taken) }) {
		t.Error("Guard accepts a short array")
	}
	if !panics(func() { l.Guard(make([]uint64, l.Words()), keyhash.Hash{}, make([]Slots, 7), 4, &taken) }) {
		t.Error("Guard accepts too few stripes")
	}
	if none := new(Guarded); none.AddHash(1) != Busy || none.AddKey(nil) != Busy || none.AddString("a key") != Busy {
		t.Error("the zero value does something")
	}
	// Only the default hash is known to the assembly.
	other := l.Guard(make([]uint64, l.Words()), keyhash.Hash{Seed: 1}, make([]Slots, 8), 4, &taken)
	if other.AddKey([]byte("a key")) != Busy {
		t.Error("a key is hashed with another seed")
	}
}
