package interop

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The folders of testdata were written by RedisBloom itself; params.json of each
// says how. expected.tsv has that module's answers, false positives included.

type vector struct {
	dir    string
	params struct {
		Chunks []struct {
			File     string
			Iterator int64 `json:"iter"`
		}
		Info struct {
			Capacity  uint64
			Expansion *uint32 `json:"Expansion rate"`
			Filters   int     `json:"Number of filters"`
			Added     uint64  `json:"Number of items inserted"`
			Size      uint64
		} `json:"bf_info"`
		Inserted       bool
		KeyEncoding    string `json:"key_encoding"`
		Payload        string `json:"dump_payload"`
		Reserve        []any
		FalsePositives int `json:"false_positives"`
	}
	keys    [][]byte // added
	asked   [][]byte
	answers []string
}

func readVector(t testing.TB, name string) *vector {
	t.Helper()
	v := &vector{dir: filepath.Join("testdata", name)}
	if err := json.Unmarshal(v.file(t, "params.json"), &v.params); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(v.file(t, "keys.txt"))) {
		v.keys = append(v.keys, v.key(t, strings.TrimSuffix(line, "\n")))
	}
	for line := range strings.Lines(string(v.file(t, "expected.tsv"))) {
		key, answer, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%s: %q", name, line)
		}
		v.asked = append(v.asked, v.key(t, key))
		v.answers = append(v.answers, answer)
	}
	if len(v.keys) < 200 || len(v.asked) < 2000 {
		t.Fatalf("%s: %d keys and %d answers", name, len(v.keys), len(v.asked))
	}
	return v
}

func (v *vector) file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(v.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v *vector) key(t testing.TB, text string) []byte {
	switch v.params.KeyEncoding {
	case "decimal":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(n))
	case "hex":
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return []byte(text)
}

// load feeds the chunks to a filter as BF.LOADCHUNK does.
func (v *vector) load(t testing.TB) *RedisBloom {
	t.Helper()
	var f *RedisBloom
	for i, c := range v.params.Chunks {
		var err error
		if data := v.file(t, c.File); i == 0 {
			f, err = NewRedisBloomFromHeader(data, nil)
		} else {
			err = f.LoadChunk(c.Iterator, data)
		}
		if err != nil {
			t.Fatalf("%s: chunk %d: %v", v.dir, i, err)
		}
	}
	return f
}

