package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"seen/internal/remote"
	"seen/internal/setfile"
	"seen/internal/stream"
	"seen/interop"
)

// foreignFlags give the format of filters of other systems, if content does not tell it.
type foreignFlags struct {
	format     formatValue
	must       []string
	allowEmpty bool
	login      *fleetFlags // log-in to a running engine; nil: from its address and the environment
}

func (f *foreignFlags) register(cmd *cobra.Command) {
	f.registerFormat(cmd)
	cmd.Flags().StringArrayVar(&f.must, "must-contain", nil, "fail unless every SET says yes to `KEY`, which you know was added; finds a wrong codec or funnel; may be repeated")
}

// registerTexts is register for a command whose sets may be texts.
func (f *foreignFlags) registerTexts(cmd *cobra.Command) {
	f.register(cmd)
	f.format.mayLines = true
	cmd.Flags().Lookup("format").Usage += ", or " + formatLines + " for a text with any bytes"
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false, "do not warn about a SET without keys")
}

func (f *foreignFlags) registerFormat(cmd *cobra.Command) {
	cmd.Flags().Var(&f.format, "format", "the format of filters of other systems, if content does not tell it; see \"seen formats\"")
}

// formatValue is a format and its parameters: NAME[:PARAM=VALUE,...].
type formatValue struct {
	spec     interop.Spec
	mayLines bool // the command accepts texts as sets
	lines    bool // the sets are texts, whatever their bytes look like
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

// setConfig says how the flags open a set.
func (a *app) setConfig(flags *foreignFlags, r *recordFlags, inspect bool) setfile.Config {
	return setfile.Config{
		Format: flags.format.spec, Lines: flags.format.lines, Inspect: inspect,
		Plain: r.plain, Records: r.zero || r.delimiter != "", Jobs: r.jobs,
		Stdin: a.env.Stdin, StdinName: a.stdinName,
	}
}

// openSet opens a set by the flags.
func (a *app) openSet(name string, flags *foreignFlags, r *recordFlags, inspect bool) (*setfile.Set, error) {
	c := a.setConfig(flags, r, inspect)
	if remote.IsAddress(name) {
		f, err := a.openLive(name, flags.login, c)
		if err != nil {
			return nil, err
		}
		return &setfile.Set{Kind: setfile.KindForeign, Foreign: f}, nil
	}
	s, err := setfile.Open(a.ctx, name, c)
	if err != nil {
		return nil, explainOpen(err)
	}
	return s, nil
}

// explainOpen adds to an error of opening a set the options that help.
func explainOpen(err error) error {
	var text *setfile.TextError
	var compressed *setfile.CompressedError
	switch {
	case errors.As(err, &compressed):
		return fmt.Errorf("%s is compressed, and --no-decompress takes files as they are; leave it out, or unpack the file first", compressed.Name)
	case !errors.As(err, &text):
		return err
	case text.Err != nil:
		return fmt.Errorf("%w; check and filter read it as lines with --format %s", err, formatLines)
	}
	return fmt.Errorf("%w (give --format, see \"seen formats\"); to read it as lines, give --format %s", err, formatLines)
}

// openFile is openSet for commands that need the file of a filter of seen: a filter of seen
// that is compressed or comes through a pipe is an error.
func (a *app) openFile(name string, flags *foreignFlags, inspect bool) (*setfile.Set, error) {
	s, err := a.openSet(name, flags, new(recordFlags), inspect)
	if err != nil {
		return nil, err
	}
	return s, s.CheckFile(name)
}

// openLive reads a filter of another system that is in strings of a running engine:
// redis://HOST/NAME.
func (a *app) openLive(address string, login *fleetFlags, c setfile.Config) (*setfile.Foreign, error) {
	if c.Format.Name == "" {
		return nil, usagef("the format of a string in Redis is not known: give --format, for example redisson or redis-recipe:type=md5; for a filter of seen, give --redis")
	}
	at, err := remote.ParseAddress(address)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if at.Name == "" {
		return nil, usagef("%s: the name of the filter is missing, as in redis://HOST/NAME", at)
	}
	if login == nil {
		login = new(fleetFlags)
	}
	if err := login.login(a, &at); err != nil {
		return nil, err
	}
	client, err := at.Dial()
	if err != nil {
		return nil, explainLogin(err)
	}
	defer client.Close()
	f, err := setfile.ReadEngine(a.ctx, client, at.Name, at.String(), c)
	if err != nil {
		return nil, explainLogin(err)
	}
	return f, nil
}

// encodeFor gives r the encoding of the keys of a filter of another system, unless
// --key-encoding is given.
func (r *recordFlags) encodeFor(f *setfile.Foreign) error {
	switch numbers := f.Filter.KeyKind() == interop.KeyInt64; {
	case numbers && r.encoding.Value == "":
		r.encoding.Value = encodingDecimal
	case numbers && r.encoding.Value != encodingDecimal:
		return usagef("the keys of %s are numbers; --key-encoding %s cannot be used with it", f.Name, r.encoding.Value)
	case !numbers && r.encoding.Value == encodingDecimal:
		return usagef("the keys of %s are %s, not numbers as for --key-encoding decimal or another SET; give one SET at a time", f.Name, f.Filter.KeyKind())
	}
	return nil
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
			return fmt.Errorf("%s does not contain %q, which it must contain; check the file, its format, funnel or codec, and the encoding of keys", s.Name, b.Record(i))
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// sameKeys refuses sets with number keys together with others, unless --key-encoding says
// that all keys are numbers.
func sameKeys(sets []*lookupSet, given bool) error {
	for _, s := range sets {
		if s.Numbers != sets[0].Numbers && !given {
			return usagef("the keys of %s and %s are numbers and text; give one SET at a time", sets[0].Name, s.Name)
		}
	}
	return nil
}

// formatHint says which options would avoid an error of package interop.
func formatHint(err error) string {
	var e *interop.SpecError
	switch {
	case !errors.As(err, &e):
		if errors.Is(err, interop.ErrUnknown) {
			return "; give --format NAME, see \"seen formats\""
		}
		return ""
	case errors.Is(e, interop.ErrNotConvertible):
		return fmt.Sprintf("; build it from the keys: seen build --format %s -o OUT KEYS", strings.Join(e.Try, " or "))
	case e.Target:
		return "; give --to " + strings.Join(e.Try, " or --to ")
	}
	return "; give --format " + strings.Join(e.Try, " or --format ")
}

// unknownFormat adds to the error of a file that is not a filter of seen what to do.
func unknownFormat(err error) error {
	return fmt.Errorf("%w; if it is a filter of another system, give --format, see \"seen formats\"", err)
}
