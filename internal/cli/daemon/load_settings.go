package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"seen/internal/cli/flagvalue"
)

// Setting is one setting of the server. It is written down once: its flag --NAME, its
// variable SEEN_NAME, its key in the file, its help and its line in the report of the
// effective settings all come from here.
type Setting struct {
	Name   string // as in the flag: lower-case words with dashes between
	Value  flagvalue.Value
	Preset string // the value that it has by default, "" for none
	Usage  string // with the name of the value in backquotes
	secret bool   // its value is never shown
	from   string // where its value comes from, for the report
}

// variable returns the name of the setting in the environment.
func (s *Setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

const variablePrefix = "SEEN_"

// listSetting is a setting of several values; its flag may be repeated.
type listSetting interface {
	flagvalue.Value
	isList()
}

// Sources are what settings are read from, the strongest first.
type Sources struct {
	Flags   map[string][]string // name of a setting to the values given, each valid
	Environ []string            // NAME=value, as os.Environ has it
	File    string              // name of a TOML file; "": what SEEN_CONFIG names, if it is set
}

// Load sets every setting to the value of the strongest source: a flag, then the
// environment, then the file, then the preset. Names in the file or in the environment
// that are not settings are errors.
func (s *Settings) Load(from Sources) error {
	s.sources = from
	for _, one := range s.all {
		if one.Preset != "" {
			if err := one.Value.Set(one.Preset); err != nil {
				return fmt.Errorf("the preset of --%s: %w", one.Name, err)
			}
		}
		one.from = "default"
	}
	if err := s.loadFile(cmp.Or(from.File, Variable(from.Environ, ConfigVariable))); err != nil {
		return err
	}
	if err := s.loadEnvironment(from.Environ); err != nil {
		return err
	}
	for _, one := range s.all {
		texts := from.Flags[one.Name]
		if len(texts) == 0 {
			continue
		}
		text := texts[len(texts)-1]
		if _, ok := one.Value.(listSetting); ok {
			text = strings.Join(texts, ",")
		}
		if err := one.Value.Set(text); err != nil {
			return fmt.Errorf("--%s: %w", one.Name, err)
		}
		one.from = "flag"
	}
	return nil
}

// Variable returns the value of a variable of the environment, "" if it is not set.
func Variable(environ []string, name string) string {
	for _, assignment := range environ {
		if text, ok := strings.CutPrefix(assignment, name+"="); ok {
			return text
		}
	}
	return ""
}

// ConfigVariable names the settings file in the environment.
const ConfigVariable = variablePrefix + "CONFIG"

// serviceVariable matches the variables that Kubernetes sets in every container when a
// service is called "seen". They are not settings.
var serviceVariable = regexp.MustCompile(`^SEEN(_\w+)?_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

func (s *Settings) loadEnvironment(environ []string) error {
	known := []string{ConfigVariable}
	for _, one := range s.all {
		known = append(known, one.variable())
	}
	var problems []error
	for _, assignment := range environ {
		name, text, _ := strings.Cut(assignment, "=")
		if !strings.HasPrefix(name, variablePrefix) || name == ConfigVariable || serviceVariable.MatchString(name) {
			continue
		}
		i := slices.Index(known, name) - 1
		if i < 0 {
			problems = append(problems, fmt.Errorf("environment: unknown setting %s; did you mean %s?", name, nearest(name, known)))
			continue
		}
		if err := s.all[i].Value.Set(text); err != nil {
			problems = append(problems, fmt.Errorf("environment: %s: %w", name, s.all[i].hide(err)))
			continue
		}
		s.all[i].from = "environment"
	}
	return errors.Join(problems...)
}

func (s *Settings) loadFile(name string) error {
	if name == "" {
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("settings file: %w", err)
	}
	values := map[string]any{}
	meta, err := toml.Decode(string(b), &values)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var known []string
	for _, one := range s.all {
		known = append(known, one.Name)
	}
	var problems []error
	for _, key := range meta.Keys() {
		if len(key) > 1 {
			continue // its table is reported already
		}
		i := slices.Index(known, key[0])
		if i < 0 {
			problems = append(problems, fmt.Errorf("%s: unknown setting %q; did you mean %q?", name, key[0], nearest(key[0], known)))
			continue
		}
		text, err := s.all[i].text(values[key[0]])
		if err == nil {
			err = s.all[i].Value.Set(text)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", name, key[0], s.all[i].hide(err)))
			continue
		}
		s.all[i].from = "file"
	}
	return errors.Join(problems...)
}

// text returns a value of the file in the form of a flag.
func (s *Setting) text(value any) (string, error) {
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
		if _, ok := s.Value.(listSetting); !ok {
			return "", errors.New("give one value, not a list")
		}
		var texts []string
		for _, e := range v {
			text, ok := e.(string)
			if !ok {
				return "", fmt.Errorf("%v in the list is not a string", e)
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, ","), nil
	}
	return "", errors.New("give a string, a number, true, false or a list")
}

// hide keeps the value of a secret out of an error about it.
func (s *Setting) hide(err error) error {
	if s.secret {
		return errors.New("invalid value (hidden)")
	}
	return err
}

// Print writes the settings in the form of a settings file, with the source of each.
func (s *Settings) Print(w io.Writer) error {
	var b strings.Builder
	for _, one := range s.all {
		fmt.Fprintf(&b, "%-42s # %s\n", one.Name+" = "+one.literal(), one.from)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// literal returns the value in the form of the file.
func (s *Setting) literal() string {
	text := s.Value.String()
	switch {
	case s.secret && text != "":
		return `"(hidden)"`
	case s.Value.Type() == "bool":
		return text
	}
	if _, ok := s.Value.(listSetting); ok {
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

// tomlString quotes a text for the file. TOML has other escapes than Go.
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
