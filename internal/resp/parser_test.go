package resp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parseAll parses input that arrives in pieces and returns the commands and the
// error that ended them, if any, and what was left over.
func parseAll(limits Limits, stranger bool, pieces ...string) (commands [][]string, rest string, err error) {
	p := Parser{Limits: limits, Stranger: stranger}
	var buf []byte
	for _, piece := range pieces {
		// A new array each time: the parser must not keep slices of the old one.
		buf = append(slices.Clip(bytes.Clone(buf)), piece...)
		for {
			args, n, err := p.Next(buf, nil)
			if err != nil {
				return commands, string(buf), err
			}
			if n == 0 {
				break
			}
			words := []string{}
			for _, arg := range args {
				words = append(words, string(arg))
			}
			commands = append(commands, words)
			buf = buf[n:]
		}
	}
	return commands, string(buf), nil
}

var parserTests = []struct {
	input string
	want  [][]string
	rest  string
	err   string
}{
	{input: "*1\r\n$4\r\nPING\r\n", want: [][]string{{"PING"}}},
	{input: "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n", want: [][]string{{"ECHO", ""}, {"PING"}}},
	{input: "*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\x00\xff\r\n", want: [][]string{{"ECHO", "\r\n\x00\xff"}}},
	{input: "*0\r\n*-7\r\n*1\r\n$1\r\nx\r\n", want: [][]string{{}, {}, {"x"}}},
	{input: "*2\r\n$1\r\nx\r\n$5\r\nabc", rest: "*2\r\n$1\r\nx\r\n$5\r\nabc"},
	{input: "PING\r\nECHO  a b\n\r\n", want: [][]string{{"PING"}, {"ECHO", "a", "b"}, {}}},
	{input: `SET "a b" 'c\'d' "\x41\n\q" e"f g"` + "\r\n", want: [][]string{{"SET", "a b", "c'd", "A\nq", "ef g"}}},
	{input: `SET "\xzz\x4" ""` + "\r\n", want: [][]string{{"SET", "xzzx4", ""}}},
	{input: "SET \"abc\r\n", err: "Protocol error: unbalanced quotes in request"},
	{input: "SET \"abc\\\r\n", err: "Protocol error: unbalanced quotes in request"},
	{input: "SET 'a'b\r\n", err: "Protocol error: unbalanced quotes in request"},
	{input: "*x\r\n", err: "Protocol error: invalid multibulk length"},
	{input: "*+1\r\n", err: "Protocol error: invalid multibulk length"},
	{input: "*01\r\n", err: "Protocol error: invalid multibulk length"},
	{input: "*\r\n", err: "Protocol error: invalid multibulk length"},
	{input: "*99999999999\r\n", err: "Protocol error: invalid multibulk length"},
	{input: "*1\r\nxyz\r\n", err: "Protocol error: expected '$', got 'x'"},
	{input: "PING\r\n*1\r\n\r\n", want: [][]string{{"PING"}}, err: "Protocol error: expected '$', got '\r'"},
	{input: "*1\r\n$-1\r\n", err: "Protocol error: invalid bulk length"},
	{input: "*1\r\n$ 1\r\n", err: "Protocol error: invalid bulk length"},
	{input: "*1\r\n$536870913\r\n", err: "Protocol error: invalid bulk length"},
	{input: strings.Repeat("a", 64<<10+1), err: "Protocol error: too big inline request"},
	{input: "*" + strings.Repeat("1", 64<<10+1), err: "Protocol error: too big mbulk count string"},
	{input: "*1\r\n$" + strings.Repeat("1", 64<<10+1), err: "Protocol error: too big bulk count string"},
	{input: "*3\r\n$3\r\nSET\r\n$536870912\r\n", rest: "*3\r\n$3\r\nSET\r\n$536870912\r\n"},
}

func TestParser(t *testing.T) {
	for _, test := range parserTests {
		t.Run(fmt.Sprintf("%.40q", test.input), func(t *testing.T) {
			check := func(pieces ...string) {
				t.Helper()
				got, rest, err := parseAll(DefaultLimits, false, pieces...)
				if fmt.Sprint(err) != test.err && (err != nil || test.err != "") {
					t.Errorf("error %v, want %v", err, test.err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("commands (-want +got):\n%s", diff)
				}
				if test.err == "" && rest != test.rest {
					t.Errorf("%q is left, want %q", rest, test.rest)
				}
			}
			check(test.input)
			if len(test.input) > 1000 {
				return
			}
			for at := range len(test.input) {
				check(test.input[:at], test.input[at:])
			}
			check(strings.Split(test.input, "")...)
		})
	}
}

func TestStrangers(t *testing.T) {
	for input, want := range map[string]string{
		"*11\r\n":              "Protocol error: unauthenticated multibulk length",
		"*10\r\n":              "<nil>",
		"*1\r\n$16385\r\n":     "Protocol error: unauthenticated bulk length",
		"*1\r\n$16384\r\n":     "<nil>",
		"*1\r\n$536870913\r\n": "Protocol error: invalid bulk length",
	} {
		if _, _, err := parseAll(DefaultLimits, true, input); fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %v", input, err, want)
		}
		if _, _, err := parseAll(DefaultLimits, false, input); err != nil && strings.Contains(err.Error(), "unauth") {
			t.Errorf("%q: %v for a client that has authenticated", input, err)
		}
	}
}

