package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"seen/internal/keyhash"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
}

// row is a record as a consumer sees it.
type row struct {
	file   string
	number uint64
	line   string
	key    string
	header bool
	none   bool // has no key
}

// collect runs c over in and copies everything that is consumed. It checks what
// must hold for every block.
func collect(t tester, ctx context.Context, in *input.Files, c Config) ([]row, error) {
	t.Helper()
	var rows []row
	// The second hashes are asked for from some block on, and then not of each.
	c.Second = &keyhash.Hash{Seed: c.Hash.Seed + 3}
	blocks := 0
	err := Run(ctx, in, c, func(b *Block) error {
		n := b.Len()
		var seconds []uint64
		if blocks++; !b.Header && blocks%4 != 1 {
			if seconds = b.Seconds(); len(seconds) != n {
				return fmt.Errorf("the test found %d second hashes for %d records", len(seconds), n)
			}
		}
		if n == 0 || int(b.Offsets[0]) != 0 || int(b.Offsets[n]) != len(b.Data) {
			return fmt.Errorf("the test found a block of %d records over %d bytes with offsets %v", n, len(b.Data), b.Offsets)
		}
		if !b.Header && len(b.Hashes) != n || b.Header && (b.Hashes != nil || n != 1) {
			return fmt.Errorf("the test found %d hashes for %d records, header: %v", len(b.Hashes), n, b.Header)
		}
		for i := range n {
			r := row{file: b.File, number: b.First + uint64(i), line: string(b.Line(i)), header: b.Header}
			if !b.Header {
				r.key = string(b.Key(i))
				r.none = slices.Contains(b.Missing, uint32(i))
				if !r.none && b.Hashes[i] != c.Hash.Sum([]byte(r.key)) {
					return fmt.Errorf("the test found the hash %x for the key %q", b.Hashes[i], r.key)
				}
				if !r.none && seconds != nil && seconds[i] != c.Second.Sum([]byte(r.key)) {
					return fmt.Errorf("the test found the second hash %x for the key %q", seconds[i], r.key)
				}
			}
			rows = append(rows, r)
		}
		return nil
	})
	return rows, err
}

// pieces delivers content in reads of random lengths.
type pieces struct {
	content []byte
	lengths func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.content) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.lengths())], p.content)
	p.content = p.content[n:]
	return n, nil
}

