package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"seen/internal/figure"
	"seen/internal/planner"
	"seen/sizing"
)

// planReport is what plan reports; its JSON names are an interface to scripts.
type planReport struct {
	N         uint64        `json:"n,omitempty"`
	ErrorRate float64       `json:"error_rate,omitempty"`
	Memory    uint64        `json:"memory_bytes,omitempty"`
	Sample    *sampleReport `json:"sample,omitempty"`
	Plot      string        `json:"plot,omitempty"`
	Rows      []planner.Row `json:"rows"`
}

func (r *planReport) print(w io.Writer) error {
	var b strings.Builder
	if r.Sample != nil {
		fmt.Fprintln(&b, r.Sample.describe())
	}
	switch {
	case r.Memory == 0:
		keys := "keys"
		if r.N == 1 {
			keys = "key"
		}
		fmt.Fprintf(&b, "%s distinct %s, error rate %s", figure.Comma(r.N), keys, figure.Rate(r.ErrorRate))
	case r.N == 0:
		fmt.Fprintf(&b, "keys in %s at error rate %s", figure.Bytes(r.Memory), figure.Rate(r.ErrorRate))
	default:
		fmt.Fprintf(&b, "%s distinct keys in %s", figure.Comma(r.N), figure.Bytes(r.Memory))
	}
	b.WriteString("\n\n")
	_ = printColumns(&b, "", r.cells()) // a Builder does not fail
	for _, line := range r.remarks() {
		fmt.Fprintln(&b, line)
	}
	b.WriteString(r.copies())
	_, err := io.WriteString(w, b.String())
	return err
}

// cells returns the table: a row for each type, with the error rates by load at the
// right.
func (r *planReport) cells() [][]string {
	head := []string{"", "m", "k", "lines", "bits/key", "memory"}
	if r.N == 0 {
		head = slices.Insert(head, 1, "keys")
	}
	for _, load := range planner.Loads {
		head = append(head, fmt.Sprintf("%.0f %%", 100*load))
	}
	rows := [][]string{head}
	for _, p := range r.Rows {
		if p.Error != "" {
			continue
		}
		row := []string{p.Name(), figure.Comma(p.M), strconv.Itoa(p.K), layersOf(&p), fmt.Sprintf("%.1f", p.BitsPerKey), figure.Bytes(p.Bytes)}
		if p.M == 0 {
			row[1], row[2] = "", ""
		}
		if r.N == 0 {
			row = slices.Insert(row, 1, figure.Comma(p.N))
		}
		for _, l := range p.Loads {
			row = append(row, figure.Rate(figure.ThreeDigits(l.ErrorRate)))
		}
		rows = append(rows, row)
	}
	return rows
}

// layersOf returns how the array of a row is divided.
func layersOf(r *planner.Row) string {
	switch {
	case r.Layers > 1:
		return fmt.Sprintf("%d layers", r.Layers)
	case r.Lines > 0:
		return fmt.Sprintf("%d x %d", r.Lines, r.Lanes)
	}
	return ""
}

// coarse is how much larger than the best classic filter a blocked filter is before the
// plan says that lines are too coarse for so few keys.
const coarse = 1.2

// remarks explain the table and the types without a row.
func (r *planReport) remarks() []string {
	has := func(name string) bool {
		return slices.ContainsFunc(r.Rows, func(p planner.Row) bool { return p.Type == name && p.Error == "" })
	}
	lines := []string{"", "The last columns: the error rate when that share of the keys is added."}
	for _, remark := range []struct{ name, text string }{
		{"blocked", "lines: cache lines for each key x bits in each."},
		{"counting", fmt.Sprintf("counting: m counters of %d bits.", sizing.DefaultCounterBits)},
		{"scalable", "scalable: grows past n and keeps the rate; it then needs more memory."},
		{planner.Cascade, "cascade: 4 classic filters, each for twice the keys; every key is in all of them. For comparison: scalable is better."},
		{"static", "static: read-only, built from all keys at once. Its memory, which depends on them, is approximate."},
		{"exact", "exact: 64-bit fingerprints, which are as good as never wrong. Its memory, which depends on the keys, is approximate."},
	} {
		if has(remark.name) {
			lines = append(lines, remark.text)
		}
	}
	for _, p := range r.Rows {
		if least := sizing.OptimalBits(p.N, cmp.Or(r.ErrorRate, p.ErrorRate)); p.Type == "blocked" && float64(p.M) > coarse*least {
			lines = append(lines, fmt.Sprintf("blocked: whole lines of 64 bytes need %.1f times the least memory for so few keys; classic does not.", float64(p.M)/least))
		}
		if p.Error != "" {
			lines = append(lines, fmt.Sprintf("%s: not possible: %s.", p.Name(), p.Error))
		}
	}
	return lines
}

// copies is the part with lines to copy.
func (r *planReport) copies() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		line  func(p *planner.Row) string
	}{
		{"Command", func(p *planner.Row) string { return p.Command }},
		{"Go", func(p *planner.Row) string { return p.Go }},
		{"Redis with a Bloom module", func(p *planner.Row) string { return p.Redis }},
	} {
		seen := map[string]bool{}
		for i := range r.Rows {
			line := part.line(&r.Rows[i])
			if line == "" || seen[line] {
				continue
			}
			if len(seen) == 0 {
				fmt.Fprintf(&b, "\n%s:\n", part.title)
			}
			seen[line] = true
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if r.Plot != "" {
		fmt.Fprintf(&b, "\nThe picture is in %s.\n", r.Plot)
	}
	return b.String()
}
