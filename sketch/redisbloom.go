package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"seen/internal/frame"
	"seen/internal/keyhash"
	"seen/internal/redisbloom"
)

// errNotRedis says that a sketch cannot become one of RedisBloom.
var errNotRedis = errors.New("the sketch has other counters than RedisBloom; make it with RedisBloom in its configuration, and count again")

// RedisBloom reports whether the sketch has the counters of RedisBloom.
func (c *CountMin32) RedisBloom() bool { return c.redis }

// AppendRedisBloom appends the sketch in the form that RESTORE of a Redis with RedisBloom
// takes. It fails unless the sketch has the counters of RedisBloom.
func (c *CountMin32) AppendRedisBloom(dst []byte) ([]byte, error) {
	if !c.redis {
		return dst, errNotRedis
	}
	counters := frame.AppendStored(nil, c.words, 0, 4*c.width*uint64(c.depth))
	runtime.KeepAlive(c)
	return redisbloom.AppendCountMin(dst, c.width, uint64(c.depth), c.Total(), counters), nil
}

// CountMin32FromRedisBloom returns the count-min sketch that DUMP of a Redis with RedisBloom
// gave. Of the configuration only Reserve counts.
func CountMin32FromRedisBloom(payload []byte, c CountMin32Config) (*CountMin32, error) {
	v, err := redisbloom.OpenCountMin(payload)
	if err != nil {
		return nil, err
	}
	if v.Total > maxTotal32 || v.Depth > maxDepth32 {
		return nil, fmt.Errorf("%w: a total of %d and depth %d; seen has room for %d and %d", redisbloom.ErrBadData, v.Total, v.Depth, uint64(maxTotal32), maxDepth32)
	}
	c.Width, c.Depth, c.RedisBloom = v.Width, int(v.Depth), true
	s, err := NewCountMin32(c)
	if err != nil {
		return nil, err
	}
	counters, err := v.Counters.Bytes()
	if err != nil {
		s.mem.Release()
		return nil, err
	}
	frame.Store(s.words, 0, counters)
	s.total = v.Total
	return s, nil
}

// RedisBloom reports whether the sketch has the buckets and counts of RedisBloom.
func (t *TopK) RedisBloom() bool { return t.redis }

// AppendRedisBloom appends the sketch in the form that RESTORE of a Redis with RedisBloom
// takes. It fails unless the sketch has the buckets of RedisBloom.
func (t *TopK) AppendRedisBloom(dst []byte) ([]byte, error) {
	if !t.redis {
		return dst, errNotRedis
	}
	buckets := make([]byte, 0, 8*len(t.buckets))
	for _, b := range t.buckets {
		buckets = binary.LittleEndian.AppendUint64(buckets, b<<32|b>>32)
	}
	runtime.KeepAlive(t)
	slots := make([]redisbloom.Slot, t.k)
	for index := range slots {
		if e := t.best.at(t.best.number(index)); e.kept {
			slots[index] = redisbloom.Slot{Item: []byte(e.key), Fingerprint: keyhash.SumMurmur32([]byte(e.key), redisFingerprint), Count: e.count}
		}
	}
	return redisbloom.AppendTopK(dst, uint64(t.width), uint64(t.depth), t.decay, buckets, slots), nil
}

// TopKFromRedisBloom returns the top-k that DUMP of a Redis with RedisBloom gave. Of the
// configuration only Seed and Reserve count. RedisBloom cuts keys at a zero byte.
func TopKFromRedisBloom(payload []byte, c TopKConfig) (*TopK, error) {
	v, err := redisbloom.OpenTopK(payload)
	if err != nil {
		return nil, err
	}
	if v.K > maxRedisTopK || v.Depth > maxTopKDepth || v.Width > maxCounters {
		return nil, fmt.Errorf("%w: k = %d, width %d, depth %d", redisbloom.ErrBadData, v.K, v.Width, v.Depth)
	}
	c.K, c.Width, c.Depth, c.Decay, c.RedisBloom = int(v.K), int(v.Width), int(v.Depth), v.Decay, true
	t, err := NewTopK(c)
	if err != nil {
		return nil, err
	}
	if err := t.fillRedis(v); err != nil {
		t.mem.Release()
		return nil, err
	}
	return t, nil
}

// fillRedis gives t, which is empty, the buckets and keys of v.
func (t *TopK) fillRedis(v *redisbloom.TopKValue) error {
	buckets, err := v.Buckets.Bytes()
	if err != nil {
		return err
	}
	for i := range t.buckets {
		if b := binary.LittleEndian.Uint64(buckets[8*i:]); b != 0 {
			t.buckets[i] = b<<32 | b>>32
		}
	}
	runtime.KeepAlive(t)
	slots, err := v.Slots()
	if err != nil {
		return err
	}
	entries, used := make([]entry, len(slots)), 0
	for index, s := range slots {
		if s.Empty {
			continue
		}
		if !s.Cut && s.Fingerprint != keyhash.SumMurmur32(s.Item, redisFingerprint) {
			return fmt.Errorf("%w: item %d of a top-k, %q, has the fingerprint of another", redisbloom.ErrBadData, index, s.Item)
		}
		number := t.best.number(index)
		entries[number] = entry{string(s.Item), s.Count, true}
		used = max(used, number+1)
	}
	if err := t.best.fill(entries[:used], false); err != nil {
		return fmt.Errorf("%w: %w", redisbloom.ErrBadData, err)
	}
	return nil
}
