// Package keyspec takes the key and the time out of a record, as the options of
// the command describe them: fields as in sort and uniq, CSV columns, JSON
// pointers, regular expressions, and the normalisations of a key (case, white
// space, mail addresses, URLs). It is for internal/stream, which calls it once per
// record, and for the command line, which compiles the options.
//
// It never changes a record: a key is either a part of the record or a copy in
// a Scratch. It knows nothing of files, hashes or filters. Whole records and
// fields cost no allocation; nor do CSV and JSON once the Scratch has grown; a
// regular expression with a group costs one per record.
//
// Key and Time are immutable and safe for concurrent use; each goroutine needs
// a Scratch of its own.
package keyspec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"seen/keys"
)

// Missing says what happens to a record that has no key: the field, CSV column or JSON
// value does not exist, the regular expression does not match, the record is not JSON, or
// the text is not the URL, mail address or number that it should be. With several parts a record has no
// key if it lacks one of them. A field or column that exists and is empty is an empty key.
type Missing uint8

const (
	// MissingFail ends the run with an error that names the file and the record.
	MissingFail Missing = iota
	// MissingMark reports the record as having no key and goes on.
	MissingMark
	// MissingEmpty puts an empty part in the place of a missing one, so that records that
	// lack the same parts are equal if the other parts are.
	MissingEmpty
)

// Options describes a key. The zero value is the whole record.
type Options struct {
	// Keys are the parts of the key, each one of
	//
	//	F[.C][OPTS][,F[.C][OPTS]]  fields and characters as in sort -k; OPTS: b, f
	//	csv:NAME  csv:NUMBER       column of a CSV record (RFC 4180)
	//	tsv:NAME  tsv:NUMBER       column between tabs, in which quotes mean nothing
	//	json:/pointer  json:a.b    value in a JSON document (RFC 6901, or names between dots)
	//	re:REGEX                   first group, or the whole match without one
	//
	// A record must have the field in which a range of fields starts; what the
	// range counts beyond the end of the record is empty, as in sort. A range
	// that ends before it starts is refused.
	//
	// Several parts are joined with their lengths, so that ("ab", "c") and
	// ("a", "bc") are different keys. A single part is the key unchanged.
	Keys []string
	// Separator separates fields, and CSV columns; see ParseBytes.
	// Empty means blanks for fields, any number of them, and a comma for CSV.
	Separator string
	// KeepBlanks makes the blanks before a field a part of it, as sort does. It is for
	// fields without a Separator.
	KeepBlanks bool
	// SkipFields, SkipChars and Width are -f, -s and -w of uniq in the C locale:
	// fields begin with blanks, characters are bytes, a Width of 0 means all, and the key
	// of a record that is too short is empty, not missing. They cannot be combined with
	// Keys.
	SkipFields, SkipChars, Width int
	// FoldCase ignores the case of the letters a to z, as uniq -i does.
	FoldCase bool
	// Lower maps the key to lower case by Unicode. Bytes that are not UTF-8 stay.
	Lower bool
	// Trim removes white space (by Unicode) at both ends.
	Trim bool
	// Email, unless nil, takes the canonical form of a mail address by these rules.
	// A part that is not a mail address is missing.
	Email *keys.EmailConfig
	// URL, unless nil, takes the canonical form of a URL by these rules. Case is
	// folded after that. A part that is not a URL is missing.
	URL *keys.URLConfig
	// Encoding says what bytes each part stands for, after all that is above. A part
	// that is not written so is missing.
	Encoding keys.Encoding
	// Missing says what happens to a record without a key.
	Missing Missing
}

// Key extracts keys. Nil means the whole record.
type Key struct {
	parts   []part
	url     *keys.URLForm     // nil: parts are not URLs
	email   *keys.EmailConfig // nil: parts are not mail addresses
	coded   keys.Encoding
	missing Missing
}

// part is one element of a key.
type part struct {
	find finder
	norm normaliser
}

// finder takes one part out of a record. The result aliases the record or s.
// Its error says that the record has no such part.
type finder interface {
	find(record []byte, s *Scratch) ([]byte, error)
}

