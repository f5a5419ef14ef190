//go:build unix

package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/resp"
	"seen/interop"
)

const vectorFolder = "../../interop/testdata/"

// TestImport loads filters of other systems into a server, which answers as they do,
// also after it was killed.
func TestImport(t *testing.T) {
	dir := t.TempDir()
	s := startServed(t, dir+"/data")
	must := func(want string, args ...string) {
		t.Helper()
		text, code := seenOutput(t, append([]string{"import", "--server", s.Addr}, args...)...)
		if code != ExitOK || !strings.Contains(text, want) {
			t.Fatalf("import %q: exit code %d\n%s", args, code, text)
		}
	}
	numbers := vectorFolder + "guava-mitz64-long/filter.bin"
	must(`is "ids" in the server: guava:funnel=long, read-only`, "--name", "ids", "--format", "guava:funnel=long", "--must-contain", "1", numbers)
	must(`is "filter.bin" in the server`, "--format", "guava:funnel=long", numbers)
	must("bits-and-blooms", "--name", "words", vectorFolder+"bnb-v3-json/filter.json")
	must("a filter of the server's own", "--name", "urls", "--format", "rdb:key=bf:main", vectorFolder+"redis-rdb/dump.rdb")
	must("", "-q", "--name", "chunks", vectorFolder+"redisbloom-scaling")
	big := bigForeign(t, dir)
	must("", "-q", "--name", "big", big)
	// Of a file around the filter only that is sent.
	rdb := filepath.Join(dir, "dump.rdb")
	if text, code := seenOutput(t, "convert", "--format", "redisson:m=2189,k=5", "--to", "rdb:key=visited", vectorFolder+"redisson-bloom-string/filter.bin", rdb); code != ExitOK {
		t.Fatal(text)
	}
	must("", "-q", "--name", "visited", "--format", "redisson:m=2189,k=5,rdb=visited", rdb)
	must("", "-q", "--name", "column", "--format", "parquet:column=k,rowgroup=0", vectorFolder+"parquet-multi-rowgroup/table.parquet")
	must("", "-q", "--name", "sst", vectorFolder+"rocksdb-fastlocal10/table.sst")
	for name, format := range map[string]string{"visited": "redisson:codec=string,k=5,m=2189", "column": "parquet:type=string", "sst": "rocksdb"} {
		s.Expect(":1", "BF.EXISTS", name, "a")
		s.Expect("-ERR the filter is of another system and can only be asked: format "+format, "BF.ADD", name, "x")
	}
	// One of RedisBloom comes whole, or in chunks, and has its name when all of it is there.
	links := vectorFolder + "redisbloom-many-links"
	must("a filter of the server's own", "--name", "links", links)
	if text, code := seenOutput(t, "import", "--server", s.Addr, "--name", "links", links); code != ExitError || !strings.Contains(text, "BUSYKEY") {
		t.Errorf("a second time: exit code %d\n%s", code, text)
	}
	mostAtOnce = 1000
	defer func() { mostAtOnce = int64(resp.DefaultLimits.Bulk) }()
	if text, code := importHere(t, s.Addr, links, "--name", "links"); code != ExitError || !strings.Contains(text, "give --replace") {
		t.Errorf("a second time in chunks: exit code %d\n%s", code, text)
	}
	if text, code := importHere(t, s.Addr, links, "--replace", "--name", "links"); code != ExitOK {
		t.Errorf("in chunks: exit code %d\n%s", code, text)
	}
	keys, err := os.ReadFile(links + "/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	added := strings.Split(strings.TrimSuffix(string(keys), "\n"), "\n")
	s.Expect("["+strings.Repeat(":1, ", len(added)-1)+":1]", append([]string{"BF.MEXISTS", "links"}, added...)...)
	if v := s.Must("KEYS", "*import*"); v.String() != "[]" {
		t.Errorf("parts are left over: %v", v)
	}
	check := func() {
		t.Helper()
		s.Expect(":1", "BF.EXISTS", "ids", "1")
		s.Expect("[:1, :0, :0]", "BF.MEXISTS", "ids", "-1", "7", "no number")
		s.Expect(":1", "BF.EXISTS", "words", "a")
		s.Expect(":1", "BF.EXISTS", "chunks", "a")
		s.Expect(":1", "BF.EXISTS", "big", "key 7")
		s.Expect(":0", "BF.EXISTS", "big", "no key")
		s.Expect("+MBbloom--", "TYPE", "ids")
		s.Expect("-ERR the filter is of another system and can only be asked: format guava:funnel=long", "BF.ADD", "ids", "2")
		s.Expect("-ERR the filter is of another system and can only be asked: format guava:funnel=long", "BF.INSERT", "ids", "ITEMS", "2")
		if v := s.Must("BF.INFO", "ids", "SIZE"); !strings.Contains(v.String(), "3") {
			t.Errorf("SIZE %v", v)
		}
	}
	check()
	s.Must("BF.ADD", "urls", "a key of today")

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--name", "ids", "--format", "guava:funnel=long", numbers}, "BUSYKEY"},
		{[]string{"--format", "guava:funnel=string", "--must-contain", "definitely not there", numbers}, "does not contain"},
		{[]string{numbers}, "guava needs funnel"},
		{[]string{dir + "/none"}, "no such file"},
		{[]string{"import_test.go"}, "not a filter in a format that can be detected"},
	} {
		if text, code := seenOutput(t, append([]string{"import", "--server", s.Addr}, c.args...)...); code != ExitError || !strings.Contains(text, c.want) {
			t.Errorf("import %q: exit code %d\n%s", c.args, code, text)
		}
	}
	must("", "-q", "--replace", "--name", "filter.bin", vectorFolder+"bnb-v3-json/filter.json")
	s.Expect(":1", "BF.EXISTS", "filter.bin", "a")

	// All of it is on disk, and DUMP takes it to another name.
	s.Kill()
	s = startServed(t, dir+"/data")
	check()
	s.Expect(":1", "BF.EXISTS", "urls", "a key of today")
	dump := s.Must("DUMP", "ids")
	s.Must("DEL", "ids")
	s.Expect(":0", "BF.EXISTS", "ids", "1")
	s.Must("RESTORE", "ids", "0", dump.Text)
	check()
	s.Stop()
}

