package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"seen/bloom"
)

// Reader is any filter of this package or of package bloom.
type Reader interface {
	Has(key []byte) bool
	Stats() bloom.Stats
}

// Foreign is a filter of another system. Keys are bytes as [KeyKind] says. WriteTo
// writes the filter in the system's own layout.
//
// A filter from [Open] refers to the bytes it was given and never changes them; any
// number of goroutines may ask it. Stats reads all bits, the other methods do not.
type Foreign interface {
	Reader
	io.WriterTo
	Describe() Description
	KeyKind() KeyKind
}

// Adder is a [Foreign] that takes keys, as the filters of [Create] do. Add reports
// whether the key was certainly new. A key that the format cannot represent is an error.
type Adder interface {
	Foreign
	Add(key []byte) (bool, error)
}

// Merger is a [Foreign] that can take all keys of another. If the OR of the two would be
// wrong, Union changes nothing and returns an error that wraps [bloom.ErrIncompatible]
// and names the difference.
type Merger interface {
	Foreign
	Union(other Reader) error
}

// Counter is a [Foreign] that counts how often keys were added. The count is never too
// low.
type Counter interface {
	Foreign
	Count(key []byte) uint64
}

// Lister is a [Foreign] that consists of several filters.
type Lister interface {
	Foreign
	Parts() []Part
}

// Part is one of the filters of a [Lister].
type Part struct {
	Name  string // such as a key of Redis, or a column
	Spec  Spec   // opens this part alone
	Stats bloom.Stats
}

// Description says what a filter is beyond its [bloom.Stats].
type Description struct {
	Format string // the specification that opens it again, such as "guava:funnel=string"
	System string // such as "Guava BloomFilter, strategy MURMUR128_MITZ_64"
	Hash   string
	Fields []Field  // what else the file says, in its order
	Notes  []string // what a user should know, such as that the filter is saturated
}

// Field is one thing that a file says.
type Field struct{ Name, Value string }

// KeyKind says what the bytes of a key are.
type KeyKind int

const (
	// KeyBytes are the bytes that are hashed.
	KeyBytes KeyKind = iota
	// KeyText is text in UTF-8, which the filter itself encodes for its hash.
	KeyText
	// KeyInt64 is a whole number as [Int64Key] encodes it. Has is false for other bytes,
	// and for numbers that the format cannot hold.
	KeyInt64
)

// String names what keys are.
func (k KeyKind) String() string {
	switch k {
	case KeyText:
		return "text"
	case KeyInt64:
		return "numbers"
	}
	return "bytes"
}

// Int64Key returns the key of a number: 8 bytes, little-endian, two's complement.
func Int64Key(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// parseInt64Key returns the number that [Int64Key] has encoded.
func parseInt64Key(key []byte) (v int64, ok bool) {
	if len(key) != 8 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(key)), true
}

// Confidence says how surely content is of a format.
type Confidence int

const (
	// Possible is content that fits, perhaps by chance.
	Possible Confidence = iota + 1
	// Likely is content whose length follows from what it says.
	Likely
	// Certain is content with a signature or a checksum.
	Certain
)

// String is certain, likely or possible.
func (c Confidence) String() string {
	switch c {
	case Certain:
		return "certain"
	case Likely:
		return "likely"
	}
	return "possible"
}

// format describes a file format. Each is a variable in a file of its own, and init lists
// them all.
type format struct {
	name   string
	system string // whose format it is, in words
	params []param
	// verified says in a sentence what answers and bytes were compared with.
	verified string
	// sign says in words how content is recognised; "" if detect is nil.
	sign string
	// detect returns what whole contents are, reading as little as it can. Lengths must
	// agree exactly: the first bytes alone are not enough. nil: content cannot tell.
	detect func(b []byte) (Confidence, Spec, bool)
	// open returns the filter whose bytes are b, to which it may refer. The parameters
	// are checked, and defaults are filled in.
	open func(b []byte, s Spec) (Foreign, error)
	// create makes an empty filter with memory of its own, an [Adder]; nil: noWrite says
	// why the format cannot be built.
	create  func(s Spec, capacity uint64, errorRate float64) (Foreign, error)
	noWrite string
	// clone returns a copy with memory of its own, which can be changed; see cloneOf.
	// nil: filters of the format cannot be changed.
	clone func(f Foreign) (Foreign, error)
	// rewrap returns what writes f, a filter of any format, in this one with the same
	// bits, or an error that wraps [ErrNotConvertible]; nil: no filter can be written so.
	rewrap func(f Foreign, s Spec) (io.WriterTo, error)
	// refused, unless it is "", says why what was detected cannot be opened and what
	// to do instead. Such a format has no open.
	refused string
}

