package bloom

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"seen/internal/frame"
)

// Describe says of every filter what its file says of the parts, and onlyArray returns what
// has all keys.
func TestDescribe(t *testing.T) {
	c := Config{Capacity: 500, ErrorRate: 0.01}
	now := time.Unix(1e9, 0)
	made := map[string]func() (Set, error){
		"blocked":     func() (Set, error) { return New(c) },
		"classic":     func() (Set, error) { return NewClassic(c) },
		"partitioned": func() (Set, error) { return NewPartitioned(c) },
		"counting":    func() (Set, error) { return NewCounting(c) },
		"shared":      func() (Set, error) { return NewShared(c) },
		"one layer":   func() (Set, error) { return NewScalable(ScalableConfig{Capacity: 2000, ErrorRate: 0.01}) },
		"scalable":    func() (Set, error) { return NewScalable(ScalableConfig{Capacity: 100, ErrorRate: 0.01}) },
		"cascade":     func() (Set, error) { return NewCascade(CascadeConfig{Capacity: 300, ErrorRate: 0.01}) },
		"exact":       func() (Set, error) { return NewAdaptive(AdaptiveConfig{}) },
		"switched": func() (Set, error) {
			return NewAdaptive(AdaptiveConfig{MaxBytes: 4096, ErrorRate: 0.01})
		},
		"window of time": func() (Set, error) {
			return NewWindow(WindowConfig{Span: time.Hour, Capacity: 100, ErrorRate: 0.01, Clock: func() time.Time { return now }})
		},
		"window of keys": func() (Set, error) { return NewWindow(WindowConfig{SpanKeys: 600, ErrorRate: 0.01}) },
	}
	for name, make := range made {
		t.Run(name, func(t *testing.T) {
			s, err := make()
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			for i := range 1000 {
				s.AddHash(r.Uint64())
				if i == 500 {
					now = now.Add(20 * time.Minute)
				}
			}
			b, err := s.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			h, err := frame.ParseHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			d := Describe(s)
			var want, got []string
			for i, p := range h.Parts {
				if params, ok := p.Params(); ok {
					layer := p.Fields[0]
					if h.Type == frame.TypeCascade {
						layer = uint64(i)
					}
					want = append(want, fmt.Sprint(params, p.Capacity, p.Added, layer, int64(p.Fields[1])))
				}
			}
			for _, a := range d.Arrays {
				got = append(got, fmt.Sprint(a.Params, a.Capacity, a.Added, a.Layer, a.Generation))
				if isWindow := h.Type == frame.TypeWindow; a.Live != isWindow || isWindow != (a.To > a.From) {
					t.Errorf("%+v", a)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if d.Overlap != (h.Type == frame.TypeWindow && len(d.Arrays) > 1) {
				t.Errorf("overlap is %t with %d arrays", d.Overlap, len(d.Arrays))
			}
			one := onlyArray(s)
			if has := len(d.Arrays) == 1 && name != "shared" || name == "cascade"; (one != nil) != has {
				t.Fatalf("the only array is %v of %d", one, len(d.Arrays))
			}
			if one != nil && one.Stats().Params != d.Arrays[len(d.Arrays)-1].Params {
				t.Errorf("the only array is %+v", one.Stats().Params)
			}
		})
	}
}

// A Shared can be described while others add keys to it and ask for its statistics.
func TestDescribeConcurrent(t *testing.T) {
	s, err := NewShared(Config{Capacity: 10_000, ErrorRate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	others.Go(func() {
		for i := range uint64(1000) {
			s.AddHash(i * 0x9e3779b97f4a7c15)
			s.Stats()
		}
	})
	for range 100 {
		if d := Describe(s); len(d.Arrays) != 1 || d.Arrays[0].Capacity != 10_000 || d.Arrays[0].Added > 1000 {
			t.Fatalf("described as %+v", d)
		}
	}
	others.Wait()
}