// Scratch is the memory in which keys are built. The zero value is ready.
type Scratch struct {
	value   []byte   // a decoded part
	norm    []byte   // a normalised part
	form    []byte   // a part as a URL or a mail address
	decoded []byte   // what a part stands for
	joined  []byte   // several parts
	members []member // of JSON objects being put in order
}

// Compile checks o and returns its key, which is nil when o means the whole record.
func Compile(o Options) (*Key, error) {
	uniq := o.SkipFields != 0 || o.SkipChars != 0 || o.Width != 0
	switch {
	case o.SkipFields < 0 || o.SkipChars < 0 || o.Width < 0:
		return nil, fmt.Errorf("negative number of fields or characters (%d, %d, %d)", o.SkipFields, o.SkipChars, o.Width)
	case uniq && len(o.Keys) > 0:
		return nil, fmt.Errorf("skipping fields and characters as in uniq cannot be combined with the key %q; write it as F.C,F.C", o.Keys[0])
	case o.Separator != "" && len(o.Keys) == 0:
		return nil, fmt.Errorf("the separator %q has no use without a key", o.Separator)
	case o.KeepBlanks && !o.hasBlankFields():
		return nil, errors.New("keeping the blanks before fields has no use: the key has no fields between blanks")
	case o.Encoding != keys.Text && o.Encoding != keys.Hex && o.Encoding != keys.Decimal:
		return nil, fmt.Errorf("unknown encoding %q of keys", o.Encoding)
	case o.Missing > MissingEmpty:
		return nil, fmt.Errorf("unknown treatment %d of records without a key", o.Missing)
	}
	k := &Key{email: o.Email, coded: o.Encoding, missing: o.Missing}
	norm := normaliser{trim: o.Trim, fold: o.FoldCase, lower: o.Lower}
	if o.URL != nil {
		if o.Email != nil {
			return nil, errors.New("a key is a URL or a mail address, not both")
		}
		var err error
		if k.url, err = keys.NewURL(*o.URL); err != nil {
			return nil, err
		}
	}
	for _, spec := range o.Keys {
		p, fold, err := o.compilePart(spec)
		if err != nil {
			return nil, err
		}
		n := norm
		n.fold = n.fold || fold
		k.parts = append(k.parts, part{p, n})
	}
	if _, csv := k.CSV(); csv && k.TSV() {
		return nil, errors.New("a key has columns of csv or of tsv, not of both")
	}
	if len(k.parts) == 0 {
		if !uniq && norm == (normaliser{}) && k.url == nil && k.email == nil && k.coded == keys.Text {
			return nil, nil
		}
		k.parts = []part{{uniqFields{o.SkipFields, o.SkipChars, o.Width}, norm}}
	}
	return k, nil
}

// isFields reports whether spec, an element of Keys, is a range of fields.
func isFields(spec string) bool { return spec != "" && '0' <= spec[0] && spec[0] <= '9' }

// hasBlankFields reports whether a part of the key is a range of fields between blanks.
func (o *Options) hasBlankFields() bool {
	return o.Separator == "" && slices.ContainsFunc(o.Keys, isFields)
}

// Spellings returns Keys in one spelling of those that select the same parts: without
// KeepBlanks, fields between blanks as sort writes them, and JSON values as pointers. It
// is for programs that store which key they used; it does not change between versions.
func (o *Options) Spellings() []string {
	spellings := slices.Clone(o.Keys)
	for i, spec := range spellings {
		switch {
		case isFields(spec) && o.Separator == "" && !o.KeepBlanks:
			spellings[i] = sortSpelling(spec)
		case strings.HasPrefix(spec, jsonPrefix):
			spellings[i] = jsonPrefix + pointerSpelling(spec[len(jsonPrefix):])
		}
	}
	return spellings
}

