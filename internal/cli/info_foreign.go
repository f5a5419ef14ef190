package cli

import (
	"fmt"
	"io"
	"strings"

	"seen/internal/figure"
	"seen/internal/setfile"
	"seen/interop"
)

// foreignReport is what info reports about a filter of another system; its JSON names are
// an interface to scripts.
type foreignReport struct {
	Set    string `json:"set"`
	Format string `json:"format"`
	System string `json:"system"`
	Keys   string `json:"keys"`
	Hash   string `json:"hash,omitempty"`
	*setState
	Fields    []fieldReport `json:"fields,omitempty"`
	Parts     []partReport  `json:"parts,omitempty"`
	FileBytes int64         `json:"file_bytes"`
	Notes     []string      `json:"notes,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
	past      error         // its error rate
}

// fieldReport is a further parameter or number in the file.
type fieldReport struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// partReport is one of several filters in a file, with the format that opens it.
type partReport struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	setState
}

func (r *foreignReport) problem() error { return r.past }

// inspectForeign describes a filter of another system. With all, it reads the bits too.
func inspectForeign(f *setfile.Foreign, all bool) (*foreignReport, error) {
	r := &foreignReport{Set: f.Name, FileBytes: f.Size}
	return r, f.Read(func() error {
		d := f.Filter.Describe()
		r.Format, r.System, r.Hash, r.Keys = d.Format, d.System, d.Hash, f.Filter.KeyKind().String()
		for _, field := range d.Fields {
			r.Fields = append(r.Fields, fieldReport(field))
		}
		r.Notes = d.Notes
		if !all {
			return nil
		}
		st := f.Filter.Stats()
		state := stateOf(st)
		state.uncounted = st.Added == 0 && st.Ones > 0
		r.setState = &state
		r.Warnings, r.past = warningsOf(st, true), past(f.Name, st)
		if lister, ok := f.Filter.(interop.Lister); ok {
			for _, p := range lister.Parts() {
				r.Parts = append(r.Parts, partReport{p.Name, p.Spec.String(), stateOf(p.Stats)})
			}
		}
		return nil
	})
}

// print writes the report for people, after an empty line if it is not the first.
func (r *foreignReport) print(w io.Writer, another bool) error {
	t := newSection(w, r.Set, another)
	for _, warning := range r.Warnings {
		t.row("  WARNING", "%s", warning)
	}
	t.row("  format", "%s", r.Format)
	t.row("  system", "%s", r.System)
	t.row("  keys", "%s", r.Keys)
	if r.setState != nil {
		r.setState.rows(t, "  ")
	}
	if r.Hash != "" {
		t.row("  hash", "%s", r.Hash)
	}
	for _, f := range r.Fields {
		t.row("  "+f.Name, "%s", strings.TrimSpace(f.Value))
	}
	t.row("  size", "%s", figure.Bytes(uint64(r.FileBytes)))
	for _, note := range r.Notes {
		t.row("  note", "%s", note)
	}
	if err := t.flush(); err != nil || len(r.Parts) == 0 {
		return err
	}
	rows := [][]string{{"filter", "added", "m", "k", "fill", "--format"}}
	for _, p := range r.Parts {
		fill := ""
		if p.Fill != nil {
			fill = fmt.Sprintf("%.1f %%", 100**p.Fill)
		}
		rows = append(rows, []string{p.Name, figure.Comma(p.Added), figure.Comma(p.M), fmt.Sprint(p.K), fill, p.Format})
	}
	return printColumns(w, "  ", rows)
}
