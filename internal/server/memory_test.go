package server

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"seen/internal/resp"
)

// Commands that would exceed the memory limit are refused and change nothing. Values can
// still be read, and additions that need no memory succeed.
func TestMemoryLimit(t *testing.T) {
	const limit = 256 << 10
	s := start(t)
	c := s.dial(t)
	s.store.SetMaxMemory(limit)
	for _, args := range [][]string{
		{"BF.RESERVE", "k", "0.01", "10000000"},
		{"BF.RESERVE", "k", "0.01", "10000000", "LAYOUT", "redisbloom"},
		{"BF.INSERT", "k", "CAPACITY", "10000000", "ITEMS", "a"},
		{"CF.RESERVE", "k", "10000000"},
		{"CF.INSERT", "k", "CAPACITY", "10000000", "ITEMS", "a"},
		{"CMS.INITBYDIM", "k", "100000", "10"},
		{"TOPK.RESERVE", "k", "10", "100000", "10", "0.9"},
	} {
		c.want("-"+outOfMemory, args...)
		if s.store.Len() != 0 || s.store.Memory() != 0 {
			t.Fatalf("%q has made something", args)
		}
	}
	for _, reserve := range [][]string{
		{"BF.RESERVE", "seen", "0.01", "1000"},
		{"BF.RESERVE", "redisbloom", "0.01", "1000", "LAYOUT", "redisbloom"},
		{"CF.RESERVE", "cuckoo", "1000", "EXPANSION", "2"},
	} {
		c.must(reserve...)
		family, name := reserve[0][:2], reserve[1]
		asked := []string{family + ".MEXISTS", name} // all that were added
		refused := 0
		for refused == 0 && len(asked) < 1_000_000 {
			const batch = 2000
			var sent []byte
			for i := range batch {
				sent = resp.AppendCommand(sent, family+".ADD", name, fmt.Sprint(len(asked), i))
			}
			from := len(asked)
			c.write(sent)
			for i := range batch {
				switch v := c.read(); {
				case v.Kind != resp.Error:
					asked = append(asked, fmt.Sprint(from, i))
				case v.Text == outOfMemory:
					refused++
				default:
					t.Fatalf("%s: %v", name, v)
				}
			}
		}
		if refused == 0 || len(asked) < 10_000 {
			t.Fatalf("%s: %d keys were added and %d refused", name, len(asked)-2, refused)
		}
		if m := s.store.Memory(); m > limit {
			t.Errorf("%s: %d bytes of at most %d", name, m, limit)
		}
		if n := ones(c.do(asked...)); n != len(asked)-2 {
			t.Fatalf("%s: %d of %d keys are there", name, n, len(asked)-2)
		}
		if family == "BF" {
			c.want(":0", "BF.ADD", name, asked[2])
			if v := c.do("BF.MADD", name, asked[2], "more", asked[3]); len(v.Elems) != 2 || v.Elems[1].Text != outOfMemory {
				t.Errorf("%s: BF.MADD of a key that is there, one that does not fit and another: %v", name, v)
			}
		}
		if n, _, err := s.store.Delete([]byte(name)); n != 1 || err != nil {
			t.Fatal(err)
		}
	}
}

// The headers of dumps are checked against the limit first: 38 bytes ask for 8 GiB.
func TestMemoryLimitOfHeaders(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	le := binary.LittleEndian
	cuckoo := le.AppendUint64(le.AppendUint64(nil, 1), 1<<32) // keys, buckets
	cuckoo = le.AppendUint64(le.AppendUint64(cuckoo, 0), 1)   // removed, sub-filters
	cuckoo = le.AppendUint16(le.AppendUint16(le.AppendUint16(cuckoo, 2), 20), 1)
	s.store.SetMaxMemory(0)
	c.must("BF.RESERVE", "large", "0.01", "200000000", "LAYOUT", "redisbloom")
	c.must("BF.RESERVE", "ours", "0.01", "200000000")
	redis, ours := c.do("BF.SCANDUMP", "large", "0").Elems[1].Text, c.do("BF.SCANDUMP", "ours", "0").Elems[1].Text
	c.want(":2", "DEL", "large", "ours")
	s.store.SetMaxMemory(64 << 20)
	for _, args := range [][]string{
		{"CF.LOADCHUNK", "k", "1", string(cuckoo)},
		{"BF.LOADCHUNK", "k", "1", redis},
		{"BF.LOADCHUNK", "k", "1", ours},
	} {
		c.want("-"+outOfMemory, args...)
		if s.store.Len() != 0 || s.store.Memory() != 0 {
			t.Fatalf("%q has made something", args)
		}
	}
	c.want("-"+outOfMemory, "CMS.INITBYPROB", "k", "0.0000001", "0.01")
}

// A window uses memory when keys arrive.
func TestMemoryLimitOfWindows(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	s.store.SetMaxMemory(1 << 20)
	c.must("BF.WINDOW", "k", "0.01", "100000000", "1h")
	c.want("-"+outOfMemory, "BF.ADD", "k", "a")
	s.store.SetMaxMemory(0)
	c.want(":1", "BF.ADD", "k", "a")
}

// Without a limit, more memory than the machine has is refused in the words of RedisBloom.
func TestMemoryOfTheMachine(t *testing.T) {
	c := start(t).dial(t)
	v := c.do("BF.RESERVE", "k", "1e-300", "1073741824", "LAYOUT", "redisbloom", "NONSCALING") // 193 GB
	if !strings.HasPrefix(v.Text, noMemory) && !strings.HasPrefix(v.Text, notCreated) {
		t.Error(v)
	}
}