func files(t tester, dir string, contents ...string) (names []string) {
	t.Helper()
	for i, content := range contents {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func open(t tester, names []string, stdin io.Reader) *input.Files {
	t.Helper()
	in, err := input.Open(names, input.Options{Stdin: stdin, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// mark is the byte order mark of UTF-8.
const mark = "\ufeff"

// model cuts one file into records the simple way.
func model(file, content, delimiter string, crlf, csv bool) (rows []row) {
	begin := "" // of the first line, which is not in its key
	if strings.HasPrefix(content, mark) && delimiter != "\x00" {
		begin = mark
	}
	if content == begin {
		return nil
	}
	for content != "" {
		var line string
		if csv {
			line = content[:len(begin)] + modelCSV(content[len(begin):])
		} else {
			record, _, _ := strings.Cut(content, delimiter)
			line = content[:min(len(record)+len(delimiter), len(content))]
		}
		content = content[len(line):]
		if !strings.HasSuffix(line, delimiter) {
			line += delimiter
		}
		key := strings.TrimSuffix(line, delimiter)[len(begin):]
		begin = ""
		if crlf {
			key = strings.TrimSuffix(key, "\r")
		}
		rows = append(rows, row{file: file, number: uint64(len(rows) + 1), line: line, key: key})
	}
	return rows
}

// modelCSV returns the first record of content, column by column.
func modelCSV(content string) string {
	rest := content
	for {
		if strings.HasPrefix(rest, `"`) {
			// Quoted text, and more of it while the quotes are doubled.
			for strings.HasPrefix(rest, `"`) {
				_, after, found := strings.Cut(rest[1:], `"`)
				if !found {
					return content
				}
				rest = after
			}
		}
		i := strings.IndexAny(rest, ",\n")
		if i < 0 {
			return content
		}
		end := rest[i] == '\n'
		rest = rest[i+1:]
		if end {
			return content[:len(content)-len(rest)]
		}
	}
}

func TestRunAgainstModel(t *testing.T) {
	dir := t.TempDir()
	csvKey, err := keyspec.Compile(keyspec.Options{Keys: []string{"csv:1"}, Missing: keyspec.MissingMark})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		delimiter := rapid.SampledFrom([]string{"\n", "\n", "\x00", "a", "ab", "aa", "aba", "\r\n"}).Draw(rt, "delimiter")
		c := Config{
			Jobs:      rapid.IntRange(1, 8).Draw(rt, "jobs"),
			BlockSize: rapid.IntRange(1, 40).Draw(rt, "block size"),
			Delimiter: []byte(delimiter),
			Hash:      keyhash.Hash{Seed: 5},
			Counters:  new(Counters),
		}
		csv := delimiter == "\n" && rapid.Bool().Draw(rt, "csv")
		c.CRLF = delimiter == "\n" && (csv || rapid.Bool().Draw(rt, "crlf"))
		alphabet := []byte("aab\n\r,\"\x00\xff")
		content := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 60), func(b []byte) string { return string(b) })
		contents := rapid.SliceOfN(content, 1, 4).Draw(rt, "contents")
		if csv {
			c.Key = csvKey
			for i, s := range contents {
				contents[i] = balance(s)
			}
		}
		for i, s := range contents {
			if rapid.Bool().Draw(rt, "marked") {
				contents[i] = mark + s
			}
		}
		names := files(rt, dir, contents...)
		live := rapid.IntRange(-1, len(names)-1).Draw(rt, "live")
		var stdin io.Reader
		if live >= 0 {
			names[live] = "-"
			stdin = &pieces{[]byte(contents[live]), func() int { return rapid.IntRange(1, 20).Draw(rt, "read") }}
		}
		var want []row
		var size int
		for i, s := range contents {
			name := names[i]
			if name == "-" {
				name = input.StdinName
			}
			want = append(want, model(name, s, delimiter, c.CRLF, csv)...)
		}
		got, err := collect(rt, rt.Context(), open(rt, names, stdin), c)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range want {
			size += len(want[i].line)
			if csv && i < len(got) { // keyspec has its own tests
				want[i].key, want[i].none = got[i].key, got[i].none
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got  %+v\nwant %+v", got, want)
		}
		if n := c.Counters.Records.Load(); n != uint64(len(want)) {
			rt.Fatalf("%d records were counted, want %d", n, len(want))
		}
		if n := c.Counters.Bytes.Load(); n != uint64(size) {
			rt.Fatalf("%d bytes were counted, want %d", n, size)
		}
	})
}

// balance closes the last quoted column of s if it is open.
func balance(s string) string {
	var c cutter
	c.scan(&framing{delimiter: []byte{'\n'}, csv: true, separator: ','}, []byte(s), nil)
	if c.state == quoted {
		return s + `"`
	}
	return s
}

// A record that is longer than a block is never cut and never dropped, nor is
// what stands around it.
func TestLongRecords(t *testing.T) {
	long := strings.Repeat("long ", 40_000)
	content := "first\n" + long + "\n\nsecond\n" + long + long + "\nlast"
	want := strings.Split(content, "\n")
	for _, jobs := range []int{1, 2, 4} {
		for _, size := range []int{1, 7, 1000, DefaultBlockSize} {
			for _, names := range [][]string{files(t, t.TempDir(), content), {"-"}} {
				in := open(t, names, &pieces{[]byte(content), func() int { return 5000 }})
				got, err := collect(t, t.Context(), in, Config{Jobs: jobs, BlockSize: size})
				if err != nil || len(got) != len(want) {
					t.Fatalf("%d jobs, blocks of %d: %d records, %v", jobs, size, len(got), err)
				}
				for i := range want {
					if got[i].line != want[i]+"\n" {
						t.Fatalf("%d jobs, blocks of %d: record %d has %d bytes, want %d", jobs, size, i, len(got[i].line), len(want[i]))
					}
				}
			}
		}
	}
}

// Buffers that one long record made large do not stay.
func TestLongRecordsDoNotKeepMemory(t *testing.T) {
	const size = 1000
	content := strings.Repeat("x", 100*size) + "\n" + strings.Repeat("short\n", 10*size)
	var largest int
	err := Run(t.Context(), open(t, files(t, t.TempDir(), content), nil), Config{Jobs: 1, BlockSize: size}, func(b *Block) error {
		if b.First > 1 {
			largest = max(largest, cap(b.Data))
			if len(b.Data) > 2*size {
				return fmt.Errorf("a block of %d bytes", len(b.Data))
			}
		}
		return nil
	})
	if err != nil || largest > generous*size {
		t.Errorf("a buffer of %d bytes was kept, %v", largest, err)
	}
}

func TestConfigErrors(t *testing.T) {
	compile := func(spec, sep string) *keyspec.Key {
		k, err := keyspec.Compile(keyspec.Options{Keys: []string{spec}, Separator: sep})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	when, err := keyspec.CompileTime("csv:1", ";", keyspec.MissingFail)
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"of one kind":       {Key: compile("tsv:1", ""), Time: when},
		"-1 jobs":           {Jobs: -1},
		"blocks of -1":      {BlockSize: -1},
		"too large":         {BlockSize: MaxRecord},
		"is empty":          {Delimiter: []byte{}},
		"CR LF":             {Delimiter: []byte{0}, CRLF: true},
		"delimited by":      {Key: compile("csv:1", ""), Delimiter: []byte(",")},
		`delimited by "ab"`: {Key: compile("csv:1", ""), Delimiter: []byte("ab")},
		"those of the time": {Key: compile("csv:1", ","), Time: when},
	} {
		_, err := collect(t, t.Context(), open(t, nil, strings.NewReader("a\n")), c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", c, err, want)
		}
	}
}

// Any number of jobs is as good as one: what is more than a machine can have use
// for neither panics nor takes all memory.
func TestAbsurdlyManyJobs(t *testing.T) {
	names := files(t, t.TempDir(), strings.Repeat("line\n", 1000))
	for _, jobs := range []int{maxJobs, maxJobs + 1, math.MaxInt/2 + 1, math.MaxInt} {
		c := Config{Jobs: jobs, BlockSize: 100}
		if _, err := c.framing(); err != nil || c.Jobs != maxJobs {
			t.Fatalf("%d jobs were made %d, %v; want %d", jobs, c.Jobs, err, maxJobs)
		}
		got, err := collect(t, t.Context(), open(t, names, nil), Config{Jobs: jobs, BlockSize: 100})
		if err != nil || len(got) != 1000 {
			t.Errorf("%d jobs: %d records, %v", jobs, len(got), err)
		}
	}
}

func TestKeyed(t *testing.T) {
	for _, c := range []struct {
		n       int
		missing []uint32
		want    string
	}{
		{3, nil, "[0,3)"},
		{3, []uint32{0}, "[1,3)"},
		{3, []uint32{1}, "[0,1)[2,3)"},
		{3, []uint32{2}, "[0,2)"},
		{3, []uint32{0, 1, 2}, ""},
		{5, []uint32{1, 2, 3}, "[0,1)[4,5)"},
		{0, nil, ""},
	} {
		b := Block{Hashes: make([]uint64, c.n), Missing: c.missing}
		got := ""
		for from, to := range b.Keyed() {
			got += fmt.Sprintf("[%d,%d)", from, to)
		}
		if got != c.want {
			t.Errorf("%d records without %v: %s, want %s", c.n, c.missing, got, c.want)
		}
		for range b.Keyed() {
			break
		}
	}
}

func TestCRLFIsNotPartOfTheKey(t *testing.T) {
	for crlf, want := range map[bool]string{true: "a||b\r|c", false: "a\r|\r|b\r\r|c"} {
		got, err := collect(t, t.Context(), open(t, nil, strings.NewReader("a\r\n\r\nb\r\r\nc")), Config{CRLF: crlf})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		var out bytes.Buffer
		for _, r := range got {
			keys = append(keys, r.key)
			out.WriteString(r.line)
		}
		if strings.Join(keys, "|") != want || out.String() != "a\r\n\r\nb\r\r\nc\n" {
			t.Errorf("crlf %v: keys %q of %q", crlf, keys, out.String())
		}
	}
}

// A copy outlives the block, can be cut short, and takes keys as the block does.
func TestCopiesOfBlocks(t *testing.T) {
	key, err := keyspec.Compile(keyspec.Options{Keys: []string{"2,2"}, Separator: " ", Missing: keyspec.MissingMark})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "line k%d\nshort\n", i)
	}
	c := Config{Key: key, BlockSize: 100, Jobs: 2}
	var copies []*Block
	err = Run(t.Context(), open(t, nil, strings.NewReader(text.String())), c, func(b *Block) error {
		dst := &Block{Data: make([]byte, 5), Missing: make([]uint32, 7)}
		b.CopyTo(dst)
		copies = append(copies, dst)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, b := range copies {
		n := b.Len()
		if b.First != uint64(at)+1 || len(b.Hashes) != n {
			t.Fatalf("block at %d: first %d, %d records, %d hashes", at, b.First, n, len(b.Hashes))
		}
		for from, to := range b.Keyed() {
			for i := from; i < to; i++ {
				if want := fmt.Sprintf("k%d", (at+i)/2); string(b.Key(i)) != want || b.Hashes[i] != c.Hash.Sum([]byte(want)) {
					t.Fatalf("record %d: key %q, want %q", at+i, b.Key(i), want)
				}
			}
		}
		at += n
		missing := len(b.Missing)
		last := slices.Contains(b.Missing, uint32(n-1))
		b.Truncate(n - 1)
		if b.Len() != n-1 || len(b.Hashes) != n-1 || (len(b.Missing) == missing-1) != last || len(b.Data) != int(b.Offsets[n-1]) {
			t.Fatalf("truncated: %d records, %d hashes, %d missing of %d", b.Len(), len(b.Hashes), len(b.Missing), missing)
		}
	}
	if at != 2000 {
		t.Errorf("%d records", at)
	}
}
