package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// arguments demands from least to most arguments. name is their name in the help.
func arguments(least, most int, name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least && least == 1:
			return usagef("%s is missing", name)
		case len(args) < least:
			return usagef("give %d arguments: %s; there are %d", least, name, len(args))
		case len(args) > most:
			return usagef("unexpected argument %q", args[most])
		}
		return nil
	}
}

// anyMore means no upper limit.
const anyMore = math.MaxInt

// renamedFlag is a flag that has another name or meaning now. It has the text that says
// what to give instead.
type renamedFlag string

func (f renamedFlag) Set(string) error { return errors.New(string(f)) }
func (f renamedFlag) String() string   { return "" }
func (f renamedFlag) Type() string     { return "string" }

// sayFlagError shortens an error about an option, and replaces the texts of pflag and
// strconv.
func sayFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var syntax *pflag.InvalidSyntaxError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownOption(cmd, unknown)
	case errors.As(err, &lacking) && lacking.GetSpecifiedShortnames() != "":
		return fmt.Errorf("-%s needs a value", lacking.GetSpecifiedName())
	case errors.As(err, &lacking):
		return fmt.Errorf("--%s needs a value", lacking.GetSpecifiedName())
	case errors.As(err, &syntax):
		return fmt.Errorf("%q is not an option", syntax.GetSpecifiedFlag())
	case errors.As(err, &wrong):
		return sayValueError(cmd, wrong)
	}
	return err
}

// sayValueError is sayFlagError for a wrong value. A user that writes -missing in place of
// --missing gives the value issing to -m.
func sayValueError(cmd *cobra.Command, wrong *pflag.InvalidValueError) error {
	hint := ""
	word, _, _ := strings.Cut(wrong.GetFlag().Shorthand+wrong.GetValue(), "=")
	if f := cmd.Flags().Lookup(word); f != nil && wrong.GetFlag().Shorthand != "" {
		hint = didYouMean([]string{"--" + word})
	}
	if renamed, is := wrong.GetFlag().Value.(renamedFlag); is && len(wrong.GetFlag().Name) == 1 {
		return errors.New(string(renamed))
	}
	name, kind := wrong.GetFlag().Name, wrong.GetFlag().Value.Type()
	var number *strconv.NumError
	if !errors.As(wrong, &number) {
		return fmt.Errorf("--%s: %w%s", name, wrong.Unwrap(), hint)
	}
	what := "is not a whole number"
	switch {
	case kind == "bool":
		what = "is not true or false"
	case strings.HasPrefix(kind, "float"):
		what = "is not a number"
	case errors.Is(wrong, strconv.ErrRange):
		what = "is too large"
	}
	return fmt.Errorf("--%s: %q %s%s", name, wrong.GetValue(), what, hint)
}
