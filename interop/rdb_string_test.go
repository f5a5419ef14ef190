package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"seen/internal/filtertest"
	"seen/internal/frame"
	"seen/internal/rdb"
	"seen/internal/recipe"
	"seen/internal/redistest"
)

// rewrapped returns what the filter f becomes in another format.
func rewrapped(t *testing.T, f Foreign, to string) []byte {
	t.Helper()
	s, err := ParseSpec(to)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Rewrap(f, s)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, w)
}

func openAs(t *testing.T, b []byte, spec string) Foreign {
	t.Helper()
	s, err := ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(b, s)
	if err != nil {
		t.Fatal(err)
	}
	if d := f.Describe(); !strings.Contains(d.Format, "rdb=") {
		t.Errorf("%s is described as %s", spec, d.Format)
	}
	return f
}

// TestStringsInRDB writes bitmaps as RDB files, starts Redis with each, asks it for the
// bits, has it save them, and opens what it saved.
func TestStringsInRDB(t *testing.T) {
	redisson := readGolden(t, goldenCase{dir: "redisson-bloom-string"})
	crawler := readVector(t, "recipe-py-redis-md5-2p10")
	made := must(newRedisRecipe(recipe.MD5{Blocks: 2, Bits: 10}))
	adds(t, made, crawler.Keys)
	content := written(t, made)
	for _, c := range []struct {
		filter      Foreign
		to, from    string
		strings     map[string][]byte
		compareWith func(f Foreign)
	}{
		{
			openGolden(t, "redisson-bloom-string", "redisson:m=2189,k=5"), `rdb:key=my filter\,1,db=2`, `redisson:rdb=my filter\,1,db=2,m=2189,k=5`,
			map[string][]byte{"my filter,1": redisson.filter}, func(f Foreign) { redisson.compare(t, "saved", f) },
		}, {
			made, "rdb:key=crawl,db=2", "redis-recipe:type=md5,bits=10,blocks=2,rdb=crawl",
			map[string][]byte{"crawl0": content[:128], "crawl1": content[128:]}, func(f Foreign) { crawler.compareForeign(t, "saved", f.Has) },
		},
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, "dump.rdb")
		b := rewrapped(t, c.filter, c.to)
		c.compareWith(openAs(t, b, c.from))
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		server := redistest.NewServer(t, "dir "+dir)
		do := func(args ...string) string {
			t.Helper()
			// A connection is of one command, so that each has to choose the database.
			script := `redis.call("SELECT", 2) return redis.call(unpack(ARGV))`
			v, err := server.Do(append([]string{"EVAL", script, "0"}, args...)...)
			if err != nil {
				t.Fatalf("%q: %v, %v", args, v, err)
			}
			return string(v.Text) + v.String()
		}
		for key, want := range c.strings {
			ones := strconv.FormatUint(frame.Ones(want), 10)
			if got := do("BITCOUNT", key); !strings.HasSuffix(got, ":"+ones) {
				t.Errorf("BITCOUNT %s: %s, want %s", key, got, ones)
			}
			for at := 0; at < 8*len(want); at += 13 {
				bit := strconv.Itoa(int(want[at/8] >> (7 - at%8) & 1))
				if got := do("GETBIT", key, strconv.Itoa(at)); !strings.HasSuffix(got, ":"+bit) {
					t.Errorf("GETBIT %s %d: %s, want %s", key, at, got, bit)
				}
			}
		}
		// Redisson keeps the size beside the string, in a small hash and in a larger one.
		for db, entries := range []string{"128", "0"} {
			if _, err := server.Do("CONFIG", "SET", "hash-max-listpack-entries", entries); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Do("EVAL", `redis.call("SELECT", ARGV[1]) redis.call("SET", "f{x}", ARGV[2])
				redis.call("HSET", "f{x}:config", "size", 2189, "hashIterations", 5, "expectedInsertions", 300, "falseProbability", "0.03", "big", -70000, "text", string.rep("x", 64))
				redis.call("HSET", "f{x}:none", "size", 1)`, "0", strconv.Itoa(4+db), string(redisson.filter)); err != nil {
				t.Fatal(err)
			}
		}
		do("SET", "another", strings.Repeat("x", 1000))
		do("RPUSH", "list", "a", "b")
		if _, err := server.Do("SAVE"); err != nil {
			t.Fatal(err)
		}
		saved, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := openAs(t, saved, c.from)
		c.compareWith(f)
		if !bytes.Contains(saved, []byte("\x10\x0bf{x}:config")) || !bytes.Contains(saved, []byte("\x04\x0bf{x}:config")) {
			t.Error("Redis has not saved a hash of either kind")
		}
		for _, spec := range []string{"redisson:rdb=f{x},db=4", "redisson:rdb=f{x},db=5"} {
			redisson.compare(t, spec, openAs(t, saved, spec))
		}
		// Out of the file, and into another.
		expectBytes(t, "alone", rewrapped(t, f, nameOf(c.from)), bytes.TrimRight(written(t, c.filter), "\x00"))
		expectBytes(t, "again", rewrapped(t, f, c.to), b)
		copied, err := Clone(f)
		if err != nil {
			t.Fatal(err)
		}
		if d := copied.Describe(); strings.Contains(d.Format, "rdb=") {
			t.Errorf("a copy in memory is described as %s", d.Format)
		}
	}
}

