package cli

import (
	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/cli/flagvalue"
	"seen/sizing"
)

// buildFlags are the flags of "seen build".
type buildFlags struct {
	records     recordFlags
	hashing     hashFlags
	hash        bloom.Hash // according to hashing
	output      string
	kind        flagvalue.Choice
	capacity    flagvalue.Count
	rate        flagvalue.Rate
	bits        flagvalue.Count
	probes      int
	lines       int
	counterBits int
	memory      flagvalue.Size
	window      flagvalue.Span
	timeKey     string
	json        bool
	foreign     foreignFlags
}

func (a *app) buildCommand() *cobra.Command {
	var b buildFlags
	cmd := &cobra.Command{
		Use:         "build -o SET [FILE...]",
		Short:       "make a filter file from a list of keys",
		Annotations: common("output type capacity error-rate memory json key field-separator ignore-case email url"),
		Long: `Make a filter file from keys, one per line. To put keys into a file that exists, use
add; to unite filter files, use merge.

Without -n, the keys are counted first: their hashes are kept in memory, up to --memory.
The filter has room for them and at least a tenth more, up to the next of ten steps
between one power of ten and the next (1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8; at least
1000 keys), so that filters of about as many keys can be merged. A static filter has
exactly their size. With -n, the filter is filled as the input arrives, in constant
memory. A UTF-8 byte order mark at the start of a file is
not part of its first key.

Types:
  blocked       fast and small; the default
  classic       the smallest to which keys can be added
  partitioned   k separate slices
  counting      keys can be removed
  scalable      grows
  static        the smallest; read-only
  window        forgets keys; needs --window

What options such as --email or --lower do to a key is kept in the file, and "seen
check", "filter", "add" and "remove" do the same to theirs. Where the key is in a line
(-k, -f, -w and the like) is not kept.

The hash is public, so that filters of different machines can be merged. It also lets
others compute keys that the filter says yes to. --secret prevents that.

With --format, the file is a filter of another system, as that system makes it from
the same keys, capacity and error rate; see "seen formats".`,
		Example: `  seen build -o members.seen members.txt
  seen build -o urls.seen -n 1G -p 1e-4 urls-*.gz
  seen build -o stock.seen --type counting -n 5M ids.txt      keys can be removed
  seen build -o known.seen --type static hashes.txt           smallest
  seen build -o f.seen --type classic --bits 1M --probes 7 keys.txt
  seen build -o ids.bloom --format guava:funnel=long -n 1M -p 0.03 ids.txt`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if b.foreign.format.isSet() {
				return a.buildForeign(cmd, &b, files)
			}
			return a.build(cmd, &b, files)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&b.output, "output", "o", "", "write the filter to `SET`, which is replaced as a whole")
	b.kind = flagvalue.OneOf("blocked", "blocked", "classic", "partitioned", "counting", "scalable", "static", "window")
	f.Var(&b.kind, "type", "blocked, classic, partitioned, counting, scalable, static or window")
	f.VarP(&b.capacity, "capacity", "n", "size for N distinct keys")
	b.rate = defaultRate
	f.VarP(&b.rate, "error-rate", "p", "error rate at capacity")
	f.Var(&b.bits, "bits", "explicit layout: m, the number of bits (for counting: of counters)")
	f.IntVar(&b.probes, "probes", 0, "explicit layout: `K`, the bits that a key sets")
	f.IntVar(&b.lines, "lines", 1, "explicit blocked layout: `T` cache lines for each key, 1 to 3")
	f.IntVar(&b.counterBits, "counter-bits", 4, "width of a counter: 4, 8 or 16 `BITS`")
	b.memory = defaultMemory
	f.VarP(&b.memory, "memory", "m", "without -n: memory for the hashes of all keys")
	f.Var(&b.window, "window", "for --type window: forget keys after SPAN (7d, 12h; 10M keys)")
	f.StringVar(&b.timeKey, "time-key", "", "for --type window: take the time from the line, `SPEC` as for -k")
	f.BoolVar(&b.json, "json", false, "report as JSON on standard output")
	cmd.Flags().Var(&b.foreign.format, "format", "make a filter of another system; see \"seen formats\"")
	b.records.register(cmd)
	b.hashing.register(cmd)
	return cmd
}

