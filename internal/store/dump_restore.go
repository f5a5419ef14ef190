package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/rdb"
	"seen/internal/redisbloom"
	"seen/sketch"
)

// A payload of Dump is payloadMagic, the id of the hash's secret, an image that contains all
// arrays, and the CRC-32 of all that. The payload of a value of LayoutRedisBloom is that of
// Redis.
const payloadMagic = "\x89SEEN-DUMP\x01"

// Dump returns a value in the form that Restore takes, as it is at one moment. The error is
// ErrNotFound if the name has no value.
func (s *Store) Dump(name []byte) (payload []byte, at LSN, err error) {
	v := s.lookup(name)
	if v == nil {
		return nil, s.Absent(), fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	h := v.head()
	h.mu.Lock()
	defer h.mu.Unlock()
	if payload, err = redisPayload(v); payload != nil || err != nil {
		return payload, h.LSN(), err
	}
	c, err := v.capture()
	if err != nil {
		return nil, 0, err
	}
	c.drop() // contents copies what it needs
	im := *c.image
	im.name, im.created, im.expire, im.parts = "", 0, 0, nil
	for i := range c.parts {
		b, err := s.contents(v, i)
		if err != nil {
			return nil, 0, err
		}
		im.parts = append(im.parts, part{state: partInline, inline: b})
	}
	payload = binary.LittleEndian.AppendUint64([]byte(payloadMagic), s.hash.KeyID())
	payload = im.append(payload)
	return binary.LittleEndian.AppendUint32(payload, crc32.ChecksumIEEE(payload)), h.LSN(), nil
}

// redisPayload returns a value as Redis dumps it, and nil for one that Redis does not know;
// its mutex is held.
func redisPayload(v value) ([]byte, error) {
	switch v := v.(type) {
	case *RedisBloom:
		return v.now.Load().AppendDump(nil), nil
	case *Cuckoo:
		if v.layout() == LayoutRedisBloom {
			f := served(v.now.Load())
			return redisbloom.AppendCuckoo(nil, f.AppendHeader(nil), f.Tables()), nil
		}
	case *CountMin:
		if v.kind == kindRedisCountMin {
			return v.now.Load().AppendRedisBloom(nil)
		}
	case *TopK:
		if v.kind == kindRedisTopK {
			return v.now.Load().AppendRedisBloom(nil)
		}
	}
	return nil, nil
}

// restoreRedis is Restore for a payload of Redis. maxFilters is that of a cuckoo filter.
func (s *Store) restoreRedis(name, payload []byte, deadline int64, replace bool, maxFilters int) (LSN, error) {
	f, ok := redisbloom.FamilyOf(payload)
	if _, err := rdb.OpenPayload(payload); err != nil || !ok { // also where the value is of no family
		return 0, redisError(cmp.Or(err, rdb.Bad("a value that is not of RedisBloom")))
	}
	// What creation logs has the contents, so the values are not blank.
	switch f {
	case redisbloom.Cuckoo:
		c := s.newCuckoo(maxFilters)
		c.expire.Store(deadline)
		c.blank = false
		k, err := c.fromPayload(payload)
		return c.enter(c, name, k, redisError(cuckooError(err)), replace, nil)
	case redisbloom.CountMin:
		c := s.newCountMin(kindRedisCountMin)
		c.expire.Store(deadline)
		c.blank = false
		k, err := sketch.CountMin32FromRedisBloom(payload, sketch.CountMin32Config{Reserve: c.ask})
		return c.enter(c, name, k, redisError(err), replace, nil)
	case redisbloom.TopK:
		t := s.newTopK(kindRedisTopK)
		t.expire.Store(deadline)
		t.blank = false
		t.seed = rand.Uint64()
		k, err := sketch.TopKFromRedisBloom(payload, sketch.TopKConfig{Seed: t.seed, Reserve: t.ask})
		return t.enter(t, name, k, redisError(err), replace, nil)
	}
	b := s.newRedisBloom()
	b.expire.Store(deadline)
	b.blank = false
	k, err := redisbloom.Restore(payload, b.ask)
	return b.enter(b, name, k, redisError(err), replace, nil)
}

// fromPayload returns the filter in a payload of Redis.
func (c *Cuckoo) fromPayload(payload []byte) (*bloom.Cuckoo, error) {
	v, err := redisbloom.OpenCuckoo(payload)
	if err != nil {
		return nil, err
	}
	f, err := cuckooFromHeader(v.Header, bloom.CuckooConfig{Hash: c.store.hashOf(LayoutRedisBloom), MaxFilters: c.maxFilters, Reserve: c.ask})
	if err != nil {
		return nil, err
	}
	end := int64(1)
	for _, t := range v.Tables {
		table, err := t.Bytes()
		if err == nil {
			end += int64(len(table))
			err = served(f).LoadChunk(end, table)
		}
		if err != nil {
			f.Release()
			return nil, err
		}
	}
	return f, nil
}

// contents returns array i of a value; its mutex is held.
func (s *Store) contents(v value, i int) ([]byte, error) {
	switch v := v.(type) {
	case *Bloom:
		layers := v.view.Load().layers
		l := layers[len(layers)-1-i]
		return l.read(0, l.params.Bytes()), nil
	case *Cuckoo:
		return v.now.Load().AppendBinary(nil)
	case *CountMin:
		return v.now.Load().AppendBinary(nil)
	case *TopK:
		return v.now.Load().AppendBinary(nil)
	case *Foreign:
		return v.bytes, nil
	}
	return nil, fmt.Errorf("a %T cannot be dumped", v)
}

// Restore makes the value that a payload of Dump describes, or one of RedisBloom that Redis
// has dumped. It expires at the given time, unless that is zero. If the name has a value,
// replace lets the new one take its place; otherwise the error is ErrExists. It is ErrData
// if the payload is damaged, also ErrPayload if its checksum or version is wrong, and also
// ErrSecret if it is for another secret. A cuckoo filter of Redis may have maxFilters
// sub-filters; 0 means no limit.
func (s *Store) Restore(name, payload []byte, expires time.Time, replace bool, maxFilters int) (LSN, error) {
	if !replace && s.lookup(name) != nil {
		return 0, fmt.Errorf("%w: %q", ErrExists, name)
	}
	deadline := int64(0)
	if !expires.IsZero() {
		deadline = expires.UnixMilli()
	}
	if !bytes.HasPrefix(payload, []byte(payloadMagic)) {
		return s.restoreRedis(name, payload, deadline, replace, maxFilters)
	}
	im, err := s.parsePayload(payload)
	if err != nil {
		return 0, err
	}
	need, err := im.memory()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrData, err)
	}
	if err := s.memory.change(0, need); err != nil {
		return 0, err
	}
	v, err := s.build(im)
	if err != nil {
		s.memory.force(need, 0)
		return 0, fmt.Errorf("%w: %w", ErrData, err)
	}
	h := v.head()
	s.memory.force(need, h.memory.Load())
	h.expire.Store(deadline)
	return s.create(nil, name, v, replace, nil)
}

