package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/setfile"
	"seen/interop"
)

// mergeFlags are the flags of "seen merge".
type mergeFlags struct {
	output  string
	foreign foreignFlags
	json    bool
	quiet   bool
}

func (a *app) mergeCommand() *cobra.Command {
	var m mergeFlags
	cmd := &cobra.Command{
		Use:   "merge -o OUT SET...",
		Short: "unite filter files into one that holds all their keys",
		Long: `Unite filter files of one type, layout and hash into one that holds the keys of
all, and report its new fill and error rate. Files that are unlike are refused
with the difference. OUT is replaced as a whole and may be one of the SETs.

All types can be merged but static filters and windows of a number of keys. The
secret of the filters is not needed. Filters of one other system, of one layout and
hash, become one of that system.`,
		Example: `  seen merge -o all.seen shard-*.seen
  seen merge -o known.seen known.seen today.seen`,
		Args: arguments(1, anyMore, "SET"),
		RunE: func(cmd *cobra.Command, names []string) error { return a.merge(cmd, &m, names) },
	}
	cmd.Flags().StringVarP(&m.output, "output", "o", "", "write the union to `OUT`")
	cmd.Flags().BoolVar(&m.json, "json", false, "report as JSON")
	cmd.Flags().BoolVarP(&m.quiet, "quiet", "q", false, "no report")
	m.foreign.registerFormat(cmd)
	_ = cmd.MarkFlagRequired("output") // the flag is there
	return cmd
}

// mergeReport is what merge reports; its JSON names are an interface to scripts.
type mergeReport struct {
	Output string   `json:"output"`
	Sets   []string `json:"sets"`
	setState
	Warnings []string `json:"warnings,omitempty"`
}

func (a *app) merge(cmd *cobra.Command, m *mergeFlags, names []string) error {
	if err := a.checkReplaceable(m.output, &m.foreign); err != nil {
		return err
	}
	lock, err := bloomfile.Lock(m.output)
	if err != nil {
		return err
	}
	defer lock.Close() // a lock file that is left behind does no harm
	all, err := a.unite(names, &m.foreign)
	if errors.Is(err, bloom.ErrFull) {
		return &exitError{ExitLimit, err}
	}
	if err != nil {
		return err
	}
	if err := lock.Write(all); err != nil {
		return err
	}
	st := all.Stats()
	r := mergeReport{Output: m.output, Sets: names, setState: stateOf(st), Warnings: warningsOf(st)}
	r.uncounted = st.Added == 0 && st.Ones > 0
	r.OrFewer = len(names) > 1 && st.Layers > 1 && st.Type != "cascade"
	switch {
	case m.json:
		if err := printJSON(a.env.Stdout, r); err != nil {
			return err
		}
		return past(m.output, st)
	case m.quiet:
		return past(m.output, st)
	}
	for _, w := range r.Warnings {
		if !strings.HasPrefix(w, pastItsRate) { // which is the error
			a.say(cmd, "warning: %s: %s", m.output, w)
		}
	}
	t := newTable(a.env.Stdout)
	t.row("union", "%s of %d files", m.output, len(names))
	t.row("type", "%s", r.Type)
	r.setState.rows(t, "")
	if err := t.flush(); err != nil {
		return err
	}
	return past(m.output, st)
}

// united is what a merge makes.
type united interface {
	io.WriterTo
	Stats() bloom.Stats
}

