package kernel

import (
	"math/rand/v2"
	"testing"

	"seen/internal/keyhash"
)

// preparers lists the ways to prepare an array; files for single processors add
// theirs.
var preparers = map[string]func(l Layout, words []uint64) *Prepared{
	"dispatched": prepared,
	"reference": func(l Layout, words []uint64) *Prepared {
		p := prepared(l, words)
		p.hashCode, p.keyCode = 0, 0
		return p
	},
}

// TestKeysEqualHashes compares the calls with keys, of every length that XXH3 treats
// differently and at every alignment, with the reference on the keys' hashes.
func TestKeysEqualHashes(t *testing.T) {
	buf := make([]byte, 1000)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	for name, prepare := range preparers {
		for lines := 1; lines <= 3; lines++ {
			for lanes := 1; lanes <= LineWords; lanes++ {
				l := Layout{RegionLines: 300, Lines: lines, Lanes: lanes}
				words, want := make([]uint64, l.Words()), make([]uint64, l.Words())
				p := prepare(l, words)
				for n := range 513 {
					for twice := range 2 {
						key := buf[r.IntN(8):][:n]
						if twice == 1 { // a key that is not there
							key = buf[400+r.IntN(8):][:n]
						}
						h := new(keyhash.Hash).Sum(key)
						if got, want := p.HasKey(key), l.hasRef(want, h); got != want || p.HasString(string(key)) != want {
							t.Fatalf("%s, %+v: has %d bytes: %v, want %v", name, l, n, got, want)
						}
						add := p.AddKey
						if twice == 1 {
							add = func(key []byte) bool { return p.AddString(string(key)) }
						}
						if got, want := add(key), l.addRef(want, h); got != want {
							t.Fatalf("%s, %+v: adding %d bytes says new: %v, want %v", name, l, n, got, want)
						}
						if !p.HasKey(key) {
							t.Fatalf("%s, %+v: a key of %d bytes is not there after it was added", name, l, n)
						}
					}
				}
				for i := range words {
					if words[i] != want[i] {
						t.Fatalf("%s, %+v: word %d is %x, want %x", name, l, i, words[i], want[i])
					}
				}
			}
		}
	}
}

// FuzzKeys cuts data into keys, which overlap, and compares with the reference.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("some keys that follow one another"), []byte{0, 1, 4, 9, 16, 17, 9}, uint8(7))
	f.Add(make([]byte, 600), []byte{128, 129, 240, 241, 255}, uint8(17))
	f.Fuzz(func(t *testing.T, data, lengths []byte, shape uint8) {
		l := Layout{RegionLines: uint64(shape) + 1, Lines: int(shape%3) + 1, Lanes: int(shape/3%8) + 1}
		for name, prepare := range preparers {
			words, want := make([]uint64, l.Words()), make([]uint64, l.Words())
			p := prepare(l, words)
			rest := data
			for _, n := range lengths {
				key := rest[:min(int(n)*2-int(n)%2, len(rest))]
				rest = rest[len(key)/2:]
				h := new(keyhash.Hash).Sum(key)
				if p.HasKey(key) != l.hasRef(want, h) || p.AddKey(key) != l.addRef(want, h) || !p.HasKey(key) {
					t.Fatalf("%s, %+v: %q is treated in another way than its hash", name, l, key)
				}
			}
		}
	})
}

// TestOtherHashes has keys that are not hashed with the default.
func TestOtherHashes(t *testing.T) {
	l := Layout{RegionLines: 10, Lines: 2, Lanes: 8}
	for _, hash := range []keyhash.Hash{{Seed: 5}, keyhash.Keyed([16]byte{1})} {
		p := l.Prepare(make([]uint64, l.Words()), hash)
		key := []byte("some key of ours")
		if p.HasKey(key) || !p.AddKey(key) || p.AddKey(key) || !p.HasString(string(key)) {
			t.Errorf("%v: a key is not kept", hash)
		}
		if !p.HasHash(hash.Sum(key)) || p.HasHash(new(keyhash.Hash).Sum(key)) {
			t.Errorf("%v: a key is kept under another hash", hash)
		}
	}
}

// set is a Hashes that knows what it was asked.
type set map[uint64]bool

func (s set) HasHash(h uint64) bool { return s[h] }
func (s set) AddHash(h uint64) bool {
	isNew := !s[h]
	s[h] = true
	return isNew
}

func TestVia(t *testing.T) {
	for _, hash := range []keyhash.Hash{{}, {Seed: 5}} {
		s := set{}
		p := Via(s, hash)
		key := make([]byte, 300)
		for n := range key {
			if p.HasKey(key[:n]) || !p.AddKey(key[:n]) || p.AddString(string(key[:n])) || !p.HasString(string(key[:n])) {
				t.Fatalf("%v: %d bytes did not go where they should", hash, n)
			}
			if !s[hash.Sum(key[:n])] {
				t.Fatalf("%v: %d bytes went under another hash", hash, n)
			}
		}
		if !p.AddHash(1) || p.AddHash(1) || !p.HasHash(1) || p.HasHash(2) || !s[1] {
			t.Errorf("%v: a hash did not go where it should", hash)
		}
	}
}

// TestZeroPrepared calls what stands for an array that has been released.
func TestZeroPrepared(t *testing.T) {
	for name, call := range map[string]func(p *Prepared){
		"AddHash": func(p *Prepared) { p.AddHash(1) },
		"HasHash": func(p *Prepared) { p.HasHash(1) },
		"AddKey":  func(p *Prepared) { p.AddKey([]byte("a key")) },
		"HasKey":  func(p *Prepared) { p.HasKey([]byte("a key")) },
		// Where the assembly goes from there.
		"addHashElsewhere": func(p *Prepared) { addHashElsewhere(&p.regionLines, 1) },
		"hasHashElsewhere": func(p *Prepared) { hasHashElsewhere(&p.regionLines, 1) },
		"addKeyElsewhere":  func(p *Prepared) { addKeyElsewhere(&p.regionLines, nil, 0) },
		"hasKeyElsewhere":  func(p *Prepared) { hasKeyElsewhere(&p.regionLines, nil, 0) },
	} {
		if !panics(func() { call(new(Prepared)) }) {
			t.Errorf("%s of the zero value does not panic", name)
		}
	}
}
