package interop

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The folders of testdata are golden cases: filters that other implementations have
// written, the keys that went in, and that implementation's answers for these and for
// others. params.json of each says how it was made; index.json lists them all.

// goldenCase says how a folder is read with the registry, and how it is built again.
type goldenCase struct {
	dir  string
	file string // "": the filter_file of params.json
	spec string // what opens it; "": content tells
	// answer is the column of an answer of several digits that belongs to the filter.
	answer int
	// build and sizes make it again from its keys, byte for byte; "": it cannot be.
	build     string
	capacity  uint64
	errorRate float64
	often     bool // key i goes in 1 + i mod 3 times
	empty     bool // nothing was added
}

// goldenCases are the cases that the registry opens: these, and what the tests of each
// format add in an init function.
var goldenCases = []goldenCase{
	{dir: "redis-rdb", spec: "rdb:key=bf:main", answer: 0},
	{dir: "redis-rdb", spec: "rdb:key=bf:grown", answer: 1},
	{dir: "redis-rdb", spec: "rdb:key=bf:empty", answer: 2},
	{dir: "redisbloom-nonscaling", file: "dump-payload.bin"},
	{dir: "redisbloom-scaling", file: "dump-payload.bin"},
	{dir: "redisbloom-bytes", file: "chunk-*.bin", build: "redisbloom:form=chunks,expansion=0", capacity: 214, errorRate: 0.05},
	{dir: "redisbloom-default", file: "chunk-*.bin", build: "redisbloom:form=chunks", capacity: 100, errorRate: 0.01},
	{dir: "redisbloom-empty", file: "chunk-*.bin", build: "redisbloom:form=chunks", capacity: 10, errorRate: 0.01, empty: true},
	{dir: "redisbloom-many-links", file: "chunk-*.bin", build: "redisbloom:form=chunks,expansion=1", capacity: 20, errorRate: 0.2},
	{dir: "redisbloom-nonscaling", file: "chunk-*.bin", build: "redisbloom:form=chunks,expansion=0", capacity: 320, errorRate: 0.03},
	{dir: "redisbloom-scaling", file: "chunk-*.bin", build: "redisbloom:form=chunks", capacity: 100, errorRate: 0.05},
}

// golden is a case with what its folder holds.
type golden struct {
	goldenCase
	filter  []byte
	keys    [][]byte
	asked   [][]byte
	texts   []string // of asked, as the file has them
	answers []string
}

func readGolden(t testing.TB, c goldenCase) *golden {
	t.Helper()
	var params struct {
		File     string `json:"filter_file"`
		Encoding string `json:"key_encoding"`
	}
	file := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", c.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := json.Unmarshal(file("params.json"), &params); err != nil {
		t.Fatal(err)
	}
	if c.file == "" {
		c.file = params.File
	}
	g := &golden{goldenCase: c}
	names, err := filepath.Glob(filepath.Join("testdata", c.dir, c.file))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: there is no %s, %v", c.dir, c.file, err)
	}
	for _, name := range names { // in order, as Glob sorts them
		g.filter = append(g.filter, file(filepath.Base(name))...)
	}
	for line := range strings.Lines(string(file("keys.txt"))) {
		if c.empty {
			break
		}
		g.keys = append(g.keys, goldenKey(t, params.Encoding, strings.TrimSuffix(line, "\n")))
	}
	for line := range strings.Lines(string(file("expected.tsv"))) {
		key, answer, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%s: %q", c.dir, line)
		}
		g.asked = append(g.asked, goldenKey(t, params.Encoding, key))
		g.texts = append(g.texts, key)
		g.answers = append(g.answers, answer)
	}
	if len(g.asked) < 2000 {
		t.Fatalf("%s: only %d answers", c.dir, len(g.asked))
	}
	return g
}

// goldenKey decodes a key as params.json says.
func goldenKey(t testing.TB, encoding, text string) []byte {
	t.Helper()
	switch encoding {
	case "hex":
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	case "decimal":
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return Int64Key(v)
	}
	return []byte(text)
}

// compare asks f every question of the case.
func (g *golden) compare(t *testing.T, how string, f Foreign) {
	t.Helper()
	for i, key := range g.asked {
		want := g.answers[i]
		if n, err := strconv.ParseUint(want, 10, 64); err == nil && strings.Trim(want, "01") != "" || g.counts(f) {
			if got := f.(Counter).Count(key); err != nil || got != n {
				t.Fatalf("%s: key %q: %d, the original says %s", how, g.texts[i], got, want)
			}
			want = strconv.FormatBool(n != 0)
		}
		if want != "true" && want != "false" {
			want = strconv.FormatBool(want[g.answer] == '1')
		}
		if got := strconv.FormatBool(f.Has(key)); got != want {
			t.Fatalf("%s: key %q: %s, the original says %s", how, g.texts[i], got, want)
		}
	}
}

