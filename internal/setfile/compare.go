package setfile

import (
	"fmt"
	"math"

	"seen/bloom"
	"seen/internal/bridge"
	"seen/internal/figure"
	"seen/sizing"
)

var unknown = sizing.Estimate{Value: math.NaN(), StdErr: math.NaN()}

// Comparison is what is known of two sets of keys.
type Comparison struct {
	Names                        [2]string
	A, B, Union, Common, Jaccard sizing.Estimate
	Exact                        bool // the numbers are counted, not estimated
}

// Compare compares two filter files of seen, or two filters of one other system.
func Compare(nameA, nameB string, open Opener) (*Comparison, error) {
	s, err := open(nameA)
	switch {
	case err != nil:
		return nil, err
	case s.Kind == KindForeign:
		defer s.Foreign.Close() // it is only read
		return compareForeign(s.Foreign, nameB, open)
	}
	return compareFiles(nameA, nameB)
}

// compareForeign compares a filter of another system with the set name, by the numbers of
// bits in both and in their OR.
func compareForeign(f *Foreign, name string, open Opener) (*Comparison, error) {
	c := &Comparison{Names: [2]string{f.Name, name}}
	both, err := f.Merger()
	if err != nil {
		return nil, err
	}
	g, err := openOther(f.Name, name, open)
	if err != nil {
		return nil, err
	}
	defer g.Close() // it is only read
	err = g.Read(func() error {
		before, other := both.Stats(), g.Filter.Stats()
		if err := both.Union(g.Filter); err != nil {
			return &UnlikeError{A: f.Name, B: name, Differences: err.Error()}
		}
		p := before.Params
		if p.M == 0 {
			return fmt.Errorf("%s consists of several arrays, and a key may be in another one of %s, so the keys they share cannot be counted", f.Name, name)
		}
		c.fromOnes(p, before.Ones, other.Ones, both.Stats().Ones)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// compareFiles compares two filter files of seen.
func compareFiles(nameA, nameB string) (*Comparison, error) {
	a, err := readSet(nameA)
	if err != nil {
		return nil, err
	}
	b, err := readSet(nameB)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Names: [2]string{nameA, nameB}}
	if a.info.Rules == b.info.Rules && a.info.KeyID == b.info.KeyID && a.info.Hash.Algorithm == b.info.Hash.Algorithm && a.info.Hash.Seed == b.info.Hash.Seed {
		exactA, exactB := exactSet(a.view), exactSet(b.view)
		switch {
		case exactA != nil && exactB != nil:
			c.Exact = true
			return c, c.ask(exactA, exactB)
		case exactA != nil:
			return c, c.ask(exactA, b.view)
		case exactB != nil:
			err := c.ask(exactB, a.view)
			c.A, c.B = c.B, c.A
			return c, err
		}
	}
	if err := a.unlike(b); err != nil {
		return nil, err
	}
	oneA, err := a.onlyArray()
	if err != nil {
		return nil, err
	}
	oneB, err := b.onlyArray()
	if err != nil {
		return nil, err
	}
	return c, c.estimate(oneA, oneB)
}

// exactSet returns v if it has the hashes of all its keys, and nil otherwise.
func exactSet(v bloom.View) *bloom.Adaptive {
	if a, ok := v.(*bloom.Adaptive); ok && !a.Switched() {
		return a
	}
	return nil
}

// ask compares the exact set a with b by asking b for every key of a. It corrects for b's
// error rate, which is the share of the keys not in b that b says yes to.
func (c *Comparison) ask(a *bloom.Adaptive, b bloom.View) error {
	if _, ok := b.(*bloom.Window); ok {
		return &UnlikeError{A: c.Names[0], B: c.Names[1], Differences: "a window may have a key several times, so its keys cannot be counted"}
	}
	st := b.Stats()
	n, hits := float64(a.Added()), 0.0
	for hs := range a.Hashes() {
		hits += float64(b.HasHashes(nil, hs))
	}
	c.A = sizing.Estimate{Value: n}
	c.B = st.Cardinality
	p := st.ErrorRate
	if st.Exact {
		c.B, p = sizing.Estimate{Value: float64(st.Added)}, 0
	}
	// b says no to a share of 1-p of the keys that it does not have. Given the number of
	// these answers, the number of such keys is negative binomial.
	missing := min(n, (n-hits)/(1-p))
	c.Common = sizing.Estimate{Value: n - missing, StdErr: math.Sqrt(p*(missing*(1-p)+min(1, n))) / (1 - p)}
	if !c.B.Known() {
		c.Common, c.Union, c.Jaccard = unknown, unknown, unknown
		return nil
	}
	c.Union = sizing.Estimate{Value: n + c.B.Value - c.Common.Value, StdErr: math.Hypot(c.B.StdErr, c.Common.StdErr)}
	// J = common/union; common and b are independent, and union falls as common grows.
	u := c.Union.Value
	c.Jaccard = sizing.Estimate{
		Value:  c.Common.Value / u,
		StdErr: math.Hypot(c.Common.StdErr*(1+c.Common.Value/u), c.Common.Value/u*c.B.StdErr) / u,
	}
	return nil
}

// estimate compares two arrays by their bits and those of the OR, which it makes in a.
func (c *Comparison) estimate(a, b bloom.View) error {
	before, other := a.Stats(), b.Stats()
	if p, q := before.Params, other.Params; p != q {
		return &UnlikeError{A: c.Names[0], B: c.Names[1], Differences: fmt.Sprintf("m %s and %s; k %d and %d", figure.Comma(p.M), figure.Comma(q.M), p.K, q.K)}
	}
	if err := bloom.Union(a, b); err != nil {
		return err
	}
	c.fromOnes(before.Params, before.Ones, other.Ones, a.Stats().Ones)
	return nil
}

// fromOnes computes the estimates from the numbers of ones.
func (c *Comparison) fromOnes(p sizing.Params, onesA, onesB, onesUnion uint64) {
	c.A, c.B, c.Union = p.Cardinality(onesA), p.Cardinality(onesB), p.Union(onesUnion)
	c.Common = p.Intersection(onesA, onesB, onesUnion)
	c.Jaccard = p.Jaccard(onesA, onesB, onesUnion)
}

var onlyArray = bridge.OnlyArray.(func(bloom.View) bloom.View)

// onlyArray returns the one array of bits that has every key of a filter.
func (s *fileSet) onlyArray() (bloom.View, error) {
	if v := onlyArray(s.view); v != nil {
		return v, nil
	}
	if s.info.Parts == 0 {
		return nil, fmt.Errorf("%s has no keys yet", s.name)
	}
	return nil, &IncomparableError{Name: s.name, Type: s.info.Type, Arrays: len(s.info.Arrays)}
}

// IncomparableError says that the bits of a filter do not tell which keys it shares with
// another one.
type IncomparableError struct {
	Name   string // of the set
	Type   string // such as "static"
	Arrays int    // of bits
}

func (e *IncomparableError) Error() string {
	switch {
	case e.Type == "window":
		return fmt.Sprintf("%s is a window of %d parts; a key may be in several of them, so its keys cannot be counted", e.Name, e.Arrays)
	case e.Arrays > 1:
		return fmt.Sprintf("%s has %d layers, and a key may be in another layer of the other filter, so the keys they share cannot be counted", e.Name, e.Arrays)
	}
	return fmt.Sprintf("%s is a %s filter, whose slots do not tell what two filters share", e.Name, e.Type)
}
