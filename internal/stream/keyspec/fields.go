package keyspec

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"seen/internal/stream/split"
)

// blank is what separates fields when no separator is given. Sort and uniq
// count the newline too, which matters when records end with NUL.
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// sortField is a range of fields and characters with the meaning that POSIX and
// GNU sort give to -k POS1[,POS2]: without POS2 the key goes to the end of the
// record; with a POS2 that names no character it goes to the end of that field. A
// key whose first character is behind its end is empty.
//
// Without a separator, a field in sort begins with the blanks before it. Here it does
// so only with keepBlanks: keys are compared with lists that have no such blanks.
//
// Unlike in sort, a record without the field in which the key starts has no key: with an
// empty key all such records would be equal. Every record has a first field, which may be
// empty. An empty field between separators, or behind the last one, counts; blanks at the
// end of the record are not a field.
type sortField struct {
	separator []byte // empty: blanks
	// first field from 0, first character from 0
	startField, startChar int
	// field in which the key ends from 0, characters of it that belong to the
	// key (0: all); a negative field: to the end of the record
	endField, endChar      int
	startBlanks, endBlanks bool // blanks are skipped before characters are counted
	missing                error
	plain                  bool // findPlain serves
}

// compileFields parses F[.C][OPTS][,F[.C][OPTS]].
func compileFields(spec string, sep []byte, keepBlanks bool) (_ *sortField, fold bool, err error) {
	skip := len(sep) == 0 && !keepBlanks
	f := &sortField{separator: sep, endField: -1, startBlanks: skip, endBlanks: skip}
	from, to, ranged := strings.Cut(spec, ",")
	field, char, given, opts, err := parsePosition(from)
	if err == nil && given && char == 0 {
		err = errors.New("characters are counted from 1")
	}
	if err != nil {
		return nil, false, err
	}
	f.startField, f.startChar = field-1, max(char-1, 0)
	f.missing = fmt.Errorf("the record has no field %d", field)
	if err := applyOptions(opts, &f.startBlanks, &fold); err != nil {
		return nil, false, err
	}
	if ranged {
		if field, char, _, opts, err = parsePosition(to); err != nil {
			return nil, false, err
		}
		f.endField, f.endChar = field-1, char
		if err := applyOptions(opts, &f.endBlanks, &fold); err != nil {
			return nil, false, err
		}
		if f.reversed() {
			return nil, false, fmt.Errorf("it ends, at %s, before it starts, at %s", to, from)
		}
	}
	f.plain = len(sep) == 1 && f.startChar == 0 && !f.startBlanks && f.endChar == 0 && !f.endBlanks
	return f, fold, nil
}

// reversed reports whether a range ends before its start in every record. Where
// only the end skips blanks that depends on how many there are.
func (f *sortField) reversed() bool {
	if f.endField != f.startField {
		return f.endField < f.startField
	}
	return f.endChar > 0 && f.endChar <= f.startChar && (f.startBlanks || !f.endBlanks)
}

// parsePosition parses F[.C] and returns the options behind it.
func parsePosition(s string) (field, char int, charGiven bool, opts string, err error) {
	digits := func() (int, error) {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		v, err := strconv.ParseInt(s[:n], 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%q is not the number of a field or character", s[:n])
		}
		s = s[n:]
		return int(v), nil
	}
	if field, err = digits(); err != nil {
		return
	}
	if field == 0 {
		err = errors.New("fields are counted from 1")
		return
	}
	if strings.HasPrefix(s, ".") {
		s, charGiven = s[1:], true
		if char, err = digits(); err != nil {
			return
		}
	}
	return field, char, charGiven, s, nil
}

func applyOptions(opts string, blanks, fold *bool) error {
	for _, c := range opts {
		switch c {
		case 'b':
			*blanks = true
		case 'f':
			*fold = true
		default:
			return fmt.Errorf("unknown option %q of a field; known are b (skip blanks) and f (fold case), since keys are compared and not sorted", string(c))
		}
	}
	return nil
}

