package server

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"seen/internal/resp"
)

// chunk is a chunk of SCANDUMP and LOADCHUNK.
type chunk struct {
	iterator int64
	data     string
}

// dump returns all chunks of a filter; family is BF or CF.
func (c *client) dump(family, name string) (chunks []chunk) {
	c.t.Helper()
	for iterator := int64(0); ; {
		v := c.do(family+".SCANDUMP", name, strconv.FormatInt(iterator, 10))
		if len(v.Elems) != 2 {
			c.t.Fatalf("%s.SCANDUMP %s %d: %v", family, name, iterator, v)
		}
		if iterator = v.Elems[0].Int; iterator == 0 {
			return chunks
		}
		chunks = append(chunks, chunk{iterator, v.Elems[1].Text})
	}
}

func (c *client) load(family, name string, chunks []chunk) {
	c.t.Helper()
	for _, ch := range chunks {
		c.must(family+".LOADCHUNK", name, strconv.FormatInt(ch.iterator, 10), ch.data)
	}
}

// fillWith adds keys to filters of both families, which must grow.
func (c *client) fillWith(family, name, layout string, keys []string) {
	c.t.Helper()
	switch family {
	case "BF":
		c.must("BF.RESERVE", name, "0.01", "100", "LAYOUT", layout)
		c.do(append([]string{"BF.MADD", name}, keys...)...)
	case "CF":
		c.must("CF.RESERVE", name, "100", "EXPANSION", "2", "LAYOUT", layout)
		c.do(append([]string{"CF.INSERT", name, "ITEMS"}, keys...)...)
		c.do(append([]string{"CF.INSERT", name, "ITEMS"}, keys[:10]...)...)
	}
}

// A filter of either layout that is dumped and loaded gives the same answers and the same
// dump, also on another server if its layout has no secret.
func TestDumpsComeBack(t *testing.T) {
	s := start(t)
	c, elsewhere := s.dial(t), start(t).dial(t)
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprint("key:", i))
	}
	asked := slices.Clone(keys)
	for i := range 10_000 {
		asked = append(asked, fmt.Sprint("never:", i))
	}
	for _, family := range []string{"BF", "CF"} {
		for _, layout := range []string{"seen", "redisbloom"} {
			from, to := family+layout, "loaded"+family+layout
			c.fillWith(family, from, layout, keys)
			chunks := c.dump(family, from)
			if len(chunks) < 3 {
				t.Fatalf("%s: %d chunks for a filter of several parts", from, len(chunks))
			}
			clients := []*client{c}
			if layout == "redisbloom" {
				clients = append(clients, elsewhere)
			}
			for _, there := range clients {
				there.load(family, to, chunks)
				if got := there.dump(family, to); !slices.Equal(got, chunks) {
					t.Errorf("%s: the dump of what was loaded differs", from)
				}
				before := c.do(append([]string{family + ".MEXISTS", from}, asked...)...)
				after := there.do(append([]string{family + ".MEXISTS", to}, asked...)...)
				if before.String() != after.String() || ones(before) < len(keys) {
					t.Errorf("%s: of %d keys %d are there before and %d after, or other ones", from, len(asked), ones(before), ones(after))
				}
				info := there.do(family+".INFO", to).String()
				if want := c.do(family+".INFO", from).String(); info != want {
					t.Errorf("%s: %s becomes %s", from, want, info)
				}
			}
		}
	}
	if a, b := c.do("CF.COUNT", "CFseen", "key:3"), c.do("CF.COUNT", "loadedCFseen", "key:3"); a.Int != b.Int || a.Int < 2 {
		t.Errorf("copies of a key: %v before, %v after", a, b)
	}
}

// A server with another secret cannot read the bits of the layout seen.
func TestDumpsOfAnotherSecretAreRefused(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	for _, family := range []string{"BF", "CF"} {
		c.fillWith(family, family, "seen", []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
		header := []byte(c.dump(family, family)[0].data)
		header[12] ^= 1 // the id of the secret
		if v := c.do(family+".LOADCHUNK", "other"+family, "1", string(header)); v.Kind != resp.Error {
			t.Errorf("%s: %v", family, v)
		}
	}
	if n := s.store.Len(); n != 2 {
		t.Errorf("there are %d filters instead of 2", n)
	}
}

// RedisBloom may write a chunk after the end of a cuckoo filter where it does not belong,
// and reply OK.
func TestChunksOutsideAreRefused(t *testing.T) {
	c := start(t).dial(t)
	for _, family := range []string{"BF", "CF"} {
		for _, layout := range []string{"seen", "redisbloom"} {
			name := family + layout
			var keys []string
			for i := range 300 {
				keys = append(keys, fmt.Sprint(i))
			}
			c.fillWith(family, name, layout, keys)
			before := c.dump(family, name)
			end := before[len(before)-1].iterator
			data := make([]byte, 100)
			for i := range data {
				data[i] = 0x55
			}
			for _, iterator := range []int64{
				end + 1, end + 50, end + 99, end + 100, end + 101, 2 * end, 1 << 40, math.MaxInt64,
				math.MinInt64, -1, 1, 2, 100, before[1].iterator + 1, // across the first part's end
			} {
				if v := c.do(family+".LOADCHUNK", name, strconv.FormatInt(iterator, 10), string(data)); v.Kind != resp.Error {
					t.Errorf("%s: a chunk of 100 bytes at iterator %d, where the end is %d: %v", name, iterator, end, v)
				}
			}
			if after := c.dump(family, name); !slices.Equal(before, after) {
				t.Errorf("%s: chunks that were refused have changed the filter", name)
			}
		}
	}
}

// Chunks that are too large to send are refused, and the client stays connected.
func TestDumpBeyondTheLimitOfOutput(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Output = 1 << 20 })
	c := s.dial(t)
	c.want("+OK", "BF.RESERVE", "large", "0.01", "1500000")
	c.want("+OK", "BF.RESERVE", "just", "0.01", "700000")
	for _, name := range []string{"large", "just"} {
		v := c.do("DUMP", name)
		if tooLarge := v.Text == dumpTooLarge; tooLarge != (name == "large") {
			t.Errorf("%s: %.100s", name, v)
		}
	}
	c.want("+PONG", "PING")
}
