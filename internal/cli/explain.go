package cli

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/figure"
	"seen/internal/remote"
	"seen/internal/setfile"
	"seen/internal/stream"
)

// explainFlags are the flags of "seen explain".
type explainFlags struct {
	records recordFlags
	hashing hashFlags
	fleet   fleetFlags
	json    bool
}

func (a *app) explainCommand() *cobra.Command {
	var e explainFlags
	cmd := &cobra.Command{
		Use:         "explain {SET | --redis URL --name NAME} KEY...",
		Short:       "show how a filter answers for a key",
		Annotations: common("redis server name json key email url"),
		Long: `Show, for each KEY, how a filter file arrives at its answer: the hash of the key; the
bits, counters or slots that it selects in each array, with their lines of 64 bytes;
which of them are set; and the answer. For "maybe", it shows how often a key that was
never added gets the same answer.

The options about keys are those of uniq, so that a key is prepared in the same way.
The exit code is that of check: 0 if all keys may be in the filter, 1 if one is
certainly not.

SET may be redis://HOST/NAME, a filter that many machines share. The output then names
the strings in Redis that contain the bits, for GETBIT. A filter of --server hashes
with a secret of its own; for it, only the answer is shown.`,
		Example: `  seen explain known.seen https://example.org/
  seen explain known.seen --json "$url" | jq .arrays
  seen explain known.seen --url HTTP://Example.org:80/
  seen explain redis://db1/crawl "$url"
  seen explain --server 127.0.0.1 --name crawl "$url"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if e.fleet.isSet() {
				return arguments(1, anyMore, "KEY")(cmd, args)
			}
			return arguments(2, anyMore, "SET and KEY")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.explain(cmd, &e, args) },
	}
	cmd.Flags().BoolVar(&e.json, "json", false, "print one JSON object per line for each key")
	e.records.register(cmd)
	e.hashing.registerSecret(cmd)
	e.fleet.register(cmd, &e.hashing, false)
	return cmd
}

// explanation is what explain says about a key; its JSON names are an interface to
// scripts.
type explanation struct {
	Key       string           `json:"key"`
	Base64    []byte           `json:"key_base64,omitempty"` // where the key is not UTF-8
	TakenAs   string           `json:"taken_as,omitempty"`   // the bytes that are hashed, if options change the key
	Hash      string           `json:"hash"`
	Algorithm string           `json:"hash_algorithm"`
	Seen      bool             `json:"seen"`
	ErrorRate *float64         `json:"error_rate"` // of the answer yes for keys that were never added; null if it is not known
	Arrays    []explainedArray `json:"arrays"`
}

// explainedArray is what a look-up reads in one array.
type explainedArray struct {
	Type      string           `json:"type"`
	Part      int              `json:"part"`
	Slice     string           `json:"slice,omitempty"` // the string in Redis
	Positions uint64           `json:"positions"`
	Found     bool             `json:"found"`
	ErrorRate float64          `json:"error_rate"`
	Probes    []explainedProbe `json:"probes,omitempty"`
}

type explainedProbe struct {
	Line     uint64 `json:"line"`
	Position uint64 `json:"position"`
	Set      bool   `json:"set"`
	Value    uint64 `json:"value"`
}

// explainer explains the answer for a key with its hash.
type explainer func(key []byte, h uint64) (*explanation, error)

func (a *app) explain(cmd *cobra.Command, e *explainFlags, args []string) error {
	if !e.fleet.isSet() {
		name := args[0]
		args = args[1:]
		if !remote.IsAddress(name) {
			if err := e.fleet.check(cmd); err != nil {
				return err
			}
			return a.explainFile(e, name, args)
		}
		e.fleet.redis = name
	}
	fleet, err := e.fleet.toAsk(a)
	if err != nil {
		return err
	}
	defer fleet.Close()
	return a.explainAll(e, fleet.Hash(), args, func(key []byte, h uint64) (*explanation, error) {
		ctx, cancel := context.WithTimeout(a.ctx, fleet.Timeout)
		defer cancel()
		x, err := fleet.explainKey(ctx, key, h)
		if err != nil {
			return nil, e.fleet.explain(err)
		}
		return x, nil
	})
}

func (a *app) explainFile(e *explainFlags, name string, keys []string) error {
	opened, err := a.openFile(name, new(foreignFlags), true)
	switch {
	case err != nil:
		return err
	case opened.Kind == setfile.KindForeign:
		defer opened.Foreign.Close() // it is only read
		return opened.Foreign.Read(func() error {
			return fmt.Errorf("%s is a filter of another system, of format %s; seen explain is for seen's own filters: use seen check or seen info",
				name, opened.Foreign.Filter.Describe().Format)
		})
	case opened.Kind == setfile.KindText:
		return fmt.Errorf("%s is a text, not a filter; it contains its lines as they are, so there is nothing to explain", name)
	}
	o, err := e.hashing.load()
	if err != nil {
		return err
	}
	f, err := bloomfile.Open(name, bloomfile.Options{Secret: o.Secret})
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	hash, err := f.Hash()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := e.records.follow(ruledSet{name, f.Info().Rules}); err != nil {
		return err
	}
	return a.explainAll(e, hash, keys, func(key []byte, h uint64) (*explanation, error) { return explainKey(f, key, h) })
}

// explainAll explains keys that are arguments. They are processed like records of the
// input, so that the options about keys have the same meaning as in uniq.
func (a *app) explainAll(e *explainFlags, hash bloom.Hash, keys []string, explain explainer) error {
	records := argumentRecords(&e.records)
	inside := a.withArguments(keys)
	in, config, err := records.open(inside, nil)
	if err != nil {
		return err
	}
	config.Hash = streamHash(hash)
	w := bufio.NewWriter(a.env.Stdout)
	absent := false
	err = records.run(a.ctx, inside, in, config, nil, func(b *stream.Block) error {
		if b.Header {
			return nil
		}
		for lo, hi := range b.Keyed() {
			for i := lo; i < hi; i++ {
				x, err := explain(b.Key(i), b.Hashes[i])
				if err != nil {
					return err
				}
				x.Key = string(b.Record(i))
				if !utf8.ValidString(x.Key) {
					x.Base64 = []byte(x.Key)
				}
				if taken := string(b.Key(i)); taken != x.Key {
					x.TakenAs = taken
				}
				absent = absent || !x.Seen
				if e.json {
					err = printLine(w, x)
				} else {
					_, err = w.WriteString(x.text())
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if flushErr := w.Flush(); err == nil {
		err = flushErr
	}
	if err == nil && absent {
		err = errNo
	}
	return err
}

// explainKey explains the answer of a file for a key.
func explainKey(f *bloomfile.File, key []byte, h uint64) (*explanation, error) {
	info := f.Info()
	found := []bool{false}
	if _, err := f.HasStrings(found, []string{string(key)}); err != nil {
		return nil, err
	}
	traces, err := f.Trace(h)
	if err != nil {
		return nil, err
	}
	x := newExplanation(info.Hash, h, traces, info.Type == "cascade")
	x.Seen = found[0]
	return x, nil
}

// explainKey explains the answer of a filter in Redis or in a server for a key.
func (f *fleet) explainKey(ctx context.Context, key []byte, h uint64) (*explanation, error) {
	if f.Server != nil {
		found, err := f.Server.Has(ctx, key)
		if err != nil {
			return nil, err
		}
		return &explanation{Seen: found[0], Arrays: []explainedArray{}}, nil
	}
	all, err := f.Fleet.Trace(ctx, h)
	if err != nil {
		return nil, err
	}
	var traces []bloom.Trace
	for _, t := range all {
		traces = append(traces, t.Trace)
	}
	x := newExplanation(f.Fleet.Hash(), h, traces, false)
	for i, t := range all {
		x.Arrays[i].Slice = t.Slice
		x.Seen = x.Seen || t.Found
	}
	return x, nil
}

// newExplanation returns an explanation of what was read.
func newExplanation(hash bloom.Hash, h uint64, traces []bloom.Trace, all bool) *explanation {
	rate := figure.SixDigits(tracedErrorRate(traces, all))
	x := &explanation{Hash: fmt.Sprintf("%016x", h), Algorithm: fmt.Sprint(hash.Algorithm), ErrorRate: &rate, Arrays: []explainedArray{}}
	for _, t := range traces {
		array := explainedArray{Type: t.Array, Part: t.Part, Positions: t.Positions, Found: t.Found, ErrorRate: figure.SixDigits(t.ErrorRate)}
		for _, p := range t.Probes {
			array.Probes = append(array.Probes, explainedProbe{p.Line, p.Position, p.Set, p.Value})
		}
		x.Arrays = append(x.Arrays, array)
	}
	return x
}

// tracedErrorRate returns the probability that a filter with these arrays says yes to a
// key that was never added: that of any of them, or of all if all have to say so.
func tracedErrorRate(traces []bloom.Trace, all bool) float64 {
	right, wrong := 0.0, 1.0
	for _, t := range traces {
		right += math.Log1p(-min(t.ErrorRate, 1))
		wrong *= t.ErrorRate
	}
	if all {
		return wrong
	}
	return -math.Expm1(right)
}

// places are the names of the positions of an array, if they are not bits.
var places = map[string]string{"counting": "counters", "static": "slots", "cuckoo": "slots", "fingerprints": "hashes"}

// text returns the explanation as text.
func (x *explanation) text() string {
	var b strings.Builder
	b.WriteString(x.Key + "\n")
	if x.TakenAs != "" {
		fmt.Fprintf(&b, "  key %q\n", x.TakenAs)
	}
	if x.Hash != "" {
		fmt.Fprintf(&b, "  hash %s, by %s\n", x.Hash, x.Algorithm)
	} else {
		b.WriteString("  the server hashes with a secret of its own; the bits are not known\n")
	}
	for _, a := range x.Arrays {
		what := places[a.Type]
		if what == "" {
			what = "bits"
		}
		answer := "no"
		if a.Found {
			answer = "yes"
		}
		where := fmt.Sprintf("array %d", a.Part)
		if a.Slice != "" {
			where = fmt.Sprintf("layer %d, in the string %s of Redis", a.Part, a.Slice)
		}
		fmt.Fprintf(&b, "  %s, %s of %s %s: %s\n", where, a.Type, figure.Comma(a.Positions), what, answer)
		for from := 0; from < len(a.Probes); {
			line := a.Probes[from].Line
			fmt.Fprintf(&b, "    line %s:", figure.Comma(line))
			for ; from < len(a.Probes) && a.Probes[from].Line == line; from++ {
				p := a.Probes[from]
				switch a.Type {
				case "cuckoo", "static", "counting":
					fmt.Fprintf(&b, " %d=%d", p.Position, p.Value)
				default:
					state := "not set"
					if p.Set {
						state = "set"
					}
					fmt.Fprintf(&b, " %d %s", p.Position, state)
				}
				if from+1 < len(a.Probes) && a.Probes[from+1].Line == line {
					b.WriteByte(',')
				}
			}
			b.WriteByte('\n')
		}
	}
	switch {
	case x.Seen && x.ErrorRate != nil:
		fmt.Fprintf(&b, "  maybe: %s of keys that were never added get this answer\n", figure.Rate(figure.ThreeDigits(*x.ErrorRate)))
	case x.Seen:
		b.WriteString("  maybe\n")
	default:
		b.WriteString("  no, certainly\n")
	}
	return b.String()
}