func TestTotal(t *testing.T) {
	limits := DefaultLimits
	limits.Total = 64
	fits := AppendCommand(nil, strings.Repeat("x", 20), strings.Repeat("y", 26))
	if len(fits) != 64 {
		t.Fatalf("the command has %d bytes", len(fits))
	}
	if _, rest, err := parseAll(limits, false, string(fits)); rest != "" || err != nil {
		t.Errorf("a command of 64 bytes: %q is left, %v", rest, err)
	}
	if _, _, err := parseAll(limits, false, string(AppendCommand(nil, strings.Repeat("x", 20), strings.Repeat("y", 27)))); err == nil {
		t.Error("a command of 65 bytes is accepted")
	}
}

func TestParserDoesNotAllocate(t *testing.T) {
	input := AppendCommand(nil, "BF.EXISTS", "crawl", "http://example.org/")
	p := Parser{Limits: DefaultLimits}
	args := make([][]byte, 0, 8)
	if got := testing.AllocsPerRun(100, func() {
		if _, n, err := p.Next(input, args[:0]); n != len(input) || err != nil {
			t.Fatal(n, err)
		}
	}); got != 0 {
		t.Errorf("%v allocations per command", got)
	}
}

func FuzzParser(f *testing.F) {
	for _, test := range parserTests {
		if len(test.input) < 1000 {
			f.Add([]byte(test.input), uint16(3))
		}
	}
	limits := Limits{Args: 100, Bulk: 1000, Inline: 200, Total: 2000}
	f.Fuzz(func(t *testing.T, input []byte, cut uint16) {
		whole, rest, err := parseAll(limits, false, string(input))
		if at := int(cut); at < len(input) {
			cutCommands, cutRest, cutErr := parseAll(limits, false, string(input[:at]), string(input[at:]))
			if diff := cmp.Diff(whole, cutCommands); diff != "" {
				t.Errorf("in two pieces other commands (-whole +pieces):\n%s", diff)
			}
			if fmt.Sprint(err) != fmt.Sprint(cutErr) {
				t.Errorf("in one piece %v, in two %v", err, cutErr)
			}
			if err == nil && cutErr == nil && rest != cutRest {
				t.Errorf("in one piece %q is left, in two %q", rest, cutRest)
			}
		}
		// What was understood can be said again.
		var again []byte
		for _, command := range whole {
			again = AppendCommand(again, command...)
		}
		second, rest, err := parseAll(DefaultLimits, false, string(again))
		if diff := cmp.Diff(whole, second); diff != "" || rest != "" || err != nil {
			t.Errorf("the commands once more: %q is left, %v, (-want +got):\n%s", rest, err, diff)
		}
	})
}

func FuzzSplitWords(f *testing.F) {
	f.Add([]byte(`user default on >"a b" ~* '\'' "\x00"`))
	f.Add([]byte(`"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		words, ok := splitWords(line, nil)
		if !ok {
			return
		}
		var quoted []byte
		for _, word := range words {
			quoted = append(quoted, '"')
			for _, c := range word {
				quoted = fmt.Appendf(quoted, `\x%02x`, c)
			}
			quoted = append(quoted, '"', ' ')
		}
		again, ok := splitWords(quoted, nil)
		if !ok || !slices.EqualFunc(words, again, bytes.Equal) {
			t.Errorf("%q quoted reads as %q", words, again)
		}
	})
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "-1": -1, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63,
	} {
		if n, ok := ParseInt([]byte(text)); n != want || !ok {
			t.Errorf("ParseInt(%q) = %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "-", "+1", " 1", "1 ", "01", "-0", "00", "1x", "9223372036854775808", "-9223372036854775809", "18446744073709551617", "0x1"} {
		if n, ok := ParseInt([]byte(text)); ok {
			t.Errorf("ParseInt(%q) = %d", text, n)
		}
	}
	for text, want := range map[string]float64{"0.01": 0.01, "1e-300": 1e-300, "5": 5, "-.5": -0.5, "+1": 1} {
		if f, ok := ParseFloat([]byte(text)); f != want || !ok {
			t.Errorf("ParseFloat(%q) = %v, %v", text, f, ok)
		}
	}
	for _, text := range []string{"", " 1", "1 ", "nan", "-NaN", "1e999", "1_0", "0x_1p1", "a"} {
		if f, ok := ParseFloat([]byte(text)); ok {
			t.Errorf("ParseFloat(%q) = %v", text, f)
		}
	}
}
