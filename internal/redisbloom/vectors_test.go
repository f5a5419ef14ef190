package redisbloom

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"

	"seen/internal/filtertest"
	"seen/internal/rdb"
)

// The folders of testdata of package interop were written by RedisBloom itself; params.json of each
// says how. expected.tsv has that module's answers, false positives included.

type vector struct {
	*filtertest.Vector
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
		Inserted bool
		Payload  string `json:"dump_payload"`
		Reserve  []any
	}
}

func readVector(t testing.TB, name string) *vector {
	t.Helper()
	v := &vector{Vector: filtertest.ReadVector(t, filepath.Join("../../interop/testdata", name))}
	v.JSON(t, &v.params)
	return v
}

// load feeds the chunks to a filter as BF.LOADCHUNK does.
func (v *vector) load(t testing.TB) *Filter {
	t.Helper()
	var f *Filter
	for i, c := range v.params.Chunks {
		var err error
		if data := v.File(t, c.File); i == 0 {
			f, err = FromHeader(data, nil)
		} else {
			err = f.LoadChunk(c.Iterator, data)
		}
		if err != nil {
			t.Fatalf("%s: chunk %d: %v", v.Dir, i, err)
		}
	}
	return f
}

// create makes the filter as the module's user did.
func (v *vector) create(t testing.TB) *Filter {
	t.Helper()
	c := Config{Capacity: 100, ErrorRate: 0.01, Expansion: 2}
	if r := v.params.Reserve; len(r) >= 2 {
		c.ErrorRate, c.Capacity = r[0].(float64), uint64(r[1].(float64))
		switch {
		case len(r) == 3: // NONSCALING
			c.Expansion = 0
		case len(r) == 4:
			c.Expansion = uint32(r[3].(float64))
		}
	}
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (v *vector) compareAnswers(t *testing.T, how string, f *Filter) {
	t.Helper()
	hs := make([]Hash, len(v.Asked))
	f.Hashes(hs, v.Asked)
	found := make([]bool, len(hs))
	f.HasHashes(found, hs)
	for i, key := range v.Asked {
		if want := v.Answers[i] == "true"; f.Has(key) != want || found[i] != want {
			t.Fatalf("%s: key %q: Has says %v, HasHashes %v, the module %v", how, key, f.Has(key), found[i], want)
		}
	}
}

// compareChunks dumps f, and expects the chunks and iterators of the module.
func (v *vector) compareChunks(t *testing.T, how string, f *Filter) {
	t.Helper()
	iterator := int64(0)
	for i, c := range v.params.Chunks {
		next, data := f.ScanDump([]byte("before"), iterator)
		if next != c.Iterator || !bytes.Equal(data, append([]byte("before"), v.File(t, c.File)...)) {
			t.Fatalf("%s: chunk %d differs, or its iterator %d from %d", how, i, next, c.Iterator)
		}
		iterator = next
	}
	if next, data := f.ScanDump(nil, iterator); next != 0 || data != nil {
		t.Errorf("%s: after the end there are iterator %d and %d bytes", how, next, len(data))
	}
}

var vectorNames = []string{
	"redisbloom-bytes", "redisbloom-default", "redisbloom-empty", "redisbloom-many-links", "redisbloom-nonscaling", "redisbloom-scaling",
}

func TestVectors(t *testing.T) {
	for _, name := range vectorNames {
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
				for _, key := range v.Keys {
					if _, err := made.Add(key); err != nil {
						t.Fatal(err)
					}
				}
				hs := make([]Hash, len(v.Keys))
				batched.Hashes(hs, v.Keys)
				if n, err := batched.AddHashes(make([]bool, len(hs)), hs); n != len(hs) || err != nil {
					t.Fatal(n, err)
				}
			}
			v.compareChunks(t, "made", made)
			v.compareChunks(t, "made in batches", batched)

			decoded, err := Decode(encode(t, loaded), nil)
			if err != nil {
				t.Fatal(err)
			}
			v.compareChunks(t, "decoded", decoded)

			restored, err := Restore(loaded.AppendDump(nil), nil)
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
func (v *vector) comparePayload(t *testing.T, f *Filter) {
	payload := v.File(t, v.params.Payload)
	restored, err := Restore(payload, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.compareAnswers(t, "restored from the module's payload", restored)
	v.compareChunks(t, "restored from the module's payload", restored)
	version := binary.LittleEndian.Uint16(payload[len(payload)-rdb.TailSize:])
	if again := f.appendDump([]byte("before"), version); !bytes.Equal(again[6:], payload) {
		t.Error("the payload differs from the module's")
	}
}

// TestRDB reads the values out of a file that SAVE has written, one of them
// compressed.
func TestRDB(t *testing.T) {
	v := readVector(t, "redis-rdb")
	file := v.File(t, "dump.rdb")
	for i, name := range []string{"bf:main", "bf:grown", "bf:empty"} {
		entry := append([]byte{rdb.KindModule, byte(len(name))}, name...)
		_, value, ok := bytes.Cut(file, entry)
		if !ok {
			t.Fatalf("%s is not in the file", name)
		}
		r := rdb.NewReader(value)
		read, err := ReadValue(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, err := read.Dump()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(r.Rest()) == 0 {
			t.Errorf("%s: nothing follows the value", name)
		}
		for j, key := range v.Asked {
			if want := v.Answers[j][i] == '1'; f.Has(key) != want {
				t.Fatalf("%s: key %q: %v, the module says %v", name, key, !want, want)
			}
		}
	}
	if !bytes.Contains(file, []byte{5, 0xc3}) {
		t.Error("no value of the file is compressed, so that this tests less than it should")
	}
}
