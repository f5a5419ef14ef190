package setfile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"seen/bloom"
	"seen/interop"
)

// wrapping is something that happens to filter files on their way.
type wrapping struct {
	name string
	wrap func(t *testing.T, b []byte) []byte
	// textual says that the result is text; binary files in it can be told from lists of
	// keys only while they are longer than those, and in lines only as a whole.
	textual, lines bool
	packed         bool
	jsonOnly       bool
	digitsOnly     bool // of filters that are hexadecimal digits, or JSON
}

// compressed returns a wrapping by a compressor.
func compressed[W io.WriteCloser](name string, open func(w io.Writer) (W, error)) wrapping {
	return wrapping{name: name, packed: true, wrap: func(t *testing.T, b []byte) []byte {
		t.Helper()
		var out bytes.Buffer
		w, err := open(&out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}}
}

// inLines breaks text into lines.
func inLines(b []byte, width int) []byte {
	var out []byte
	for len(b) > 0 {
		n := min(width, len(b))
		out = append(append(out, b[:n]...), '\n')
		b = b[n:]
	}
	return out
}

// asJSON returns what a value of JSON with the filter would be: its own JSON, or base64.
func asJSON(b []byte) []byte {
	if json.Valid(b) && b[0] == '{' {
		return b
	}
	return []byte(`"` + base64.StdEncoding.EncodeToString(b) + `"`)
}

func wrappings() []wrapping {
	gz := compressed("gzip", func(w io.Writer) (*gzip.Writer, error) { return gzip.NewWriter(w), nil })
	zst := compressed("zstd", func(w io.Writer) (*zstd.Encoder, error) { return zstd.NewWriter(w) })
	b64 := func(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) }
	plain := func(name string, f func(b []byte) []byte) wrapping {
		return wrapping{name: name, wrap: func(_ *testing.T, b []byte) []byte { return f(b) }}
	}
	text := func(name string, lines bool, f func(b []byte) []byte) wrapping {
		w := plain(name, f)
		w.textual, w.lines = true, lines
		return w
	}
	digits := func(name string, f func(b []byte) []byte) wrapping {
		w := plain(name, f)
		w.digitsOnly = true
		return w
	}
	ofJSON := func(name string, f func(b []byte) []byte) wrapping {
		w := plain(name, f)
		w.jsonOnly = true
		return w
	}
	twice := gz
	twice.name = "zstd in gzip"
	twice.wrap = func(t *testing.T, b []byte) []byte { return gz.wrap(t, zst.wrap(t, b)) }
	return []wrapping{
		plain("as it is", func(b []byte) []byte { return b }),
		gz, zst, twice,
		compressed("xz", func(w io.Writer) (*xz.Writer, error) { return xz.NewWriter(w) }),
		compressed("lz4", func(w io.Writer) (*lz4.Writer, error) { return lz4.NewWriter(w), nil }),
		plain("line end", func(b []byte) []byte { return append(bytes.Clone(b), '\n') }),
		plain("CRLF", func(b []byte) []byte { return append(bytes.Clone(b), "\r\n"...) }),
		plain("garbage", func(b []byte) []byte { return append(bytes.Clone(b), "\ngarbage\n"...) }),
		digits("mark", func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }),
		digits("UTF-16", func(b []byte) []byte {
			var out []byte
			for _, u := range utf16.Encode([]rune("\ufeff" + string(b))) {
				out = binary.LittleEndian.AppendUint16(out, u)
			}
			return out
		}),
		digits("JSON string", func(b []byte) []byte {
			quoted, err := json.Marshal(string(b))
			if err != nil {
				panic(err)
			}
			return quoted
		}),
		ofJSON("pretty", func(b []byte) []byte {
			var out bytes.Buffer
			if err := json.Indent(&out, b, "", "\t"); err != nil {
				panic(err)
			}
			return out.Bytes()
		}),
		ofJSON("sorted", func(b []byte) []byte {
			var members map[string]json.RawMessage
			if err := json.Unmarshal(b, &members); err != nil {
				panic(err)
			}
			out, err := json.Marshal(members)
			if err != nil {
				panic(err)
			}
			return out
		}),
		ofJSON("list", func(b []byte) []byte { return fmt.Appendf(nil, "[%s]", b) }),
		ofJSON("lists", func(b []byte) []byte { return fmt.Appendf(nil, "[[\n%s]]\n", b) }),
		ofJSON("member", func(b []byte) []byte { return fmt.Appendf(nil, `{"name":"x","filter":%s}`, b) }),
		ofJSON("two", func(b []byte) []byte { return fmt.Appendf(nil, "%s\n%s\n", b, b) }),
		{name: "base64 in a member", wrap: func(_ *testing.T, b []byte) []byte { return fmt.Appendf(nil, `{"name":"x","filter":%s}`, asJSON(b)) }, textual: true, lines: true},
		text("base64", false, b64),
		text("base64 for URLs", false, func(b []byte) []byte { return []byte(base64.RawURLEncoding.EncodeToString(b)) }),
		text("base64 in lines of 76", false, func(b []byte) []byte { return inLines(b64(b), 76) }),
		text("base64 in lines of 64", true, func(b []byte) []byte { return inLines(b64(b), 64) }),
		text("hexadecimal", false, func(b []byte) []byte { return []byte(hex.EncodeToString(b)) }),
		text("hexadecimal in lines of 60", false, func(b []byte) []byte { return inLines([]byte(hex.EncodeToString(b)), 60) }),
		text("base64 of gzip", false, nil),
	}
}