// compilePart compiles one element of Keys. fold reports that it asks to ignore case.
func (o *Options) compilePart(spec string) (find finder, fold bool, err error) {
	sep, err := ParseBytes(o.Separator)
	if err != nil {
		return nil, false, err
	}
	kind, rest, _ := strings.Cut(spec, ":")
	switch {
	case kind == "csv" && len(spec) > len(kind):
		find, err = compileCSV(rest, sep)
	case kind == "tsv" && len(spec) > len(kind):
		find, err = compileTSV(rest, sep)
	case kind == "json" && len(spec) > len(kind):
		find, err = compileJSON(rest)
	case kind == "re" && len(spec) > len(kind):
		find, err = compileRegex(rest)
	case isFields(spec):
		find, fold, err = compileFields(spec, sep, o.KeepBlanks)
	default:
		err = errors.New("want F[.C][,F[.C]] as in sort, csv:COLUMN, tsv:COLUMN, json:/POINTER or re:REGEX")
	}
	if err != nil {
		return nil, false, fmt.Errorf("bad key %q: %w", spec, err)
	}
	return find, fold, nil
}

// Missing returns what is to be done with a record that has no key.
func (k *Key) Missing() Missing { return k.missing }

// CSV reports whether records are those of a CSV file, which can span lines
// inside quotes, and the byte that separates their columns.
func (k *Key) CSV() (separator byte, ok bool) {
	if k != nil {
		for _, p := range k.parts {
			switch c := p.find.(type) {
			case csvColumn:
				return c.separator, true
			case csvName:
				return c.separator, true
			}
		}
	}
	return 0, false
}

// TSV reports whether records are those of a file of columns between tabs, in which a CR
// before the newline belongs to the line end.
func (k *Key) TSV() bool {
	return k != nil && slices.ContainsFunc(k.parts, func(p part) bool {
		switch p.find.(type) {
		case *tsvColumn, tsvName:
			return true
		}
		return false
	})
}

// NeedsHeader reports whether k names columns. Extract then needs the key
// that WithHeader returns for the first record of each file.
func (k *Key) NeedsHeader() bool {
	return k != nil && slices.ContainsFunc(k.parts, func(p part) bool {
		_, ok := p.find.(named)
		return ok
	})
}

// WithHeader returns k for a file whose first record is header. It is k itself
// when k names no columns.
func (k *Key) WithHeader(header []byte) (*Key, error) {
	if !k.NeedsHeader() {
		return k, nil
	}
	resolved := *k
	resolved.parts = slices.Clone(k.parts)
	for i, p := range k.parts {
		if c, ok := p.find.(named); ok {
			column, err := c.resolve(header)
			if err != nil {
				return nil, err
			}
			resolved.parts[i].find = column
		}
	}
	return &resolved, nil
}

// Extract returns the key of a record, which comes without its terminator. The
// key is valid until the next call with s and until record changes. The error
// says that the record has no key; with MissingEmpty there is none.
func (k *Key) Extract(record []byte, s *Scratch) ([]byte, error) {
	if len(k.parts) == 1 {
		return k.extractPart(&k.parts[0], record, s)
	}
	s.joined = s.joined[:0]
	for i := range k.parts {
		b, err := k.extractPart(&k.parts[i], record, s)
		if err != nil {
			return nil, err
		}
		s.joined = binary.AppendUvarint(s.joined, uint64(len(b)))
		s.joined = append(s.joined, b...)
	}
	return s.joined, nil
}

func (k *Key) extractPart(p *part, record []byte, s *Scratch) ([]byte, error) {
	b, err := p.find.find(record, s)
	switch {
	case err != nil:
	case k.url != nil:
		s.form, err = k.url.Append(s.form[:0], b)
		b = s.form
	case k.email != nil:
		s.form, err = k.email.Append(s.form[:0], b)
		b = s.form
	}
	if err != nil {
		if k.missing != MissingEmpty {
			return nil, err
		}
		b = nil
	}
	b = p.norm.apply(b, s)
	if k.coded == keys.Text || err != nil { // a key that is missing has no encoding
		return b, nil
	}
	if b, err = decode(k.coded, b, s); err != nil && k.missing == MissingEmpty {
		return nil, nil
	}
	return b, err
}