// param is a parameter of a format.
type param struct {
	name     string
	meaning  string
	values   []string // those allowed; nil: open checks the text
	preset   string   // what holds where it is not given; "": nothing
	required bool     // neither content nor a preset can tell it
	forWrite bool     // only for making a filter
	place    bool     // says where the filter lies, and nothing of its bits
	form     bool     // the same bits can be written with each of its values
}

// formats are all formats, by name. It is filled in by init, since formats refer to
// functions that read it.
var formats []*format

func init() {
	formats = []*format{
		&bitarrayFormat,
		&bitsAndBloomsFormat,
		&dcsoFormat,
		&guavaFormat,
		&clickHouseFormat,
		&javaBitSetFormat,
		&leveldbFormat,
		&npmBloomFilterFormat,
		&npmBloomFiltersFormat,
		&parquetFormat,
		&pyFormat,
		&rdbFormat,
		&redisBloomFormat,
		&redisRecipeFormat,
		&redissonFormat,
		&rocksdbFormat,
		&sparkFormat,
		&tutorialPageFormat,
	}
	formats = append(formats, refusedFormats...)
	slices.SortFunc(formats, func(a, b *format) int { return strings.Compare(a.name, b.name) })
}

func findFormat(name string) (*format, error) {
	for _, f := range formats {
		if f.name == name && f.refused == "" {
			return f, nil
		}
	}
	var names []string
	for _, f := range formats {
		if f.refused == "" {
			names = append(names, f.name)
		}
	}
	return nil, fmt.Errorf("%w: there is no format %q; the formats are %s", ErrSpec, name, strings.Join(names, ", "))
}

// FormatInfo describes a format.
type FormatInfo struct {
	Name     string
	System   string
	Params   []ParamInfo
	Detected string // how content is recognised; "": a user must name the format
	Probe    bool   // Open opens it, to be asked
	Write    bool   // Create makes it
	Merge    bool   // Clone returns a Merger, except of counters
	NoWrite  string // why it cannot be built
	Verified string // what answers and bytes were compared with
	Refused  string // why it cannot be opened
}

// ParamInfo describes a parameter of a format.
type ParamInfo struct {
	Name     string
	Meaning  string
	Values   []string // nil: any text or number that fits
	Preset   string   // the default; "": none
	Required bool     // there is no default, and content cannot tell it
	ForWrite bool     // only for Create
}

// Formats lists all formats by name. Those that are only recognised come last.
func Formats() []FormatInfo {
	var known, refused []FormatInfo
	for _, f := range formats {
		i := FormatInfo{
			Name: f.name, System: f.system, Detected: f.sign, Probe: f.refused == "", Write: f.create != nil,
			Merge: f.clone != nil, NoWrite: f.noWrite, Verified: f.verified, Refused: f.refused,
		}
		for _, p := range f.params {
			i.Params = append(i.Params, ParamInfo{p.name, p.meaning, p.values, p.preset, p.required, p.forWrite})
		}
		if f.refused != "" {
			refused = append(refused, i)
		} else {
			known = append(known, i)
		}
	}
	return append(known, refused...)
}

// Candidate is what content may be.
type Candidate struct {
	Spec       Spec
	Confidence Confidence
	System     string
	Why        string // how it was recognised
	Refused    string // why it cannot be opened; "": it can
}

