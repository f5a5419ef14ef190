package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/internal/setfile"
)

func (a *app) compareCommand() *cobra.Command {
	var asJSON bool
	var foreign foreignFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "compare two filters",
		Long: `Estimate the number of keys in two filter files, in their union and in their
intersection, and their Jaccard similarity, each with its standard error. Both need the
same type, layout and hash; others are refused, with the difference.

A set that is still exact, as that of "seen uniq --state" with few lines, gives exact
numbers and can be compared with a filter of any type. Two filters of several layers
cannot be compared: a key may be in different layers of the two. Two filters of another
system can be compared if each is one array, of the same size and hash.`,
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

// comparisonReport is a comparison as JSON; its names are an interface to scripts. An
// unknown number is null.
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
	t.row(c.Names[0], "%s", figure.Estimate(c.A))
	t.row(c.Names[1], "%s", figure.Estimate(c.B))
	t.row("union", "%s", figure.Estimate(c.Union))
	t.row("intersection", "%s", figure.Estimate(c.Common))
	t.row("Jaccard", "%s", likeness)
	return t.flush()
}

// explainCompare adds to an error about a filter that cannot be compared what to do.
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
