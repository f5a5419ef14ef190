package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"seen/bloomfile"
	"seen/internal/stream"
	"seen/interop"
)

// foreignFlags say what filters of other systems are, where their content does not.
type foreignFlags struct {
	format     formatValue
	must       []string
	allowEmpty bool
	login      *fleetFlags // the log-in to a running engine; nil: that of its address and the environment
}

func (f *foreignFlags) register(cmd *cobra.Command) {
	f.registerFormat(cmd)
	cmd.Flags().StringArrayVar(&f.must, "must-contain", nil, "fail unless every SET says yes to `KEY`, which was added: a guard against a wrong codec or funnel; may be repeated")
}

// registerTexts is register for a command whose sets may be texts.
func (f *foreignFlags) registerTexts(cmd *cobra.Command) {
	f.register(cmd)
	f.format.mayLines = true
	cmd.Flags().Lookup("format").Usage += "; or " + formatLines + ": a text, whatever its bytes"
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false, "do not warn about a SET without keys")
}

func (f *foreignFlags) registerFormat(cmd *cobra.Command) {
	cmd.Flags().Var(&f.format, "format", "what filters of other systems are, where content cannot tell; see \"seen formats\"")
}

// formatValue is a format and its parameters: NAME[:PARAM=VALUE,...].
type formatValue struct {
	spec     interop.Spec
	mayLines bool // texts are sets of the command
	lines    bool // they are texts, whatever their bytes look like
}

// formatLines is the format of a set that is a text.
const formatLines = "lines"

func (v *formatValue) Set(text string) error {
	if v.lines = v.mayLines && text == formatLines; v.lines {
		v.spec = interop.Spec{}
		return nil
	}
	spec, err := interop.ParseSpec(text)
	v.spec = spec
	return err
}
func (v *formatValue) String() string {
	if v.lines {
		return formatLines
	}
	return v.spec.String()
}
func (v *formatValue) Type() string { return "FORMAT" }
func (v *formatValue) isSet() bool  { return v.spec.Name != "" }

// foreignFile is an open filter of another system. Its content may lie in a file that
// is mapped into memory, so that all calls go through a guard.
type foreignFile struct {
	name   string
	size   int64
	filter interop.Foreign
	bytes  []byte
	mapped *bloomfile.Mapped // nil: the bytes are in memory
}

// read calls f, which may read the filter.
func (f *foreignFile) read(work func() error) error {
	if f.mapped == nil {
		return work()
	}
	if err := f.mapped.Guard(work); err != nil {
		return err
	}
	return nil
}

func (f *foreignFile) Close() error {
	if f.mapped == nil {
		return nil
	}
	return f.mapped.Close()
}

// openForeign maps the file name and opens the filter of another system in it.
func openForeign(name string, spec interop.Spec, inspect bool) (*foreignFile, error) {
	mapped, err := bloomfile.Map(name)
	if err != nil {
		return nil, err
	}
	f := &foreignFile{name: name, size: int64(len(mapped.Bytes())), mapped: mapped}
	err = mapped.Guard(func() error {
		if spec.Name == "" && !mayBeFilter(mapped.Bytes()) {
			if err := checkResembles(name, mapped.Bytes()); err != nil {
				return err
			}
			return interop.ErrUnknown
		}
		return f.open(mapped.Bytes(), spec, inspect)
	})
	if err != nil {
		mapped.Close() // it is only read
		return nil, err
	}
	return f, nil
}

// mayBeFilter keeps texts out that fit a format by chance: content that is not sure to
// be of a format is a filter only if it is named.
func mayBeFilter(b []byte) bool {
	all := interop.Detect(b)
	return len(all) > 0 && all[0].Confidence > interop.Possible
}

func (f *foreignFile) open(b []byte, spec interop.Spec, inspect bool) error {
	open := interop.Open
	if inspect {
		open = interop.Inspect
	}
	var err error
	f.bytes = b
	if f.filter, err = open(b, spec); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// openFolder opens the chunks of a dump: the files chunk-*.bin, in the order of their
// names.
func openFolder(name string, spec interop.Spec, inspect bool) (*foreignFile, error) {
	names, err := chunksIn(name)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s is a folder without files chunk-*.bin, not a set", name)
	}
	var all bytes.Buffer
	for _, name := range names {
		if err := appendFile(&all, name); err != nil {
			return nil, err
		}
	}
	f := &foreignFile{name: name, size: int64(all.Len())}
	return f, f.open(all.Bytes(), spec, inspect)
}

// chunksIn returns the names of the chunks of a dump in a folder.
func chunksIn(folder string) ([]string, error) {
	return filepath.Glob(filepath.Join(escapeGlob(folder), "chunk-*.bin"))
}

func appendFile(to *bytes.Buffer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() // it is only read
	_, err = io.Copy(to, file)
	return err
}

// escapeGlob takes their meaning away from the letters of a name that Glob would
// interpret.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// merger returns a copy of the filter that can take up others.
func (f *foreignFile) merger() (m interop.Merger, err error) {
	err = f.read(func() error {
		c, err := interop.Clone(f.filter)
		if err != nil {
			return fmt.Errorf("%s cannot be merged: %w", f.name, err)
		}
		var ok bool
		if m, ok = c.(interop.Merger); !ok {
			return fmt.Errorf("%s cannot be merged: the OR of such filters is not the filter of all their keys; build one from the keys of all", f.name)
		}
		return nil
	})
	return m, err
}

// keyReader is what a set needs of a block to be asked by key.
type keyReader interface{ Key(i int) []byte }

// lookup makes a set to ask of the filter.
func (f *foreignFile) lookup(r *recordFlags) (*lookupSet, error) {
	numbers := f.filter.KeyKind() == interop.KeyInt64
	switch {
	case numbers && r.encoding.Value == "":
		r.encoding.Value = encodingDecimal
	case numbers && r.encoding.Value != encodingDecimal:
		return nil, usagef("%s holds numbers; --key-encoding %s does not go with it", f.name, r.encoding.Value)
	case !numbers && r.encoding.Value == encodingDecimal:
		return nil, usagef("%s holds %s, not numbers, as --key-encoding decimal or another set has them; ask one at a time", f.name, f.filter.KeyKind())
	}
	return &lookupSet{
		name: f.name, numbers: numbers, done: f.Close, past: f.past,
		askKeys: func(found []bool, b keyReader, from int) error {
			return f.read(func() error {
				for i := range found {
					found[i] = f.filter.Has(b.Key(from + i))
				}
				return nil
			})
		},
	}, nil
}

// checkMembers fails unless all sets have the keys of --must-contain.
func (a *app) checkMembers(sets []*lookupSet, r *recordFlags, flags *foreignFlags) error {
	if len(flags.must) == 0 {
		return nil
	}
	whole := r.whole()
	records := argumentRecords(&whole)
	records.quiet = true // so that ask needs no command
	for _, s := range sets {
		err := a.withArguments(flags.must).ask(nil, &records, s, func(b *stream.Block, i int, found bool) error {
			if found {
				return nil
			}
			return fmt.Errorf("%s does not contain %q, which it must contain: its format, funnel, codec or the encoding of keys is another, or it is another file", s.name, b.Record(i))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sameKeys refuses sets of numbers beside others, unless the user has said that all keys
// are numbers.
func sameKeys(sets []*lookupSet, given bool) error {
	for _, s := range sets {
		if s.numbers != sets[0].numbers && !given {
			return usagef("%s and %s hold numbers and text; ask one at a time", sets[0].name, s.name)
		}
	}
	return nil
}
