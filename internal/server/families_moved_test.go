package server

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/rdb"
	"seen/internal/redistest"
	"seen/internal/resp"
)

// moved is a value that RedisBloom has dumped, with what it answered before.
type moved struct {
	Name, Type, Dump string
	Answers          [][2]json.RawMessage // a command about the key k, and the reply
	payload          string
}

func readMoved(t *testing.T) (all []*moved) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "redisbloom", "testdata", "dumps", "*.json"))
	if err != nil || len(files) != 12 {
		t.Fatalf("%d dumps, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := new(moved)
		if err := json.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		payload, err := hex.DecodeString(m.Dump)
		if err != nil {
			t.Fatal(err)
		}
		m.payload = string(payload)
		all = append(all, m)
	}
	return all
}

// check asks for what was answered before the dump.
func (m *moved) check(t *testing.T, c *client, key string) {
	t.Helper()
	for _, a := range m.Answers {
		var command []string
		if err := json.Unmarshal(a[0], &command); err != nil {
			t.Fatal(err)
		}
		command[1] = key
		if got := asJSON(c.do(command...)); got != string(a[1]) {
			t.Errorf("%s: %q answers\n%s, not\n%s", m.Name, command, got, a[1])
		}
	}
}

// asJSON formats a reply of numbers, strings and arrays.
func asJSON(v resp.Value) string {
	switch {
	case v.Kind == resp.Int:
		return fmt.Sprint(v.Int)
	case v.Kind == resp.Null:
		return "null"
	case v.Kind == resp.Array:
		texts := []string{}
		for _, e := range v.Elems {
			texts = append(texts, asJSON(e))
		}
		return "[" + strings.Join(texts, ",") + "]"
	}
	return fmt.Sprintf("%q", v.Text)
}

// Values of all families that RedisBloom has dumped answer here as there, false positives
// included, and are dumped as the same bytes again and again.
func TestFamiliesOfTheOtherServer(t *testing.T) {
	c := start(t).dial(t)
	for _, m := range readMoved(t) {
		c.must("RESTORE", m.Name, "0", m.payload)
		c.want("+"+m.Type, "TYPE", m.Name)
		m.check(t, c, m.Name)
		ours := c.do("DUMP", m.Name).Text
		c.must("RESTORE", m.Name+" again", "0", ours)
		m.check(t, c, m.Name+" again")
		if again := c.do("DUMP", m.Name+" again").Text; again != ours {
			t.Errorf("%s: dumped again as other bytes", m.Name)
		}
		// Where the checksum is right and the value is not, the reply is the other one.
		damaged := []byte(m.payload)
		damaged[len(damaged)/2] ^= 1
		c.want("-ERR DUMP payload version or checksum are wrong", "RESTORE", "x", "0", string(damaged))
	}
	c.want("+OK", "FLUSHALL")
}

// Payloads with a right checksum and a value that is none.
func TestBadDataFormat(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	for _, m := range readMoved(t) {
		for _, value := range []string{
			m.payload[:len(m.payload)-20],                            // the end is missing
			m.payload[:len(m.payload)-10] + "\x00",                   // a byte more
			m.payload[:9] + "\xff" + m.payload[10:len(m.payload)-10], // another encoding
			"\x07\x81AAAAAAAA\x00", "\x00\x01a",                      // another module, and a string
		} {
			c.want("-ERR Bad data format", "RESTORE", "x", "0", sealed(value, 12))
		}
		c.want("-ERR DUMP payload version or checksum are wrong", "RESTORE", "x", "0", sealed(m.payload[:len(m.payload)-10], 81))
		c.must("RESTORE", m.Name, "0", sealed(m.payload[:len(m.payload)-10], 11))
	}
	c.want(":0", "EXISTS", "x")
	if v := c.do("BF.ADD", "own", "a"); v.Kind == resp.Error {
		t.Fatal(v)
	}
	own := []byte(c.do("DUMP", "own").Text)
	if got := start(t, func(*Config) {}).dial(t).do("RESTORE", "own", "0", string(own)); got.Kind == resp.Error {
		t.Errorf("with the same secret: %v", got)
	}
}

