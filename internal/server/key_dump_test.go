package server

import (
	"os"
	"path/filepath"
	"testing"
)

// The payload of every kind of value restores that value; other bytes are refused.
func TestDumpAndRestore(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.do("BF.MADD", "bf", "a", "b")
	c.must("BF.RESERVE", "theirs", "0.01", "100", "LAYOUT", "redisbloom")
	c.do("BF.ADD", "theirs", "a")
	c.must("BF.WINDOW", "window", "0.01", "100", "1h")
	c.do("BF.ADD", "window", "a")
	c.do("CF.INSERT", "cf", "ITEMS", "a", "a", "b")
	c.must("CMS.INITBYDIM", "cms", "100", "3")
	c.do("CMS.INCRBY", "cms", "a", "7")
	c.must("TOPK.RESERVE", "topk", "3")
	c.do("TOPK.ADD", "topk", "a", "b", "a")
	for name, question := range map[string][]string{
		"bf": {"BF.MEXISTS", "a", "b", "c"}, "theirs": {"BF.MEXISTS", "a", "b", "c"}, "window": {"BF.MEXISTS", "a", "b"},
		"cf": {"CF.COUNT", "a"}, "cms": {"CMS.QUERY", "a", "b"}, "topk": {"TOPK.COUNT", "a", "b", "c"},
	} {
		ask := func(name string) string {
			return c.do(append([]string{question[0], name}, question[1:]...)...).String() + c.do("TYPE", name).String()
		}
		payload := c.do("DUMP", name).Text
		c.must("RESTORE", name+"2", "0", payload)
		if got, want := ask(name+"2"), ask(name); got != want {
			t.Errorf("%s: %s after RESTORE, %s before", name, got, want)
		}
		c.want("-BUSYKEY Target key name already exists.", "RESTORE", name+"2", "0", payload)
		c.must("RESTORE", name+"2", "5000", payload, "REPLACE", "IDLETIME", "3", "FREQ", "4")
		c.want(":5000", "PTTL", name+"2")
		damaged := []byte(payload)
		damaged[len(damaged)/2] ^= 1
		c.want("-ERR DUMP payload version or checksum are wrong", "RESTORE", name+"3", "0", string(damaged))
		c.want("-ERR DUMP payload version or checksum are wrong", "RESTORE", name+"3", "0", payload[:len(payload)-1])
		c.want(":0", "EXISTS", name+"3")
	}
}

// Payloads of RedisBloom's filters are restored and give the same answers.
func TestPayloadsOfTheOtherServer(t *testing.T) {
	c := start(t).dial(t)
	for _, name := range []string{"redisbloom-scaling", "redisbloom-nonscaling"} {
		dir := filepath.Join("..", "..", "interop", "testdata", name)
		payload, err := os.ReadFile(filepath.Join(dir, "dump-payload.bin"))
		if err != nil {
			t.Fatal(err)
		}
		c.must("RESTORE", name, "0", string(payload))
		v := readDump(t, dir)
		v.checkAnswers(t, c, name)
		v.checkInfo(t, c, name)
	}
}

func TestDumpTranscript(t *testing.T) { transcript(t, "dump") }