// create makes the filter as the module's user did.
func (v *vector) create(t testing.TB) *RedisBloom {
	t.Helper()
	c := RedisBloomConfig{Capacity: 100, ErrorRate: 0.01, Expansion: 2}
	if r := v.params.Reserve; len(r) >= 2 {
		c.ErrorRate, c.Capacity = r[0].(float64), uint64(r[1].(float64))
		switch {
		case len(r) == 3: // NONSCALING
			c.Expansion = 0
		case len(r) == 4:
			c.Expansion = uint32(r[3].(float64))
		}
	}
	f, err := NewRedisBloom(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (v *vector) compareAnswers(t *testing.T, how string, f *RedisBloom) {
	t.Helper()
	hs := make([]RedisHash, len(v.asked))
	f.Hashes(hs, v.asked)
	found := make([]bool, len(hs))
	f.HasHashes(found, hs)
	for i, key := range v.asked {
		if want := v.answers[i] == "true"; f.Has(key) != want || found[i] != want {
			t.Fatalf("%s: key %q: Has says %v, HasHashes %v, the module %v", how, key, f.Has(key), found[i], want)
		}
	}
}

// compareChunks dumps f, and expects the chunks and iterators of the module.
func (v *vector) compareChunks(t *testing.T, how string, f *RedisBloom) {
	t.Helper()
	iterator := int64(0)
	for i, c := range v.params.Chunks {
		next, data := f.ScanDump([]byte("before"), iterator)
		if next != c.Iterator || !bytes.Equal(data, append([]byte("before"), v.file(t, c.File)...)) {
			t.Fatalf("%s: chunk %d differs, or its iterator %d from %d", how, i, next, c.Iterator)
		}
		iterator = next
	}
	if next, data := f.ScanDump(nil, iterator); next != 0 || data != nil {
		t.Errorf("%s: after the end there are iterator %d and %d bytes", how, next, len(data))
	}
}

var redisVectors = []string{
	"redisbloom-bytes", "redisbloom-default", "redisbloom-empty", "redisbloom-many-links", "redisbloom-nonscaling", "redisbloom-scaling",
}

func TestRedisBloomVectors(t *testing.T) {
	for _, name := range redisVectors {
		t.Run(name, func(t *testing.T) {
			v := readVector(t, name)
			loaded := v.load(t)
			v.compareAnswers(t, "loaded", loaded)
			v.compareChunks(t, "loaded", loaded)

			want, info := v.params.Info, loaded.Info()
			if info.Capacity != want.Capacity || info.Size != want.Size || info.Added != want.Added || len(info.Filters) != want.Filters ||
				info.Scaling != (want.Expansion != nil) || info.Scaling && info.Expansion != *want.Expansion {
				t.Errorf("%+v, want %+v", info, want)
			}

			made := v.create(t)
			batched := v.create(t)
			if v.params.Inserted {
				for _, key := range v.keys {
					if _, err := made.Add(key); err != nil {
						t.Fatal(err)
					}
				}
				hs := make([]RedisHash, len(v.keys))
				batched.Hashes(hs, v.keys)
				if n, err := batched.AddHashes(make([]bool, len(hs)), hs); n != len(hs) || err != nil {
					t.Fatal(n, err)
				}
			}
			v.compareChunks(t, "made", made)
			v.compareChunks(t, "made in batches", batched)

			b, err := loaded.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := DecodeRedisBloom(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			v.compareChunks(t, "decoded", decoded)

			dump, err := loaded.AppendDump(nil)
			if err != nil {
				t.Fatal(err)
			}
			restored, err := RestoreRedisBloom(dump, nil)
			if err != nil {
				t.Fatal(err)
			}
			v.compareChunks(t, "restored", restored)
			if v.params.Payload != "" {
				v.comparePayload(t, loaded)
			}
		})
	}
}

// comparePayload holds our DUMP against the module's.
func (v *vector) comparePayload(t *testing.T, f *RedisBloom) {
	payload := v.file(t, v.params.Payload)
	restored, err := RestoreRedisBloom(payload, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.compareAnswers(t, "restored from the module's payload", restored)
	v.compareChunks(t, "restored from the module's payload", restored)
	version := binary.LittleEndian.Uint16(payload[len(payload)-rdbTailSize:])
	if again, err := f.appendDump([]byte("before"), version); err != nil || !bytes.Equal(again[6:], payload) {
		t.Errorf("the payload differs from the module's, %v", err)
	}
}

// TestRedisRDB reads the values out of a file that SAVE has written, one of them
// compressed.
func TestRedisRDB(t *testing.T) {
	v := readVector(t, "redis-rdb")
	file := v.file(t, "dump.rdb")
	for i, name := range []string{"bf:main", "bf:grown", "bf:empty"} {
		entry := append([]byte{rdbModuleValue, byte(len(name))}, name...)
		_, value, ok := bytes.Cut(file, entry)
		if !ok {
			t.Fatalf("%s is not in the file", name)
		}
		f, rest, err := readRDBValue(append([]byte{rdbModuleValue}, value...), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(rest) == 0 {
			t.Errorf("%s: nothing follows the value", name)
		}
		for j, key := range v.asked {
			if want := v.answers[j][i] == '1'; f.Has(key) != want {
				t.Fatalf("%s: key %q: %v, the module says %v", name, key, !want, want)
			}
		}
	}
	if !bytes.Contains(file, []byte{rdbString, 0xc3}) {
		t.Error("no value of the file is compressed, so that this tests less than it should")
	}
}
