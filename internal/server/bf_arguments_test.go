package server

import (
	"strings"
	"testing"
	"time"

	cmdargs "seen/internal/server/args"
	"seen/internal/store"
)

// words splits a command at blanks; two single quotes are the empty word.
func words(line string) [][]byte {
	var args [][]byte
	for _, word := range strings.Fields(line) {
		if word == "''" {
			word = ""
		}
		args = append(args, []byte(word))
	}
	return args
}

// takenWords are the words of a command, and the problem if the server refuses their number
// before the command sees them.
func takenWords(line string) (args [][]byte, problem string) {
	args = words(line)
	if cmd := newTable().find(args); !cmd.takes(len(args)) {
		return nil, cmdargs.WrongNumber(cmd.full)
	}
	return args, ""
}

func made(errorRate float64, capacity uint64, expansion uint32) bloomOptions {
	return bloomOptions{BloomConfig: store.BloomConfig{ErrorRate: errorRate, Capacity: capacity, Expansion: expansion}}
}

func TestParseBloomReserve(t *testing.T) {
	laidOut := func(l store.Layout) bloomOptions {
		o := made(0.01, 100, 2)
		o.Layout = l
		return o
	}
	const arity = "ERR wrong number of arguments for 'bf.reserve' command"
	for _, c := range []struct {
		line    string
		want    bloomOptions
		problem string
	}{
		{"BF.RESERVE k 0.01 100", made(0.01, 100, 2), ""},
		{"bf.reserve k 0.01 100 expansion 4", made(0.01, 100, 4), ""},
		{"BF.RESERVE k 0.01 100 EXPANSION 0", made(0.01, 100, 0), ""},
		{"BF.RESERVE k 0.01 100 EXPANSION 32768", made(0.01, 100, 32768), ""},
		{"BF.RESERVE k 0.01 100 NONSCALING", made(0.01, 100, 0), ""},
		{"BF.RESERVE k 0.01 100 NONSCALING EXPANSION 0", made(0.01, 100, 0), ""},
		{"BF.RESERVE k 0.01 1073741824", made(0.01, 1<<30, 2), ""},
		{"BF.RESERVE k 0.5 100", made(0.25, 100, 2), ""},
		{"BF.RESERVE k 0.999 100", made(0.25, 100, 2), ""},
		{"BF.RESERVE k 0.01 100 WHATEVER", made(0.01, 100, 2), ""},
		{"BF.RESERVE k 0.01 100 WHATEVER EXPANSION 3", made(0.01, 100, 3), ""},
		{"BF.RESERVE NONSCALING 0.01 100", made(0.01, 100, 0), ""},
		{"BF.RESERVE EXPANSION 0.01 100", bloomOptions{}, "ERR bad expansion"},
		{"BF.RESERVE LAYOUT 0.01 100", made(0.01, 100, 2), ""},

		{"BF.RESERVE k 0.01 100 LAYOUT redisbloom", laidOut(store.LayoutRedisBloom), ""},
		{"BF.RESERVE k 0.01 100 layout SEEN", laidOut(store.LayoutSeen), ""},
		{"BF.RESERVE k 0.01 100 LAYOUT seen EXPANSION 2 a", laidOut(store.LayoutSeen), ""},
		{"BF.RESERVE k 0.01 100 LAYOUT other", bloomOptions{}, badLayout},
		{"BF.RESERVE k 0.01 100 LAYOUT", bloomOptions{}, badLayout},

		{"BF.RESERVE", bloomOptions{}, arity},
		{"BF.RESERVE k", bloomOptions{}, arity},
		{"BF.RESERVE k 0.01", bloomOptions{}, arity},
		{"BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING x", bloomOptions{}, arity},
		{"BF.RESERVE k 0.01 100 EXPANSION 2 a b LAYOUT seen", bloomOptions{}, arity},
		{"BF.RESERVE k x 100", bloomOptions{}, "ERR bad error rate"},
		{"BF.RESERVE k nan 100", bloomOptions{}, "ERR bad error rate"},
		{"BF.RESERVE k '' 100", bloomOptions{}, "ERR bad error rate"},
		{"BF.RESERVE k x y EXPANSION z", bloomOptions{}, "ERR bad error rate"},
		{"BF.RESERVE k 0 100", bloomOptions{}, "ERR error rate must be in the range (0.000000, 1.000000)"},
		{"BF.RESERVE k 1 100", bloomOptions{}, "ERR error rate must be in the range (0.000000, 1.000000)"},
		{"BF.RESERVE k -0.1 100", bloomOptions{}, "ERR error rate must be in the range (0.000000, 1.000000)"},
		{"BF.RESERVE k inf 100", bloomOptions{}, "ERR error rate must be in the range (0.000000, 1.000000)"},
		{"BF.RESERVE k 1 x", bloomOptions{}, "ERR error rate must be in the range (0.000000, 1.000000)"},
		{"BF.RESERVE k 0.01 x", bloomOptions{}, "ERR bad capacity"},
		{"BF.RESERVE k 0.01 1.5", bloomOptions{}, "ERR bad capacity"},
		{"BF.RESERVE k 0.01 +1", bloomOptions{}, "ERR bad capacity"},
		{"BF.RESERVE k 0.01 010", bloomOptions{}, "ERR bad capacity"},
		{"BF.RESERVE k 0.01 0", bloomOptions{}, "ERR capacity must be in the range [1, 1073741824]"},
		{"BF.RESERVE k 0.01 -1", bloomOptions{}, "ERR capacity must be in the range [1, 1073741824]"},
		{"BF.RESERVE k 0.01 1073741825", bloomOptions{}, "ERR capacity must be in the range [1, 1073741824]"},
		{"BF.RESERVE k 0.01 0 EXPANSION", bloomOptions{}, "ERR capacity must be in the range [1, 1073741824]"},
		{"BF.RESERVE k 0.01 100 EXPANSION", bloomOptions{}, "ERR no expansion"},
		{"BF.RESERVE k 0.01 100 NONSCALING EXPANSION", bloomOptions{}, "ERR no expansion"},
		{"BF.RESERVE k 0.01 100 EXPANSION x", bloomOptions{}, "ERR bad expansion"},
		{"BF.RESERVE k 0.01 100 EXPANSION NONSCALING", bloomOptions{}, "ERR bad expansion"},
		{"BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING", bloomOptions{}, "Nonscaling filters cannot expand"},
		{"BF.RESERVE k 0.01 100 NONSCALING EXPANSION -1", bloomOptions{}, "Nonscaling filters cannot expand"},
		{"BF.RESERVE k 0.01 100 EXPANSION -1", bloomOptions{}, "ERR expansion must be in the range [0, 32768]"},
		{"BF.RESERVE k 0.01 100 EXPANSION 32769", bloomOptions{}, "ERR expansion must be in the range [0, 32768]"},
	} {
		var o bloomOptions
		args, problem := takenWords(c.line)
		if problem == "" {
			o, problem = parseBloomReserve(args, initialFilterDefaults())
		}
		if problem != c.problem {
			t.Errorf("%s: %q; want %q", c.line, problem, c.problem)
		} else if problem == "" && o != c.want {
			t.Errorf("%s: %+v; want %+v", c.line, o, c.want)
		}
	}
}

