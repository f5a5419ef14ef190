package redisbloom

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/filtertest"
	"seen/internal/rdb"
)

// dumps returns the payloads of RedisBloom in testdata, by their names.
func dumps(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "dumps", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct{ Name, Dump string }
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatal(err)
		}
		if all[d.Name], err = hex.DecodeString(d.Dump); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// rewrite reads a payload of any family but Bloom and writes it again.
func rewrite(payload []byte) (again []byte, err error) {
	texts := func(all ...rdb.Text) (contents [][]byte) {
		for _, text := range all {
			b, problem := text.Bytes()
			contents, err = append(contents, b), errors.Join(err, problem)
		}
		return contents
	}
	switch f, _ := FamilyOf(payload); f {
	case Cuckoo:
		v, problem := OpenCuckoo(payload)
		if problem != nil {
			return nil, problem
		}
		if tables := texts(v.Tables...); err == nil {
			again = AppendCuckoo(nil, v.Header, tables)
		}
	case CountMin:
		v, problem := OpenCountMin(payload)
		if problem != nil {
			return nil, problem
		}
		if b := texts(v.Counters); err == nil {
			again = AppendCountMin(nil, v.Width, v.Depth, v.Total, b[0])
		}
	case TopK:
		v, problem := OpenTopK(payload)
		if problem != nil {
			return nil, problem
		}
		slots, problem := v.Slots()
		if b := texts(v.Buckets); err == nil && problem == nil {
			again = AppendTopK(nil, v.Width, v.Depth, v.Decay, b[0], slots)
		}
		err = errors.Join(err, problem)
	default:
		return nil, rdb.Bad("a Bloom filter, or nothing")
	}
	return again, err
}

// Every payload of RedisBloom is read, and comes back from what is written.
func TestFamilies(t *testing.T) {
	n := 0
	for name, payload := range dumps(t) {
		f, ok := FamilyOf(payload)
		if !ok || f == Bloom {
			continue
		}
		n++
		once, err := rewrite(payload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if twice, err := rewrite(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s: %v, or other bytes", name, err)
		}
		value := payload[1 : len(payload)-rdb.TailSize]
		if sealed, err := rewrite(Seal(value)); err != nil || !bytes.Equal(sealed, once) {
			t.Errorf("%s: from an RDB file: %v, or other bytes", name, err)
		}
	}
	if n != 10 {
		t.Errorf("%d payloads", n)
	}
}

// What is damaged is refused, and the error says what is wrong.
func TestDamagedFamilies(t *testing.T) {
	counters := make([]byte, 24)
	slots := []Slot{{Item: []byte("a"), Count: 2}, {Empty: true}}
	header := append(make([]byte, 0, 38), 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 20, 0, 1, 0)
	for _, c := range []struct {
		payload []byte
		want    string
	}{
		{AppendCountMin(nil, 3, 2, 9, counters), ""},
		{AppendCountMin(nil, 3, 3, 9, counters), "24 bytes of counters with width 3 and depth 3"},
		{AppendCountMin(nil, 0, 2, 9, nil), "0 bytes of counters with width 0"},
		{AppendCountMin(nil, 1<<63, 2, 9, counters), "24 bytes of counters"},
		{AppendTopK(nil, 3, 1, 0.9, counters, slots), ""},
		{AppendTopK(nil, 3, 2, 0.9, counters, slots), "24 bytes of buckets with width 3 and depth 2"},
		{AppendTopK(nil, 3, 1, 1.5, counters, slots), "decay 1.5"},
		{AppendTopK(nil, 3, 1, 0.9, counters, nil), "0 bytes of slots with k = 0"},
		{AppendCuckoo(nil, header, [][]byte{make([]byte, 4), make([]byte, 4)}), ""},
		{AppendCuckoo(nil, header, [][]byte{make([]byte, 4), make([]byte, 8)}), "sub-filter 1 has 4 buckets of 2"},
		{AppendCuckoo(nil, header, [][]byte{make([]byte, 4)}), "instead of kind 2"},
		{AppendCuckoo(nil, header, [][]byte{make([]byte, 4), make([]byte, 4), make([]byte, 4)}), "instead of kind 0"},
	} {
		_, err := rewrite(c.payload)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// FuzzFamilies reads payloads whose checksum is right and whose value is anything.
func FuzzFamilies(f *testing.F) {
	for _, payload := range dumps(f) {
		f.Add(payload[1 : len(payload)-rdb.TailSize])
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		payload := Seal(value)
		before := filtertest.HeapAllocs()
		once, err := rewrite(payload)
		// Compressed, three bytes may stand for 264; and there are copies.
		if n := filtertest.HeapAllocs() - before; n > 2<<20+6*264*uint64(len(value)) {
			t.Fatalf("reading %d bytes allocated %d", len(value), n)
		}
		if err != nil {
			if !errors.Is(err, ErrBadData) {
				t.Fatal(err)
			}
			return
		}
		if twice, err := rewrite(once); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v, or other bytes", err)
		}
	})
}
