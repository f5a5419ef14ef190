package bloom_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/internal/frame"
	"seen/sizing"
)

// Each type reads its own encoding only, and says what it was given.
func TestUnmarshalForeignType(t *testing.T) {
	config := bloom.Config{Capacity: 100, ErrorRate: 0.1}
	classic, blocked := must(bloom.NewClassic(config)), must(bloom.New(config))
	b := must(blocked.MarshalBinary())
	for name, err := range map[string]error{
		"UnmarshalBinary": classic.UnmarshalBinary(b),
		"ReadFrom":        second(classic.ReadFrom(bytes.NewReader(b))),
	} {
		if err == nil || !strings.Contains(err.Error(), "hold a *bloom.Filter, not a *bloom.Classic; use Decode or Read") {
			t.Errorf("%s of a blocked filter into a classic one: %v", name, err)
		}
	}
	sketch := must(frame.Append(nil, &frame.Header{Type: frame.TypeHyperLogLog}, nil))
	if _, err := bloom.Decode(sketch, bloom.LoadOptions{}); err == nil || !strings.Contains(err.Error(), "holds a hyperloglog, which is not a filter of this package") {
		t.Errorf("Decode of a sketch: %v", err)
	}
	for text, want := range map[string]error{"a text, not a filter": frame.ErrNotFrame, "": frame.ErrTruncated} {
		if _, err := bloom.Decode([]byte(text), bloom.LoadOptions{}); !errors.Is(err, want) {
			t.Errorf("Decode(%q): %v, want %v", text, err, want)
		}
		if _, err := bloom.Read(strings.NewReader(text), bloom.LoadOptions{}); !errors.Is(err, want) {
			t.Errorf("Read(%q): %v, want %v", text, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := bloom.Read(io.MultiReader(bytes.NewReader(b), failing{broken}), bloom.LoadOptions{}); !errors.Is(err, broken) {
		t.Errorf("Read from a reader that fails at the end: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A filter with a secret is read with it, or for inspection only.
func TestSecrets(t *testing.T) {
	secret, other := [16]byte{1, 2, 3}, [16]byte{9}
	hash := bloom.SecretHash(secret)
	config := bloom.Config{Capacity: 100, ErrorRate: 1e-6, Hash: hash}
	f := must(bloom.New(config))
	f.AddString("key")
	b := must(f.MarshalBinary())
	if bytes.Contains(b, secret[:3]) {
		t.Error("the secret is written")
	}

	v, err := bloom.Decode(b, bloom.LoadOptions{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	if g := v.(*bloom.Filter); !g.Equal(f) || !g.HasString("key") || g.HasString("another") || g.Hash() != hash {
		t.Error("with its secret the filter is read as another")
	}

	for given, o := range map[bool]bloom.LoadOptions{
		false: {},
		true:  {Secret: other, Inspect: true}, // a wrong secret is wrong for inspection too
	} {
		_, err := bloom.Decode(b, o)
		var wrong *bloom.SecretError
		if !errors.As(err, &wrong) || wrong.Given != given || wrong.KeyID != hash.KeyID() {
			t.Errorf("Decode with %v: %v", o, err)
		}
		if want := "another secret"; err != nil && strings.Contains(err.Error(), want) != given {
			t.Errorf("Decode with %v: %v", o, err)
		}
	}

	v, err = bloom.Decode(b, bloom.LoadOptions{Inspect: true})
	if err != nil {
		t.Fatal(err)
	}
	g := v.(*bloom.Filter)
	if !g.HasHash(hash.SumString("key")) || g.Stats() != f.Stats() || g.HasString("key") {
		t.Error("a filter read for inspection answers otherwise")
	}
	if err := g.Union(f); err != nil {
		t.Errorf("a filter read for inspection cannot be merged: %v", err)
	}
	if !bytes.Equal(must(g.MarshalBinary()), b) {
		t.Error("a filter read for inspection is not written as it was")
	}
	if err := must(bloom.New(config)).UnmarshalBinary(b); err != nil {
		t.Errorf("UnmarshalBinary into a filter with the secret: %v", err)
	}
	config.Hash = bloom.Hash{}
	var wrong *bloom.SecretError
	if err := must(bloom.New(config)).UnmarshalBinary(b); !errors.As(err, &wrong) {
		t.Errorf("UnmarshalBinary into a filter without a secret: %v", err)
	}
}

// Bits beyond the last would be counted as ones, so they are damage.
func TestBitsBeyondTheLast(t *testing.T) {
	for _, c := range []struct {
		f    bloom.View
		want string
	}{
		{must(bloom.NewClassic(bloom.Config{Params: sizing.Params{M: 100, K: 3}})), "bits set beyond its last, number 99"},
		{must(bloom.NewPartitioned(bloom.Config{Params: sizing.Params{M: 99, K: 3}})), "beyond its last, number 98"},
		{must(bloom.NewCounting(bloom.Config{Params: sizing.Params{M: 17, K: 3, CounterBits: 4}})), "beyond its last, number 67"},
		{must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 1, ErrorRate: 0.3})), "part 0 has bits set beyond its last"},
	} {
		h, parts, err := frame.Parse(must(c.f.AppendBinary(nil)))
		if err != nil {
			t.Fatal(err)
		}
		last := parts[0]
		last[len(last)-1] |= 0x80
		_, err = bloom.Decode(must(frame.Append(nil, h, parts)), bloom.LoadOptions{})
		var corrupt *bloom.CorruptError
		if !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, c.want) {
			t.Errorf("%v: %v, want an error about %q", h.Type, err, c.want)
		}
	}
}

// Headers that no writer makes are damage, however right their checksums are.
func TestImpossibleHeaders(t *testing.T) {
	scalable := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 20, ErrorRate: 0.1}))
	byTime := must(bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Capacity: 20, ErrorRate: 0.1, Clock: newClock().now}))
	byKeys := must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: 20, Generations: 3, ErrorRate: 0.1}))
	cascade := must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 20, ErrorRate: 0.1}))
	classic := must(bloom.NewClassic(bloom.Config{Capacity: 20, ErrorRate: 0.1}))
	for _, s := range []bloom.Set{scalable, byTime, byKeys, cascade} {
		s.AddHashes(nil, filtertest.RandomHashes(1, 50))
	}
	nan := math.Float64bits(math.NaN())
	for _, c := range []struct {
		f      bloom.View
		change func(h *frame.Header)
		want   string
	}{
		{scalable, func(h *frame.Header) { h.Fields[0] = nan }, "growth is NaN"},
		{scalable, func(h *frame.Header) { h.Fields[0] = 0 }, "growth is 0"},
		{scalable, func(h *frame.Header) { h.Fields[2] = 2 }, "unknown flags 0x2"},
		{scalable, func(h *frame.Header) { h.ErrorRate = 0 }, "error rate is 0"},
		{scalable, func(h *frame.Header) { h.ErrorRate = 1e-9 }, "cannot hold 20 keys at error rate"},
		{scalable, func(h *frame.Header) { h.Capacity = 0 }, "capacity is 0"},
		{scalable, func(h *frame.Header) { h.Capacity = 1e9 }, "no layer has the first capacity, 1000000000"},
		{scalable, func(h *frame.Header) { h.Parts = nil }, "it has no layers"},
		{scalable, func(h *frame.Header) { h.Parts[1].Fields[0] = 0; h.Parts[0].Fields[0] = 1 }, "part 1 is layer 0, which is out of order"},
		{scalable, func(h *frame.Header) { h.Parts[1].Fields[0] = 1 << 40 }, "part 1 is layer 1099511627776"},
		{scalable, func(h *frame.Header) { h.Parts[1].Capacity = 0 }, "part 1 cannot hold 0 keys"},
		{scalable, func(h *frame.Header) { h.Parts[1].Capacity = 1000 }, "part 1 cannot hold 1000 keys"},
		{byTime, func(h *frame.Header) { h.Fields[0] = 0 }, "a window needs a span"},
		{byTime, func(h *frame.Header) { h.Fields[0] = 1 << 63 }, "span 9223372036854775808"},
		{byTime, func(h *frame.Header) { h.Fields[1]++ }, "a step of"},
		{byTime, func(h *frame.Header) { h.Fields[2] = 64 }, "flags 0x40"},
		{byTime, func(h *frame.Header) { h.Fields[3] = 1 }, "a window of 1 generations"},
		{byTime, func(h *frame.Header) { h.Fields[3] = 1 << 32 }, "4294967296 generations"},
		{byTime, func(h *frame.Header) { h.Fields[4]-- }, "is of generation"},
		{byTime, func(h *frame.Header) { h.Fields[4] += 8 }, "is of generation"},
		{byTime, func(h *frame.Header) { h.Parts[1].Fields[1]-- }, "part 1 is of generation"},
		{byTime, func(h *frame.Header) { h.Capacity = 0 }, "capacity is 0"},
		{byKeys, func(h *frame.Header) { h.Fields[5] = 0 }, "generation 4 after 0 keys"},
		{byKeys, func(h *frame.Header) { h.Fields[5] = 1 << 63 }, "after 9223372036854775808 keys"},
		{cascade, func(h *frame.Header) { h.Fields[0] = 0 }, "growth is 0"},
		{cascade, func(h *frame.Header) { h.Fields[0] = nan }, "growth is NaN"},
		{cascade, func(h *frame.Header) { h.Parts = h.Parts[:1] }, "a cascade of 1 levels"},
		{cascade, func(h *frame.Header) { h.Parts[2].Capacity = 7 }, "part 2 is for 7 keys instead of 80"},
		{scalable, func(h *frame.Header) { h.Fields[3] = 1 }, "field 3 is 0x1, which means nothing"},
		{byTime, func(h *frame.Header) { h.Fields[6] = 1 }, "field 6 is"},
		{byTime, func(h *frame.Header) { h.Fields[5] = 1 }, "a window by time that counts keys, 1 so far"},
		{cascade, func(h *frame.Header) { h.Fields[14] = 1 }, "field 14 is"},
		{classic, func(h *frame.Header) { h.Fields[0] = 1 }, "field 0 is"},
		{classic, func(h *frame.Header) { h.Parts[0].K = 65 }, "K = 65"},
		{classic, func(h *frame.Header) { h.HashAlgorithm = 7 }, "hash algorithm 7"},
	} {
		h, parts, err := frame.Parse(must(c.f.AppendBinary(nil)))
		if err != nil {
			t.Fatal(err)
		}
		c.change(h)
		b, err := frame.Append(nil, h, parts[:len(h.Parts)])
		if err == nil {
			_, err = bloom.Decode(b, bloom.LoadOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want an error about %q", h.Type, err, c.want)
		}
	}
}