// Detect returns what the contents of a whole file may be, the likeliest first. It reads
// the whole contents only to verify a checksum. The specifications may lack parameters
// that content cannot tell.
func Detect(b []byte) []Candidate {
	var all []Candidate
	for _, f := range formats {
		if f.detect == nil {
			continue
		}
		if confidence, spec, ok := f.detect(b); ok {
			all = append(all, Candidate{spec, confidence, f.system, f.sign, f.refused})
		}
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		if a.Confidence == b.Confidence && (a.Refused == "") != (b.Refused == "") {
			return strings.Compare(a.Refused, b.Refused) // what can be opened goes first
		}
		return int(b.Confidence - a.Confidence)
	})
	return all
}

// recognise returns the one format that fits b best.
func recognise(b []byte) (Spec, error) {
	all := Detect(b)
	switch {
	case len(all) == 0:
		return Spec{}, ErrUnknown
	case len(all) > 1 && all[1].Confidence == all[0].Confidence:
		var names []string
		for _, c := range all {
			if c.Confidence == all[0].Confidence && c.Refused == "" {
				names = append(names, c.Spec.String())
			}
		}
		if len(names) > 1 {
			return Spec{}, &SpecError{Err: errors.New("the content fits several formats"), Try: names}
		}
	}
	for _, c := range all {
		if c.Refused == "" {
			return c.Spec, nil
		}
		if c.Confidence == all[0].Confidence && len(all) == 1 || c.Confidence > Possible {
			return Spec{}, &RefusedError{c.System, c.Refused}
		}
	}
	return Spec{}, &RefusedError{all[0].System, all[0].Refused}
}

// Open returns the filter in b. It refers to b and is valid as long as b is. If s has no
// name, content decides. Open reads only the header, unless the format has a checksum.
func Open(b []byte, s Spec) (Foreign, error) { return open(b, s, false) }

// Inspect is [Open] for describing a filter without asking it about keys. Parameters that
// content cannot tell may be missing if the description does not need them.
func Inspect(b []byte, s Spec) (Foreign, error) { return open(b, s, true) }

func open(b []byte, s Spec, guess bool) (Foreign, error) {
	if s.Name == "" {
		found, err := recognise(b)
		if err != nil {
			return nil, err
		}
		s = found
	}
	f, err := findFormat(s.Name)
	if err != nil {
		return nil, err
	}
	if s, err = f.complete(s, guess, false); err != nil {
		return nil, err
	}
	_, inRDB := s.Params["rdb"]
	switch _, db := s.Params["db"]; {
	case inRDB:
		return openInRDB(b, s, f.open)
	case db && f.param("rdb") != nil:
		return nil, fmt.Errorf("%s: %w: db is the database of a key; give it with rdb=KEY", f.name, ErrSpec)
	}
	return f.open(b, s)
}

// Create returns an empty filter, an [Adder], of the size that the system itself gives it
// for a number of keys and an error rate.
func Create(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	f, err := findFormat(s.Name)
	if err != nil {
		return nil, err
	}
	if f.create == nil {
		return nil, fmt.Errorf("%s: the format cannot be built: %s", f.name, f.noWrite)
	}
	if err := checkWish(capacity, errorRate); err != nil {
		return nil, err
	}
	if s, err = f.complete(s, false, true); err != nil {
		return nil, err
	}
	return f.create(s, capacity, errorRate)
}

// Clone returns a copy of f with memory of its own, which can be changed if the format
// allows it: a [Merger], an [Adder] or both.
func Clone(f Foreign) (Foreign, error) {
	name, _, _ := strings.Cut(f.Describe().Format, ":")
	owner, err := findFormat(name)
	if err != nil {
		return nil, err
	}
	if owner.clone == nil {
		return nil, fmt.Errorf("filters of format %s cannot be changed", name)
	}
	return owner.clone(f)
}

// cloneOf is the clone function of a format all of whose types have a method Clone that
// returns a G.
func cloneOf[G Foreign](f Foreign) (Foreign, error) {
	c, ok := f.(interface{ Clone() (G, error) })
	if !ok {
		return nil, fmt.Errorf("filters of %s cannot be changed", f.Describe().System)
	}
	g, err := c.Clone()
	if err != nil {
		return nil, err
	}
	return g, nil
}

