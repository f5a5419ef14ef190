package interop

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Spec names a format and its parameters. The zero value lets content decide.
type Spec struct {
	Name   string
	Params map[string]string
}

// ParseSpec reads NAME[:PARAM=VALUE,...]. In a value, \, is a comma and \\ a backslash.
// It checks the name, the parameters and values from a list, but not whether parameters
// are missing.
func ParseSpec(text string) (Spec, error) {
	name, rest, more := strings.Cut(text, ":")
	f, err := findFormat(name)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Name: name}
	if !more {
		return s, nil
	}
	s.Params = make(map[string]string)
	for more {
		var param, value string
		if param, rest, more = strings.Cut(rest, "="); !more {
			return Spec{}, fmt.Errorf("%w: %q in %q is not PARAM=VALUE; %s", ErrSpec, param, text, f.usage())
		}
		value, rest, more = cutValue(rest)
		if _, twice := s.Params[param]; twice {
			return Spec{}, fmt.Errorf("%w: %q gives %s twice", ErrSpec, text, param)
		}
		s.Params[param] = value
	}
	if err := f.check(s); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// cutValue returns the value that text begins with, and what follows its comma.
func cutValue(text string) (value, rest string, more bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ',':
			return b.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), "", false
}

var escaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`)

// String returns the text that ParseSpec reads as s.
func (s Spec) String() string {
	var b strings.Builder
	b.WriteString(s.Name)
	separator := byte(':')
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		b.WriteByte(separator)
		b.WriteString(name + "=" + escaper.Replace(s.Params[name]))
		separator = ','
	}
	return b.String()
}

// with returns s with a parameter set.
func (s Spec) with(name, value string) Spec {
	params := maps.Clone(s.Params)
	if params == nil {
		params = make(map[string]string)
	}
	params[name] = value
	return Spec{s.Name, params}
}

// number returns a parameter that is a whole number from least to most; 0 if it is
// missing.
func (s Spec) number(name string, least, most uint64) (uint64, error) {
	text := s.Params[name]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s: %w: %s=%s is not a whole number from %d to %d", s.Name, ErrSpec, name, text, least, most)
	}
	return n, nil
}

// usage lists the parameters of a format in a sentence.
func (f *format) usage() string {
	if len(f.params) == 0 {
		return f.name + " has no parameters"
	}
	var list []string
	for _, p := range f.params {
		list = append(list, p.name+"="+p.allowed())
	}
	return fmt.Sprintf("%s has %s", f.name, strings.Join(list, ", "))
}

// allowed describes the values of a parameter.
func (p *param) allowed() string {
	if p.values == nil {
		return strings.ToUpper(p.name)
	}
	return strings.Join(p.values, "|")
}

func (f *format) param(name string) *param {
	for i := range f.params {
		if f.params[i].name == name {
			return &f.params[i]
		}
	}
	return nil
}

// check refuses parameters that the format does not have, and values that are not in
// their list.
func (f *format) check(s Spec) error {
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		p := f.param(name)
		if p == nil {
			return fmt.Errorf("%w: %s has no parameter %q; %s", ErrSpec, f.name, name, f.usage())
		}
		if value := s.Params[name]; p.values != nil && !slices.Contains(p.values, value) {
			return fmt.Errorf("%w: %s has no %s=%s; use one of %s", ErrSpec, f.name, name, value, strings.Join(p.values, ", "))
		}
	}
	return nil
}

// complete checks s and fills in defaults. With guess it also fills in the first value of
// required parameters that have a list; without guess required parameters must be given.
func (f *format) complete(s Spec, guess, forWrite bool) (Spec, error) {
	if err := f.check(s); err != nil {
		return Spec{}, err
	}
	for _, p := range f.params {
		_, given := s.Params[p.name]
		switch {
		case given || p.forWrite && !forWrite:
		case p.preset != "":
			s = s.with(p.name, p.preset)
		case !p.required:
		case guess && p.values != nil:
			s = s.with(p.name, p.values[0])
		case guess:
		default:
			err := fmt.Errorf("%w: %s needs %s, which content cannot tell: %s", ErrSpec, f.name, p.name, p.meaning)
			return Spec{}, &SpecError{Err: err, Try: []string{Spec{Name: f.name}.with(p.name, p.allowed()).String()}}
		}
	}
	return s, nil
}
