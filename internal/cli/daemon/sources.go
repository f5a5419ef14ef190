package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seen/internal/cli/flagvalue"
)

// setting is one setting of a long-running command, written down once: its flag
// --NAME, its variable SEEN_NAME, its key in the file, its help and its line in
// the report of the effective settings all come from here.
type setting struct {
	name   string // as the flag has it: words of small letters with dashes between
	value  pflag.Value
	preset string // what it is set to where nobody says anything; "": nothing
	usage  string // as pflag has it
	secret bool   // its value is never shown
	from   string // who has set it, for the report
}

// variable returns the name of the setting in the environment.
func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

const variablePrefix = "SEEN_"

// listSetting is a setting of several values; a flag of it may be repeated.
type listSetting interface {
	pflag.Value
	isList()
}

// settings are all settings of a command, in the order of its help.
type settings []*setting

// flag is what the command line says about a setting, kept apart from the value
// until the file and the environment have been read.
type flag struct {
	setting *setting
	texts   []string
}

// Set checks the text by trying it; the value is set once more by load.
func (f *flag) Set(text string) error {
	if err := f.setting.value.Set(text); err != nil {
		return err
	}
	f.texts = append(f.texts, text)
	return nil
}

func (f *flag) String() string {
	if f == nil || f.setting == nil {
		return ""
	}
	return f.setting.preset
}

func (f *flag) Type() string {
	if f.isBool() {
		return "bool"
	}
	return f.setting.value.Type()
}

func (f *flag) isBool() bool { return f.setting.value.Type() == "bool" }

// register gives cmd a flag for each setting.
func (all settings) register(cmd *cobra.Command) {
	for _, s := range all {
		value := &flag{setting: s}
		f := cmd.Flags().VarPF(value, s.name, "", s.usage)
		if value.isBool() {
			f.NoOptDefVal = "true"
		}
		// It fails only for flags that do not exist or have a function already.
		_ = cmd.RegisterFlagCompletionFunc(s.name, s.completion())
	}
}

// completion tells shells what may follow the flag, by what its value is called.
func (s *setting) completion() cobra.CompletionFunc {
	if c, ok := s.value.(*flagvalue.Choice); ok {
		return cobra.FixedCompletions(c.Words(), cobra.ShellCompDirectiveNoFileComp)
	}
	switch name, _ := pflag.UnquoteUsage(&pflag.Flag{Value: s.value, Usage: s.usage}); name {
	case "FILE", "SOCKET":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return cobra.NoFileCompletions
}

// load sets every setting to what the strongest voice says: a flag, then the
// environment, then the file, then the preset. Names in the file or in the
// environment that are no setting are errors.
func (all settings) load(cmd *cobra.Command, file string, environ []string) error {
	for _, s := range all {
		if s.preset != "" {
			if err := s.value.Set(s.preset); err != nil {
				return fmt.Errorf("the preset of --%s: %w", s.name, err)
			}
		}
		s.from = "default"
	}
	if err := all.loadFile(file); err != nil {
		return err
	}
	if err := all.loadEnvironment(environ); err != nil {
		return err
	}
	for _, s := range all {
		f := cmd.Flags().Lookup(s.name).Value.(*flag)
		if len(f.texts) == 0 {
			continue
		}
		text := f.texts[len(f.texts)-1]
		if _, ok := s.value.(listSetting); ok {
			text = strings.Join(f.texts, ",")
		}
		if err := s.value.Set(text); err != nil {
			return usagef("--%s: %w", s.name, err)
		}
		s.from = "flag"
	}
	return nil
}

// configVariable names the file of settings in the environment.
const configVariable = variablePrefix + "CONFIG"

// serviceVariable matches what Kubernetes puts into the environment of every
// container when a service is called "seen"; it says nothing to us.
var serviceVariable = regexp.MustCompile(`^SEEN(_\w+)?_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

func (all settings) loadEnvironment(environ []string) error {
	known := []string{configVariable}
	for _, s := range all {
		known = append(known, s.variable())
	}
	var problems []error
	for _, assignment := range environ {
		name, text, _ := strings.Cut(assignment, "=")
		if !strings.HasPrefix(name, variablePrefix) || name == configVariable || serviceVariable.MatchString(name) {
			continue
		}
		i := slices.Index(known, name) - 1
		if i < 0 {
			problems = append(problems, fmt.Errorf("environment: there is no setting %s; %s is the nearest", name, nearest(name, known)))
			continue
		}
		if err := all[i].value.Set(text); err != nil {
			problems = append(problems, fmt.Errorf("environment: %s: %w", name, all[i].hide(err)))
			continue
		}
		all[i].from = "environment"
	}
	return errors.Join(problems...)
}

func (all settings) loadFile(name string) error {
	if name == "" {
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("the file of settings: %w", err)
	}
	values := map[string]any{}
	meta, err := toml.Decode(string(b), &values)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var known []string
	for _, s := range all {
		known = append(known, s.name)
	}
	var problems []error
	for _, key := range meta.Keys() {
		if len(key) > 1 {
			continue // its table has been refused
		}
		i := slices.Index(known, key[0])
		if i < 0 {
			problems = append(problems, fmt.Errorf("%s: there is no setting %q; %q is the nearest", name, key[0], nearest(key[0], known)))
			continue
		}
		text, err := all[i].text(values[key[0]])
		if err == nil {
			err = all[i].value.Set(text)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", name, key[0], all[i].hide(err)))
			continue
		}
		all[i].from = "file"
	}
	return errors.Join(problems...)
}

// text returns a value of the file as one would write it in a flag.
func (s *setting) text(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case []any:
		if _, ok := s.value.(listSetting); !ok {
			return "", errors.New("a list is given, and it takes one value")
		}
		var texts []string
		for _, e := range v {
			text, ok := e.(string)
			if !ok {
				return "", fmt.Errorf("%v in the list is no text", e)
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, ","), nil
	}
	return "", fmt.Errorf("a %T is neither text, number, truth value nor list", value)
}

// hide keeps the value of a secret out of an error about it.
func (s *setting) hide(err error) error {
	if s.secret {
		return errors.New("it cannot be taken; its value is not shown here")
	}
	return err
}

// print writes the settings as a file of settings, with who has set each.
func (all settings) print(w io.Writer) error {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%-42s # %s\n", s.name+" = "+s.literal(), s.from)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// literal returns the value as the file has it.
func (s *setting) literal() string {
	text := s.value.String()
	switch {
	case s.secret && text != "":
		return `"(hidden)"`
	case s.value.Type() == "bool":
		return text
	}
	if _, ok := s.value.(listSetting); ok {
		parts := []string{}
		if text != "" {
			parts = strings.Split(text, ",")
		}
		for i := range parts {
			parts[i] = tomlString(parts[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return tomlString(text)
}

// tomlString quotes a text for the file, whose escapes are not those of Go.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// nearest returns that of the known names which takes the fewest edits to reach.
func nearest(name string, known []string) string {
	best, least := "", -1
	for _, k := range known {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); least < 0 || d < least {
			best, least = k, d
		}
	}
	return best
}

// edits returns how many letters have to be put in, left out or changed to make
// one word of the other.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