func TestParseBloomInsert(t *testing.T) {
	defaults := made(0.01, 100, 2)
	with := func(change func(o *bloomOptions)) bloomOptions {
		o := defaults
		change(&o)
		return o
	}
	const arity = "ERR wrong number of arguments for 'bf.insert' command"
	for _, c := range []struct {
		line    string
		want    bloomOptions
		keysAt  int
		problem string
	}{
		{"BF.INSERT k ITEMS a", defaults, 3, ""},
		{"BF.INSERT k items a b c", defaults, 3, ""},
		{"BF.INSERT k i a", defaults, 3, ""},
		{"BF.INSERT k ITEMS ITEMS", defaults, 3, ""},
		{"BF.INSERT k CAPACITY 7 ITEMS a", with(func(o *bloomOptions) { o.Capacity = 7 }), 5, ""},
		{"BF.INSERT k cap 7 ITEMS a", with(func(o *bloomOptions) { o.Capacity = 7 }), 5, ""},
		{"BF.INSERT k ERROR 0.001 ITEMS a", with(func(o *bloomOptions) { o.ErrorRate = 0.001 }), 5, ""},
		{"BF.INSERT k er 0.5 ITEMS a", with(func(o *bloomOptions) { o.ErrorRate = 0.25 }), 5, ""},
		{"BF.INSERT k EXPANSION 5 ITEMS a", with(func(o *bloomOptions) { o.Expansion = 5 }), 5, ""},
		{"BF.INSERT k e 5 ITEMS a", with(func(o *bloomOptions) { o.Expansion = 5 }), 5, ""},
		{"BF.INSERT k EXPANSION 0 ITEMS a", with(func(o *bloomOptions) { o.Expansion = 0 }), 5, ""},
		{"BF.INSERT k NONSCALING ITEMS a", with(func(o *bloomOptions) { o.Expansion = 0 }), 4, ""},
		{"BF.INSERT k n ITEMS a", with(func(o *bloomOptions) { o.Expansion = 0 }), 4, ""},
		{"BF.INSERT k NONSCALING EXPANSION 5 ITEMS a", with(func(o *bloomOptions) { o.Expansion = 0 }), 6, ""},
		{"BF.INSERT k EXPANSION 5 NONSCALING ITEMS a", with(func(o *bloomOptions) { o.Expansion = 0 }), 6, ""},
		{"BF.INSERT k NOCREATE ITEMS a", with(func(o *bloomOptions) { o.noCreate = true }), 4, ""},
		{"BF.INSERT k noc ITEMS a", with(func(o *bloomOptions) { o.noCreate = true }), 4, ""},
		{"BF.INSERT k NOCREATE CAPACITY 7 ERROR 0.1 ITEMS a", with(func(o *bloomOptions) { o.noCreate, o.Capacity, o.ErrorRate = true, 7, 0.1 }), 8, ""},
		{"BF.INSERT k LAYOUT redisbloom ITEMS a", with(func(o *bloomOptions) { o.Layout = store.LayoutRedisBloom }), 5, ""},
		{"BF.INSERT k CAPACITY 7 CAPACITY 8 ITEMS a", with(func(o *bloomOptions) { o.Capacity = 8 }), 7, ""},

		{"BF.INSERT k ITEMS", defaults, 0, arity},
		{"BF.INSERT k a", defaults, 0, arity},
		{"BF.INSERT k NOCREATE NOCREATE", defaults, 0, arity},
		{"BF.INSERT k NOCREATE ITEMS", defaults, 0, arity},
		{"BF.INSERT k NOCREATE CAPACITY", defaults, 0, arity},
		{"BF.INSERT k NOCREATE ERROR", defaults, 0, arity},
		{"BF.INSERT k NOCREATE EXPANSION", defaults, 0, arity},
		{"BF.INSERT k NOCREATE LAYOUT", defaults, 0, arity},
		{"BF.INSERT k a b", defaults, 0, "Unknown argument received"},
		{"BF.INSERT k '' ITEMS a", defaults, 0, "Unknown argument received"},
		{"BF.INSERT k LAY seen ITEMS a", defaults, 0, "Unknown argument received"},
		{"BF.INSERT k LAYOUT other ITEMS a", defaults, 0, badLayout},
		{"BF.INSERT k ERROR x ITEMS a", defaults, 0, "Bad error rate"},
		{"BF.INSERT k ERROR 0 ITEMS a", defaults, 0, "Bad error rate"},
		{"BF.INSERT k ERROR 1 ITEMS a", defaults, 0, "Bad error rate"},
		{"BF.INSERT k ERROR nan ITEMS a", defaults, 0, "Bad error rate"},
		{"BF.INSERT k EXPANSION x ITEMS a", defaults, 0, "Bad expansion"},
		{"BF.INSERT k EXPANSION -1 ITEMS a", defaults, 0, "Bad expansion"},
		{"BF.INSERT k EXPANSION 32769 ITEMS a", defaults, 0, "Bad expansion"},
		{"BF.INSERT k CAPACITY x ITEMS a", defaults, 0, "Bad capacity"},
		{"BF.INSERT k CAPACITY 0 ITEMS a", defaults, 0, "Bad capacity"},
		{"BF.INSERT k CAPACITY 1073741825 ITEMS a", defaults, 0, "Bad capacity"},
		{"BF.INSERT k CAPACITY ITEMS a", defaults, 0, "Bad capacity"},
	} {
		var o bloomOptions
		keysAt := 0
		args, problem := takenWords(c.line)
		if problem == "" {
			o, keysAt, problem = parseBloomInsert(args, initialFilterDefaults())
		}
		if problem != c.problem || keysAt != c.keysAt {
			t.Errorf("%s: keys at %d, %q; want %d, %q", c.line, keysAt, problem, c.keysAt, c.problem)
		} else if problem == "" && o != c.want {
			t.Errorf("%s: %+v; want %+v", c.line, o, c.want)
		}
	}
}

