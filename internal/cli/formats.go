package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"seen/interop"
)

// formatReport describes a format; its JSON names are an interface to scripts.
type formatReport struct {
	Name       string        `json:"format"`
	System     string        `json:"system"`
	Recognised string        `json:"recognised_by,omitempty"`
	Ask        bool          `json:"ask"`
	Build      bool          `json:"build"`
	Merge      bool          `json:"merge"`
	Params     []paramReport `json:"parameters,omitempty"`
	Verified   string        `json:"verified,omitempty"`
	NoBuild    string        `json:"no_build,omitempty"`
	Refused    string        `json:"refused,omitempty"`
}

// paramReport describes a parameter of a format.
type paramReport struct {
	Name     string   `json:"name"`
	Meaning  string   `json:"meaning"`
	Values   []string `json:"values,omitempty"`
	Default  string   `json:"default,omitempty"`
	Required bool     `json:"required"`
	Build    bool     `json:"build_only,omitempty"`
}

func (a *app) formatsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "formats [NAME...]",
		Short: "list the formats of other systems",
		Long: `List the filters of other systems that seen can use: their names for --format, whether
content tells them, whether they can be asked, built and merged, and their systems.
With NAMEs, describe those: their parameters, and what they were verified against.

To check and filter, "--format lines" says that a SET is a text with one key per line,
even if it has bytes that no text has and would otherwise be refused.`,
		Example: `  seen formats
  seen formats guava redisbloom
  seen formats --json | jq -r '.[] | select(.build) | .format'`,
		Args: arguments(0, anyMore, "NAME"),
		RunE: func(_ *cobra.Command, names []string) error { return a.formats(names, asJSON) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, f := range interop.Formats() {
				names = append(names, f.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "report as JSON")
	return cmd
}

func (a *app) formats(names []string, asJSON bool) error {
	chosen, err := chooseFormats(names)
	switch {
	case err != nil:
		return err
	case asJSON:
		reports := make([]formatReport, len(chosen))
		for i, f := range chosen {
			reports[i] = newFormatReport(f)
		}
		return printJSON(a.env.Stdout, reports)
	case len(names) > 0:
		for i, f := range chosen {
			if err := printFormat(a.env.Stdout, f, i > 0); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(a.env.Stdout)
	t.row("format", "recognised\task\tbuild\tmerge\tsystem")
	for _, f := range chosen {
		t.row(f.Name, "%s\t%s\t%s\t%s\t%s", yes(f.Detected != ""), yes(f.Probe), yes(f.Write), yes(f.Merge), f.System)
	}
	return t.flush()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
}

// chooseFormats returns the formats with the given names, or all formats.
func chooseFormats(names []string) ([]interop.FormatInfo, error) {
	all := interop.Formats()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []interop.FormatInfo
	for _, name := range names {
		i := slices.IndexFunc(all, func(f interop.FormatInfo) bool { return f.Name == name })
		if i < 0 {
			return nil, usagef("there is no format %q; \"seen formats\" lists them", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func newFormatReport(f interop.FormatInfo) formatReport {
	r := formatReport{
		Name: f.Name, System: f.System, Recognised: f.Detected, Ask: f.Probe, Build: f.Write, Merge: f.Merge,
		Verified: f.Verified, NoBuild: f.NoWrite, Refused: f.Refused,
	}
	for _, p := range f.Params {
		r.Params = append(r.Params, paramReport{p.Name, p.Meaning, p.Values, p.Preset, p.Required, p.ForWrite})
	}
	return r
}

// printFormat describes one format for people.
func printFormat(w io.Writer, f interop.FormatInfo, another bool) error {
	t := newSection(w, f.Name, another)
	t.row("  system", "%s", f.System)
	if f.Detected != "" {
		t.row("  recognised by", "%s", f.Detected)
	} else {
		t.row("  recognised by", "nothing; give --format")
	}
	if f.Refused != "" {
		t.row("  not opened", "%s", f.Refused)
		return t.flush()
	}
	var can []string
	for _, c := range []struct {
		is   bool
		what string
	}{{f.Probe, "ask"}, {f.Write, "build"}, {f.Merge, "merge"}} {
		if c.is {
			can = append(can, c.what)
		}
	}
	t.row("  can", "%s", strings.Join(can, ", "))
	if f.NoWrite != "" {
		t.row("  not built", "%s", f.NoWrite)
	}
	t.row("  verified", "%s", f.Verified)
	for _, p := range f.Params {
		value := strings.ToUpper(p.Name)
		if p.Values != nil {
			value = strings.Join(p.Values, "|")
		}
		var more []string
		if p.Required {
			more = append(more, "required")
		}
		if p.Preset != "" {
			more = append(more, "default "+p.Preset)
		}
		if p.ForWrite {
			more = append(more, "only to write")
		}
		text := fmt.Sprintf("%s: %s", value, p.Meaning)
		if len(more) > 0 {
			text += " (" + strings.Join(more, ", ") + ")"
		}
		t.row("  "+p.Name, "%s", text)
	}
	return t.flush()
}
