package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/internal/forecast"
	"seen/internal/resp"
	"seen/internal/server/rest"
)

// listFlags are the flags of "seen list".
type listFlags struct {
	server serverFlags
	json   bool
}

func (a *app) listCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:         "list [PATTERN]",
		Short:       "list the filters of a running server",
		Annotations: common("server password-file json"),
		Long: `List the filters of a running server by name: type, keys, share of the capacity in use,
fill ratio, error rate now and the one that was asked for, memory, and when the filter
will be full (or will grow) at the rate of the last minutes. With a PATTERN, list only
names that match it: * matches any characters, ? one, [ab] one of several.

Filters that you may not read are listed by name alone.`,
		Example: `  seen list
  seen list --server db2:6380 --password-file pass 'crawl:*'
  seen list --json | jq -r 'select(.full_in < 86400) | .name'   full in a day`,
		Args:              arguments(0, 1, "PATTERN"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			pattern := "*"
			if len(args) > 0 {
				pattern = args[0]
			}
			return a.list(&f, pattern)
		},
	}
	f.server.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a line, as GET /v1/filters has them")
	return cmd
}

// listedFilter is a filter of a server with what the server says about it.
type listedFilter struct {
	name string
	*rest.State
}

// listPage is about how many filters are asked for at once.
const listPage = 100

func (a *app) list(flags *listFlags, pattern string) error {
	found := map[string]*rest.State{} // SCAN may give a name more than once
	err := a.orders(&flags.server, func(send func(command ...[]byte) (resp.Value, error)) error {
		for cursor := "0"; ; {
			v, err := send([]byte("SCAN"), []byte(cursor), []byte("COUNT"), strconv.AppendInt(nil, listPage, 10), []byte("MATCH"), []byte(pattern))
			if err != nil {
				return err
			}
			if len(v.Elems) != 2 {
				return fmt.Errorf("the server answers SCAN with %.100s", v)
			}
			if err := describeListed(found, v.Elems[1].Elems, send); err != nil {
				return err
			}
			if cursor = v.Elems[0].Text; cursor == "0" {
				return nil
			}
		}
	})
	if err != nil {
		return err
	}
	var all []listedFilter
	for name, state := range found {
		all = append(all, listedFilter{name, state})
	}
	slices.SortFunc(all, func(a, b listedFilter) int { return strings.Compare(a.name, b.name) })
	if flags.json {
		return a.listJSON(all)
	}
	rows := [][]string{{"name", "type", "keys", "used", "fill", "error rate", "asked for", "memory", "full in"}}
	for _, f := range all {
		rows = append(rows, f.row())
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.env.Stderr, "seen list: there are no filters"+noneMatch(pattern))
		return err
	}
	return printColumns(a.env.Stdout, "", rows)
}

func noneMatch(pattern string) string {
	if pattern == "*" {
		return ""
	}
	return fmt.Sprintf(" whose names match %q", pattern)
}

// describeListed asks for the states of filters. If the user may not read one of them, it
// asks one at a time.
func describeListed(found map[string]*rest.State, names []resp.Value, send func(command ...[]byte) (resp.Value, error)) error {
	if len(names) == 0 {
		return nil
	}
	command := [][]byte{[]byte("SEEN.INFO")}
	for _, name := range names {
		command = append(command, []byte(name.Text))
	}
	v, err := send(command...)
	var refused *serverError
	switch {
	case errors.As(err, &refused) && refused.denied():
		if len(names) == 1 {
			found[names[0].Text] = new(rest.State)
			return nil
		}
		for i := range names {
			if err := describeListed(found, names[i:i+1], send); err != nil {
				return err
			}
		}
		return nil
	case errors.As(err, &refused) && refused.unknownCommand():
		return fmt.Errorf("%w; it is not a seen serve of this version or a later one", err)
	case err != nil:
		return err
	case len(v.Elems) != len(names):
		return fmt.Errorf("the server answers SEEN.INFO with %d states for %d names", len(v.Elems), len(names))
	}
	for i, name := range names {
		switch state, err := rest.ParseState(v.Elems[i]); {
		case err != nil:
			return fmt.Errorf("%q: %w", name.Text, err)
		case state != nil: // it was not deleted meanwhile
			found[name.Text] = state
		}
	}
	return nil
}

func (a *app) listJSON(all []listedFilter) error {
	for _, f := range all {
		line, err := rest.ListedJSON(f.name, f.State)
		if err == nil {
			_, err = fmt.Fprintf(a.env.Stdout, "%s\n", line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row returns the cells of a filter. A cell is "-" if it does not apply to the type or is
// not known.
func (f *listedFilter) row() []string {
	name := f.name
	if quoted := strconv.Quote(name); len(quoted) != len(name)+2 || strings.TrimSpace(name) == "" {
		name = quoted
	}
	kind := cmp.Or(f.Type, "-")
	if f.Variant != "" {
		kind += " " + f.Variant
	}
	whole := func(n *uint64, text func(uint64) string) string {
		if n == nil {
			return "-"
		}
		return text(*n)
	}
	real := func(x *float64, text func(float64) string) string {
		if x == nil {
			return "-"
		}
		return text(*x)
	}
	rate := func(x float64) string { return figure.Rate(figure.ThreeDigits(x)) }
	var used *float64
	if f.Keys != nil && f.Capacity != nil && *f.Capacity > 0 {
		x := float64(*f.Keys) / float64(*f.Capacity)
		used = &x
	}
	return []string{
		name, kind, whole(f.Keys, figure.Comma), real(used, figure.Percent), real(f.Fill, figure.Percent), real(f.ErrorRate, rate), real(f.Asked, rate),
		whole(f.Bytes, figure.Bytes), f.fullIn(),
	}
}

// fullIn says when the filter will be full.
func (f *listedFilter) fullIn() string {
	switch {
	case f.Grows != nil && !*f.Grows && f.Keys != nil && f.Capacity != nil && *f.Keys >= *f.Capacity:
		return "full"
	case f.FullIn == nil:
		return "-"
	}
	text := forecast.About(*f.FullIn)
	if f.Grows != nil && *f.Grows {
		text += ", then grows"
	}
	return text
}