func TestParseBloomWindow(t *testing.T) {
	const arity = "ERR wrong number of arguments for 'bf.window' command"
	for _, c := range []struct {
		line    string
		span    time.Duration
		problem string
	}{
		{"BF.WINDOW k 0.01 100 3600", time.Hour, ""},
		{"BF.WINDOW k 0.01 100 24h", 24 * time.Hour, ""},
		{"BF.WINDOW k 0.01 100 1h30m", 90 * time.Minute, ""},
		{"BF.WINDOW k 0.01 100 1ms", time.Millisecond, ""},
		{"BF.WINDOW k 0.01 100 9223372036", 9223372036 * time.Second, ""},
		{"BF.WINDOW k 0.01 100", 0, arity},
		{"BF.WINDOW k 0.01 100 1h NONSCALING", 0, arity},
		{"BF.WINDOW k x 100 1h", 0, "ERR bad error rate"},
		{"BF.WINDOW k 2 100 1h", 0, "ERR error rate must be in the range (0.000000, 1.000000)"},
		{"BF.WINDOW k 0.01 x 1h", 0, "ERR bad capacity"},
		{"BF.WINDOW k 0.01 0 1h", 0, "ERR capacity must be in the range [1, 1073741824]"},
		{"BF.WINDOW k 0.01 100 0", 0, badSpan},
		{"BF.WINDOW k 0.01 100 -1", 0, badSpan},
		{"BF.WINDOW k 0.01 100 -1h", 0, badSpan},
		{"BF.WINDOW k 0.01 100 1us", 0, badSpan},
		{"BF.WINDOW k 0.01 100 9223372037", 0, badSpan},
		{"BF.WINDOW k 0.01 100 soon", 0, badSpan},
	} {
		var o bloomOptions
		args, problem := takenWords(c.line)
		if problem == "" {
			o, problem = parseBloomWindow(args, initialFilterDefaults())
		}
		want := made(0.01, 100, 2)
		want.Span = c.span
		if problem != c.problem {
			t.Errorf("%s: %q; want %q", c.line, problem, c.problem)
		} else if problem == "" && o != want {
			t.Errorf("%s: %+v; want %+v", c.line, o, want)
		}
	}
}
