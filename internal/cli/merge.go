package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/setfile"
)

// mergeFlags are the flags of "seen merge".
type mergeFlags struct {
	output  string
	foreign foreignFlags
	force   bool
	json    bool
	quiet   bool
}

func (a *app) mergeCommand() *cobra.Command {
	var m mergeFlags
	cmd := &cobra.Command{
		Use:   "merge -o OUT SET...",
		Short: "merge filter files into one",
		Long: `Merge filter files of one type, layout and hash into one that has the keys of all, and
report its new fill and error rate. To put keys into a filter, use add.

Files that differ are refused, with the difference.
OUT is replaced as a whole and may be one of the SETs.

A union that would be past its error rate is refused before anything is written; --force
writes it.

All types can be merged, except static filters and windows of a number of keys. The
secret of the filters is not needed. Filters of one other system, with one layout and
hash, become one filter of that system.`,
		Example: `  seen merge -o all.seen shard-*.seen
  seen merge -o known.seen known.seen today.seen`,
		Args: arguments(1, anyMore, "SET"),
		RunE: func(cmd *cobra.Command, names []string) error { return a.merge(cmd, &m, names) },
	}
	cmd.Flags().StringVarP(&m.output, "output", "o", "", "write the union to `OUT`")
	cmd.Flags().BoolVar(&m.force, "force", false, "write the union even if it is past its error rate")
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
	all, err := setfile.Unite(a.ctx, names, a.opener(&m.foreign))
	if errors.Is(err, bloom.ErrFull) {
		return &exitError{ExitLimit, err}
	}
	if err != nil {
		return explainUnlike(err)
	}
	st := all.Stats()
	if !m.force {
		if err := refusePast(m.output, st, "merge"); err != nil {
			return err
		}
	}
	if err := lock.Write(all); err != nil {
		return err
	}
	r := mergeReport{Output: m.output, Sets: names, setState: stateOf(st), Warnings: warningsOf(st, true)}
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
	for _, w := range warningsOf(st, false) {
		a.say(cmd, "warning: %s: %s", m.output, w)
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

// explainUnlike adds to an error about unlike sets why random keys differ, and to an error
// about a file that is not a filter of seen what to do.
func explainUnlike(err error) error {
	var unlike *setfile.UnlikeError
	switch {
	case errors.As(err, &unlike) && unlike.RandomKey:
		return fmt.Errorf(`%w (every state of "seen uniq" has a key of its own, unless all are made with one --secret FILE or one --seed)`, err)
	case unlike != nil:
		return sayHowToUnite(unlike)
	case errors.Is(err, bloomfile.ErrNotFrame):
		return unknownFormat(err)
	}
	return err
}

// opener opens sets whose bits are read.
func (a *app) opener(flags *foreignFlags) setfile.Opener {
	return func(name string) (*setfile.Set, error) { return a.openFile(name, flags, true) }
}
