package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

var jobsTested = []int{1, 2, 3, 8}

func key(t testing.TB, o keyspec.Options) *keyspec.Key {
	t.Helper()
	k, err := keyspec.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func lines(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.line)
	}
	return b.String()
}

func TestBadRecordEndsTheRunBehindTheGoodOnes(t *testing.T) {
	var good strings.Builder
	for i := range 500 {
		fmt.Fprintf(&good, "{\"id\":%d}\n", i)
	}
	content := good.String() + "{torn\n" + good.String() + "{torn again\n"
	names := files(t, t.TempDir(), good.String(), content)
	for _, jobs := range jobsTested {
		for _, size := range []int{1, 100, DefaultBlockSize} {
			got, err := collect(t, t.Context(), open(t, names, nil), Config{Jobs: jobs, BlockSize: size, Key: key(t, keyspec.Options{Keys: []string{"json:/id"}})})
			var re *RecordError
			if !errors.As(err, &re) || re.File != names[1] || re.Record != 501 || !re.NoKey {
				t.Fatalf("%d jobs, blocks of %d: %v", jobs, size, err)
			}
			if want := "" + names[1] + ": record 501: the record is not a JSON document: byte 2"; err.Error() != want {
				t.Errorf("%d jobs, blocks of %d: %v, want %s", jobs, size, err, want)
			}
			if lines(got) != good.String()+good.String() {
				t.Errorf("%d jobs, blocks of %d: %d records before the bad one, want 1000", jobs, size, len(got))
			}
		}
	}
}

func TestMissingKeysCanBeMarked(t *testing.T) {
	content := strings.Repeat("k=1\nnone\nnone\nk=2\n", 300)
	for _, jobs := range jobsTested {
		for _, m := range []keyspec.Missing{keyspec.MissingMark, keyspec.MissingEmpty} {
			c := Config{Jobs: jobs, BlockSize: 64, Counters: new(Counters), Key: key(t, keyspec.Options{Keys: []string{"re:k=(.)"}, Missing: m})}
			got, err := collect(t, t.Context(), open(t, nil, strings.NewReader(content)), c)
			if err != nil || lines(got) != content {
				t.Fatalf("%d jobs: %d records, %v", jobs, len(got), err)
			}
			marked := 0
			for i, r := range got {
				if want := []string{"1", "", "", "2"}[i%4]; r.key != want {
					t.Fatalf("record %d: key %q, want %q", i, r.key, want)
				}
				if r.none {
					marked++
				}
			}
			want := 0
			if m == keyspec.MissingMark {
				want = 600
			}
			if n := int(c.Counters.Missing.Load()); marked != want || n != want {
				t.Errorf("%d records marked, %d counted, want %d", marked, n, want)
			}
		}
	}
}

