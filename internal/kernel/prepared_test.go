package kernel

import (
	"math/rand/v2"
	"slices"
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

// keyBatch is a way to do the operations for many keys.
type keyBatch struct {
	add, has func(l Layout, words []uint64, answers []bool, keys [][]byte) int
}

// keyBatches lists them; files for single processors add theirs.
var keyBatches = map[string]keyBatch{
	"dispatched": {Layout.AddKeys, Layout.HasKeys},
	"strings": {
		func(l Layout, words []uint64, added []bool, keys [][]byte) int {
			return l.AddStrings(words, added, texts(keys))
		},
		func(l Layout, words []uint64, found []bool, keys [][]byte) int {
			return l.HasStrings(words, found, texts(keys))
		},
	},
}

func texts(keys [][]byte) (all []string) {
	for _, key := range keys {
		all = append(all, string(key))
	}
	return all
}

// checkKeyBatches does both operations for keys, in every way, and compares answers,
// counts and bits with those of the reference on the keys' hashes.
func checkKeyBatches(t *testing.T, l Layout, keys [][]byte) {
	t.Helper()
	hs := make([]uint64, len(keys))
	for i, key := range keys {
		hs[i] = new(keyhash.Hash).Sum(key)
	}
	for name, do := range keyBatches {
		words, want := make([]uint64, l.Words()), make([]uint64, l.Words())
		for i := range words { // so that some of the answers are yes
			words[i] = 0x5a5af0ff0f3c5ac3 * uint64(i)
			want[i] = words[i]
		}
		for _, op := range []struct {
			name string
			do   func(l Layout, words []uint64, answers []bool, keys [][]byte) int
			want func(l Layout, words []uint64, answers []bool, hs []uint64) int
		}{
			{"has", do.has, Layout.hasBatchRef}, {"add", do.add, Layout.addBatchRef}, {"has", do.has, Layout.hasBatchRef},
		} {
			answers, right := make([]bool, len(keys)+1), make([]bool, len(keys))
			n := op.want(l, want, right, hs)
			if op.name == "has" {
				if got := op.do(l, words, nil, keys); got != n {
					t.Fatalf("%s, %+v: %s of %d keys without answers gives %d, want %d", name, l, op.name, len(keys), got, n)
				}
			}
			if got := op.do(l, words, answers[:len(keys)], keys); got != n || answers[len(keys)] {
				t.Fatalf("%s, %+v: %s of %d keys gives %d, want %d, and an answer too many: %v", name, l, op.name, len(keys), got, n, answers[len(keys)])
			}
			for i := range keys {
				if answers[i] != right[i] {
					t.Fatalf("%s, %+v: %s of key %d of %d, with %d bytes: %v, want %v", name, l, op.name, i, len(keys), len(keys[i]), answers[i], right[i])
				}
			}
			if !slices.Equal(words, want) {
				t.Fatalf("%s, %+v: %s of %d keys leaves other bits than the reference", name, l, op.name, len(keys))
			}
		}
		// Without answers, on bits that are all zero again.
		clear(words)
		clear(want)
		if got, n := do.add(l, words, nil, keys), l.addBatchRef(want, nil, hs); got != n || !slices.Equal(words, want) {
			t.Fatalf("%s, %+v: adding %d keys without answers gives %d, want %d, or other bits", name, l, len(keys), got, n)
		}
	}
}

// TestKeyBatches has batches of all small lengths, which the loops treat differently,
// with keys of all lengths in random order, equal ones among them.
func TestKeyBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	buf := make([]byte, 2000)
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	for lines := 1; lines <= 3; lines++ {
		for lanes := 1; lanes <= LineWords; lanes++ {
			l := Layout{RegionLines: 40, Lines: lines, Lanes: lanes}
			for n := range 100 {
				if n >= 70 {
					n = r.IntN(700)
				}
				longest := 1 << r.IntN(10)
				keys := make([][]byte, n)
				for i := range keys {
					if i > 0 && r.IntN(5) == 0 {
						keys[i] = keys[r.IntN(i)]
						continue
					}
					begin := r.IntN(1000)
					keys[i] = buf[begin : begin+r.IntN(longest)]
				}
				checkKeyBatches(t, l, keys)
			}
		}
	}
}

// TestLongKeyAnywhere puts a key that is too long for the assembly at every place of
// a batch.
func TestLongKeyAnywhere(t *testing.T) {
	for lines := 1; lines <= 3; lines++ {
		for _, lanes := range []int{5, 8} {
			for at := range 110 {
				keys := make([][]byte, 110)
				for i := range keys {
					keys[i] = []byte{byte(i), 1, 2}
				}
				keys[at] = make([]byte, 241)
				keys[109-at/2] = make([]byte, 300)
				checkKeyBatches(t, Layout{RegionLines: 20, Lines: lines, Lanes: lanes}, keys)
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
		var keys [][]byte
		for _, n := range lengths {
			n := min(int(n)*2-int(n)%2, len(data))
			keys = append(keys, data[:n])
			data = data[n/2:]
		}
		checkKeyBatches(t, l, keys)
		for name, prepare := range preparers {
			words, want := make([]uint64, l.Words()), make([]uint64, l.Words())
			p := prepare(l, words)
			for _, key := range keys {
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
	for _, hash := range []keyhash.Hash{{Seed: 5}, {Algorithm: keyhash.SipHash, Secret: [16]byte{1}}} {
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
