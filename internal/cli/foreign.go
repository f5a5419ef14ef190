package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"seen/bloomfile"
	"seen/internal/redisurl"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/interop"
)

// foreignFlags say what filters of other systems are, where their content does not.
type foreignFlags struct {
	format formatValue
	must   []string
	login  *fleetFlags // who asks a running engine; nil: whom address and environment name
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

// kind says what a set is.
type kind int

const (
	textSet kind = iota
	ownSet
	foreignSet
)

// kindOf tells what the set name is: a filter file of ours, one of another system, which
// then is open, or anything else, which is a text. What is no regular file is a text: it
// can be read only once, and a filter has to be mapped.
func (a *app) kindOf(name string, flags *foreignFlags, inspect bool) (kind, *foreignFile, error) {
	if redisurl.Is(name) {
		f, err := a.openLive(name, flags, inspect)
		return foreignSet, f, err
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		f, err := openFolder(name, flags.format.spec, inspect)
		return foreignSet, f, err
	case err == nil && !info.Mode().IsRegular() && !flags.format.isSet():
		return textSet, nil, nil
	}
	if is, err := isFilterFile(name); err != nil || is {
		return ownSet, nil, err
	}
	if flags.format.lines {
		return textSet, nil, nil
	}
	f, err := openForeign(name, flags.format.spec, inspect)
	if errors.Is(err, interop.ErrUnknown) {
		return textSet, nil, nil
	}
	return foreignSet, f, err
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
			return interop.ErrUnknown
		}
		return f.open(mapped.Bytes(), spec, inspect)
	})
	if err != nil {
		mapped.Close()
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
	names, err := filepath.Glob(filepath.Join(escapeGlob(name), "chunk-*.bin"))
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

func appendFile(to *bytes.Buffer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(to, file)
	return err
}

// escapeGlob takes their meaning away from the letters of a name that Glob would
// interpret.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// unknownFormat adds the way out to the error of a file that is no filter of ours.
func unknownFormat(err error) error {
	return fmt.Errorf("%w; for a filter of another system that content does not tell give --format, see \"seen formats\"", err)
}

// checkText refuses to read a set as a text whose content looks like none, unless the
// user has said that it is one: a filter that is damaged, or of a format that content
// does not tell, would say no to every key.
func checkText(name string, r *recordFlags, flags *foreignFlags) error {
	if flags.format.lines || r.zero || r.delimiter != "" {
		return nil
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil // opening a pipe would take from it what its reader is to have
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	start := make([]byte, 4096)
	n, _ := io.ReadFull(f, start) // the reader says what is wrong, if anything is
	start = start[:n]
	// Bytes that no text has, in whatever encoding of one byte a letter or more.
	control := func(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b' }
	at := slices.IndexFunc(start, control)
	if at < 0 || input.Compressed(start) {
		return nil
	}
	return fmt.Errorf("%s is neither a text nor a known filter: byte %d is 0x%02x; it may be a filter that is cut short, damaged or of a format that content does not tell "+
		"(give --format, see \"seen formats\"); to have it read as lines, give --format %s", name, at, start[at], formatLines)
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
	case numbers && r.encoding.value == "":
		r.encoding.value = encodingDecimal
	case numbers && r.encoding.value != encodingDecimal:
		return nil, usagef("%s holds numbers; --key-encoding %s does not go with it", f.name, r.encoding.value)
	case !numbers && r.encoding.value == encodingDecimal:
		return nil, usagef("%s holds %s, not numbers, as --key-encoding decimal or another set has them; ask one at a time", f.name, f.filter.KeyKind())
	}
	return &lookupSet{
		name: f.name, numbers: numbers, done: f.Close,
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
	records.quiet = true
	for _, s := range sets {
		err := a.withArguments(flags.must).ask(&records, s, func(b *stream.Block, i int, found bool) error {
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
