// Package planner tells what filters cost: every type side by side, for a number of
// keys, an error rate or an amount of memory, with the lines that make each and the
// curves of its error rate. It is for the command seen plan and for the planner's
// page; the arithmetic is that of package sizing. It also has the table of error rates
// that textbooks print, and what ClickHouse makes of an error rate. It makes no filter.
//
// Rows of one plan are for one goroutine; different goroutines may make different
// plans.
package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"seen/internal/figure"
	"seen/sizing"
)

// DefaultCapacity is that of the first layer of a filter whose number of keys is unknown,
// and DefaultRate its error rate.
const (
	DefaultCapacity = 1_000_000
	DefaultRate     = 1e-6
)

// Types are the types that plan knows, in the order of its report.
var Types = []string{"blocked", "classic", "partitioned", "counting", "scalable", "static", "exact"}

// Loads are the shares of n for which Rows reports error rates.
var Loads = []float64{0.1, 0.5, 1, 1.5, 2}

// Wish is what a plan is asked for: two of the three are given, the third is 0.
type Wish struct {
	N      uint64
	Rate   float64
	Memory uint64 // bytes
}

// Row is one way to hold the keys. Its JSON names are an interface to scripts.
type Row struct {
	Type string `json:"type"`
	// Variant tells rows of one type apart.
	Variant     string  `json:"variant,omitempty"`
	Error       string  `json:"error,omitempty"`
	N           uint64  `json:"n,omitempty"`
	M           uint64  `json:"m,omitempty"`
	K           int     `json:"k,omitempty"`
	Lines       int     `json:"lines,omitempty"`
	Lanes       int     `json:"lanes,omitempty"`
	CounterBits int     `json:"counter_bits,omitempty"`
	Layers      int     `json:"layers,omitempty"`
	BitsPerKey  float64 `json:"bits_per_key,omitempty"`
	Bytes       uint64  `json:"bytes,omitempty"`
	ErrorRate   float64 `json:"error_rate,omitempty"`
	Approximate bool    `json:"approximate,omitempty"`
	Loads       []Load  `json:"loads,omitempty"`
	Command     string  `json:"command,omitempty"`
	Go          string  `json:"go,omitempty"`
	Redis       string  `json:"redis,omitempty"`

	params sizing.Params          // of a row that is one array
	asked  float64                // the error rate to ask for, to get this row
	rate   func(n uint64) float64 // error rate with n keys
	bytes  func(n uint64) uint64  // memory with n keys
}

// Load is the state of a row when it holds some share of n.
type Load struct {
	Load      float64 `json:"load"`
	N         uint64  `json:"n"`
	ErrorRate float64 `json:"error_rate"`
	Bytes     uint64  `json:"bytes"`
}

// Rows returns the rows of the types asked for, each of Types or Cascade. A type
// that cannot have what is wished is a row with an Error.
func Rows(w Wish, types []string) []Row {
	var rows []Row
	for _, name := range types {
		var found []Row
		switch name {
		case "scalable":
			found = scalableRows(w)
		case "static":
			found = staticRows(w)
		case "exact":
			found = exactRow(w)
		case Cascade:
			found = cascadeRow(w)
		default:
			found = arrayRow(arrays[name].shape, w)
		}
		for i := range found {
			found[i].complete(name)
		}
		rows = append(rows, found...)
	}
	return rows
}

// complete fills in what follows from the rest.
func (r *Row) complete(name string) {
	r.Type = name
	if r.Error != "" {
		return
	}
	r.Bytes = r.bytes(r.N)
	r.BitsPerKey = figure.SixDigits(8 * float64(r.Bytes) / float64(r.N))
	r.ErrorRate = figure.SixDigits(r.rate(r.N))
	for _, load := range Loads {
		n := uint64(max(1, math.Round(load*float64(r.N))))
		rate := r.rate(n)
		if math.IsNaN(rate) {
			break
		}
		r.Loads = append(r.Loads, Load{Load: load, N: n, ErrorRate: figure.SixDigits(rate), Bytes: r.bytes(n)})
	}
	r.addCommands()
}

// refused is the row of a type that cannot have what was asked for.
func refused(format string, args ...any) []Row {
	return []Row{{Error: fmt.Sprintf(format, args...)}}
}