func (b *buildFlags) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	explicit := set("bits") || set("probes")
	single := b.kind.Value == "blocked" || b.kind.Value == "classic" || b.kind.Value == "partitioned" || b.kind.Value == "counting"
	switch {
	case b.output == "":
		return usagef("-o SET is missing; name the file to write the filter to")
	case b.kind.Value == "static" && set("capacity"):
		return usagef("-n is not for static filters, which are sized for the keys of the input")
	case explicit && !(set("bits") && set("probes")):
		return usagef("give both --bits and --probes")
	case explicit && !single:
		return usagef("--bits and --probes are for blocked, classic, partitioned and counting filters, not for %s", b.kind.Value)
	case explicit && set("error-rate") && !set("capacity"):
		return usagef("--bits and --probes determine the error rate; leave -p out, or give -n, the number of keys for it")
	case set("lines") && !(explicit && b.kind.Value == "blocked"):
		return usagef("--lines is part of an explicit blocked layout: --type blocked --bits M --probes K --lines T")
	case set("counter-bits") && b.kind.Value != "counting":
		return usagef("--counter-bits is for --type counting")
	case (b.kind.Value == "window") != b.window.IsSet():
		return usagef("give both --type window and --window SPAN")
	case b.timeKey != "" && b.window.Time == 0:
		return usagef("--time-key needs a --window of time, such as 7d")
	case set("capacity") && b.capacity == 0:
		return usagef("-n 0: a filter needs room for at least one key")
	}
	return nil
}

// explicit returns the layout of --bits and --probes.
func (b *buildFlags) explicit() sizing.Params {
	p := sizing.Params{M: uint64(b.bits), K: b.probes}
	switch b.kind.Value {
	case "blocked":
		p.Lines = b.lines
		p.Lanes = b.probes / max(b.lines, 1)
	case "counting":
		p.CounterBits = b.counterBits
	}
	return p
}

// newFilter creates the empty filter for n keys; n is 0 for an explicit layout.
func (b *buildFlags) newFilter(n uint64, hash bloom.Hash) (bloom.Set, error) {
	c := bloom.Config{Capacity: n, ErrorRate: float64(b.rate), Hash: hash}
	if b.bits != 0 {
		c.Params = b.explicit()
	}
	switch b.kind.Value {
	case "blocked":
		return bloom.New(c)
	case "classic":
		return bloom.NewClassic(c)
	case "partitioned":
		return bloom.NewPartitioned(c)
	case "counting":
		c.Params.CounterBits = b.counterBits
		return bloom.NewCounting(c)
	case "scalable":
		return bloom.NewScalable(bloom.ScalableConfig{Capacity: n, ErrorRate: float64(b.rate), Hash: hash})
	}
	return bloom.NewWindow(bloom.WindowConfig{
		Span: b.window.Time, SpanKeys: b.window.Lines, Capacity: n, ErrorRate: float64(b.rate), NoClock: b.timeKey != "", Hash: hash,
	})
}

func (a *app) build(cmd *cobra.Command, b *buildFlags, files []string) error {
	if err := b.check(cmd); err != nil {
		return err
	}
	if b.bits != 0 && !cmd.Flags().Changed("error-rate") {
		b.rate = 0 // the layout determines it
	}
	rules, err := b.records.keptRules()
	if err != nil {
		return err
	}
	hash, err := b.hashing.hash()
	if err != nil {
		return err
	}
	if err := a.checkReplaceable(b.output, &b.foreign); err != nil {
		return err
	}
	lock, err := bloomfile.Lock(b.output)
	if err != nil {
		return err
	}
	defer lock.Close() // a lock file that is left behind does no harm
	in, config, err := b.records.open(a, files)
	if err != nil {
		return err
	}
	a.sayOfKeysWithCR(cmd, &b.records, &config)
	config.Hash, b.hash = streamHash(hash), hash
	if b.timeKey != "" {
		if config.Time, err = b.records.timeKey(b.timeKey); err != nil {
			return err
		}
	}
	var v bloom.View
	switch capacity := uint64(b.capacity); {
	case b.kind.Value == "static":
		v, err = a.buildStatic(b, in, config)
	case capacity != 0 || b.bits != 0:
		v, err = a.buildDirectly(b, in, config, capacity)
	case b.kind.Value == "scalable" || b.kind.Value == "window":
		v, err = a.buildDirectly(b, in, config, defaultCapacity)
	default:
		v, err = a.buildCounted(b, in, config)
	}
	if err != nil {
		return err
	}
	if err := v.SetRules(rules); err != nil {
		return err
	}
	if err := lock.Write(v); err != nil {
		return err
	}
	return a.reportFilled(cmd, b.output, b.json, b.records.quiet, config.Counters.Records.Load(), v.Added(), v)
}