// copyOf is the clone function of a format whose filters are all of type T: a copy that
// shares nothing with f but what never changes. It fails if there is not enough memory.
func copyOf[T any, F interface {
	*T
	Foreign
	memory() *bitArray
}](f Foreign) (Foreign, error) {
	g, ok := f.(F)
	if !ok {
		return nil, fmt.Errorf("filters of %s cannot be changed", f.Describe().System)
	}
	c := *g
	return foreign(F(&c), F(&c).memory().detach(0))
}

// Rewrap returns a writer of the unchanged bits of f as a file of another format, or in
// another form of the same format. It fails with [ErrNotConvertible] if the two formats
// map a key to different bits, as nearly all do.
func Rewrap(f Foreign, to Spec) (io.WriterTo, error) {
	target, err := findFormat(to.Name)
	if err != nil {
		return nil, err
	}
	full, err := target.complete(to, true, false)
	if err != nil {
		return nil, err
	}
	d := f.Describe()
	if err := target.agrees(to, d.Format); err != nil {
		return nil, err
	}
	if target.rewrap != nil {
		w, err := target.rewrap(f, full)
		if err == nil || !errors.Is(err, ErrNotConvertible) {
			return w, err
		}
	}
	reason := fmt.Sprintf("a filter stores bits and not keys, and %s and %s map a key to different bits", d.Format, target.name)
	if target.create == nil {
		return nil, fmt.Errorf("%w: %s; and %s cannot be built: %s", ErrNotConvertible, reason, target.name, target.noWrite)
	}
	return nil, &SpecError{Err: fmt.Errorf("%w: %s", ErrNotConvertible, reason), Try: []string{to.String()}, Target: true}
}

// Extract takes a filter out of a larger file, such as a string out of an RDB file: w
// writes it, and s opens what w writes. in is false if there is nothing around the
// filter, or if the file has several filters.
func Extract(f Foreign) (s Spec, w io.WriterTo, in bool) {
	described := ""
	switch f := f.(type) {
	case *bitmap:
		if f.place.Name == "" {
			return Spec{}, nil, false
		}
		w, described = f, f.scheme.describe().Format
	case *parquetFile:
		one, err := f.one()
		if err != nil {
			return Spec{}, nil, false
		}
		w, described = one, one.Describe().Format
	case *rocksDBTable:
		w, described = &f.rocksDB, f.rocksDB.Describe().Format
	default:
		return Spec{}, nil, false
	}
	s, err := ParseSpec(described)
	return s, w, err == nil
}

// agrees refuses a target of the same format whose parameters map keys to other bits.
func (f *format) agrees(to Spec, described string) error {
	is, err := ParseSpec(described)
	if err != nil || is.Name != to.Name {
		return nil
	}
	for _, p := range f.params {
		want, given := to.Params[p.name]
		if have, said := is.Params[p.name]; given && said && !p.forWrite && !p.place && have != want {
			err := fmt.Errorf("%w: the filter is %s, and %s=%s maps a key to different bits", ErrNotConvertible, described, p.name, want)
			return &SpecError{Err: err, Try: []string{to.String()}, Target: true}
		}
	}
	return nil
}

// rewrapOf is the rewrap function of a format of one form, whose filters are all of type F.
func rewrapOf[F Foreign](f Foreign, s Spec) (io.WriterTo, error) {
	if _, ok := f.(F); !ok {
		return nil, errConvert(f, s.Name)
	}
	return f, nil
}

// rewrapAs is the rewrap function of a format whose filters are all of type F.
func rewrapAs[F Foreign](write func(f F, s Spec) (io.WriterTo, error)) func(f Foreign, s Spec) (io.WriterTo, error) {
	return func(f Foreign, s Spec) (io.WriterTo, error) {
		g, ok := f.(F)
		if !ok {
			return nil, errConvert(f, s.Name)
		}
		return write(g, s)
	}
}

// errConvert is what rewrap functions return for filters of other formats.
func errConvert(f Foreign, to string) error {
	return fmt.Errorf("%w: %s and %s map a key to different bits", ErrNotConvertible, f.Describe().Format, to)
}
