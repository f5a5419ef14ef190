package resp

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// replies are written in both versions of the protocol.
var replies = []struct {
	name           string
	write          func(*Writer)
	two, three     string
	asTwo, asThree string // as a client shows them; "" where the form says it all
}{
	{"status", func(w *Writer) { w.Simple("a\r\nb") }, "+a  b\r\n", "+a  b\r\n", "+a  b", "+a  b"},
	{"ok", func(w *Writer) { w.OK() }, "+OK\r\n", "+OK\r\n", "+OK", "+OK"},
	{"error", func(w *Writer) { w.Error("ERR no\nway") }, "-ERR no way\r\n", "-ERR no way\r\n", "-ERR no way", "-ERR no way"},
	{"integer", func(w *Writer) { w.Int(-12) }, ":-12\r\n", ":-12\r\n", ":-12", ":-12"},
	{"digit", func(w *Writer) { w.Int(7) }, ":7\r\n", ":7\r\n", ":7", ":7"},
	{"string", func(w *Writer) { w.Bulk([]byte("a\r\n\x00")) }, "$4\r\na\r\n\x00\r\n", "$4\r\na\r\n\x00\r\n", `"a\r\n\x00"`, `"a\r\n\x00"`},
	{"empty", func(w *Writer) { w.BulkString("") }, "$0\r\n\r\n", "$0\r\n\r\n", `""`, `""`},
	{"null", func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n", "null", "null"},
	{"null array", func(w *Writer) { w.NullArray() }, "*-1\r\n", "_\r\n", "null", "null"},
	{"array", func(w *Writer) { w.Array(2); w.Int(1); w.OK() }, "*2\r\n:1\r\n+OK\r\n", "*2\r\n:1\r\n+OK\r\n", "[:1, +OK]", "[:1, +OK]"},
	{"map", func(w *Writer) { w.Map(1); w.Simple("a"); w.Array(0) }, "*2\r\n+a\r\n*0\r\n", "%1\r\n+a\r\n*0\r\n", "[+a, []]", "{+a: []}"},
	{"set", func(w *Writer) { w.Set(1); w.Simple("a") }, "*1\r\n+a\r\n", "~1\r\n+a\r\n", "[+a]", "~[+a]"},
	{"push", func(w *Writer) { w.aggregate('>', 1, 1); w.Simple("a") }, "*1\r\n+a\r\n", ">1\r\n+a\r\n", "[+a]", ">[+a]"},
	{"yes", func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n", ":1", "#t"},
	{"no", func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n", ":0", "#f"},
	{"double", func(w *Writer) { w.Double(0.5) }, "$3\r\n0.5\r\n", ",0.5\r\n", `"0.5"`, ",0.5"},
	{"shortest", func(w *Writer) { w.Double(0.9) }, "$3\r\n0.9\r\n", ",0.9\r\n", `"0.9"`, ",0.9"},
	{"infinite", func(w *Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n", `"-inf"`, ",-inf"},
	{"infinity", func(w *Writer) { w.Double(math.Inf(1)) }, "$3\r\ninf\r\n", ",inf\r\n", `"inf"`, ",inf"},
	{"not a number", func(w *Writer) { w.Double(math.NaN()) }, "$3\r\nnan\r\n", ",nan\r\n", `"nan"`, ",nan"},
	{"big number", func(w *Writer) { bigNumber(w, "123456789012345678901") }, "$21\r\n123456789012345678901\r\n", "(123456789012345678901\r\n",
		`"123456789012345678901"`, "(123456789012345678901"},
	{"text", func(w *Writer) { w.Verbatim("txt", "a\nb") }, "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n", `"a\nb"`, `="txt:a\nb"`},
}

func TestWriter(t *testing.T) {
	for _, r := range replies {
		for proto, want := range map[int][2]string{0: {r.two, r.asTwo}, 2: {r.two, r.asTwo}, 3: {r.three, r.asThree}} {
			w := Writer{Proto: proto}
			r.write(&w)
			if got := string(w.Bytes()); got != want[0] || w.Len() != len(got) {
				t.Errorf("%s in version %d is %q, want %q", r.name, proto, got, want[0])
			}
			// And back: complete only with the last byte.
			for n := range w.Len() {
				if v, size, err := ParseReply(w.Bytes()[:n]); size != 0 || err != nil {
					t.Errorf("%s: the first %d bytes of %q are %v, %v", r.name, n, w.Bytes(), v, err)
				}
			}
			more := append(w.Bytes(), "+more\r\n"...)
			v, n, err := ParseReply(more)
			if n != w.Len() || err != nil || v.String() != want[1] {
				t.Errorf("%s in version %d reads as %v (%d bytes, %v), want %v", r.name, proto, v, n, err, want[1])
			}
		}
	}
}

func TestWriterBuffer(t *testing.T) {
	w := Writer{}
	w.OK()
	mark := w.Len()
	w.Int(5)
	w.Truncate(mark)
	if got := string(w.Bytes()); got != "+OK\r\n" {
		t.Errorf("after Truncate %q", got)
	}
	w.Reset(1 << 10)
	if w.Len() != 0 || cap(w.buf) == 0 {
		t.Errorf("Reset keeps %d bytes in a buffer of %d", w.Len(), cap(w.buf))
	}
	w.Bulk(make([]byte, 2<<10))
	w.Reset(1 << 10)
	if cap(w.buf) != 0 {
		t.Errorf("Reset keeps a buffer of %d", cap(w.buf))
	}
}

func TestBadReplies(t *testing.T) {
	for _, text := range []string{
		"x\r\n", "\r\n", "+a\rb\r\n", ":x\r\n", "#x\r\n", ",x\r\n", "(x\r\n", "_x\r\n", "$-2\r\n", "*-2\r\n", "%-1\r\n", "=3\r\nabc\r\n", "$1\r\nabc",
		"*1\r\nx\r\n", "*1\r\n$-2\r\n", strings.Repeat("*1\r\n", maxDepth+2) + ":1\r\n",
	} {
		if v, n, err := ParseReply([]byte(text)); err == nil || n != 0 {
			t.Errorf("%q is %v, %d bytes", text, v, n)
		}
	}
	// What is only announced costs no memory.
	for _, text := range []string{"*2147483647\r\n", "%2147483647\r\n:1\r\n", "$2147483647\r\nabc"} {
		if v, n, err := ParseReply([]byte(text)); n != 0 || err != nil {
			t.Errorf("%q is %v, %d bytes, %v", text, v, n, err)
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, r := range replies {
		f.Add([]byte(r.two))
		f.Add([]byte(r.three))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		v, n, err := ParseReply(input)
		if err != nil && n != 0 || n > len(input) {
			t.Fatalf("%v, %d bytes and %v", v, n, err)
		}
		if n == 0 {
			return
		}
		w := Writer{Proto: 3}
		rewrite(&w, v)
		again, m, err := ParseReply(w.Bytes())
		if m != w.Len() || err != nil {
			t.Fatalf("%q, written again as %q: %d bytes, %v", input, w.Bytes(), m, err)
		}
		if diff := cmp.Diff(v.String(), again.String()); diff != "" {
			t.Errorf("written again (-first +second):\n%s", diff)
		}
	})
}

// rewrite writes a reply that was read.
func rewrite(w *Writer, v Value) {
	switch v.Kind {
	case Simple:
		w.Simple(v.Text)
	case Error:
		w.Error(v.Text)
	case Int:
		w.Int(v.Int)
	case Bulk:
		w.BulkString(v.Text)
	case BulkError:
		w.number('!', int64(len(v.Text)))
		w.buf = append(append(w.buf, v.Text...), '\r', '\n')
	case Null:
		w.Null()
	case Array:
		w.Array(len(v.Elems))
	case Map:
		w.Map(len(v.Elems) / 2)
	case Set:
		w.Set(len(v.Elems))
	case Push:
		w.aggregate('>', len(v.Elems), len(v.Elems))
	case Double:
		w.Double(v.Float)
	case Bool:
		w.Bool(v.Int == 1)
	case BigNumber:
		bigNumber(w, v.Text)
	case Verbatim:
		w.number('=', int64(len(v.Text)))
		w.buf = append(append(w.buf, v.Text...), '\r', '\n')
	}
	for _, elem := range v.Elems {
		rewrite(w, elem)
	}
}

// bigNumber writes an integer of any size, which in version 2 is a string.
func bigNumber(w *Writer, decimal string) {
	if w.Proto != 3 {
		w.BulkString(decimal)
		return
	}
	w.buf = append(w.buf, '(')
	w.line(decimal)
}