// counts reports whether the answers of the case are numbers of keys.
func (g *golden) counts(f Foreign) bool {
	_, ok := f.(Counter)
	return ok && !slices.Contains(g.answers, "true")
}

func TestGoldenCases(t *testing.T) {
	for _, c := range goldenCases {
		t.Run(strings.Join([]string{c.dir, c.file, c.spec}, " "), func(t *testing.T) {
			g := readGolden(t, c)
			spec := Spec{}
			var err error
			if c.spec != "" {
				if spec, err = ParseSpec(c.spec); err != nil {
					t.Fatal(err)
				}
			}
			before := bytes.Clone(g.filter)
			f, err := Open(g.filter, spec)
			if err != nil {
				t.Fatal(err)
			}
			g.compare(t, "opened", f)
			d := f.Describe()
			if _, err := ParseSpec(d.Format); err != nil || d.System == "" || d.Hash == "" {
				t.Errorf("described as %+v, %v", d, err)
			}
			if st := f.Stats(); st.Bits == 0 || st.Bytes == 0 {
				t.Errorf("stats %+v", st)
			}
			copied, err := Clone(f)
			switch {
			case err == nil:
				g.compare(t, "copied", copied)
			case findFormatOf(t, f).clone != nil:
				t.Error(err)
			}
			if !bytes.Equal(before, g.filter) {
				t.Error("the bytes were changed")
			}
			if c.build != "" {
				g.rebuild(t)
			}
		})
	}
}

func findFormatOf(t *testing.T, f Foreign) *format {
	t.Helper()
	name, _, _ := strings.Cut(f.Describe().Format, ":")
	owner, err := findFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// rebuild makes the filter of the case from its keys.
func (g *golden) rebuild(t *testing.T) {
	t.Helper()
	spec, err := ParseSpec(g.build)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Create(spec, g.capacity, g.errorRate)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range g.keys {
		times := 1
		if g.often {
			times += i % 3
		}
		for range times {
			if _, err := f.(Adder).Add(key); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.compare(t, "built", f)
	var b bytes.Buffer
	if n, err := f.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, err)
	}
	if !bytes.Equal(b.Bytes(), g.filter) {
		t.Errorf("%d bytes were built that differ from the original's %d", b.Len(), len(g.filter))
	}
}

// otherwiseTested are cases that are not a single filter, and the files of their tests.
var otherwiseTested = map[string]string{
	"clickhouse-hashes":        "clickhouse_test.go",
	"java-bitset-2p25":         "javabitset_test.go",
	"recipe-py-redis-md5-2p10": "redisrecipe_test.go",
	"recipe-py-redis-md5-2p31": "../internal/recipe/recipe_test.go",
	"recipe-py-scrapy-2p13":    "redisrecipe_test.go",
}

// mentioned reports whether the file of a test has the name of a case as a text.
func mentioned(t *testing.T, dir, file string) bool {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(b, []byte(strconv.Quote(dir)))
}

// TestListOfCases holds the list of all cases that the registry opens, with which the
// command is tested, against the cases here.
func TestListOfCases(t *testing.T) {
	var want []string
	for _, c := range goldenCases {
		want = append(want, fmt.Sprintf("%s\t%s\t%s\t%d\n", c.dir, c.file, c.spec, c.answer))
	}
	slices.Sort(want)
	b, err := os.ReadFile("testdata/opened.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != strings.Join(want, "") {
		t.Errorf("testdata/opened.tsv is not the list of cases, which is\n%s", strings.Join(want, ""))
	}
}

// TestEveryCaseIsTested holds the list of tests against the index of all cases.
func TestEveryCaseIsTested(t *testing.T) {
	b, err := os.ReadFile("testdata/index.json")
	if err != nil {
		t.Fatal(err)
	}
	var index []struct{ Dir string }
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	if len(index) != 69 {
		t.Errorf("the index has %d cases", len(index))
	}
	for _, c := range index {
		other := otherwiseTested[c.Dir]
		tested := other != "" && mentioned(t, c.Dir, other) || slices.ContainsFunc(goldenCases, func(g goldenCase) bool { return g.dir == c.Dir })
		switch {
		case !tested:
			t.Errorf("%s: no test has it", c.Dir)
		case other == "":
			checkRebuilt(t, c.Dir)
		}
	}
}

// checkRebuilt demands that a case whose bytes follow from its keys is built again.
func checkRebuilt(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", dir, "params.json"))
	if err != nil {
		t.Fatal(err)
	}
	var params struct {
		Exact bool `json:"rebuild_is_byte_exact"`
	}
	if err := json.Unmarshal(b, &params); err != nil {
		t.Fatal(err)
	}
	built := slices.ContainsFunc(goldenCases, func(g goldenCase) bool { return g.dir == dir && g.build != "" })
	if params.Exact && !built {
		t.Errorf("%s: its bytes follow from its keys, and no test builds them", dir)
	}
}