func arrayRow(s sizing.Shape, w Wish) []Row {
	w, p, err := w.fit(s)
	if err != nil {
		return refused("%v", err)
	}
	return []Row{{
		N: w.N, M: p.M, K: p.K, Lines: p.Lines, Lanes: p.Lanes, CounterBits: p.CounterBits, params: p, asked: w.Rate,
		rate: p.ErrorRate, bytes: func(uint64) uint64 { return p.Bytes() },
	}}
}

// fit completes the wish: with n and the rate to ask for, of three digits where it
// was not given, and the layout that sizing.For, and so every command, makes of
// them. That may take some percent more memory than the best layout there is,
// since fewer cache lines per key are preferred; then a little less is asked for.
func (w Wish) fit(s sizing.Shape) (Wish, sizing.Params, error) {
	var best sizing.Params
	var err error
	switch {
	case w.Memory == 0:
		p, err := sizing.For(s, w.N, w.Rate)
		return w, p, err
	case w.Rate == 0:
		if best, err = sizing.Within(s, w.N, w.Memory); err != nil {
			return w, best, err
		}
		for p := roundUp(best.ErrorRate(w.N)); p < 1; p = roundUp(p * 1.01) {
			if q, err := sizing.For(s, w.N, p); err == nil && q.Bytes() <= w.Memory {
				w.Rate = p
				return w, q, nil
			}
		}
	default:
		if w.N, best, err = sizing.CapacityWithin(s, w.Memory, w.Rate); err != nil {
			return w, best, err
		}
		for ; w.N > 0; w.N -= w.N/100 + 1 {
			if q, err := sizing.For(s, w.N, w.Rate); err == nil && q.Bytes() <= w.Memory {
				return w, q, nil
			}
		}
	}
	return w, best, fmt.Errorf("%s are too little", figure.Bytes(w.Memory))
}

// layers are those of a scalable filter, as bloom.Scalable makes them.
type layers struct {
	rule sizing.Growth
	made []sizing.Params
	err  error // why there are no more layers
}

// grown returns the layers of a filter with a first capacity and an error rate.
func grown(first uint64, rate float64) *layers {
	return &layers{rule: sizing.Growth{First: first, Factor: sizing.DefaultGrowth, ErrorRate: rate}}
}

// firstShare is the share of the error rate that the first layer gets.
var firstShare = sizing.Growth{ErrorRate: 1}.Rate(0)

// upTo makes layers until n keys fit, and returns how many of them n keys use.
func (l *layers) upTo(n uint64) int {
	i := 0
	for room, capacity := uint64(0), l.rule.First; l.err == nil; i++ {
		if i == len(l.made) {
			p, err := sizing.For(sizing.Blocked, capacity, l.rule.Rate(i))
			if err != nil {
				l.err = fmt.Errorf("layer %d: %w", i+1, err)
				break
			}
			l.made = append(l.made, p)
		}
		if room += capacity; room >= n {
			return i + 1
		}
		capacity = l.rule.Next(capacity)
	}
	return len(l.made)
}

// errorRate returns the probability that an absent key is found in any layer, or
// NaN for more keys than the filter can grow to.
func (l *layers) errorRate(n uint64) float64 {
	right, capacity := 0.0, l.rule.First
	used := l.upTo(n)
	if l.err != nil {
		return math.NaN()
	}
	for i, p := range l.made[:used] {
		in := min(n, capacity)
		if i == used-1 {
			in = n
		}
		right += math.Log1p(-p.ErrorRate(in))
		n -= in
		capacity = l.rule.Next(capacity)
	}
	return -math.Expm1(right)
}

func (l *layers) bytes(n uint64) uint64 {
	sum := uint64(0)
	for _, p := range l.made[:l.upTo(n)] {
		sum += p.Bytes()
	}
	return sum
}

// row returns the plan of a filter that has grown to n keys.
func (l *layers) row(n uint64) []Row {
	used := l.upTo(n)
	if l.err != nil {
		return refused("%v", l.err)
	}
	r := Row{N: n, Layers: used, asked: l.rule.ErrorRate, rate: l.errorRate, bytes: l.bytes}
	for _, p := range l.made[:used] {
		r.M += p.M
		r.K, r.Lines, r.Lanes = p.K, p.Lines, p.Lanes
	}
	return []Row{r}
}

