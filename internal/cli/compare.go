package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"seen/internal/setfile"
)

func (a *app) compareCommand() *cobra.Command {
	var asJSON bool
	var foreign foreignFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "estimate how many keys two filters have, and have in common",
		Long: `Estimate the number of keys of two filter files, of their union and of their
intersection, and the Jaccard similarity, each with its standard error. The two
must be of one type, layout and hash; unlike ones are refused with the difference.

Sets that are still exact (those of "seen uniq --state" with few lines) give exact
numbers, and one of them can be compared with a filter of any type. Filters of
several layers cannot be compared with each other: a key may lie in different
layers of the two. Two filters of one other system can be compared where they are
one array each, of the same size and hash.`,
		Example: `  seen compare monday.seen tuesday.seen
  seen compare --json a.seen b.seen | jq .jaccard.value`,
		Args:              arguments(2, 2, "A B"),
		ValidArgsFunction: filesUpTo(2),
		RunE: func(_ *cobra.Command, names []string) error {
			c, err := setfile.Compare(names[0], names[1], a.opener(&foreign))
			switch {
			case err != nil:
				return explainCompare(err)
			case asJSON:
				return printJSON(a.env.Stdout, newComparisonReport(c))
			}
			return printComparison(a.env.Stdout, c)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "report as JSON")
	foreign.registerFormat(cmd)
	return cmd
}

// comparisonReport is a comparison as JSON; its names are an interface to scripts.
// What is not known is null.
type comparisonReport struct {
	Sets         [2]string       `json:"sets"`
	Exact        bool            `json:"exact"`
	A            *estimateReport `json:"a"`
	B            *estimateReport `json:"b"`
	Union        *estimateReport `json:"union"`
	Intersection *estimateReport `json:"intersection"`
	Jaccard      *estimateReport `json:"jaccard"`
}

func newComparisonReport(c *setfile.Comparison) comparisonReport {
	return comparisonReport{
		Sets: c.Names, Exact: c.Exact,
		A: reportOf(c.A), B: reportOf(c.B), Union: reportOf(c.Union), Intersection: reportOf(c.Common), Jaccard: reportOf(c.Jaccard),
	}
}

func printComparison(w io.Writer, c *setfile.Comparison) error {
	likeness := "unknown"
	switch {
	case c.Exact && c.Jaccard.Known():
		likeness = fmt.Sprintf("%.6g", c.Jaccard.Value)
	case c.Jaccard.Known():
		likeness = fmt.Sprintf("%.4f ± %.2g", c.Jaccard.Value, c.Jaccard.StdErr)
	}
	t := newTable(w)
	t.row(c.Names[0], "%s", formatEstimate(c.A))
	t.row(c.Names[1], "%s", formatEstimate(c.B))
	t.row("union", "%s", formatEstimate(c.Union))
	t.row("intersection", "%s", formatEstimate(c.Common))
	t.row("Jaccard", "%s", likeness)
	return t.flush()
}

// explainCompare adds to an error about a filter that cannot be compared what can be done.
func explainCompare(err error) error {
	var e *setfile.IncomparableError
	switch {
	case !errors.As(err, &e):
		return explainUnlike(err)
	case e.Type == "window":
		return err
	case e.Arrays > 1:
		return fmt.Errorf("%w; build both with -n large enough for all keys", err)
	}
	return fmt.Errorf(`%w; compare their keys with "seen filter"`, err)
}
