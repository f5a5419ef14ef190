package keyspec

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern is a regular expression (the syntax of Go's regexp, RE2) and the part
// of its leftmost match that is the key: the first group, or all of the match
// where there is no group.
type pattern struct {
	re      *regexp.Regexp
	group   bool
	missing error
}

func compileRegex(text string) (finder, error) {
	if text == "" {
		return nil, errors.New("the regular expression is empty")
	}
	re, err := regexp.Compile(text)
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("%s: %q", bad.Code, bad.Expr)
	} else if err != nil {
		return nil, err
	}
	return pattern{re, re.NumSubexp() > 0, fmt.Errorf("no match for the regular expression %q", text)}, nil
}

func (p pattern) find(record []byte, _ *Scratch) ([]byte, error) {
	if record == nil {
		record = []byte{} // or an empty match could not be told from none
	}
	if !p.group {
		if b := p.re.Find(record); b != nil {
			return b, nil
		}
		return nil, p.missing
	}
	m := p.re.FindSubmatchIndex(record)
	if m == nil || m[2] < 0 {
		return nil, p.missing
	}
	return record[m[2]:m[3]], nil
}
