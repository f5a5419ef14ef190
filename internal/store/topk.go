package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"seen/sketch"
)

// TopK finds the keys that come most often. Changes wait for each other, and questions wait
// for the change under way, which takes microseconds.
type TopK struct {
	held[sketch.TopK, *sketch.TopK]
	config TopKConfig
	seed   uint64        // of the random numbers
	asking *sync.RWMutex // held for writing while the contents change
}

// TopKConfig says how large a top-k sketch is. Zeros for Width, Depth and Decay stand
// for the defaults of sketch.TopK.
type TopKConfig struct {
	K, Width, Depth int
	Decay           float64
	Layout          Layout // LayoutSeen or LayoutRedisBloom
}

// CreateTopK makes a top-k sketch under a name that has no value. The error is ErrExists if
// it has one, and ErrMemory if there is too little memory.
func (s *Store) CreateTopK(name []byte, c TopKConfig) (*TopK, LSN, error) {
	if s.lookup(name) != nil {
		return nil, 0, fmt.Errorf("%w: %q", ErrExists, name)
	}
	v := s.newTopK(s.ofLayout(c.Layout, kindTopK, kindRedisTopK))
	v.seed = rand.Uint64()
	t, err := s.emptyTopK(v.kind, c, v.seed, v.ask)
	at, err := v.enter(v, name, t, err, false, nil)
	return v, at, err
}

func (s *Store) newTopK(k kind) *TopK {
	t := &TopK{asking: new(sync.RWMutex)}
	t.start(s, k)
	return t
}

func (s *Store) emptyTopK(of kind, c TopKConfig, seed uint64, reserve func(uint64) error) (*sketch.TopK, error) {
	return sketch.NewTopK(sketch.TopKConfig{
		K: c.K, Width: c.Width, Depth: c.Depth, Decay: c.Decay, Hash: s.hash, Seed: seed, Reserve: reserve,
		RedisBloom: of == kindRedisTopK,
	})
}

func (t *TopK) set(k *sketch.TopK) {
	t.now.Store(k)
	t.config = TopKConfig{k.K(), k.Width(), k.Depth(), k.Decay(), LayoutSeen}
	if k.RedisBloom() {
		t.config.Layout = LayoutRedisBloom
	}
}

// Config returns how the sketch was made.
func (t *TopK) Config() TopKConfig { return t.config }

// Depth returns the number of rows.
func (t *TopK) Depth() int { return t.config.Depth }

// AddCost returns a function that returns how many buckets the next key of a call of Add
// may read, and decay.
func (t *TopK) AddCost(by []uint32) func() int {
	most := uint32(1)
	for _, n := range by {
		most = max(most, n)
	}
	// Of large increments, most of the work is left out (see sketch.TopK).
	each := t.config.Depth * int(min(most, 1<<10))
	return func() int { return each }
}

// Add adds by[i] to the count of keys[i], in order; nil means 1 each. It tells each
// whether another key left the best for this one, and which; each must not keep that key.
func (t *TopK) Add(keys [][]byte, by []uint32, each func(i int, expelled []byte, ok bool)) (LSN, error) {
	if err := t.lock(); err != nil {
		return 0, err
	}
	defer t.mu.Unlock()
	times := func(i int) uint32 {
		if by == nil {
			return 1
		}
		return by[i]
	}
	size := uint64(0)
	for _, key := range keys {
		size += uint64(len(key))
	}
	if err := t.ask(size); err != nil { // all of them may be kept
		return 0, err
	}
	t.traffic.adds.Add(uint64(len(keys)))
	l := &t.store.log
	start := l.open(opChange, t.id)
	for i, key := range keys {
		l.buf = binary.AppendUvarint(l.buf, uint64(times(i)))
		l.buf = appendBytes(l.buf, key)
	}
	at := l.close(start)
	t.made(at)
	t.asking.Lock()
	defer t.asking.Unlock()
	for i, key := range keys {
		expelled, ok := t.now.Load().Incr(key, times(i))
		each(i, expelled, ok)
	}
	t.settle()
	return at, nil
}

// Has stores in found, which is as long as keys, whether each key is among the best,
// and returns the position that the answers depend on.
func (t *TopK) Has(found []bool, keys [][]byte) LSN {
	t.asking.RLock()
	defer t.asking.RUnlock()
	for i, key := range keys {
		found[i] = t.now.Load().Has(key)
	}
	t.traffic.asked(found[:len(keys)])
	return t.LSN()
}

// Count stores the counts of keys in counts, which is as long, and returns the
// position that they depend on.
func (t *TopK) Count(counts []uint32, keys [][]byte) LSN {
	t.asking.RLock()
	defer t.asking.RUnlock()
	for i, key := range keys {
		counts[i] = t.now.Load().Count(key)
	}
	t.traffic.counted(counts[:len(keys)])
	return t.LSN()
}

// List returns the best keys, by descending counts, and the position that they depend
// on.
func (t *TopK) List() ([]sketch.TopKEntry, LSN) {
	t.asking.RLock()
	defer t.asking.RUnlock()
	return t.now.Load().List(), t.LSN()
}

// capture implements value. Changes wait for the copy, questions do not.
func (t *TopK) capture() (*capture, error) {
	c := t.config
	meta := binary.AppendUvarint(nil, uint64(c.K))
	meta = binary.AppendUvarint(meta, uint64(c.Width))
	meta = binary.AppendUvarint(meta, uint64(c.Depth))
	meta = binary.LittleEndian.AppendUint64(meta, math.Float64bits(c.Decay))
	meta = binary.LittleEndian.AppendUint64(meta, t.seed)
	return t.captureHeld(meta)
}

func (s *Store) loadTopK(im *image, contents []byte) (value, error) {
	r := reader{b: im.meta}
	c := TopKConfig{K: int(r.uvarint()), Width: int(r.uvarint()), Depth: int(r.uvarint()), Decay: math.Float64frombits(r.uint64())}
	t := s.newTopK(im.kind)
	t.seed = r.uint64()
	if err := r.end(); err != nil {
		return nil, err
	}
	k, err := s.emptyTopK(im.kind, c, t.seed, nil)
	if err == nil && contents != nil {
		err = k.UnmarshalBinary(contents)
	}
	if err == nil && k.RedisBloom() != (im.kind == kindRedisTopK) {
		err = errOtherLayout(im.kind)
	}
	if err != nil {
		return nil, err
	}
	return t.fill(t, im, k), nil
}

func (t *TopK) renamed() value {
	d := &TopK{seed: t.seed, asking: t.asking}
	t.moveTo(&d.whole)
	d.set(t.now.Load())
	return d
}

func (t *TopK) replay(op operation, at LSN) error {
	if op.code != opChange {
		return fmt.Errorf("operation %d does not exist for top-k sketches", op.code)
	}
	t.made(at)
	r := reader{b: op.body}
	for len(r.b) > 0 {
		n, key := r.uvarint(), r.bytes()
		if r.err == nil {
			t.now.Load().Incr(key, uint32(n))
		}
	}
	t.settle()
	return r.err
}
