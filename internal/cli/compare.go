package cli

import (
	"fmt"
	"math"
	"os"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/internal/bridge"
	"seen/internal/frame"
	"seen/internal/setfile"
	"seen/sizing"
)

func (a *app) compareCommand() *cobra.Command {
	var asJSON bool
	var foreign foreignFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "estimate how many keys two filters have, and have in common",
		Long: `Estimate the number of keys of two filter files, of their union and of their
intersection, and the Jaccard similarity, each with its standard error. The two
must be of one type, layout and hash; unlike ones are refused with the difference.

Sets that are still exact (those of "seen uniq --state" with few lines) give exact
numbers, and one of them can be compared with a filter of any type. Filters of
several layers cannot be compared with each other: a key may lie in different
layers of the two. Two filters of one other system can be compared where they are
one array each, of the same size and hash.`,
		Example: `  seen compare monday.seen tuesday.seen
  seen compare --json a.seen b.seen | jq .jaccard.value`,
		Args:              arguments(2, 2, "A B"),
		ValidArgsFunction: filesUpTo(2),
		RunE: func(_ *cobra.Command, names []string) error {
			c, err := a.compare(names[0], names[1], &foreign)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(a.env.Stdout, c.report())
			}
			return c.print(a)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "report as JSON")
	foreign.registerFormat(cmd)
	return cmd
}

// compare compares two files of ours, or of one other system.
func (a *app) compare(nameA, nameB string, flags *foreignFlags) (*comparison, error) {
	kind, f, err := a.kindOf(nameA, flags, true)
	switch {
	case err != nil:
		return nil, err
	case kind == setfile.KindForeign:
		defer f.Close() // it is only read
		return a.compareForeign(f, nameB, flags)
	}
	return compareFiles(nameA, nameB)
}

// compareForeign compares a filter of another system with the one in the file name, by
// their bits and those of the OR.
func (a *app) compareForeign(f *setfile.Foreign, name string, flags *foreignFlags) (*comparison, error) {
	c := &comparison{names: [2]string{f.Name, name}}
	both, err := f.Merger()
	if err != nil {
		return nil, err
	}
	kind, g, err := a.kindOf(name, flags, true)
	if err != nil {
		return nil, err
	}
	if kind != setfile.KindForeign {
		return nil, fmt.Errorf("%s and %s are unlike: %s is not a filter of another system", f.Name, name, name)
	}
	defer g.Close() // it is only read
	return c, g.Read(func() error {
		before, other := both.Stats(), g.Filter.Stats()
		if err := both.Union(g.Filter); err != nil {
			return fmt.Errorf("%s and %s are unlike: %w", f.Name, name, err)
		}
		p := before.Params
		if p.M == 0 {
			return fmt.Errorf("%s consists of several arrays, and a key may lie in another one of %s, so that what they have in common cannot be told", f.Name, name)
		}
		c.fromOnes(p, before.Ones, other.Ones, both.Stats().Ones)
		return nil
	})
}

var unknown = sizing.Estimate{Value: math.NaN(), StdErr: math.NaN()}

// comparison is what is known of two sets of keys.
type comparison struct {
	names                         [2]string
	a, b, union, common, likeness sizing.Estimate
	exact                         bool
}

// comparisonReport is a comparison as JSON; its names are an interface to scripts.
// What is not known is null.
type comparisonReport struct {
	Sets         [2]string       `json:"sets"`
	Exact        bool            `json:"exact"`
	A            *estimateReport `json:"a"`
	B            *estimateReport `json:"b"`
	Union        *estimateReport `json:"union"`
	Intersection *estimateReport `json:"intersection"`
	Jaccard      *estimateReport `json:"jaccard"`
}

func (c *comparison) report() comparisonReport {
	return comparisonReport{
		Sets: c.names, Exact: c.exact,
		A: reportOf(c.a), B: reportOf(c.b), Union: reportOf(c.union), Intersection: reportOf(c.common), Jaccard: reportOf(c.likeness),
	}
}

func (c *comparison) print(a *app) error {
	likeness := "unknown"
	switch {
	case c.exact && c.likeness.Known():
		likeness = fmt.Sprintf("%.6g", c.likeness.Value)
	case c.likeness.Known():
		likeness = fmt.Sprintf("%.4f ± %.2g", c.likeness.Value, c.likeness.StdErr)
	}
	t := newTable(a.env.Stdout)
	t.row(c.names[0], "%s", formatEstimate(c.a))
	t.row(c.names[1], "%s", formatEstimate(c.b))
	t.row("union", "%s", formatEstimate(c.union))
	t.row("intersection", "%s", formatEstimate(c.common))
	t.row("Jaccard", "%s", likeness)
	return t.flush()
}

func compareFiles(nameA, nameB string) (*comparison, error) {
	a, err := readSet(nameA)
	if err != nil {
		return nil, err
	}
	b, err := readSet(nameB)
	if err != nil {
		return nil, err
	}
	c := &comparison{names: [2]string{nameA, nameB}}
	if a.info.KeyID == b.info.KeyID && a.info.Hash.Algorithm == b.info.Hash.Algorithm && a.info.Hash.Seed == b.info.Hash.Seed {
		exactA, exactB := exactSet(a.view), exactSet(b.view)
		switch {
		case exactA != nil && exactB != nil:
			c.exact = true
			return c, c.ask(exactA, exactB)
		case exactA != nil:
			return c, c.ask(exactA, b.view)
		case exactB != nil:
			err := c.ask(exactB, a.view)
			c.a, c.b = c.b, c.a
			return c, err
		}
	}
	if differences := a.differences(b); differences != "" {
		return nil, fmt.Errorf("%s and %s are unlike: %s", nameA, nameB, differences)
	}
	oneA, paramsA, err := oneArray(nameA)
	if err != nil {
		return nil, err
	}
	oneB, paramsB, err := oneArray(nameB)
	if err != nil {
		return nil, err
	}
	if paramsA != paramsB {
		return nil, fmt.Errorf("%s and %s are unlike: m %s and %s; k %d and %d",
			nameA, nameB, comma(paramsA.M), comma(paramsB.M), paramsA.K, paramsB.K)
	}
	return c, c.estimate(oneA, oneB, paramsA)
}

