package cli

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/figure"
)

// explainFlags are the flags of "seen explain".
type explainFlags struct {
	hashing hashFlags
	json    bool
}

func (a *app) explainCommand() *cobra.Command {
	var e explainFlags
	cmd := &cobra.Command{
		Use:   "explain SET KEY...",
		Short: "tell why a filter says maybe or no: the hash of a key and the bits it names",
		Long: `Tell for each KEY what a filter file looks at: its hash, the bits, counters or
slots that follow from it in each array, with the line of 64 bytes that each stands
in, which of them are set, and the verdict. Of a "maybe" it says how often a key that
was never added gets that answer. Keys are taken as they are written. The exit code
is that of check: 0 if all keys may be there, 1 if one is certainly not.`,
		Example: `  seen explain known.seen https://example.org/
  seen explain known.seen --json "$url" | jq .arrays`,
		Args: arguments(2, anyMore, "SET and KEY"),
		RunE: func(_ *cobra.Command, args []string) error { return a.explain(&e, args[0], args[1:]) },
	}
	cmd.Flags().BoolVar(&e.json, "json", false, "one JSON object a line for each key")
	e.hashing.registerSecret(cmd)
	return cmd
}

// explanation is what explain says of a key; its JSON names are an interface to
// scripts.
type explanation struct {
	Key       string           `json:"key"`
	Base64    []byte           `json:"key_base64,omitempty"` // where the key is not UTF-8
	Hash      string           `json:"hash"`
	Algorithm string           `json:"hash_algorithm"`
	Seen      bool             `json:"seen"`
	ErrorRate float64          `json:"error_rate"` // that a key which was never added is taken for seen
	Arrays    []explainedArray `json:"arrays"`
}

// explainedArray is what a question looks at in one array.
type explainedArray struct {
	Type      string           `json:"type"`
	Part      int              `json:"part"`
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

func (a *app) explain(e *explainFlags, name string, keys []string) error {
	isFilter, err := isFilterFile(name)
	if err != nil {
		return err
	}
	if !isFilter {
		return fmt.Errorf("%s is a text and no filter: it holds its lines as they are, and there is nothing to explain", name)
	}
	o, err := e.hashing.load()
	if err != nil {
		return err
	}
	f, err := bloomfile.Open(name, bloomfile.Options{Secret: o.Secret})
	if err != nil {
		return err
	}
	defer f.Close()
	found := make([]bool, len(keys))
	if _, err := f.HasStrings(found, keys); err != nil {
		return err // the secret is missing, say
	}
	w := bufio.NewWriter(a.env.Stdout)
	absent := false
	for i, key := range keys {
		x, err := explainKey(f, key, found[i])
		if err != nil {
			return err
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
	if err := w.Flush(); err != nil {
		return err
	}
	if absent {
		return errNo
	}
	return nil
}

// explainKey says why the file gives the answer found for a key.
func explainKey(f *bloomfile.File, key string, found bool) (*explanation, error) {
	info := f.Info()
	h := info.Hash.SumString(key)
	traces, err := f.Trace(h)
	if err != nil {
		return nil, err
	}
	x := &explanation{
		Key: key, Hash: fmt.Sprintf("%016x", h), Algorithm: fmt.Sprint(info.Hash.Algorithm), Seen: found,
		ErrorRate: figure.SixDigits(bloom.TracedErrorRate(traces, info.Type == "cascade")), Arrays: []explainedArray{},
	}
	if !utf8.ValidString(key) {
		x.Base64 = []byte(key)
	}
	for _, t := range traces {
		array := explainedArray{Type: t.Array, Part: t.Part, Positions: t.Positions, Found: t.Found, ErrorRate: figure.SixDigits(t.ErrorRate)}
		for _, p := range t.Probes {
			array.Probes = append(array.Probes, explainedProbe{p.Line, p.Position, p.Set, p.Value})
		}
		x.Arrays = append(x.Arrays, array)
	}
	return x, nil
}

// places are what the positions of an array are called.
var places = map[string]string{"counting": "counters", "static": "slots", "cuckoo": "slots", "fingerprints": "hashes"}

// text is the explanation for people.
func (x *explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  hash %s, by %s\n", x.Key, x.Hash, x.Algorithm)
	for _, a := range x.Arrays {
		what := places[a.Type]
		if what == "" {
			what = "bits"
		}
		answer := "no"
		if a.Found {
			answer = "yes"
		}
		fmt.Fprintf(&b, "  array %d, %s of %s %s: %s\n", a.Part, a.Type, figure.Comma(a.Positions), what, answer)
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
	if x.Seen {
		fmt.Fprintf(&b, "  maybe: of keys that were never added, %s get this answer\n", figure.Rate(figure.ThreeDigits(x.ErrorRate)))
	} else {
		b.WriteString("  no, certainly\n")
	}
	return b.String()
}