// A mapped file verifies its checksums where an access is announced, so each must
// be, before it happens. Here the bytes of a filter appear only then.
func TestAccessesAreAnnounced(t *testing.T) {
	config := bloom.Config{Capacity: 1000, ErrorRate: 1e-5}
	views := []bloom.Set{
		must(bloom.NewClassic(config)),
		must(bloom.New(config)),
		must(bloom.NewPartitioned(config)),
		must(bloom.NewCounting(config)),
		must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 100, ErrorRate: 1e-5})),
		must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: 2000, ErrorRate: 1e-5})),
		must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 200, ErrorRate: 1e-5})),
	}
	hs := filtertest.RandomHashes(1, 1000)
	ask := append(hs, filtertest.RandomHashes(2, 1000)...)
	uses := map[string]func(bloom.View) any{
		"HasHash": func(v bloom.View) any {
			n := 0
			for _, h := range ask {
				if v.HasHash(h) {
					n++
				}
			}
			return n
		},
		"HasHashes":    func(v bloom.View) any { return v.HasHashes(nil, ask) },
		"Stats":        func(v bloom.View) any { return v.Stats() },
		"AppendBinary": func(v bloom.View) any { return string(must(v.AppendBinary(nil))) },
		"AddHashes":    func(v bloom.View) any { return v.(bloom.Set).AddHashes(nil, ask) },
	}
	for _, f := range views {
		f.AddHashes(nil, hs)
		b := must(f.AppendBinary(nil))
		for name, use := range uses {
			h, parts, err := frame.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			hidden := make([][]byte, len(parts))
			for i := range hidden {
				hidden[i] = make([]byte, len(parts[i]))
			}
			shown := make([]map[uint64]bool, len(parts))
			v, err := bloom.FromFrame(h, hidden, bloom.LoadOptions{}, func(part int, off, n uint64) {
				for w := off / 8; w < (off+n+7)/8; w++ {
					if shown[part] == nil {
						shown[part] = map[uint64]bool{}
					}
					if !shown[part][w] {
						shown[part][w] = true
						copy(hidden[part][w*8:w*8+8], parts[part][w*8:])
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			fresh := must(bloom.Decode(b, bloom.LoadOptions{}))
			if got, want := use(v), use(fresh); got != want {
				t.Errorf("%v: %s reads what it has not announced", h.Type, name)
			}
		}
	}
}
