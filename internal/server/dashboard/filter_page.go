package dashboard

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"seen/internal/figure"
	"seen/internal/store"
	"seen/internal/web"
	"seen/sizing"
)

// Filter returns the details of a filter.
func (v *visitor) Filter(name string) (*web.Detail, error) {
	value, kind, err := v.value(name)
	if err != nil {
		return nil, err
	}
	d := &web.Detail{Filter: describe(value), Created: value.Created()}
	d.Name, d.Bytes, d.Expires, d.Hits = name, value.Bytes(), value.Expires(), math.NaN()
	rows, _, _ := v.filters.show(v.Now())
	for _, row := range rows {
		if row.Name == name {
			d.Adds, d.Checks, d.Hits = row.Adds, row.Checks, row.Hits
		}
	}
	d.May = web.May{
		Check: v.user.May(kind.Ask, name, "x"), Add: v.user.May(kind.Add, name, "x", "x"),
		Clear: kind.Clear != "" && v.user.May(kind.Clear, name), Expire: v.user.May("PEXPIRE", name, "1"), Delete: v.user.May("DEL", name),
	}
	if f, ok := value.(*store.Foreign); ok { // cannot be changed
		d.May.Add, d.May.Clear = false, false
		d.Facts = append(d.Facts, web.Fact{Name: "format", Value: f.Format()})
	}
	d.Facts = append(d.Facts, web.Fact{Name: "created", Value: d.Created.UTC().Format(time.DateTime) + " UTC"})
	if share := fill(value); !math.IsNaN(share) {
		d.Fill = share
	}
	v.explain(d, value)
	if c := counted(value); c != nil {
		d.Keys = c.Keys(d.Items)
	}
	if d.Forecast, err = v.forecast(value, d.Items, d.Capacity); err != nil {
		return nil, err
	}
	if v.user.May("DUMP", name) {
		d.Formats, d.NoFormat = formats(value, name)
	}
	return d, nil
}

// explain fills in the details that depend on the type.
func (v *visitor) explain(d *web.Detail, value store.Value) {
	fact := func(name, value string) { d.Facts = append(d.Facts, web.Fact{Name: name, Value: value}) }
	whole := func(name string, n uint64) { fact(name, figure.Comma(n)) }
	switch value := value.(type) {
	case store.Filter:
		i := value.Info()
		d.Window = i.Span
		fact("layout", i.Layout.String())
		fact("error rate asked for", figure.Rate(i.ErrorRate))
		if i.Span != 0 {
			fact("window", i.Span.String())
		} else if i.Expansion == 0 {
			fact("growth", "none: the filter is full at its capacity")
		} else {
			fact("growth", fmt.Sprintf("each layer %d times as large as the one before", i.Expansion))
		}
		for _, l := range i.Layers {
			d.Layers = append(d.Layers, web.Layer{
				Bits: l.Bits, Probes: l.Probes, Capacity: l.Capacity, Added: l.Added, Bytes: l.Bytes, Asked: l.ErrorRate, Fill: l.Fill, Begin: l.Begin,
			})
		}
		if n := len(i.Layers); n > 0 {
			last := i.Layers[n-1]
			whole("bits, m", last.Bits)
			whole("probes, k", uint64(last.Probes))
			fact("bits per key at capacity", strconv.FormatFloat(float64(last.Bits)/float64(max(last.Capacity, 1)), 'f', 1, 64))
		}
	case *store.Cuckoo:
		i := value.Info()
		fact("layout", i.Layout.String())
		whole("sub-filters", uint64(i.Filters))
		whole("slots", i.Slots)
		whole("slots per bucket", uint64(i.BucketSize))
		whole("iterations to make room", uint64(i.MaxIterations))
		whole("growth factor", uint64(i.Expansion))
		whole("removed since the last compaction", i.Removed)
	case *store.CountMin:
		whole("counters per row", value.Width())
		whole("rows", uint64(value.Depth()))
		stuck, of := value.StuckCounters(sampledCounters)
		d.Stuck = &web.Stuck{Stuck: stuck, Of: of}
	case *store.TopK:
		c := value.Config()
		whole("keys kept, k", uint64(c.K))
		whole("counters per row", uint64(c.Width))
		whole("rows", uint64(c.Depth))
		fact("decay", strconv.FormatFloat(c.Decay, 'g', -1, 64))
		if v.user.May("TOPK.LIST", d.Name) {
			best, _ := value.List()
			for _, e := range best[:min(len(best), shownBest)] {
				d.Best = append(d.Best, web.Counted{Key: string(e.Key), Count: uint64(e.Count)})
			}
		}
	}
}