func TestDamagedInputEndsTheRunBehindWholeRecords(t *testing.T) {
	gz, err := os.ReadFile("input/testdata/lines.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile("input/testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	cut := files(t, t.TempDir(), string(gz[:len(gz)*2/3]))
	for _, jobs := range jobsTested {
		in, err := input.Open(cut, input.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(t, t.Context(), in, Config{Jobs: jobs, BlockSize: 100})
		var ie *input.Error
		if !errors.As(err, &ie) || ie.Name != cut[0] || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d jobs: %v", jobs, err)
		}
		if text := lines(got); len(got) == 0 || !bytes.HasPrefix(plain, []byte(text)) {
			t.Errorf("%d jobs: %d records, of which some are not in the file", jobs, len(got))
		}
	}
	cause := errors.New("a cable was pulled")
	r := io.MultiReader(strings.NewReader("one\ntwo\ntor"), iotest.ErrReader(cause))
	got, err := collect(t, t.Context(), open(t, nil, r), Config{})
	if !errors.Is(err, cause) || lines(got) != "one\ntwo\n" {
		t.Errorf("got %q, %v", lines(got), err)
	}
}

func TestFileThatVanishes(t *testing.T) {
	names := files(t, t.TempDir(), "one\n", "two\n")
	in := open(t, names, nil)
	if err := os.Remove(names[1]); err != nil {
		t.Fatal(err)
	}
	got, err := collect(t, t.Context(), in, Config{})
	if !errors.Is(err, fs.ErrNotExist) || lines(got) != "one\n" {
		t.Errorf("got %q, %v", lines(got), err)
	}
}

func TestConsumerEndsTheRun(t *testing.T) {
	names := files(t, t.TempDir(), strings.Repeat("line\n", 10_000))
	enough := errors.New("enough")
	for _, jobs := range jobsTested {
		seen := 0
		c := Config{Jobs: jobs, BlockSize: 50, Counters: new(Counters)}
		err := Run(t.Context(), open(t, names, nil), c, func(b *Block) error {
			if seen += b.Len(); seen >= 1000 {
				return enough
			}
			return nil
		})
		if err != enough || seen != 1000 || c.Counters.Records.Load() != 990 {
			t.Errorf("%d jobs: %v after %d records, %d counted", jobs, err, seen, c.Counters.Records.Load())
		}
	}
}

func TestHeaders(t *testing.T) {
	names := files(t, t.TempDir(),
		"id,name\n1,a\n2,b\n", "", "name,id\r\n\"a\",3\r\n\"two\nlines\",4", "id", "\ufeff\"id\"\n5\n")
	for _, jobs := range jobsTested {
		for _, size := range []int{1, 10, DefaultBlockSize} {
			for _, stdin := range []bool{false, true} {
				inputs := slices.Clone(names)
				var r io.Reader
				if stdin {
					b, err := os.ReadFile(names[2])
					if err != nil {
						t.Fatal(err)
					}
					inputs[2] = "-"
					r = iotest.OneByteReader(bytes.NewReader(b))
				}
				c := Config{Jobs: jobs, BlockSize: size, Counters: new(Counters), Key: key(t, keyspec.Options{Keys: []string{"csv:id"}})}
				got, err := collect(t, t.Context(), open(t, inputs, r), c)
				if err != nil {
					t.Fatal(err)
				}
				text := ""
				for _, r := range got {
					if r.header {
						text += "|H"
					} else {
						text += "|" + r.key
					}
					text += fmt.Sprint(":", r.number)
				}
				if want := "|H:1|1:2|2:3|H:1|3:2|4:3|H:1|H:1|5:2"; text != want {
					t.Errorf("%d jobs, blocks of %d: %s, want %s", jobs, size, text, want)
				}
				if n := c.Counters.Records.Load(); n != 5 {
					t.Errorf("%d records counted, want 5", n)
				}
			}
		}
	}
	bad := files(t, t.TempDir(), "id,name\n1,a\n", "ID,name\n2,b\n")
	got, err := collect(t, t.Context(), open(t, bad, nil), Config{Key: key(t, keyspec.Options{Keys: []string{"csv:id"}})})
	var re *RecordError
	if !errors.As(err, &re) || re.File != bad[1] || re.Record != 1 || re.NoKey || !strings.Contains(err.Error(), `no csv column "id"`) || len(got) != 2 {
		t.Errorf("a file without the column: %v after %d records", err, len(got))
	}
}

func TestOpenQuoteIsAnError(t *testing.T) {
	content := "a,b\nc,\"open\nd,e\n"
	for _, jobs := range jobsTested {
		got, err := collect(t, t.Context(), open(t, files(t, t.TempDir(), content), nil), Config{Jobs: jobs, BlockSize: 3, Key: key(t, keyspec.Options{Keys: []string{"csv:1"}})})
		var re *RecordError
		if !errors.As(err, &re) || re.Record != 2 || !errors.Is(err, errOpenQuote) || lines(got) != "a,b\n" {
			t.Errorf("%d jobs: %q, %v", jobs, lines(got), err)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, jobs := range jobsTested {
		for _, m := range []keyspec.Missing{keyspec.MissingFail, keyspec.MissingMark} {
			when, err := keyspec.CompileTime("2,2", ",", m)
			if err != nil {
				t.Fatal(err)
			}
			var times []int64
			in := open(t, nil, strings.NewReader("a,1\nb,2024-01-01\nc,never\nd,2\n"))
			err = Run(t.Context(), in, Config{Jobs: jobs, Time: when}, func(b *Block) error {
				if len(b.Times) != b.Len() || len(b.Hashes) != b.Len() {
					return fmt.Errorf("%d times and %d hashes for %d records", len(b.Times), len(b.Hashes), b.Len())
				}
				times = append(times, b.Times...)
				return nil
			})
			want := []int64{1e9, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), NoTime, 2e9}
			if m == keyspec.MissingFail {
				want = want[:2]
				var re *RecordError
				if !errors.As(err, &re) || re.Record != 3 || !re.NoKey {
					t.Errorf("%d jobs: %v", jobs, err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if !slices.Equal(times, want) {
				t.Errorf("%d jobs: %v, want %v", jobs, times, want)
			}
		}
	}
}

// A record without a time is one that the filter cannot be asked about, just as
// one without a key; one that has neither is listed once.
func TestRecordsWithoutATimeAreMissing(t *testing.T) {
	content := strings.Repeat("k,1\nk,never\nk\n,\n,,\nk,2,x\n,3,\n", 50)
	period := 7
	for _, c := range []struct {
		key   []string // nil: the whole record
		marks [2]keyspec.Missing
		want  []int // of each period
	}{
		{nil, [2]keyspec.Missing{0, keyspec.MissingMark}, []int{1, 2, 3, 4}},
		{[]string{"1,1"}, [2]keyspec.Missing{keyspec.MissingFail, keyspec.MissingMark}, []int{1, 2, 3, 4}},
		{[]string{"3,3"}, [2]keyspec.Missing{keyspec.MissingMark, keyspec.MissingMark}, []int{0, 1, 2, 3, 4}},
		{[]string{"3,3"}, [2]keyspec.Missing{keyspec.MissingEmpty, keyspec.MissingMark}, []int{1, 2, 3, 4}},
		{[]string{"3,3"}, [2]keyspec.Missing{keyspec.MissingMark, keyspec.MissingEmpty}, []int{0, 1, 2, 3}},
		{[]string{"3,3"}, [2]keyspec.Missing{keyspec.MissingEmpty, keyspec.MissingEmpty}, nil},
	} {
		when, err := keyspec.CompileTime("2,2", ",", c.marks[1])
		if err != nil {
			t.Fatal(err)
		}
		config := Config{Time: when}
		if c.key != nil {
			config.Key = key(t, keyspec.Options{Keys: c.key, Separator: ",", Missing: c.marks[0]})
		}
		var want []uint32
		for i := range 50 {
			for _, m := range c.want {
				want = append(want, uint32(i*period+m))
			}
		}
		for _, config.Jobs = range jobsTested {
			for _, config.BlockSize = range []int{64, DefaultBlockSize} {
				config.Counters = new(Counters)
				var got []uint32
				keyed := 0
				err = Run(t.Context(), open(t, nil, strings.NewReader(content)), config, func(b *Block) error {
					for _, m := range b.Missing {
						got = append(got, uint32(b.First)-1+m)
					}
					for from, to := range b.Keyed() {
						keyed += to - from
					}
					for i, when := range b.Times {
						n := (int(b.First) - 1 + i) % period
						if none := n >= 1 && n <= 4; none != (when == NoTime) {
							return fmt.Errorf("record %d of the period has the time %d", n, when)
						}
					}
					return nil
				})
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("key %q, %v: %v, %v; want %v", c.key, c.marks, got, err, want)
				}
				if n := int(config.Counters.Missing.Load()); n != len(want) || keyed != 50*period-len(want) {
					t.Errorf("key %q, %v: %d counted and %d keyed, want %d missing", c.key, c.marks, n, keyed, len(want))
				}
			}
		}
	}
}

// Of the records that a bad key drops none stays listed.
func TestMissingEndsWithTheBlock(t *testing.T) {
	when, err := keyspec.CompileTime("1,1", ",", keyspec.MissingMark)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Jobs: 1, Time: when, Key: key(t, keyspec.Options{Keys: []string{"2,2"}, Separator: ","})}
	var got []uint32
	err = Run(t.Context(), open(t, files(t, t.TempDir(), "1,a\n-,b\n3,c\n-\n-,d\n"), nil), c, func(b *Block) error {
		got = append(got, b.Missing...)
		return nil
	})
	var re *RecordError
	if !errors.As(err, &re) || re.Record != 4 || !slices.Equal(got, []uint32{1}) {
		t.Errorf("%v missing, %v; want [1] and an error in record 4", got, err)
	}
}

func TestFieldBeyondTheLastIsAnError(t *testing.T) {
	names := files(t, t.TempDir(), "a 1 x\nb 2\n")
	got, err := collect(t, t.Context(), open(t, names, nil), Config{Key: key(t, keyspec.Options{Keys: []string{"3,3"}})})
	want := "" + names[0] + ": record 2: the record has no field 3"
	if err == nil || err.Error() != want || lines(got) != "a 1 x\n" {
		t.Errorf("%q, %v; want %s", lines(got), err, want)
	}
}

// The first bad record ends the run, be it its time or its key that is bad.
func TestTimeAndKeyFailTogether(t *testing.T) {
	when, err := keyspec.CompileTime("json:/t", "", keyspec.MissingFail)
	if err != nil {
		t.Fatal(err)
	}
	k := key(t, keyspec.Options{Keys: []string{"json:/id"}})
	const good, noTime, noKey = `{"t":1,"id":1}` + "\n", `{"id":1}` + "\n", `{"t":1}` + "\n"
	for content, want := range map[string]string{
		good + noTime + noKey: `record 2: the record has no value at "/t"`,
		good + noKey + noTime: `record 2: the record has no value at "/id"`,
	} {
		got, err := collect(t, t.Context(), open(t, nil, strings.NewReader(content)), Config{Key: k, Time: when})
		if err == nil || !strings.HasSuffix(err.Error(), want) || lines(got) != good {
			t.Errorf("%q: %q, %v", content, lines(got), err)
		}
	}
}

// What a pipe delivers is consumed before the next read.
func TestPipeIsNotHeldBack(t *testing.T) {
	for _, jobs := range jobsTested {
		r, w := io.Pipe()
		came := make(chan string)
		done := make(chan error)
		go func() {
			done <- Run(t.Context(), open(t, nil, r), Config{Jobs: jobs}, func(b *Block) error {
				came <- string(b.Data)
				return nil
			})
		}()
		for _, c := range []struct{ in, out string }{{"one\n", "one\n"}, {"tw", ""}, {"o\nthree\nfo", "two\nthree\n"}, {"ur\n", "four\n"}} {
			if _, err := io.WriteString(w, c.in); err != nil {
				t.Fatal(err)
			}
			if c.out != "" {
				if got := <-came; got != c.out {
					t.Errorf("%d jobs: after %q came %q, want %q", jobs, c.in, got, c.out)
				}
			}
		}
		io.WriteString(w, "end")
		w.Close()
		if got := <-came; got != "end\n" {
			t.Errorf("%d jobs: at the end came %q", jobs, got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// The end of the context ends the run between blocks, also while a pipe is silent.
func TestContextEndsTheRun(t *testing.T) {
	for _, jobs := range jobsTested {
		r, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go io.WriteString(w, "one\n")
		records := 0
		err := Run(ctx, open(t, nil, r), Config{Jobs: jobs}, func(b *Block) error {
			records += b.Len()
			time.AfterFunc(5*time.Millisecond, cancel)
			return nil
		})
		if !errors.Is(err, context.Canceled) || records != 1 {
			t.Errorf("%d jobs, a silent pipe: %v after %d records", jobs, err, records)
		}
		w.Close()

		names := files(t, t.TempDir(), strings.Repeat("line\n", 100_000))
		ctx, cancel = context.WithCancel(t.Context())
		calls := 0
		err = Run(ctx, open(t, names, nil), Config{Jobs: jobs, BlockSize: 100}, func(b *Block) error {
			calls++
			time.Sleep(2 * time.Millisecond) // time for others to read ahead
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) || calls != 1 {
			t.Errorf("%d jobs, a file: %v after %d blocks", jobs, err, calls)
		}
		if err = Run(ctx, open(t, names, nil), Config{Jobs: jobs}, func(*Block) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%d jobs, ended before the start: %v", jobs, err)
		}
	}
}

// A panic of the consumer leaves no goroutine behind (TestMain looks).
func TestPanicOfTheConsumer(t *testing.T) {
	names := files(t, t.TempDir(), strings.Repeat("line\n", 10_000))
	for _, jobs := range jobsTested {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic got lost")
				}
			}()
			_ = Run(t.Context(), open(t, names, nil), Config{Jobs: jobs, BlockSize: 100}, func(*Block) error { panic("of the consumer") })
		}()
	}
}
