package server

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"seen/internal/resp"
)

// Filters that RedisBloom has dumped load here, give the same answers, including false
// positives, accept more keys in the same way, and are dumped as the same bytes.
func TestDumpsOfTheOtherServer(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("..", "..", "interop", "testdata", "redisbloom-*"))
	if err != nil || len(dirs) < 6 {
		t.Fatalf("%d folders of dumps: %v", len(dirs), err)
	}
	s := start(t)
	c := s.dial(t)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c.t = t
			v := readDump(t, dir)
			for i, chunk := range v.chunks {
				c.must("BF.LOADCHUNK", dir, strconv.FormatInt(v.Chunks[i].Iterator, 10), string(chunk))
			}
			v.checkAnswers(t, c, dir)
			v.checkInfo(t, c, dir)
			v.checkChunks(t, c, dir)
			if v.Inserted {
				v.rebuild(t, c, dir+"/rebuilt")
			}
		})
	}
}

// recorded is a folder that RedisBloom has written.
type recorded struct {
	Chunks []struct {
		File     string
		Iterator int64 `json:"iter"`
	}
	Info        map[string]*int64 `json:"bf_info"`
	Inserted    bool
	Exact       bool   `json:"rebuild_is_byte_exact"`
	KeyEncoding string `json:"key_encoding"`
	Reserve     []any

	chunks  [][]byte
	keys    []string // in the order in which they were added
	asked   []string
	answers []bool
}

func readDump(t *testing.T, dir string) *recorded {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	v := new(recorded)
	if err := json.Unmarshal(read("params.json"), v); err != nil {
		t.Fatal(err)
	}
	key := func(text string) string {
		if v.KeyEncoding == "hex" {
			b, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		return text
	}
	for _, chunk := range v.Chunks {
		v.chunks = append(v.chunks, read(chunk.File))
	}
	for line := range strings.Lines(string(read("keys.txt"))) {
		v.keys = append(v.keys, key(strings.TrimSuffix(line, "\n")))
	}
	for line := range strings.Lines(string(read("expected.tsv"))) {
		text, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		v.asked = append(v.asked, key(text))
		v.answers = append(v.answers, answer == "true")
	}
	if len(v.chunks) < 2 || len(v.asked) < 2000 {
		t.Fatalf("%s: %d chunks, %d answers", dir, len(v.chunks), len(v.asked))
	}
	return v
}

func (v *recorded) checkAnswers(t *testing.T, c *client, name string) {
	t.Helper()
	got := c.do(append([]string{"BF.MEXISTS", name}, v.asked...)...)
	if len(got.Elems) != len(v.asked) {
		t.Fatalf("BF.MEXISTS of %d keys: %v", len(v.asked), got)
	}
	for i, e := range got.Elems {
		if e.Int == 1 != v.answers[i] {
			t.Errorf("key %q: %v, and %t there", v.asked[i], e, v.answers[i])
		}
	}
}

func (v *recorded) checkInfo(t *testing.T, c *client, name string) {
	t.Helper()
	info := c.do("BF.INFO", name)
	for i := 0; i+1 < len(info.Elems); i += 2 {
		want, ok := v.Info[info.Elems[i].Text]
		got := info.Elems[i+1]
		if !ok || want == nil != (got.Kind == resp.Null) || want != nil && *want != got.Int {
			t.Errorf("BF.INFO: %v, and %v there", info, v.Info)
		}
	}
}

// checkChunks dumps the filter and compares with what was loaded.
func (v *recorded) checkChunks(t *testing.T, c *client, name string) {
	t.Helper()
	iterator := int64(0)
	for i, want := range v.chunks {
		reply := c.do("BF.SCANDUMP", name, strconv.FormatInt(iterator, 10))
		iterator = reply.Elems[0].Int
		if iterator != v.Chunks[i].Iterator || !bytes.Equal([]byte(reply.Elems[1].Text), want) {
			t.Errorf("chunk %d has iterator %d and %d bytes; %d and %d, or other ones, there",
				i, iterator, len(reply.Elems[1].Text), v.Chunks[i].Iterator, len(want))
		}
	}
	c.want(`[:0, ""]`, "BF.SCANDUMP", name, strconv.FormatInt(iterator, 10))
}

// rebuild creates the filter with the same commands.
func (v *recorded) rebuild(t *testing.T, c *client, name string) {
	t.Helper()
	if len(v.Reserve) > 0 {
		args := []string{"BF.RESERVE", name}
		for _, word := range v.Reserve {
			if n, ok := word.(float64); ok {
				word = strconv.FormatFloat(n, 'g', -1, 64)
			}
			args = append(args, word.(string))
		}
		c.must(append(args, "LAYOUT", "redisbloom")...)
	}
	for _, key := range v.keys {
		if reply := c.do("BF.INSERT", name, "LAYOUT", "redisbloom", "ITEMS", key); len(reply.Elems) != 1 || reply.Elems[0].Kind != resp.Int {
			t.Fatalf("BF.INSERT of %q: %v", key, reply)
		}
	}
	v.checkAnswers(t, c, name)
	if v.Exact {
		v.checkChunks(t, c, name)
	}
}