// scalableRows plans the filter whose first layer takes all n keys and, if the memory is
// not given, the one that has grown to them from a first layer of DefaultCapacity.
func scalableRows(w Wish) []Row {
	blocked := w
	blocked.Rate *= firstShare
	blocked, _, err := blocked.fit(sizing.Blocked)
	if err != nil {
		return refused("%v", err)
	}
	n, rate := blocked.N, w.Rate
	if rate == 0 {
		rate = roundUp(blocked.Rate / firstShare)
	}
	rows := grown(n, rate).row(n)
	for w.Rate == 0 && rate < 1 && rows[0].Error == "" && rows[0].bytes(n) > w.Memory {
		rate = roundUp(rate * 1.01) // the rate that was rounded up may take another layout
		rows = grown(n, rate).row(n)
	}
	if rate >= 1 {
		return refused("%s are too little for %s keys and room to grow", figure.Bytes(w.Memory), figure.Comma(n))
	}
	if w.Memory == 0 && n != DefaultCapacity {
		later := grown(DefaultCapacity, rate).row(n)
		later[0].Variant = "from " + figure.Exact(DefaultCapacity)
		rows = append(rows, later...)
	}
	return rows
}

// mostStatic returns about how many keys a static filter takes; see bloom.NewStatic.
func mostStatic(bits int) uint64 { return 1 << 32 / uint64(bits/8) / 9 * 8 }

// staticBitsPerKey returns about what a binary fuse filter takes: 9/8 of the bits
// of a slot, and more for few keys, by the rule of its authors (Graf and Lemire,
// "Binary Fuse Filters: Fast and Smaller Than Xor Filters", 2022).
func staticBitsPerKey(bits int, n uint64) float64 {
	factor := 1.125
	if n > 1 {
		factor = max(factor, 0.875+0.25*math.Log(1e6)/math.Log(float64(n)))
	}
	return float64(bits) * factor
}

func staticRate(bits int, n uint64) float64 {
	return math.Ldexp(1, -bits) + math.Ldexp(float64(n), -64)
}

func staticRow(bits int, n uint64) Row {
	return Row{
		Variant: fmt.Sprintf("%d bits", bits), N: n, Approximate: true, asked: roundUp(staticRate(bits, n)),
		rate:  func(n uint64) float64 { return staticRate(bits, n) },
		bytes: func(n uint64) uint64 { return uint64(math.Ceil(staticBitsPerKey(bits, n) * float64(n) / 8)) },
	}
}

func staticRows(w Wish) []Row {
	var rows []Row
	why := ""
	because := func(format string, args ...any) {
		if why == "" {
			why = fmt.Sprintf(format, args...)
		}
	}
	for _, bits := range []int{8, 16, 32} {
		n := w.N
		if n == 0 {
			n = min(uint64(float64(w.Memory)*8/staticBitsPerKey(bits, math.MaxInt64)), mostStatic(bits))
			for range 3 { // the bits per key depend on n, and n on them
				n = max(1, min(uint64(float64(w.Memory)*8/staticBitsPerKey(bits, n)), mostStatic(bits)))
			}
		}
		row := staticRow(bits, n)
		switch {
		case w.Rate != 0 && row.rate(n) > w.Rate:
		case n > mostStatic(bits):
			because("a static filter with slots of %d bits takes at most %s keys", bits, figure.Comma(mostStatic(bits)))
		case w.Memory != 0 && row.bytes(n) > w.Memory:
			because("%s are too little for %s keys", figure.Bytes(w.Memory), figure.Comma(n))
		default:
			if w.Rate != 0 && len(rows) == 0 {
				row.asked = w.Rate // what fewer bits do not meet
			}
			rows = append(rows, row)
		}
	}
	switch {
	case len(rows) == 0:
		because("no static filter has an error rate of %s; the least is %s", figure.Rate(w.Rate), figure.Rate(staticRate(32, max(w.N, 1))))
		return refused("%s", why)
	case w.Memory != 0 && w.Rate == 0:
		return rows[len(rows)-1:] // the best that fits
	case w.Memory != 0:
		return rows[:1] // the most keys
	}
	return rows
}

// exactBytesPerKey is what a set of 64-bit fingerprints takes on average: slots of
// 8 bytes in tables that grow by 1.4 from a load of 6/7, each at another time.
const exactBytesPerKey = 8 * 7.0 / 6 * 0.4 / 0.3364722366212129