// unite makes the union of files, which are all ours or all of one other system.
func (a *app) unite(names []string, flags *foreignFlags) (united, error) {
	kind, first, err := a.kindOf(names[0], flags, true)
	switch {
	case err != nil:
		return nil, err
	case kind == setfile.KindForeign:
		defer first.Close() // it is only read
		return a.uniteForeign(first, names[1:], flags)
	}
	all, err := readSet(names[0])
	if err != nil && kind == setfile.KindText {
		err = unknownFormat(err)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names[1:] {
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
		other, err := readSet(name)
		if err != nil {
			return nil, err
		}
		if err := all.unite(other); err != nil {
			return nil, err
		}
	}
	return all.view, nil
}

// uniteForeign makes the union of filters of one other system.
func (a *app) uniteForeign(first *setfile.Foreign, names []string, flags *foreignFlags) (united, error) {
	all, err := first.Merger()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
		if err := a.addForeign(all, first.Name, name, flags); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addForeign adds all keys of the file name to a filter of another system.
func (a *app) addForeign(all interop.Merger, first, name string, flags *foreignFlags) error {
	kind, f, err := a.kindOf(name, flags, true)
	if err != nil {
		return err
	}
	if kind != setfile.KindForeign {
		return fmt.Errorf("%s and %s are unlike: %s is not a filter of another system", first, name, name)
	}
	defer f.Close() // it is only read
	return f.Read(func() error {
		if err := all.Union(f.Filter); err != nil {
			return fmt.Errorf("%s and %s cannot be merged: %w", first, name, err)
		}
		return nil
	})
}

// fileSet is a filter read from a file.
type fileSet struct {
	name string
	info bloomfile.Info
	view bloom.View
}

// readSet reads a filter file, without the secret of its hash.
func readSet(name string) (*fileSet, error) {
	f, err := bloomfile.Open(name, bloomfile.Options{})
	if err != nil {
		return nil, setfile.ExplainCompressed(name, err)
	}
	s := &fileSet{name: name, info: f.Info()}
	if err := f.Close(); err != nil {
		return nil, err
	}
	s.view, err = bloomfile.Read(name, bloom.LoadOptions{Inspect: true})
	return s, err
}

// unite adds all keys of other to s, or says which files are unlike and how.
func (s *fileSet) unite(other *fileSet) error {
	if s.info.Type == other.info.Type {
		err := unite(s.view, other.view)
		if !errors.Is(err, bloom.ErrIncompatible) {
			return err
		}
		if differences := s.differences(other); differences == "" {
			return fmt.Errorf("%s and %s cannot be merged: %w", s.name, other.name, err)
		}
	}
	return fmt.Errorf("%s and %s are unlike: %s", s.name, other.name, s.differences(other))
}

// unite adds all keys of b to a, which is of the same type.
func unite(a, b bloom.View) error {
	switch a := a.(type) {
	case *bloom.Classic:
		return uniteAs(a, b)
	case *bloom.Filter:
		return uniteAs(a, b)
	case *bloom.Partitioned:
		return uniteAs(a, b)
	case *bloom.Counting:
		return uniteAs(a, b)
	case *bloom.Scalable:
		return uniteAs(a, b)
	case *bloom.Window:
		return uniteAs(a, b)
	case *bloom.Cascade:
		return uniteAs(a, b)
	case *bloom.Adaptive:
		return uniteAs(a, b)
	}
	return fmt.Errorf("%w: %s filters cannot be united without their keys; build one from the keys of all", bloom.ErrIncompatible, a.Stats().Type)
}

func uniteAs[F interface{ Union(F) error }](a F, b bloom.View) error { return a.Union(b.(F)) }

// differences names what makes two filters unlike: type, hash and layout.
func (s *fileSet) differences(other *fileSet) string {
	var list []string
	differ := func(what string, a, b any) {
		if a != b {
			list = append(list, fmt.Sprintf("%s %v and %v", what, a, b))
		}
	}
	differ("type", s.info.Type, other.info.Type)
	differ("hash", hashOf(s.info).String(), hashOf(other.info).String())
	if len(list) > 0 && (s.info.Hash.Algorithm == bloom.NH || other.info.Hash.Algorithm == bloom.NH) {
		list[len(list)-1] += ` (every state of "seen uniq" has a key of its own, unless all are made with one --secret FILE or one --seed)`
	}
	if s.info.Type == other.info.Type {
		a, b := s.view.Stats(), other.view.Stats()
		p, q := a.Params, b.Params
		differ("m", comma(p.M), comma(q.M))
		differ("k", p.K, q.K)
		differ("lines", p.Lines, q.Lines)
		differ("counter bits", p.CounterBits, q.CounterBits)
		if p.M == 0 {
			differ("error rate", formatRate(a.AskedErrorRate), formatRate(b.AskedErrorRate))
		}
	}
	return strings.Join(list, "; ")
}
