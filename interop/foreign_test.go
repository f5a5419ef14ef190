package interop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

// asks is what the tests below ask of a filter of any system.
type asks interface {
	Has(key []byte) bool
	Stats() bloom.Stats
	io.WriterTo
}

// wish is what params.json of a vector says of how its filter was made.
type wish struct {
	N         uint64
	P         float64
	M, K      uint64
	Length    uint64 `json:"bitset_length"`
	Ones      uint64
	Seed      uint32
	Strategy  string
	Funnel    string
	FalseYes  int    `json:"false_positives"`
	File      string `json:"filter_file"`
	Exact     bool   `json:"rebuild_is_byte_exact"`
	Container string `json:"container_file"`
	Added     uint64 `json:"N_counter"`
	Gzip      bool
	DataBytes int   `json:"data_bytes"`
	Offset    int64 `json:"bloom_filter_offset"`
}

type vector struct{ *filtertest.Vector }

func readVector(t testing.TB, name string) *vector {
	t.Helper()
	return &vector{filtertest.ReadVector(t, filepath.Join("testdata", name))}
}

func (v *vector) wish(t testing.TB) (w wish) {
	t.Helper()
	v.JSON(t, &w)
	return w
}

// tried returns the text of an error and the specifications that it names.
func tried(err error) string {
	text := err.Error()
	var e *SpecError
	if errors.As(err, &e) {
		text += "; " + strings.Join(e.Try, " or ")
	}
	return text
}

// smallRedis is a filter of RedisBloom that is full and does not grow.
func smallRedis(t testing.TB, form string) Foreign {
	t.Helper()
	f, err := Create(Spec{"redisbloom", map[string]string{"form": form, "expansion": "0"}}, 10, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := f.(Adder).Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// compareForeign expects the answers of the original.
func (v *vector) compareForeign(t *testing.T, how string, has func([]byte) bool) {
	t.Helper()
	yes := 0
	for i, key := range v.Asked {
		got := has(key)
		if want := v.Answers[i] == "true"; got != want {
			t.Fatalf("%s, %s: key %q: %v, the original says %v", v.Dir, how, key, got, want)
		}
		if got {
			yes++
		}
	}
	if w := v.wish(t); yes-len(v.Keys) != w.FalseYes && w.FalseYes != 0 {
		// Keys that are there twice do not make it more, so that this is a count of lines.
		t.Errorf("%s, %s: %d of the %d keys that were not added are found, the original finds %d", v.Dir, how, yes-len(v.Keys), len(v.Asked)-len(v.Keys), w.FalseYes)
	}
}

// written returns what a filter writes.
func written(t testing.TB, f io.WriterTo) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := f.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes said to be written, %d are: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// expectBytes says where two files differ.
func expectBytes(t *testing.T, how string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Fatalf("%s: %d bytes, want %d; byte %d is the first that differs", how, len(got), len(want), at)
}

// adds adds keys to a filter of any system.
func adds(t testing.TB, f interface {
	Add([]byte) (bool, error)
	Has([]byte) bool
}, keys [][]byte) {
	t.Helper()
	for _, key := range keys {
		had := f.Has(key)
		isNew, err := f.Add(key)
		if err != nil {
			t.Fatal(err)
		}
		if isNew == had || !f.Has(key) {
			t.Fatalf("key %q was there: %v, is new: %v, and is there now: %v", key, had, isNew, f.Has(key))
		}
	}
}

// expectReadOnly expects that a filter that was parsed refuses to change.
func expectReadOnly(t *testing.T, f interface{ Add([]byte) (bool, error) }) {
	t.Helper()
	if isNew, err := f.Add([]byte("one more")); isNew || !errors.Is(err, ErrReadOnly) {
		t.Errorf("adding to what was parsed: %v, %v", isNew, err)
	}
}

// damaged is a file that must not be parsed, and a part of what the error says.
type damaged struct {
	what string
	b    []byte
	want string
}

func expectRefused[F any](t *testing.T, parse func([]byte) (F, error), all []damaged) {
	t.Helper()
	for _, d := range all {
		before := filtertest.HeapAllocs()
		_, err := parse(d.b)
		if n := filtertest.HeapAllocs() - before; n > 2<<20 {
			t.Errorf("%s: %d bytes were allocated", d.what, n)
		}
		if !errors.Is(err, ErrBadData) || !strings.Contains(fmt.Sprint(err), d.want) {
			t.Errorf("%s: %v, want %q", d.what, err, d.want)
		}
	}
}

// failing is a writer that takes some bytes.
type failing int

var errFailing = errors.New("no more room")

func (f *failing) Write(b []byte) (int, error) {
	n := min(len(b), int(*f))
	*f -= failing(n)
	if n < len(b) {
		return n, errFailing
	}
	return n, nil
}

// expectWriteErrors cuts the writing of f short everywhere.
func expectWriteErrors(t *testing.T, f io.WriterTo) {
	t.Helper()
	for room := range len(written(t, f)) {
		w := failing(room)
		if n, err := f.WriteTo(&w); !errors.Is(err, errFailing) || n != int64(room) {
			t.Fatalf("with room for %d bytes: %d, %v", room, n, err)
		}
	}
}

// expectNoCopy expects that parsing a large file takes no memory for its bits, and that
// asking it takes none at all.
func expectNoCopy[F asks](t *testing.T, parse func([]byte) (F, error), header []byte, bits int) {
	t.Helper()
	b := append(header, make([]byte, bits)...)
	before := filtertest.HeapAllocs()
	f, err := parse(b)
	if n := filtertest.HeapAllocs() - before; err != nil || n > 64<<10 {
		t.Fatalf("parsing %d bytes allocated %d: %v", len(b), n, err)
	}
	key := []byte("a key of some bytes, as many are")
	if n := testing.AllocsPerRun(100, func() { f.Has(key) }); n != 0 && !filtertest.Race {
		t.Errorf("a question allocates %v times", n)
	}
}
