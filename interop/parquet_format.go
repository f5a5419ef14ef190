package interop

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

var parquetFormat = format{
	name:   "parquet",
	system: "split-block Bloom filters of Apache Parquet, in a .parquet file or alone",
	params: []param{
		{name: "type", meaning: "the type of the keys; a file has it with its columns, a filter alone does not", values: parquetTypes},
		{name: "column", meaning: "the path of a column, joined by dots; by default all columns", place: true},
		{name: "rowgroup", meaning: "the number of a row group, from 0; by default all row groups", place: true},
		{name: "bytes", meaning: "the length of the array in bytes, a multiple of 32; by default it follows from capacity and error rate", forWrite: true},
	},
	verified: "files and answers of parquet-go 0.32 and DuckDB 1.5.6; filters byte for byte",
	sign:     "PAR1 at both ends, or the header of a filter and as many bytes as it says",
	detect:   detectParquet,
	open:     openParquet,
	create:   createParquet,
	clone: func(f Foreign) (Foreign, error) {
		if file, ok := f.(*parquetFile); ok {
			one, err := file.one()
			if err != nil {
				return nil, err
			}
			f = one
		}
		return copyOf[parquet](f)
	},
	rewrap: func(f Foreign, _ Spec) (io.WriterTo, error) {
		switch f := f.(type) {
		case *parquet:
			return f, nil
		case *parquetFile:
			return f.one()
		}
		return nil, errConvert(f, "parquet")
	},
}

func detectParquet(b []byte) (Confidence, Spec, bool) {
	s := Spec{Name: "parquet"}
	if isParquetFile(b) {
		return Certain, s, true
	}
	_, rest, err := parseParquet(b)
	return Likely, s, err == nil && len(rest) == 0
}

func needParquetType(s Spec) error {
	if s.Params["type"] == "" {
		err := fmt.Errorf("parquet: %w: a filter alone does not say what its keys are", ErrSpec)
		return &SpecError{Err: err, Try: []string{"parquet:type=" + strings.Join(parquetTypes, "|")}}
	}
	return nil
}

func openParquet(b []byte, s Spec) (Foreign, error) {
	if !isParquetFile(b) {
		if s.Params["column"] != "" || s.Params["rowgroup"] != "" {
			return nil, fmt.Errorf("parquet: %w: column and rowgroup are only for a .parquet file", ErrSpec)
		}
		if err := needParquetType(s); err != nil {
			return nil, err
		}
		return parseAs("parquet", parseParquetFilter)(b, s)
	}
	group := -1
	if s.Params["rowgroup"] != "" {
		n, err := s.number("rowgroup", 0, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		group = int(n)
	}
	opened, err := parseAs("parquet", parseParquetFile)(b, s)
	if err != nil {
		return nil, err
	}
	f, err := opened.(*parquetFile).Select(s.Params["column"], group, parquetType(s.Params["type"]))
	if err != nil {
		return nil, err
	}
	f.spec = s
	return f, nil
}

const parquetHash = "XXH64"

func (f parquetScheme) describe() Description {
	return Description{
		Format: "parquet:type=" + string(f.typ), System: "Parquet split-block Bloom filter", Hash: parquetHash,
		Fields: []Field{{"blocks", fmt.Sprintf("%d of 256 bits", f.blocks)}, {"type", string(f.typ) + " (as given; not in the filter)"}},
	}
}

func (f parquetScheme) keyKind() KeyKind {
	switch {
	case f.typ.numeric():
		return KeyInt64
	case f.typ == parquetBinary:
		return KeyBytes
	}
	return KeyText
}

// Describe says what the metadata say of the filters.
func (f *parquetFile) Describe() Description {
	spec := f.spec
	spec.Name = "parquet"
	groups := make(map[int]bool)
	d := Description{Format: spec.String(), System: "Parquet split-block Bloom filters in a file", Hash: parquetHash}
	type total struct {
		physical string
		typ      parquetType
		bytes    uint64
		filters  int
	}
	totals := make(map[string]total)
	for _, p := range f.filters {
		groups[p.RowGroup] = true
		t := totals[p.Column]
		totals[p.Column] = total{p.Physical, p.Filter.scheme.typ, t.bytes + uint64(len(p.Filter.bits.b)), t.filters + 1}
	}
	for _, column := range f.columns {
		t := totals[column]
		d.Fields = append(d.Fields, Field{"column " + strconv.Quote(column), fmt.Sprintf("%s, keys of type %s, filters of %d row groups, %d bytes", t.physical, t.typ, t.filters, t.bytes)})
	}
	d.Fields = append(d.Fields, Field{"row groups with filters", strconv.Itoa(len(groups))})
	if f.encrypted > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d columns of row groups are encrypted and may hold any key; choose another with column=", f.encrypted))
	}
	if n := len(f.lacking); n > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d row groups have no filter and may hold any key, the first is %d for column %q; choose one with a filter by rowgroup=", n, f.lacking[0].group, f.lacking[0].column))
	}
	if f.mixed() {
		d.Notes = append(d.Notes, "the file has columns of numbers and of text: keys are text, and numbers are decimal; choose one with column=")
	}
	return d
}

// KeyKind is that of the columns, or KeyText if they have different ones.
func (f *parquetFile) KeyKind() KeyKind {
	if f.mixed() {
		return KeyText
	}
	return f.filters[0].Filter.KeyKind()
}

// Parts describes the filters one by one.
func (f *parquetFile) Parts() []Part {
	var parts []Part
	for _, p := range f.filters {
		spec := Spec{Name: "parquet"}.with("column", p.Column).with("rowgroup", strconv.Itoa(p.RowGroup))
		if typ := f.spec.Params["type"]; typ != "" {
			spec = spec.with("type", typ)
		}
		parts = append(parts, Part{Name: fmt.Sprintf("column %s, row group %d", strconv.Quote(p.Column), p.RowGroup), Spec: spec, Stats: p.Filter.Stats()})
	}
	return parts
}
