package frame

import (
	"bytes"
	"errors"
	"runtime/metrics"
	"strings"
	"testing"
)

func heapAllocs() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// FuzzParse feeds bytes, as they are or with their checksums made right, to all
// ways in: each gives a frame that is written back as the same bytes, or one of
// the documented errors; all agree; none allocates much more than it was given.
func FuzzParse(f *testing.F) {
	h, parts := small()
	b := mustAppend(f, h, parts)
	one := &Header{Type: TypeCounting, HashAlgorithm: 1, HashKeyID: 5, Parts: []Part{{Kind: KindCounters, CounterBits: 4, K: 3, M: 100, Length: 56}}}
	c := mustAppend(f, one, [][]byte{make([]byte, 56)})
	empty := mustAppend(f, &Header{Type: TypeAdaptive}, nil)
	for _, seed := range [][]byte{nil, b, c, empty, b[:5000], b[:4096], b[:7], markDirty(b), markDirty(b)[:8199], append(bytes.Clone(c), 1)} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	changed := bytes.Clone(c)
	copy(changed[StateOffset:], AppendState(nil, State{Mark: MarkChanged, Added: 9}))
	f.Add(changed, false)
	f.Add(reseal(b, func(b []byte) { b[600] = 7 }), true)
	f.Add(reseal(b, func(b []byte) { b[184] = 40; b[13] = 0x20 }), true)
	for _, rules := range []string{"email", "lower rule-23", "url-drop=ref x-own", strings.Repeat("y", MaxRules)} {
		for _, h := range []*Header{one, {Type: TypeStatic}} {
			ruled := *h
			ruled.Rules = rules
			var parts [][]byte
			if len(h.Parts) > 0 {
				parts = [][]byte{make([]byte, 56)}
			}
			if b, err := Append(nil, &ruled, parts); err == nil {
				f.Add(b, true)
				f.Add(reseal(b, func(b []byte) { b[atRules]++ }), true)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = bytes.Clone(b)
			resealInPlace(b)
		}
		var texts []string
		for _, name := range []string{"Parse", "Read", "ReadSized"} {
			before := heapAllocs()
			h, parts, err := sources[name](b)
			if n := heapAllocs() - before; n > 2<<20+4*uint64(len(b)) {
				t.Fatalf("%s allocated %d bytes for %d", name, n, len(b))
			}
			if err != nil {
				if h != nil || parts != nil {
					t.Fatalf("%s: a value and an error, %v", name, err)
				}
				var damage *CorruptError
				if !errors.As(err, &damage) && !errors.Is(err, ErrNotFrame) && !errors.Is(err, ErrTruncated) &&
					!errors.Is(err, ErrOversized) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrDirty) {
					t.Fatalf("%s: undocumented error %v", name, err)
				}
				texts = append(texts, err.Error())
				continue
			}
			again, err := Append(nil, h, parts)
			if err != nil {
				t.Fatalf("%s: cannot be written back: %v", name, err)
			}
			same := b[:min(len(again), len(b))]
			if s, _ := ParseState(b); s.Mark == MarkChanged {
				// The count has moved from the state area into the part.
				n, _ := HeaderLength(b)
				again, same = again[n:], same[n:]
			}
			if !bytes.Equal(again, same) {
				t.Fatalf("%s: written back it differs", name)
			}
			texts = append(texts, "")
		}
		if texts[0] != texts[2] {
			t.Fatalf("Parse: %q, ReadSized: %q", texts[0], texts[2])
		}
		// A stream does not show Read what follows the frame.
		oversized := strings.HasPrefix(texts[0], ErrOversized.Error())
		if parsed, read := texts[0] == "", texts[1] == ""; parsed != read && !oversized {
			t.Fatalf("Parse: %q, Read: %q", texts[0], texts[1])
		}
	})
}
