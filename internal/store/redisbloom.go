package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"seen/internal/rdb"
	"seen/internal/redisbloom"
	"seen/sizing"
)

// RedisBloom is a Bloom filter of LayoutRedisBloom. Questions take no lock.
// Additions of new keys are made one call after another.
type RedisBloom struct {
	held[redisbloom.Filter, *redisbloom.Filter]
	rate float64 // as asked for
}

func (s *Store) newRedisBloom() *RedisBloom {
	b := new(RedisBloom)
	b.start(s, kindRedisBloom)
	return b
}

// createRedisBloom makes a filter; c is complete.
func (s *Store) createRedisBloom(name []byte, c BloomConfig, first func(Filter)) (Filter, LSN, error) {
	b := s.newRedisBloom()
	f, err := redisbloom.New(redisbloom.Config{
		Capacity: c.Capacity, ErrorRate: c.ErrorRate, Expansion: c.Expansion, Reserve: b.ask,
	})
	at, err := b.enter(b, name, f, redisError(err), false, func() { first(b) })
	return b, at, err
}

func (b *RedisBloom) set(f *redisbloom.Filter) {
	f.SetReserve(b.ask)
	b.now.Store(f)
	info := f.Info()
	if b.rate = info.Filters[0].ErrorRate; info.Scaling {
		b.rate *= 2 // the first sub-filter has half of what was asked for
	}
}

// redisErrors are errors of redisbloom and those that callers of the store know.
var redisErrors = []struct{ from, to error }{
	{redisbloom.ErrFull, ErrFull},
	{rdb.ErrPayload, ErrPayload},
	{redisbloom.ErrBadData, ErrData},
	{redisbloom.ErrNoLink, ErrOffset},
	{redisbloom.ErrTooBig, ErrChunk},
}

func redisError(err error) error {
	for _, e := range redisErrors {
		if errors.Is(err, e.from) {
			return fmt.Errorf("%w: %w", e.to, err)
		}
	}
	return err
}

// Has implements [Filter]. It takes no lock and does not allocate.
func (b *RedisBloom) Has(found []bool, keys [][]byte) LSN {
	found = found[:len(keys)]
	f := b.now.Load()
	if len(keys) == 1 {
		found[0] = f.Has(keys[0])
	} else {
		sc := redisScratches.Get().(*scratch[redisbloom.Hash])
		for at := 0; at < len(keys); at += batchKeys {
			end := min(at+batchKeys, len(keys))
			f.Hashes(sc.hs[:], keys[at:end])
			f.HasHashes(found[at:end], sc.hs[:end-at])
		}
		redisScratches.Put(sc)
	}
	return b.answered(found)
}

// Layers implements [Filter].
func (b *RedisBloom) Layers() int { return b.now.Load().SubFilters() }

// Add implements [Filter]. Keys that are there are answered without a lock.
func (b *RedisBloom) Add(added []bool, keys [][]byte) (done int, at LSN, err error) {
	added = added[:len(keys)]
	defer func() { b.traffic.adds.Add(uint64(done)) }() // refused keys do not count
	if len(keys) > batchKeys {
		b.store.log.hold() // all of the call or nothing, after a crash
		defer b.store.log.release()
	}
	sc := redisScratches.Get().(*scratch[redisbloom.Hash])
	defer redisScratches.Put(sc)
	for done < len(keys) && err == nil {
		end := min(done+batchKeys, len(keys))
		b.now.Load().Hashes(sc.hs[:], keys[done:end])
		sc.start(end - done)
		var n int
		n, err = b.addBatch(added[done:end], sc)
		done += n
	}
	return done, b.LSN(), err
}

// addBatch adds the keys in sc, whose answers go to added, and returns how many were
// dealt with.
func (b *RedisBloom) addBatch(added []bool, sc *scratch[redisbloom.Hash]) (done int, err error) {
	clear(added)
	applied := b.applied.Load()
	sc.ask(b.now.Load())
	if sc.n == 0 {
		return len(added), nil
	}
	if err := b.lock(); err != nil {
		return int(sc.at[0]), err
	}
	defer b.mu.Unlock()
	f := b.now.Load()
	defer func() { b.settle() }()
	if b.last.Load() != applied {
		sc.ask(f) // what others have added since
	}
	sc.unique(func(h redisbloom.Hash) uint64 { return h.A })
	for held := false; sc.n > 0; {
		room, err := f.Prepare(uint64(sc.n))
		if room == 0 {
			return int(sc.at[0]), redisError(err)
		}
		m := int(min(room, uint64(sc.n)))
		if m < sc.n && !held {
			held = true // perhaps several operations
			b.store.log.hold()
			defer b.store.log.release()
		}
		b.record(f, sc, m)
		for i, isNew := range sc.hit[:m] {
			added[sc.at[i]] = isNew
		}
		sc.drop(m)
	}
	return len(added), nil
}