func exactRow(w Wish) []Row {
	n := w.N
	if n == 0 {
		n = uint64(float64(w.Memory) / exactBytesPerKey)
	}
	r := Row{
		N: n, Approximate: true, asked: w.Rate,
		rate:  func(n uint64) float64 { return math.Ldexp(float64(n), -64) },
		bytes: func(n uint64) uint64 { return uint64(math.Ceil(exactBytesPerKey * float64(n))) },
	}
	switch {
	case n == 0:
		return refused("%s are too little for one key", figure.Bytes(w.Memory))
	case w.Rate != 0 && r.rate(n) > w.Rate:
		return refused("hashes of 64 bits make wrong answers with probability %s", figure.Rate(figure.ThreeDigits(r.rate(n))))
	case w.Memory != 0 && r.bytes(n) > w.Memory:
		return refused("%s keys take about %s", figure.Comma(n), figure.Bytes(r.bytes(n)))
	}
	return []Row{r}
}

// arrays are the types of one array, each with the Go function that makes it.
var arrays = map[string]struct {
	shape sizing.Shape
	makes string
}{
	"blocked": {sizing.Blocked, "New"}, "classic": {sizing.Classic, "NewClassic"},
	"partitioned": {sizing.Partitioned, "NewPartitioned"}, "counting": {sizing.Counting, "NewCounting"},
}

// redisMost and redisRate are the limits of BF.RESERVE.
const (
	redisMost = 1 << 30
	redisRate = 0.25
)

// addCommands writes down how to get the row.
func (r *Row) addCommands() {
	n, p := figure.Exact(r.N), figure.ExactRate(r.asked)
	literal := strings.ReplaceAll(figure.Comma(r.N), ",", "_")
	switch r.Type {
	case "scalable":
		if r.Variant != "" {
			r.Command = fmt.Sprintf("seen uniq -p %s FILE", p)
			literal = strings.ReplaceAll(figure.Comma(DefaultCapacity), ",", "_")
		} else {
			r.Command = fmt.Sprintf("seen uniq -n %s -p %s FILE", n, p)
		}
		r.Go = fmt.Sprintf("bloom.NewScalable(bloom.ScalableConfig{Capacity: %s, ErrorRate: %s})", literal, p)
	case "static":
		r.Command = fmt.Sprintf("seen build -o SET --type static -p %s FILE", p)
		r.Go = fmt.Sprintf("bloom.NewStatic(bloom.StaticConfig{ErrorRate: %s, Hashes: hashes})", p)
		return
	case "exact":
		r.Command = "seen uniq --exact FILE"
		r.Go = "bloom.NewAdaptive(bloom.AdaptiveConfig{})"
		return
	case Cascade:
		r.Go = cascadeGo(r.N, p)
		return
	default:
		kind := ""
		if r.Type != "blocked" {
			kind = " --type " + r.Type
		}
		r.Command = fmt.Sprintf("seen build -o SET%s -n %s -p %s FILE", kind, n, p)
		r.Go = fmt.Sprintf("bloom.%s(bloom.Config{Capacity: %s, ErrorRate: %s})", arrays[r.Type].makes, literal, p)
	}
	if r.N > redisMost || r.asked > redisRate || !slices.Contains([]string{"classic", "scalable"}, r.Type) || r.Variant != "" {
		return
	}
	r.Redis = fmt.Sprintf("BF.RESERVE KEY %s %d", p, r.N)
	if r.Type == "classic" {
		r.Redis += " NONSCALING"
	}
}

// Asked returns the error rate to ask for, as the commands of the row have it.
func (r *Row) Asked() string { return figure.ExactRate(r.asked) }

// roundUp returns the least rate of three significant digits that is not below p.
func roundUp(p float64) float64 {
	r := figure.ThreeDigits(p)
	if r < p {
		unit := math.Pow(10, math.Floor(math.Log10(p))-2)
		r = figure.ThreeDigits(p + unit/2)
	}
	return r
}

// Name returns the type with the variant.
func (r *Row) Name() string {
	if r.Variant == "" {
		return r.Type
	}
	return r.Type + ", " + r.Variant
}

// ErrorRateWith returns the error rate with n keys; NaN for more than the row can grow
// to, and for a row with an Error.
func (r *Row) ErrorRateWith(n uint64) float64 {
	if r.Error != "" {
		return math.NaN()
	}
	return r.rate(n)
}

// BytesWith returns the memory with n keys, 0 for a row with an Error.
func (r *Row) BytesWith(n uint64) uint64 {
	if r.Error != "" {
		return 0
	}
	return r.bytes(n)
}