// sortSpelling returns spec, a range between blanks, as sort writes it: with a b where
// the blanks before a field are not a part of it. A range that means the same in sort
// stays as it is.
func sortSpelling(spec string) string {
	here, _, err := compileFields(spec, nil, false)
	if err != nil {
		return spec // Compile reports it
	}
	there, _, _ := compileFields(spec, nil, true) // it parses as it did
	from, to, ranged := strings.Cut(spec, ",")
	if !there.startBlanks {
		from += "b"
	}
	if here.endChar > 0 && !there.endBlanks {
		to += "b"
	}
	if ranged {
		return from + "," + to
	}
	return from
}

func (f *sortField) find(record []byte, _ *Scratch) ([]byte, error) {
	if f.plain {
		return f.findPlain(record)
	}
	start, ok := skipFields(record, 0, f.startField, f.separator)
	if !ok {
		return nil, f.missing
	}
	if f.endField < 0 {
		start = f.addChars(record, start, f.startChar, f.startBlanks)
		return record[start:], nil
	}
	end, _ := skipFields(record, start, f.endField-f.startField, f.separator)
	if f.endChar == 0 {
		end = fieldEnd(record, end, f.separator)
	} else {
		end = f.addChars(record, end, f.endChar, f.endBlanks)
	}
	start = f.addChars(record, start, f.startChar, f.startBlanks)
	if end < start {
		return record[:0], nil
	}
	return record[start:end], nil
}

// findPlain is find for whole fields between separators of one byte.
func (f *sortField) findPlain(record []byte) ([]byte, error) {
	c := f.separator[0]
	if f.startField > 0 {
		at := split.Nth(record, c, f.startField)
		if at == len(record) {
			return nil, f.missing
		}
		record = record[at+1:]
	}
	if f.endField < 0 {
		return record, nil
	}
	return record[:split.Nth(record, c, f.endField-f.startField+1)], nil
}

func (f *sortField) addChars(record []byte, at, chars int, blanks bool) int {
	if blanks {
		at = skipBlanks(record, at)
	}
	return at + min(chars, len(record)-at)
}

// skipFields returns where the field starts that lies n fields behind the one
// that starts at at, and whether there is such a field. If not, it returns
// len(record), or where the blanks at its end begin that would belong to it.
func skipFields(record []byte, at, n int, sep []byte) (start int, ok bool) {
	switch {
	case n == 0:
		return at, true
	case len(sep) == 1:
		at += split.Nth(record[at:], sep[0], n)
		if at == len(record) {
			return at, false
		}
		return at + 1, true
	case len(sep) > 1:
		for range n {
			i := bytes.Index(record[at:], sep)
			if i < 0 {
				return len(record), false
			}
			at += i + len(sep)
		}
		return at, true
	}
	for ; n > 0 && at < len(record); n-- {
		at = fieldEnd(record, at, sep)
	}
	return at, skipBlanks(record, at) < len(record)
}

func skipBlanks(record []byte, at int) int {
	for at < len(record) && blank(record[at]) {
		at++
	}
	return at
}

// fieldEnd returns where the field ends that starts at at.
func fieldEnd(record []byte, at int, sep []byte) int {
	switch len(sep) {
	case 0:
		at = skipBlanks(record, at)
		for at < len(record) && !blank(record[at]) {
			at++
		}
		return at
	case 1:
		return at + split.Nth(record[at:], sep[0], 1)
	}
	if i := bytes.Index(record[at:], sep); i >= 0 {
		return at + i
	}
	return len(record)
}

// uniqFields is what uniq -f, -s and -w compare: the record without its first
// fields, of that all but the first chars bytes, of that at most width bytes. As
// in uniq, the key of a record in which nothing is left is empty.
type uniqFields struct{ fields, chars, width int }

func (u uniqFields) find(record []byte, _ *Scratch) ([]byte, error) {
	start, _ := skipFields(record, 0, u.fields, nil)
	b := record[start:]
	b = b[min(u.chars, len(b)):]
	if u.width > 0 {
		b = b[:min(u.width, len(b))]
	}
	return b, nil
}