// ask leaves those that f does not have.
func (sc *scratch[H]) ask(f interface{ HasHashes([]bool, []H) int }) {
	if sc.n > 0 && f.HasHashes(sc.hit[:sc.n], sc.hs[:sc.n]) > 0 {
		sc.settle()
	}
}

// record logs and makes the addition of the first m of sc, for which there is room, and
// leaves the answers in sc.hit. A key may not be new after all, if keys before it have set
// its bits.
func (b *RedisBloom) record(f *redisbloom.Filter, sc *scratch[redisbloom.Hash], m int) {
	l := &b.store.log
	start := l.open(opAdd, b.id)
	for _, h := range sc.hs[:m] {
		l.buf = binary.LittleEndian.AppendUint64(l.buf, h.A)
		l.buf = binary.LittleEndian.AppendUint64(l.buf, h.B)
	}
	at := l.close(start)
	b.changed(at)
	b.content, b.blank = at, false
	// It cannot fail after Prepare.
	_, _ = f.AddHashes(sc.hit[:m], sc.hs[:m])
	b.applied.Store(uint64(at))
}

// Info implements [Filter]. It takes no lock and reads no bits.
func (b *RedisBloom) Info() FilterInfo {
	f := b.now.Load()
	info := f.Info()
	i := FilterInfo{Layout: LayoutRedisBloom, ErrorRate: b.rate, Bytes: b.Bytes()}
	i.Expansion = info.Expansion
	var rates []float64
	for _, l := range info.Filters {
		fill := -math.Expm1(-float64(l.Hashes) * float64(l.Added) / float64(l.Bits))
		i.Layers = append(i.Layers, LayerInfo{
			Bytes: l.Bytes, Bits: l.Bits, Probes: int(l.Hashes), Capacity: l.Capacity, Added: l.Added,
			ErrorRate: l.ErrorRate, Fill: fill, Params: sizing.Params{Shape: sizing.Classic, M: l.Bits, K: int(l.Hashes)},
		})
		rates = append(rates, math.Pow(fill, float64(l.Hashes)))
	}
	i.sum(rates)
	return i
}

// Dump implements [Filter]: what the other server's BF.SCANDUMP gives.
func (b *RedisBloom) Dump(iterator int64) (next int64, data []byte, at LSN, err error) {
	b.mu.Lock() // no counts without their bits
	defer b.mu.Unlock()
	next, data = b.now.Load().ScanDump(nil, iterator)
	return next, data, b.LSN(), nil
}

// Clear implements [Filter]. A concurrent question is answered from before or after it.
func (b *RedisBloom) Clear() (LSN, error) {
	if err := b.lock(); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	at := b.log(opClear, nil)
	f := b.now.Load()
	f.Clear()
	b.settle()
	return at, nil
}

func (b *RedisBloom) capture() (*capture, error) {
	return b.captureHeld(b.now.Load().AppendHeader(nil))
}

func (s *Store) loadRedisBloom(im *image, contents []byte) (value, error) {
	open, from := redisbloom.Decode, contents
	if contents == nil {
		open, from = redisbloom.FromHeader, im.meta
	}
	f, err := open(from, nil)
	if err != nil {
		return nil, err
	}
	b := s.newRedisBloom()
	return b.fill(b, im, f), nil
}

func (b *RedisBloom) renamed() value {
	c := new(RedisBloom)
	b.moveTo(&c.whole)
	c.set(b.now.Load())
	return c
}

func (b *RedisBloom) replay(op operation, at LSN) error {
	f := b.now.Load()
	f.SetReserve(nil)
	defer func() {
		f.SetReserve(b.ask)
		b.settle()
	}()
	b.made(at)
	r := reader{b: op.body}
	switch op.code {
	case opAdd:
		if len(r.b)%16 != 0 {
			return fmt.Errorf("%d bytes of hashes", len(r.b))
		}
		hs := make([]redisbloom.Hash, len(r.b)/16)
		for i := range hs {
			hs[i] = redisbloom.Hash{A: r.uint64(), B: r.uint64()}
		}
		_, err := f.AddHashes(make([]bool, len(hs)), hs)
		return err
	case opClear:
		f.Clear()
		return nil
	case opLoad:
		iterator := r.varint()
		if r.err != nil {
			return r.err
		}
		if err := redisError(f.LoadChunk(iterator, r.b)); !errors.Is(err, ErrData) && !errors.Is(err, ErrOffset) && !errors.Is(err, ErrChunk) {
			return err
		}
		return nil
	}
	return fmt.Errorf("operation %d does not exist for filters of this layout", op.code)
}
