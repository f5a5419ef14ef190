package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/redis/rueidis"
	"github.com/zeebo/xxh3"

	"seen/cluster"
	"seen/internal/recipe"
)

// probes is the number of bits that the recipe sets for a key. With the best number of
// bits per key, a filter at capacity has the error rate errorRate.
const probes = 7

var (
	errorRate  = math.Pow(2, -probes)
	bitsPerKey = probes / math.Ln2
)

// row is one way to add keys.
type row struct {
	name  string
	add   func(ctx context.Context, keys [][]byte) (isNew int, err error)
	trips *atomic.Int64
	// slow rows are measured with few keys.
	slow bool
}

// counting is a client that counts round trips: each call waits for all of its answers.
type counting struct {
	rueidis.Client
	trips *atomic.Int64
}

func (c counting) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.trips.Add(1)
	return c.Client.Do(ctx, cmd)
}

func (c counting) DoMulti(ctx context.Context, all ...rueidis.Completed) []rueidis.RedisResult {
	c.trips.Add(1)
	return c.Client.DoMulti(ctx, all...)
}

// rows returns the rows, each with its own filter for capacity keys.
func rows(ctx context.Context, client rueidis.Client, capacity int) ([]row, error) {
	count := func() counting { return counting{client, new(atomic.Int64)} }
	ours := count()
	f, err := cluster.Open(ctx, ours, "seen", cluster.Config{Capacity: uint64(capacity), ErrorRate: errorRate})
	if err != nil {
		return nil, err
	}
	m := uint64(bitsPerKey * float64(capacity))
	a, b, c := count(), count(), count()
	return []row{
		{name: "cluster", trips: ours.trips, add: func(ctx context.Context, keys [][]byte) (int, error) {
			isNew, err := f.Add(ctx, keys...)
			n := 0
			for _, is := range isNew {
				if is {
					n++
				}
			}
			return n, err
		}},
		{name: "recipe", trips: a.trips, slow: true, add: crawler{a, "recipe", m}.loop},
		{name: "recipe, pipelined", trips: b.trips, add: crawler{b, "pipelined", m}.pipeline},
		{name: "one string, a script", trips: c.trips, add: scripted{c, rueidis.NewLuaScript(script), "script", m}.add},
	}, nil
}

// crawler is the crawler's recipe on one string of m bits: MD5, and a multiplying hash
// of its digits for each of 7 seeds. The position is reduced modulo m. The original
// recipe always uses 2^31 bits.
type crawler struct {
	client counting
	key    string
	m      uint64
}

func (r crawler) positions(key []byte) (at [probes]string) {
	var offsets [probes]uint64
	_, all := recipe.MD5{Blocks: 1, Bits: 31}.Positions(offsets[:0], key)
	for i, offset := range all {
		at[i] = strconv.FormatUint(offset%r.m, 10)
	}
	return at
}

func (r crawler) get(at string) rueidis.Completed {
	return r.client.B().Arbitrary("GETBIT").Keys(r.key).Args(at).ReadOnly()
}

func (r crawler) set(at string) rueidis.Completed {
	return r.client.B().Arbitrary("SETBIT").Keys(r.key).Args(at, "1").Build()
}

// loop waits for each command, as the recipe does.
func (r crawler) loop(ctx context.Context, keys [][]byte) (isNew int, err error) {
	for _, key := range keys {
		at := r.positions(key)
		seen := true
		for _, p := range at {
			bit, err := r.client.Do(ctx, r.get(p)).AsInt64()
			if err != nil {
				return isNew, err
			}
			seen = seen && bit == 1
		}
		if seen {
			continue
		}
		isNew++
		for _, p := range at {
			if err := r.client.Do(ctx, r.set(p)).Error(); err != nil {
				return isNew, err
			}
		}
	}
	return isNew, nil
}

// pipeline reads all bits of all keys at once, and then sets those of new keys.
func (r crawler) pipeline(ctx context.Context, keys [][]byte) (isNew int, err error) {
	gets := make([]rueidis.Completed, 0, probes*len(keys))
	all := make([][probes]string, len(keys))
	for i, key := range keys {
		all[i] = r.positions(key)
		for _, p := range all[i] {
			gets = append(gets, r.get(p))
		}
	}
	results := r.client.DoMulti(ctx, gets...)
	var sets []rueidis.Completed
	for i := range keys {
		seen := true
		for _, result := range results[i*probes : (i+1)*probes] {
			bit, err := result.AsInt64()
			if err != nil {
				return isNew, err
			}
			seen = seen && bit == 1
		}
		if seen {
			continue
		}
		isNew++
		for _, p := range all[i] {
			sets = append(sets, r.set(p))
		}
	}
	if len(sets) == 0 {
		return isNew, nil
	}
	for _, result := range r.client.DoMulti(ctx, sets...) {
		if err := result.Error(); err != nil {
			return isNew, err
		}
	}
	return isNew, nil
}

// script sets the bits of all keys of a call and counts those that had one unset.
const script = `
local isNew = 0
for i = 1, #ARGV, 7 do
  local seen = true
  for j = i, i + 6 do
    if redis.call('SETBIT', KEYS[1], ARGV[j], 1) == 0 then seen = false end
  end
  if not seen then isNew = isNew + 1 end
end
if isNew > 0 then redis.call('INCRBY', KEYS[2], isNew) end
return isNew`

// scripted is a filter in one string. A script sets its bits, with positions by double
// hashing.
type scripted struct {
	client counting
	lua    *rueidis.Lua
	key    string
	m      uint64
}

func (s scripted) add(ctx context.Context, keys [][]byte) (int, error) {
	args := make([]string, 0, probes*len(keys))
	for _, key := range keys {
		h := xxh3.Hash128(key)
		for i := range uint64(probes) {
			args = append(args, strconv.FormatUint((h.Lo+i*h.Hi)%s.m, 10))
		}
	}
	n, err := s.lua.Exec(ctx, s.client, []string{"{" + s.key + "}:bits", "{" + s.key + "}:count"}, args).AsInt64()
	return int(n), err
}

// keyOf makes key i, a URL of 58 bytes; different i give different keys.
func keyOf(i uint64) []byte {
	return fmt.Appendf(nil, "https://www.example.org/archive/page/%016x.html", i*0x9e3779b97f4a7c15)
}
