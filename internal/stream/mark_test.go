package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"seen/internal/keyhash"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// A byte order mark at the start of a file is printed, and is in no key and no time.
func TestByteOrderMark(t *testing.T) {
	const numbers = "\ufeff1\n2\n"
	type record struct{ line, key string }
	for name, c := range map[string]struct {
		content string
		key     []string
		time    string
		config  Config
		want    []record // of both files
	}{
		"lines":      {content: "\ufeffa\n\ufeffa\n", want: []record{{"\ufeffa\n", "a"}, {"\ufeffa\n", "\ufeffa"}}},
		"no end":     {content: "\ufeffa", want: []record{{"\ufeffa\n", "a"}}},
		"CR":         {content: "\ufeffa\r\nb\r\n", config: Config{CRLF: true}, want: []record{{"\ufeffa\r\n", "a"}, {"b\r\n", "b"}}},
		"delimiter":  {content: "\ufeffa;b;", config: Config{Delimiter: []byte(";")}, want: []record{{"\ufeffa;", "a"}, {"b;", "b"}}},
		"NUL":        {content: "\ufeffa\x00", config: Config{Delimiter: []byte{0}}, want: []record{{"\ufeffa\x00", "\ufeffa"}}},
		"in it":      {content: "\ufeffa\xbf", config: Config{Delimiter: []byte{0xbf}}, want: []record{{"\xef\xbb\xbf", "\xef\xbb"}, {"a\xbf", "a"}}},
		"empty line": {content: "\ufeff\na\n", want: []record{{"\ufeff\n", ""}, {"a\n", "a"}}},
		"alone":      {content: "\ufeff"},
		"a part":     {content: "\xef\xbb", want: []record{{"\xef\xbb\n", "\xef\xbb"}}},
		"time":       {content: numbers, time: "re:^[0-9]+$", want: []record{{"\ufeff1\n", "1"}, {"2\n", "2"}}},
		"JSON":       {content: "\ufeff{\"a\":\"x\"}\n", key: []string{"json:/a"}, want: []record{{"\ufeff{\"a\":\"x\"}\n", "x"}}},
		"CSV":        {content: "\ufeff\"x\ny\",z\n", key: []string{"csv:1"}, want: []record{{"\ufeff\"x\ny\",z\n", "x\ny"}}},
		"TSV":        {content: "\ufeff\"x\t\"y\n", key: []string{"tsv:1"}, want: []record{{"\ufeff\"x\t\"y\n", "\"x"}}},
		"TSV header": {content: "\ufeffid\tz\r\nq\tr\r\ns\t\"\n", key: []string{"tsv:z"}, want: []record{{"\ufeffid\tz\r\n", ""}, {"q\tr\r\n", "r"}, {"s\t\"\n", "\""}}},
		"TSV parts":  {content: "\ufeffid\tzabq\trab", key: []string{"tsv:z"}, config: Config{Delimiter: []byte("ab")}, want: []record{{"\ufeffid\tzab", ""}, {"q\trab", "r"}}},
		"TSV alone":  {content: "id\tz", key: []string{"tsv:z"}, want: []record{{"id\tz\n", ""}}},
		"CSV header": {content: "\ufeff\"id\ny\",z\nq,r\n", key: []string{"csv:z"}, want: []record{{"\ufeff\"id\ny\",z\n", ""}, {"q,r\n", "r"}}},
	} {
		for _, jobs := range []int{1, 3} {
			config := c.config
			config.Jobs, config.BlockSize, config.Hash = jobs, 4, keyhash.Hash{Seed: 5}
			var err error
			if len(c.key) > 0 {
				if config.Key, err = keyspec.Compile(keyspec.Options{Keys: c.key}); err != nil {
					t.Fatal(err)
				}
			}
			if c.time != "" {
				if config.Time, err = keyspec.CompileTime(c.time, "", keyspec.MissingFail); err != nil {
					t.Fatal(err)
				}
			}
			stdin := &pieces{[]byte(c.content), func() int { return 1 }}
			in := open(t, append(files(t, t.TempDir(), c.content), "-"), stdin)
			rows, err := collect(t, t.Context(), in, config)
			var got []record
			for _, r := range rows {
				got = append(got, record{r.line, r.key})
			}
			if want := slices.Concat(c.want, c.want); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %d jobs: %q, %v; want %q", name, jobs, got, err, want)
			}
		}
	}
}

// Start has the first record of every file that is not empty, and ends the run before it.
func TestStart(t *testing.T) {
	refused := errors.New("refused")
	for _, content := range []string{"bad\n", "bad", "bad\ngood\n", "\ufeffbad\n"} {
		for _, jobs := range jobsTested {
			var asked []string
			start := func(file string, first []byte) error {
				asked = append(asked, file)
				if bytes.Contains(first, []byte("bad")) {
					return refused
				}
				return nil
			}
			names := files(t, t.TempDir(), "one\ntwo\nthree\n", "", "last", content, "never\n")
			names[3] = "-"
			stdin := &pieces{[]byte(content), func() int { return 1 }}
			got, err := collect(t, t.Context(), open(t, names, stdin), Config{Jobs: jobs, BlockSize: 4, Start: start})
			if err != refused || lines(got) != "one\ntwo\nthree\nlast\n" {
				t.Errorf("%q, %d jobs: %q, %v", content, jobs, lines(got), err)
			}
			if want := []string{names[0], names[2], input.StdinName}; !slices.Equal(asked, want) {
				t.Errorf("%q, %d jobs: asked about %q, want %q", content, jobs, asked, want)
			}
		}
	}
}

// What Start is to see of a pipe is there when a record is, and is not waited for.
func TestStartDoesNotHoldAPipeBack(t *testing.T) {
	r, w := io.Pipe()
	came, done := make(chan string), make(chan error)
	go func() {
		start := func(_ string, first []byte) error {
			came <- string(first)
			return nil
		}
		done <- Run(t.Context(), open(t, nil, r), Config{Jobs: 2, Start: start}, func(b *Block) error {
			came <- string(b.Data)
			return nil
		})
	}()
	if _, err := io.WriteString(w, "a\n"); err != nil {
		t.Fatal(err)
	}
	if first, data := <-came, <-came; first != "a\n" || data != "a\n" {
		t.Errorf("Start saw %q, and %q was consumed", first, data)
	}
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A copy of a block has the keys of the block.
func TestByteOrderMarkInACopy(t *testing.T) {
	in := open(t, []string{"-"}, strings.NewReader("\ufeffa\nb\n"))
	err := Run(t.Context(), in, Config{Jobs: 1}, func(b *Block) error {
		var dst Block
		b.CopyTo(&dst)
		if got := fmt.Sprintf("%q %q", dst.Line(0), dst.Key(0)); got != `"\ufeffa\n" "a"` {
			t.Errorf("the copy has %s", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