// exactSet returns v if it holds the hashes of all its keys, and nil otherwise.
func exactSet(v bloom.View) *bloom.Adaptive {
	if a, ok := v.(*bloom.Adaptive); ok && !a.Switched() {
		return a
	}
	return nil
}

// ask compares the exact set a with b by asking b for every key of a: of those
// that b does not have it claims a share that is its error rate.
func (c *comparison) ask(a *bloom.Adaptive, b bloom.View) error {
	if _, ok := b.(*bloom.Window); ok {
		return fmt.Errorf("%s and %s are unlike: a window may hold a key several times, so that its keys cannot be counted", c.names[0], c.names[1])
	}
	st := b.Stats()
	n, hits := float64(a.Added()), 0.0
	for hs := range a.Hashes() {
		hits += float64(b.HasHashes(nil, hs))
	}
	c.a = sizing.Estimate{Value: n}
	c.b = st.Cardinality
	p := st.ErrorRate
	if st.Exact {
		c.b, p = sizing.Estimate{Value: float64(st.Added)}, 0
	}
	c.common = sizing.Estimate{Value: max(0, (hits-n*p)/(1-p))}
	c.common.StdErr = math.Sqrt((n-c.common.Value)*p*(1-p)) / (1 - p)
	if !c.b.Known() {
		c.common, c.union, c.likeness = unknown, unknown, unknown
		return nil
	}
	c.union = sizing.Estimate{Value: n + c.b.Value - c.common.Value, StdErr: math.Hypot(c.b.StdErr, c.common.StdErr)}
	// J = common/union; common and b are independent, and union falls as common grows.
	u := c.union.Value
	c.likeness = sizing.Estimate{
		Value:  c.common.Value / u,
		StdErr: math.Hypot(c.common.StdErr*(1+c.common.Value/u), c.common.Value/u*c.b.StdErr) / u,
	}
	return nil
}

// estimate compares two arrays of one layout by their bits and those of the OR,
// which it makes in a.
func (c *comparison) estimate(a, b bloom.View, p sizing.Params) error {
	onesA, onesB := a.Stats().Ones, b.Stats().Ones
	if err := unite(a, b); err != nil {
		return err
	}
	c.fromOnes(p, onesA, onesB, a.Stats().Ones)
	return nil
}

// fromOnes fills in what the numbers of ones tell.
func (c *comparison) fromOnes(p sizing.Params, onesA, onesB, onesUnion uint64) {
	c.a, c.b, c.union = p.Cardinality(onesA), p.Cardinality(onesB), p.Union(onesUnion)
	c.common = p.Intersection(onesA, onesB, onesUnion)
	c.likeness = p.Jaccard(onesA, onesB, onesUnion)
}

// oneArray reads the one array of bits that holds every key of a filter file: its
// only one, or for a cascade, where each level has all keys, the last and largest.
func oneArray(name string) (bloom.View, sizing.Params, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, sizing.Params{}, err
	}
	defer f.Close() // it is only read
	h, parts, err := frame.Read(f)
	if err != nil {
		return nil, sizing.Params{}, fmt.Errorf("%s: %w", name, err)
	}
	last := len(parts) - 1
	switch {
	case h.Type == frame.TypeWindow && last > 0:
		return nil, sizing.Params{}, fmt.Errorf("%s is a window of %d parts, in several of which a key may lie, so that its keys cannot be counted", name, last+1)
	case h.Type == frame.TypeStatic:
		return nil, sizing.Params{}, fmt.Errorf("%s is a static filter, whose slots do not tell what two have in common; compare its keys with \"seen filter\"", name)
	case last < 0:
		return nil, sizing.Params{}, fmt.Errorf("%s holds no keys yet", name)
	case last > 0 && h.Type != frame.TypeCascade:
		return nil, sizing.Params{}, fmt.Errorf("%s has %d layers, and a key may lie in another layer of the other filter, so that what they have in common cannot be told; build both with -n large enough for all keys", name, last+1)
	}
	p := h.Parts[last]
	types := map[frame.Kind]frame.Type{
		frame.KindClassic: frame.TypeFilter, frame.KindBlocked: frame.TypeBlocked,
		frame.KindPartitioned: frame.TypePartitioned, frame.KindCounters: frame.TypeCounting,
	}
	one := &frame.Header{
		Type: types[p.Kind], HashAlgorithm: h.HashAlgorithm, HashSeed: h.HashSeed, HashKeyID: h.HashKeyID,
		Capacity: p.Capacity, ErrorRate: p.ErrorRate, Parts: []frame.Part{p},
	}
	one.Parts[0].Fields = [4]uint64{}
	v, err := bridge.FromFrame.(func(*frame.Header, [][]byte, bloom.LoadOptions, func(int, uint64, uint64)) (bloom.View, error))(one, parts[last:], bloom.LoadOptions{Inspect: true}, nil)
	if err != nil {
		return nil, sizing.Params{}, fmt.Errorf("%s: %w", name, err)
	}
	return v, paramsOf(p), nil
}