// TestFilterAsRDB has the module's value in a file of its own, to the byte as Redis saved
// it.
func TestFilterAsRDB(t *testing.T) {
	golden := mustRead(t, "redis-rdb", "dump.rdb")
	b := rewrapped(t, openGolden(t, "redis-rdb", "rdb:key=bf:main"), "rdb:key=other")
	b = rewrapped(t, must(Open(b, Spec{})), "rdb:key=bf:main")
	value := b[len("REDIS0009")+2 : len(b)-9]
	if !bytes.Contains(golden, value) || !bytes.HasPrefix(value, []byte("\x07\x07bf:main\x81")) {
		t.Errorf("the value of %d bytes is not that of the file of Redis", len(value))
	}
	s, err := ParseSpec("rdb:key=bf:main")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(b, s)
	if err != nil {
		t.Fatal(err)
	}
	readGolden(t, goldenCase{dir: "redis-rdb", spec: "rdb:key=bf:main"}).compare(t, "alone", f)
}

// TestStringInRDBHostile asks for strings that are not there.
func TestStringInRDBHostile(t *testing.T) {
	file := func(version string, records string) []byte {
		b := []byte("REDIS" + version + records + "\xff")
		if version < "0005" {
			return b
		}
		return binary.LittleEndian.AppendUint64(b, rdb.Checksum(b))
	}
	str := func(s string) string { return string(rune(len(s))) + s }
	entry := "\x00" + str("k") + str("\xff\x00")
	good := file("0009", "\xfe\x00"+entry)
	broken := bytes.Clone(good)
	broken[len(broken)-11] ^= 1
	const spec = "redisson:m=9,k=1,rdb="
	for _, c := range []struct {
		b          []byte
		spec, want string
	}{
		{good, spec + "k", ""},
		{file("0003", entry), spec + "k", ""},
		{file("0009", "\xfe\x00"+entry+"\xfe\x01"+entry), spec + "k,db=1", ""},
		{file("0009", "\xfe\x00"+entry+"\xfe\x01"+entry), spec + "k", "in several databases; redisson:codec=string,db=N,"},
		{good, spec + "x", `there is no string "x"`},
		{good, spec + "k,db=1", `there is no string "k"`},
		{file("0009", "\x01"+str("k")+"\x01"+str("a")), spec + "k", "a value of kind 1, not a string"},
		{good, "redis-recipe:type=md5,bits=3,rdb=", `there is no string "0"`},
		{file("0009", "\x00"+str("0")+str("ab")), "redis-recipe:type=md5,bits=3,rdb=", "has 2 bytes, more than the 1"},
		{good, "redisson:m=9,k=1,db=0", "give it with rdb=KEY"},
		{good, "redisson:rdb=k", "does not tell the number of bits and of probes; redisson:codec=string,k=PROBES,m=BITS"},
		{file("0009", entry+"\x04"+str("{k}:config")+"\x02"+str("size")+str("9")+str("hashIterations")+"\xc0\x01"), "redisson:rdb=k", ""},
		{file("0009", entry+"\x04"+str("{k}:config")+"\x01"+str("size")+str("9")), "redisson:rdb=k", "without the fields size and hashIterations; give m and k"},
		{file("0009", entry+"\x10"+str("{k}:config")+str("\x09\x00\x00\x00\x01\x00\x84size")), "redisson:rdb=k", "the value ends early"},
		{file("0009", entry+"\x10"+str("{k}:config")+str("\x09\x00\x00\x00\x01\x00\xf5")), "redisson:rdb=k", "begins with 0xf5"},
		{file("0009", entry+"\x00"+str("{k}:config")+str("x")), "redisson:rdb=k", "a value of kind 0 without"},
		{broken, spec + "k", "does not match its checksum"},
		{append(bytes.Clone(good), "*1\r\n"...), spec + "k", "12 bytes follow the end instead of 8"},
		{good[:len(good)-9], spec + "k", "ends early"},
		{[]byte("\xff\x00"), spec + "k", "not an RDB file"},
		{file("0009", "\x00"+str("k")+"\xc3\x02\x03\x20\x01"), spec + "k", "refer to bytes before the first"},
	} {
		s, err := ParseSpec(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(c.b, s)
		switch {
		case c.want == "" && err == nil && f.Stats().Ones == 8:
		case c.want == "" || err == nil || !strings.Contains(tried(err), c.want):
			t.Errorf("%s of %q: %v, want %q", c.spec, c.b, err, c.want)
		}
	}
	// What a key means is not what the bits say.
	f := openAs(t, good, spec+"k")
	if w, err := Rewrap(f, Spec{"redisson", map[string]string{"rdb": "x"}}); !errors.Is(err, ErrSpec) || !strings.Contains(tried(err), "; rdb:key=x") {
		t.Errorf("%v, %v", w, err)
	}
	for _, to := range []string{"redisson:k=2", "redisson:codec=bytes", "bitarray:gen=sha1", "redisbloom", "dcso"} {
		s, err := ParseSpec(to)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := Rewrap(f, s); !errors.Is(err, ErrNotConvertible) {
			t.Errorf("to %s: %v, %v", to, w, err)
		}
	}
}

// TestManyInRDB lists the filters of a file with very many, some in two databases.
func TestManyInRDB(t *testing.T) {
	value := written(t, smallRedis(t, "payload"))
	value = value[1 : len(value)-rdb.TailSize]
	b := []byte("REDIS0009\xfe\x00")
	add := func(key string) {
		b = append(rdb.AppendLength(append(b, rdb.KindModule), uint64(len(key))), key...)
		b = append(b, value...)
	}
	const n = 20_000
	for i := range n {
		add("bf:" + strconv.Itoa(i))
	}
	b = append(b, 0xfe, 1)
	add("bf:7")
	b = append(b, 0xff)
	b = append(b, make([]byte, 8)...)
	f, err := Inspect(b, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	parts := f.(Lister).Parts()
	if len(parts) != n+1 || parts[7].Spec.String() != "rdb:db=0,key=bf:7" || parts[8].Spec.String() != "rdb:key=bf:8" || parts[n].Spec.String() != "rdb:db=1,key=bf:7" {
		t.Errorf("%d filters, of which 7 is %v", len(parts), parts[7])
	}
}

// FuzzRDB opens RDB files, as they are and with their checksum made right.
func FuzzRDB(f *testing.F) {
	f.Add(mustRead(f, "redis-rdb", "dump.rdb"))
	g := openGolden(f, "redisson-bloom-string", "redisson:m=2189,k=5")
	var b bytes.Buffer
	if _, err := must(Rewrap(g, Spec{"rdb", map[string]string{"key": "0"}})).WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("REDIS0009\xfe\x01\x00\x010\xc3\x02\x03\x20\x01\x0e\x02\x01a\x01b\x15\x00\x01\x02\x03\x01\x02\x03\x04\x05\x00\xff12345678"))
	specs := []Spec{{Name: "rdb"}, must(ParseSpec("redisson:rdb=0,m=2189,k=5")), must(ParseSpec("redisson:rdb=0")), must(ParseSpec("redis-recipe:type=md5,bits=10,blocks=2,rdb="))}
	f.Fuzz(func(t *testing.T, b []byte) {
		if end := len(b) - 8; end >= 0 {
			b = binary.LittleEndian.AppendUint64(b[:end:end], rdb.Checksum(b[:end]))
		}
		for _, s := range specs {
			before := filtertest.HeapAllocs()
			g, err := Inspect(b, s)
			if n := filtertest.HeapAllocs() - before; n > 4<<20+2*264*uint64(len(b)) {
				t.Fatalf("%s: opening %d bytes allocated %d", s, len(b), n)
			}
			if (g == nil) == (err == nil) {
				t.Fatalf("%v and %v", g, err)
			}
			if err != nil {
				if !errors.Is(err, ErrBadData) && !errors.Is(err, ErrSpec) {
					t.Fatal(err)
				}
				continue
			}
			g.Has([]byte("key"))
			g.Stats()
			g.Describe()
		}
	})
}