// New values of the layout redisbloom are dumped in the form of RedisBloom.
func TestNewValuesMove(t *testing.T) {
	c := start(t).dial(t)
	fillFamilies(c)
	for key, name := range familyKeys {
		payload := c.do("DUMP", key).Text
		if !strings.HasPrefix(payload, "\x07\x81") {
			t.Errorf("%s: %.20q", key, payload)
		}
		c.must("RESTORE", key+"2", "0", payload)
		for _, command := range familyQuestions[name] {
			a, b := c.do(append([]string{command[0], key}, command[1:]...)...), c.do(append([]string{command[0], key + "2"}, command[1:]...)...)
			if a.String() != b.String() || a.Kind == resp.Error {
				t.Errorf("%s: %q: %v, and restored %v", key, command, a, b)
			}
		}
	}
	c.want("-CMS: width/depth is not equal", "CMS.MERGE", "cms", "1", "small")
	c.must("CMS.MERGE", "cms2", "2", "cms", "cms", "WEIGHTS", "1", "2")
	c.want("[:9]", "CMS.QUERY", "cms2", "a")
	c.must("CMS.INITBYDIM", "own", "100", "3", "LAYOUT", "seen")
	if v := c.do("CMS.MERGE", "own", "1", "cms"); v.Kind != resp.Error {
		t.Errorf("counters of two layouts are merged: %v", v)
	}
	for _, wrong := range [][]string{
		{"CMS.INITBYDIM", "x", "100", "3", "LAYOUT"}, {"CMS.INITBYPROB", "x", "0.1", "0.1", "WHAT", "seen"}, {"TOPK.RESERVE", "x", "3", "LAYOUT"},
	} {
		if v := c.do(wrong...); !strings.Contains(v.Text, "wrong number of arguments") {
			t.Errorf("%q: %v", wrong, v)
		}
	}
	c.want("-"+badLayout, "CMS.INITBYDIM", "x", "100", "3", "LAYOUT", "other")
	c.want("-"+badLayout, "TOPK.RESERVE", "x", "3", "LAYOUT", "other")
}

var familyKeys = map[string]string{"bf": "BF", "cf": "CF", "cms": "CMS", "topk": "TOPK"}

var familyQuestions = map[string][][]string{
	"BF":   {{"BF.MEXISTS", "a", "b", "x"}, {"BF.INFO"}},
	"CF":   {{"CF.COUNT", "a"}, {"CF.COUNT", "x"}, {"CF.MEXISTS", "a", "b", "x"}, {"CF.INFO"}},
	"CMS":  {{"CMS.QUERY", "a", "b", "x"}, {"CMS.INFO"}},
	"TOPK": {{"TOPK.LIST", "WITHCOUNT"}, {"TOPK.QUERY", "a", "b", "x"}, {"TOPK.COUNT", "a", "b", "x"}, {"TOPK.INFO"}},
}

// fillFamilies makes a value of each family in the layout redisbloom, which RedisBloom has
// no word for.
func fillFamilies(c *client) {
	c.must("BF.RESERVE", "bf", "0.01", "100", "LAYOUT", "redisbloom")
	c.do("BF.MADD", "bf", "a", "b", "c")
	c.must("CF.RESERVE", "cf", "4", "EXPANSION", "2", "LAYOUT", "redisbloom")
	c.do("CF.INSERT", "cf", "ITEMS", "a", "a", "b", "c", "d", "e", "f", "g", "h")
	c.do("CF.DEL", "cf", "h")
	c.must("CMS.INITBYDIM", "cms", "101", "3", "LAYOUT", "redisbloom")
	c.must("CMS.INITBYPROB", "small", "0.5", "0.5", "LAYOUT", "redisbloom")
	c.do("CMS.INCRBY", "cms", "a", "3", "b", "4")
	c.must("TOPK.RESERVE", "topk", "5", "50", "3", "0.9", "LAYOUT", "redisbloom")
	c.must("TOPK.RESERVE", "short", "5", "LAYOUT", "redisbloom")
	c.do("TOPK.INCRBY", "topk", "a", "3", "b", "4", "c", "4", "d", "1")
}

// Values go to a Redis with RedisBloom and come back. The module is in the file that
// SEEN_REDISBLOOM names.
func TestFamiliesAtRedisBloom(t *testing.T) {
	module := os.Getenv("SEEN_REDISBLOOM")
	if module == "" {
		t.Skip("SEEN_REDISBLOOM names no module")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip(err)
	}
	redis := redistest.NewServer(t, "loadmodule", module)
	theirs := dial(t, "tcp", redis.Addr())
	c := start(t).dial(t)
	fillFamilies(c)
	for key, name := range familyKeys {
		theirs.must("RESTORE", key, "0", c.do("DUMP", key).Text)
		back := theirs.do("DUMP", key).Text
		c.must("RESTORE", key+" back", "0", back)
		for _, command := range familyQuestions[name] {
			question := append([]string{command[0], key}, command[1:]...)
			if a, b := c.do(question...).String(), theirs.do(question...).String(); a != b {
				t.Errorf("%q: %s here, %s there", question, a, b)
			}
			question[1] = key + " back"
			if a, b := c.do(question...).String(), theirs.do(append([]string{command[0], key}, command[1:]...)...).String(); a != b {
				t.Errorf("%q: %s here, %s there", question, a, b)
			}
		}
	}
	for _, m := range readMoved(t) {
		c.must("RESTORE", m.Name, "0", m.payload)
		theirs.must("RESTORE", m.Name, "0", c.do("DUMP", m.Name).Text)
		m.check(t, theirs, m.Name)
	}
}

// sealed returns the payload of a value in a version of the RDB format.
func sealed(value string, version uint16) string {
	b := binary.LittleEndian.AppendUint16([]byte(value), version)
	return string(binary.LittleEndian.AppendUint64(b, rdb.Checksum(b)))
}