func (s *Store) parsePayload(payload []byte) (*image, error) {
	end := len(payload) - crc32.Size
	start := len(payloadMagic) + 8
	if end < start || crc32.ChecksumIEEE(payload[:end]) != binary.LittleEndian.Uint32(payload[end:]) {
		return nil, fmt.Errorf("%w: the payload of %d bytes does not match its checksum", ErrPayload, len(payload))
	}
	im, err := parseImage(payload[start:end])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrData, err)
	}
	if id := binary.LittleEndian.Uint64(payload[len(payloadMagic):]); id != s.hash.KeyID() && im.kind != kindForeign {
		return nil, fmt.Errorf("%w: the keys are hashed with the secret %016x, and this server has %016x", ErrSecret, id, s.hash.KeyID())
	}
	for _, p := range im.parts {
		if p.state != partInline {
			return nil, fmt.Errorf("%w: an array is not in the payload", ErrData)
		}
	}
	return im, nil
}

// memory returns about the bytes that the value of an image will take, of which all
// arrays are in it.
func (im *image) memory() (n uint64, err error) {
	if im.kind == kindBloom {
		m, err := parseBloomMeta(im.meta)
		if err != nil {
			return 0, err
		}
		return m.bytes(), nil
	}
	for _, p := range im.parts {
		n += uint64(len(p.inline))
		if im.kind == kindTopK || im.kind == kindRedisTopK {
			h, err := frame.ParseHeader(p.inline)
			if err != nil {
				return 0, err
			}
			// What a key that is kept takes in addition to its bytes: they are 16 here.
			const entry = 112
			n += entry * min(h.Fields[5], uint64(len(p.inline))/16)
		}
	}
	return n, nil
}