// bigForeign writes a filter that is large enough to get a file of its own in a server.
func bigForeign(t *testing.T, dir string) string {
	t.Helper()
	return writeForeign(t, filepath.Join(dir, "big.bloom"), "bits-and-blooms", 200_000, 0.001)
}

// writeForeign writes a filter with one key.
func writeForeign(t *testing.T, name, format string, capacity uint64, errorRate float64) string {
	t.Helper()
	f, err := interop.Create(interop.Spec{Name: format}, capacity, errorRate)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.(interop.Adder).Add([]byte("key 7")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// importHere runs seen import in this process, where mostAtOnce may be lower.
func importHere(t *testing.T, addr, name string, args ...string) (text string, code int) {
	t.Helper()
	var errs bytes.Buffer
	code = Run(t.Context(), Env{
		Args:  append([]string{"import", "--server", addr, name}, args...),
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs,
	})
	return errs.String(), code
}

// TestImportLeavesNothing sends a filter in chunks as a user who may not rename: no part
// of it stays.
func TestImportLeavesNothing(t *testing.T) {
	mostAtOnce = 1000
	defer func() { mostAtOnce = int64(resp.DefaultLimits.Bulk) }()
	dir := t.TempDir()
	s := startServed(t, dir+"/data")
	s.Must("ACL", "SETUSER", "sender", "on", ">sesame", "~*", "+@all", "-rename", "-renamenx")
	if err := os.WriteFile(dir+"/password", []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, code := importHere(t, s.Addr, vectorFolder+"redisbloom-many-links", "--user", "sender", "--password-file", dir+"/password")
	if code != ExitError || !strings.Contains(text, "NOPERM") || strings.Contains(text, "left in the server") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if v := s.Must("KEYS", "*"); v.String() != "[]" {
		t.Errorf("parts are left over: %v", v)
	}
	s.Stop()
}