// filterFiles returns a filter file of each system and one of seen, by their names.
func filterFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"filter.*", "table.*", "dump*"} {
		names, err := filepath.Glob(filepath.Join("../../interop/testdata", "*", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) < 256<<10 {
				files[filepath.Join(filepath.Base(filepath.Dir(name)), filepath.Base(name))] = b
			}
		}
	}
	if len(files) < 50 {
		t.Fatalf("%d files of other systems", len(files))
	}
	own, err := bloom.New(bloom.Config{Capacity: 300, ErrorRate: 0.03})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		own.AddString(fmt.Sprint(i))
	}
	if files["seen"], err = own.AppendBinary(nil); err != nil {
		t.Fatal(err)
	}
	dcso, err := interop.Create(interop.Spec{Name: "dcso", Params: map[string]string{"data": "\x00\x01\xff data that is not text"}}, 100, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := dcso.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	files["dcso with data"] = b.Bytes()
	return files
}

// told returns what answers a filter gives, as a text; "" for a file whose format content
// does not tell, or not all of it.
func told(f interop.Foreign) string {
	d, st := f.Describe(), f.Stats()
	answers := ""
	for i := range 200 {
		answers += fmt.Sprint(btoi(f.Has(fmt.Append(nil, i))))
	}
	return fmt.Sprint(d.Format, st.Ones, st.Probes, answers)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestWrappedFilters opens every filter in every wrapping, whole and cut short: each is
// opened as what it is, or refused, and never read as a text, whose lines would say no to
// every key.
func TestWrappedFilters(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many combinations")
	}
	dir := t.TempDir()
	all := wrappings()
	opened, refused := 0, 0
	for name, b := range filterFiles(t) {
		want := ""
		if f, err := interop.Inspect(b, interop.Spec{}); err == nil {
			want = told(f)
		}
		isJSON := json.Valid(b) && b[0] == '{'
		isDigits := isJSON || len(bytes.Trim(b, "0123456789abcdef\n")) == 0
		for _, w := range all {
			if w.lines && !mayBeFilter(b) && name != "seen" || w.jsonOnly && !isJSON || w.digitsOnly && !isDigits {
				continue
			}
			var content []byte
			if w.name == "base64 of gzip" {
				content = []byte(base64.StdEncoding.EncodeToString(all[1].wrap(t, b)))
			} else {
				content = w.wrap(t, b)
			}
			for _, cut := range []int{0, 1, len(content) / 3, len(content) - 132, len(content) - 40, len(content) - 20} {
				rest := content[:len(content)-max(0, cut)]
				if w.packed && cut > len(content)/3 {
					break
				}
				switch lost := len(rest) < len(content); {
				case len(rest) < 16, lost && !mayBeFilter(b) && len(rest) < 128, lost && w.textual && len(rest) < 32, lost && w.textual && len(rest) <= 131 && !isJSON:
					continue // of such a length are keys
				case w.lines && lost && !isJSON:
					continue
				case w.lines && lost && len(rest) < 64:
					continue // where the filter's JSON has not begun, or no line is full
				case isDigits && !isJSON && len(rest) <= 131:
					continue
				case w.jsonOnly && lost && len(rest) <= 32:
					continue
				}
				path := filepath.Join(dir, "set")
				if err := os.WriteFile(path, rest, 0o666); err != nil {
					t.Fatal(err)
				}
				for _, via := range []string{path, "-"}[:1+btoi(cut == 0)] {
					set, err := Open(t.Context(), via, Config{Inspect: true, Stdin: bytes.NewReader(rest)})
					switch {
					case err != nil:
						refused++
					case set.Kind == KindText:
						t.Errorf("%s, %s, %d of %d bytes, through %s: a text\n%.200q", name, w.name, len(rest), len(content), filepath.Base(via), rest)
					case set.Kind == KindForeign:
						if got := told(set.Foreign.Filter); want == "" || got != want {
							t.Errorf("%s, %s, %d of %d bytes: opened as %.80s, want %.80s", name, w.name, len(rest), len(content), got, want)
						}
						set.Foreign.Close()
						opened++
					default:
						opened++ // its checksums tell more
						if name != "seen" {
							t.Errorf("%s, %s: opened as a filter of seen", name, w.name)
						}
					}
				}
			}
		}
	}
	t.Logf("%d opened, %d refused", opened, refused)
	if opened < 500 || refused < 5000 {
		t.Errorf("%d opened, %d refused", opened, refused)
	}
}

// A set that is unpacked into memory knows how much of it.
func TestUnpackedSize(t *testing.T) {
	for _, name := range []string{"seen", "bnb-v3-json/filter.json"} {
		b := filterFiles(t)[name]
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "set.gz")
		if err := os.WriteFile(path, packed.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		set, err := Open(t.Context(), path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if set.Unpacked != uint64(len(b)) {
			t.Errorf("%s: %d bytes unpacked, want %d", name, set.Unpacked, len(b))
		}
	}
}

// TestReadRest: a stream is read whole or refused as too long, in little more memory than
// it takes.
func TestReadRest(t *testing.T) {
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, rest := range []int{0, 1, unpackedHead - 1, unpackedHead, unpackedHead + 1, 4*unpackedHead + 5} {
		content := bytes.Repeat([]byte("0123456"), rest/7+1)[:rest]
		var all []byte
		var err error
		used := allocated(func() { all, err = readRest("set", []byte("head"), bytes.NewReader(content)) })
		if err != nil || string(all[:4]) != "head" || !bytes.Equal(all[4:], content) {
			t.Errorf("%d bytes after the head: %d bytes in all, error %v", rest, len(all), err)
		}
		if most := uint64(2*rest + 3*unpackedHead/2); used > most {
			t.Errorf("%d bytes after the head: %d bytes allocated, want at most %d", rest, used, most)
		}
	}
}
