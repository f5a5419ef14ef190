package sketch

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/redisbloom"
)

// redisDumps returns payloads that RedisBloom has dumped, of its sketches.
func redisDumps(t testing.TB) (all [][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "internal", "redisbloom", "testdata", "dumps", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct{ Type, Dump string }
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatal(err)
		}
		if d.Type == redisbloom.CountMin.String() || d.Type == redisbloom.TopK.String() {
			all = append(all, must(hex.DecodeString(d.Dump)))
		}
	}
	return all
}

// throughRedis reads a payload and writes it again.
func throughRedis(payload []byte, reserve func(uint64) error) (again []byte, err error) {
	if f, _ := redisbloom.FamilyOf(payload); f == redisbloom.CountMin {
		c, err := CountMin32FromRedisBloom(payload, CountMin32Config{Reserve: reserve})
		if err != nil {
			return nil, err
		}
		c.Add([]byte("key"), 0)
		return c.AppendRedisBloom(nil)
	}
	k, err := TopKFromRedisBloom(payload, TopKConfig{Reserve: reserve})
	if err != nil {
		return nil, err
	}
	again, err = k.AppendRedisBloom(nil)
	b := must(k.MarshalBinary())
	var l TopK
	if problem := l.UnmarshalBinary(b); problem != nil || !l.Equal(k) {
		return nil, errors.Join(errors.New("a frame does not come back"), problem)
	}
	for i := range byte(50) {
		k.Incr([]byte{'k', i % 7}, uint32(i))
	}
	return again, err
}

func TestSketchesOfRedisBloom(t *testing.T) {
	all := redisDumps(t)
	for _, payload := range all {
		once := must(throughRedis(payload, nil))
		if twice := must(throughRedis(once, nil)); !bytes.Equal(once, twice) {
			t.Error("written again as other bytes")
		}
	}
	if len(all) != 6 {
		t.Errorf("%d payloads", len(all))
	}
	if _, err := newCountMin32(t, CountMin32Config{Width: 5, Depth: 1}).AppendRedisBloom(nil); err == nil || !strings.Contains(err.Error(), "count again") {
		t.Error(err)
	}
	if _, err := newTopK(t, TopKConfig{K: 5}).AppendRedisBloom(nil); err == nil || !strings.Contains(err.Error(), "count again") {
		t.Error(err)
	}
	if _, err := NewTopK(TopKConfig{K: 1<<24 + 1, RedisBloom: true}); err == nil || !strings.Contains(err.Error(), "16777216") {
		t.Error(err)
	}
	slot := []redisbloom.Slot{{Item: []byte("a"), Count: 2, Fingerprint: 7}}
	if _, err := throughRedis(redisbloom.AppendTopK(nil, 1, 1, 0.9, make([]byte, 8), slot), nil); err == nil || !strings.Contains(err.Error(), "fingerprint of another") {
		t.Error(err)
	}
	if _, err := throughRedis(redisbloom.AppendCountMin(nil, 1, 1025, 0, make([]byte, 4100)), nil); !errors.Is(err, redisbloom.ErrBadData) {
		t.Error(err)
	}
	// Zero bytes are kept, although RedisBloom cuts items there.
	k := newTopK(t, TopKConfig{K: 3, RedisBloom: true})
	k.Add([]byte("a\x00b"))
	k.Add(nil)
	again := must(TopKFromRedisBloom(must(k.AppendRedisBloom(nil)), TopKConfig{}))
	if !again.Has([]byte("a\x00b")) || !again.Has(nil) || again.Has([]byte("a")) {
		t.Errorf("%v", again.List())
	}
}

// FuzzFromRedisBloom reads payloads whose checksum is right and whose value is anything.
func FuzzFromRedisBloom(f *testing.F) {
	for _, payload := range redisDumps(f) {
		f.Add(payload[1 : len(payload)-10])
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		errTooMuch := errors.New("too much")
		once, err := throughRedis(redisbloom.Seal(value), func(bytes uint64) error {
			if bytes > 64<<20 {
				return errTooMuch
			}
			return nil
		})
		if err != nil {
			if !errors.Is(err, redisbloom.ErrBadData) && !errors.Is(err, errTooMuch) {
				t.Fatal(err)
			}
			return
		}
		if twice, err := throughRedis(once, nil); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v, or other bytes", err)
		}
	})
}
