package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

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
	replace bool
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
OUT is replaced as a whole and may be one of the SETs. If it exists and is not one of
them, its keys would be lost: this is an error without --replace.

A union that would be past its error rate is refused before anything is written; --force
writes it.

All types can be merged, except static filters and windows of a number of keys. The
secret of the filters is not needed. Filters of one other system, with one layout and
hash, become one filter of that system.`,
		Example: `  seen merge -o all.seen shard-*.seen
  seen merge -o known.seen known.seen today.seen     add the keys of today to known.seen`,
		Args: func(cmd *cobra.Command, names []string) error {
			if m.output == "" {
				return usagef("name the file for the union: -o OUT")
			}
			return arguments(1, anyMore, "SET")(cmd, names)
		},
		RunE: func(cmd *cobra.Command, names []string) error { return a.merge(cmd, &m, names) },
	}
	cmd.Flags().StringVarP(&m.output, "output", "o", "", "write the union to `OUT`")
	cmd.Flags().BoolVar(&m.force, "force", false, "write the union even if it is past its error rate")
	cmd.Flags().BoolVar(&m.replace, "replace", false, "replace an OUT that is not one of the SETs")
	cmd.Flags().BoolVar(&m.json, "json", false, "report as JSON")
	cmd.Flags().BoolVarP(&m.quiet, "quiet", "q", false, "no report")
	m.foreign.registerFormat(cmd)
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
	if err := m.refuseLoss(names); err != nil {
		return err
	}
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
	r.estimated = len(names) > 1 && !st.Exact
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

// refuseLoss returns the error about an OUT with keys that the union does not have. Who
// writes -o OUT SET may mean to add the keys of SET to OUT.
func (m *mergeFlags) refuseLoss(names []string) error {
	info, err := os.Stat(m.output)
	if err != nil || info.Size() == 0 || m.replace || slices.ContainsFunc(names, func(name string) bool { return sameFile(name, m.output) }) {
		return nil
	}
	return usagef("%s exists and is not one of the SETs, so its keys would be lost; to keep them: seen merge -o %s %s %s; to replace it, add --replace",
		m.output, m.output, m.output, strings.Join(names, " "))
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
