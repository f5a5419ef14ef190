package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"seen/bloomfile"
	"seen/internal/setfile"
	"seen/interop"
)

// verifyReport is what verify reports of one file as JSON.
type verifyReport struct {
	Set    string   `json:"set"`
	OK     bool     `json:"ok"`
	Errors []string `json:"errors,omitempty"`
	Rules  string   `json:"key_rules,omitempty"` // of a filter file
	*folderReport
}

func (a *app) verifyCommand() *cobra.Command {
	var asJSON, quiet, rebuild bool
	var foreign foreignFlags
	cmd := &cobra.Command{
		Use:   "verify {SET | DIR}...",
		Short: "check filters, data folders and backups for damage",
		Long: `Check the checksums of filter files, data folders of servers, and backups. Nothing is
changed. The exit code is 0 if all are intact, 1 if one is damaged, and 2 if one cannot
be read at all.

Filter files: a file that was being changed in place (add --in-place) when the machine
went down is refused, because its checksums cannot be trusted. --rebuild computes new
checksums from its content. Use that if the disk lost no writes, or if the keys that
were added last may be missing.

Filters of other systems: the length has to be what the header says, and the checksum
has to be right. Few formats have one.

A DIR is a backup, or the data folder of a server that is not running. Every file,
reference, checksum and log record is checked. What is missing or damaged is reported
with the filter that needs it. A running server checks its files itself, see --scrub of
"seen serve"; to check more, verify a backup of it.`,
		Example: `  seen verify *.seen
  seen verify --rebuild after-power-failure.seen
  seen verify /var/backups/seen/2026-11-21
  seen verify --json /var/lib/seen | jq -r '.damage[]?.filter'`,
		Args: arguments(1, anyMore, "SET or DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rebuild {
				for _, name := range args {
					if err := bloomfile.Rebuild(name); err != nil {
						return err
					}
				}
			}
			return a.verify(cmd, args, &foreign, asJSON, quiet)
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "first compute new checksums for files that were interrupted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "report as JSON, one object for each SET or DIR")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing; the exit code is the answer")
	foreign.registerFormat(cmd)
	return cmd
}

func (a *app) verify(cmd *cobra.Command, names []string, flags *foreignFlags, asJSON, quiet bool) error {
	damaged, unread := false, false
	for _, name := range names {
		r := verifyReport{Set: name}
		var problems []error
		var err error
		if isDataFolder(name) {
			r.folderReport, problems, err = a.verifyFolder(name, quiet)
		} else {
			problems, err = a.checkFile(name, flags, &r)
		}
		switch {
		case err != nil && a.ctx.Err() != nil:
			return err // interrupted
		case err != nil: // the other files are verified in any case
			a.sayError(cmd, err)
			unread = true
			r.Errors = []string{err.Error()}
			if asJSON {
				if err := printJSON(a.env.Stdout, r); err != nil {
					return err
				}
			}
			continue
		}
		for _, p := range problems {
			r.Errors = append(r.Errors, p.Error())
		}
		r.OK = len(problems) == 0
		damaged = damaged || !r.OK
		switch {
		case asJSON:
			err = printJSON(a.env.Stdout, r)
		case !quiet:
			err = printVerified(a.env.Stdout, r)
		}
		if err != nil {
			return err // from writing
		}
	}
	switch {
	case unread:
		return &exitError{code: ExitError}
	case damaged:
		return errNo
	}
	return nil
}

func printVerified(w io.Writer, r verifyReport) error {
	if r.OK {
		rules := ""
		if r.Rules != "" {
			rules = ", keys made with " + optionsOfRules(r.Rules)
		}
		_, err := fmt.Fprintf(w, "%s: ok%s%s\n", r.Set, r.folderReport, rules)
		return err
	}
	for _, e := range r.Errors {
		if _, err := fmt.Fprintf(w, "%s: %s\n", r.Set, e); err != nil {
			return err
		}
	}
	return nil
}

// maxProblems bounds the list for a badly damaged file.
const maxProblems = 100

// checkFile returns what is damaged in a filter file, whose rules it reports. The error is
// for files that are not filters or cannot be read.
func (a *app) checkFile(name string, flags *foreignFlags, r *verifyReport) (problems []error, err error) {
	opened, err := a.openFile(name, flags, true)
	switch {
	case errors.Is(err, interop.ErrBadData):
		return []error{err}, nil
	case err != nil:
		return nil, err
	case opened.Kind == setfile.KindForeign:
		defer opened.Foreign.Close() // it is only read
		return nil, opened.Foreign.Read(func() error {
			opened.Foreign.Filter.Stats() // reads all of it
			return nil
		})
	}
	f, err := bloomfile.Open(name, bloomfile.Options{})
	if err != nil {
		if bloomfile.IsDamage(err) {
			return []error{err}, nil
		}
		return nil, err
	}
	defer f.Close() // it is only read
	r.Rules = f.Info().Rules
	for problem := range f.Check() {
		if problems = append(problems, problem); len(problems) == maxProblems {
			break
		}
	}
	return problems, nil
}