const (
	sampledLines    = 1024    // of each layer in a picture
	sampledCounters = 1 << 16 // in the search for stuck counters
	shownBest       = 100     // keys of a top-k sketch
	// mostComparedBytes is the largest size of a filter that a page compares.
	mostComparedBytes = 1 << 30
)

// spans are the spans of the store for the spans of the pages.
var spans = map[web.Span]store.Span{web.Hour: store.Hour, web.Day: store.Day, web.Month: store.Month}

// History returns the samples of a filter.
func (v *visitor) History(name string, span web.Span) ([]web.Sample, error) {
	value, _, err := v.value(name)
	if err != nil {
		return nil, err
	}
	of := spans[span]
	stored, err := v.Store.History(value, of)
	keys := counted(value)
	samples := make([]web.Sample, len(stored))
	for i, s := range stored {
		samples[i] = web.Sample{
			From: s.From, To: s.To, Items: s.Items, Capacity: s.Capacity, Fill: s.Fill, Rate: s.Rate,
			Adds: s.Adds, Checks: s.Checks, Hits: s.Hits,
		}
		if keys != nil {
			samples[i].Keys = keys.Keys(s.Items)
		}
	}
	return samples, err
}

// counted returns an estimator of the number of keys in a Bloom filter. It returns nil for
// other types, and for windows, because they forget keys.
func counted(value store.Value) *sizing.Counted {
	f, ok := value.(store.Filter)
	if !ok {
		return nil
	}
	i := f.Info()
	shares, layers := make([]uint64, len(i.Layers)), make([]sizing.Params, len(i.Layers))
	for n, l := range i.Layers {
		if shares[n], layers[n] = l.Added, l.Params; l.Params.Validate() != nil {
			return nil
		}
	}
	if i.Span != 0 {
		return nil
	}
	return sizing.NewCounted(shares, layers)
}

// Bits returns the shares of ones in sampled lines of the newest layers.
func (v *visitor) Bits(name string) ([][]float64, error) {
	value, _, err := v.value(name)
	if err != nil {
		return nil, err
	}
	all := store.SampleBits(value, sampledLines)
	return all[max(0, len(all)-shownLayers):], nil
}

// shownLayers bounds a picture to the newest layers.
const shownLayers = 8

// Compare estimates what two filters have in common.
func (v *visitor) Compare(a, b string) (*web.Comparison, error) {
	var filters []store.Filter
	for _, name := range []string{a, b} {
		value, _, err := v.value(name)
		if err != nil {
			return nil, err
		}
		f, ok := value.(store.Filter)
		if !ok {
			return nil, &web.Refused{Status: http.StatusBadRequest, Text: fmt.Sprintf("%q is not a Bloom filter.", name)}
		}
		if f.Bytes() > mostComparedBytes {
			return nil, &web.Refused{Status: http.StatusBadRequest, Text: fmt.Sprintf("%q is larger than %s, which is the most that this page reads. Use BF.INTERCARD.", name, figure.Bytes(mostComparedBytes))}
		}
		filters = append(filters, f)
	}
	if !v.user.May("BF.UNIONCARD", a, b) || !v.user.May("BF.INTERCARD", a, b) {
		return nil, &web.Refused{Status: http.StatusForbidden, Text: "The user " + v.user.Name() + " may not compare filters: it has no right to run BF.UNIONCARD and BF.INTERCARD."}
	}
	c := &web.Comparison{A: a, B: b}
	overlap, err := v.Store.Overlap(nil, filters[0], filters[1])
	if err != nil {
		return nil, &web.Refused{Status: http.StatusBadRequest, Text: "The filters cannot be compared: " + err.Error() + "."}
	}
	c.KeysA, c.KeysB = overlap.A, overlap.B
	c.Union, c.Intersection, c.Jaccard = overlap.Union, overlap.Intersection, overlap.Jaccard
	return c, nil
}
