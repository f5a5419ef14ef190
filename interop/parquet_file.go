package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"seen/bloom"
)

// parquetFile is the split-block Bloom filters of a Parquet file. Each belongs to one
// column of one row group, and says which keys that part of the column may have; nulls
// have none.
//
// The file ends with metadata in the compact protocol of Thrift, their length and a
// mark. They list the row groups, and of each the columns, with type, name and the
// offset of the filter; where filters lie, and in what order, differs between programs.
//
// Any number of goroutines may ask.
type parquetFile struct {
	raw       []byte
	filters   []parquetPart  // by row group, then as the columns are in the file
	columns   []string       // of filters, each once
	lacking   []parquetPlace // what has values of one of the columns, and no filter
	encrypted int            // columns of row groups that cannot be read
	spec      Spec           // what chose the filters
}

// parquetPart is one of the filters of a parquetFile.
type parquetPart struct {
	Column   string // its path, joined by dots
	RowGroup int    // from 0
	Physical string // the type in the file, such as BYTE_ARRAY
	Offset   int64  // of the filter's header in the file
	Filter   *parquet
}

// parquetPlace is a column of a row group.
type parquetPlace struct {
	column string
	group  int
}

const parquetMark = "PAR1"

// parquetPhysical are the types in a file by their numbers, and the types of keys that
// each may have, the likeliest first.
var parquetPhysical = []struct {
	name  string
	types []parquetType
}{
	{"BOOLEAN", nil}, {"INT32", []parquetType{parquetInt32}}, {"INT64", []parquetType{parquetInt64}}, {"INT96", []parquetType{parquetBinary}},
	{"FLOAT", []parquetType{parquetFloat}}, {"DOUBLE", []parquetType{parquetDouble}}, {"BYTE_ARRAY", []parquetType{parquetString, parquetBinary}},
	{"FIXED_LEN_BYTE_ARRAY", []parquetType{parquetBinary, parquetString, parquetUUID}},
}

// parseParquetFile returns the filters of the file b, with the types of keys that follow
// from those of the columns. It refers to b, which must not change, and reads only the
// metadata and the headers of the filters.
func parseParquetFile(b []byte, _ Spec) (*parquetFile, error) {
	if !isParquetFile(b) {
		if bytes.HasSuffix(b, []byte("PARE")) {
			return nil, errors.New("the file is encrypted, and so are its filters")
		}
		return nil, fmt.Errorf("not a Parquet file, which begins and ends with %s", parquetMark)
	}
	end := len(b) - 8
	size := binary.LittleEndian.Uint32(b[end:])
	if uint64(size) > uint64(end-4) {
		return nil, fmt.Errorf("the file says %d bytes of metadata, but has %d", size, len(b))
	}
	f := &parquetFile{raw: b}
	columns, err := parquetColumns(b[end-int(size) : end])
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	for _, c := range columns {
		switch {
		case c.encrypted:
			f.encrypted++
			continue
		case !c.hasFilter:
			f.lacking = append(f.lacking, parquetPlace{c.name(), c.group})
			continue
		}
		p, err := c.part(b[:end-int(size)])
		if err != nil {
			return nil, fmt.Errorf("filter of column %q in row group %d: %w", c.name(), c.group, err)
		}
		f.filters = append(f.filters, p)
	}
	if len(f.filters) == 0 {
		if f.encrypted > 0 {
			return nil, errors.New("its columns are encrypted, and so are their filters")
		}
		return nil, errors.New("no column of the file has a filter; tell the program that writes it to make filters")
	}
	f.index()
	return f, nil
}

func isParquetFile(b []byte) bool {
	return len(b) >= 12 && string(b[:4]) == parquetMark && string(b[len(b)-4:]) == parquetMark
}

// index lists the columns of the filters, and forgets what others lack.
func (f *parquetFile) index() {
	f.columns = nil
	has := make(map[string]bool)
	for _, p := range f.filters {
		if !has[p.Column] {
			has[p.Column] = true
			f.columns = append(f.columns, p.Column)
		}
	}
	f.lacking = slices.DeleteFunc(f.lacking, func(p parquetPlace) bool { return !has[p.column] })
}

// parquetColumn is what the metadata say of a column of a row group.
type parquetColumn struct {
	group     int
	path      []string
	physical  int64
	offset    int64 // of the filter
	length    int64 // of the filter with its header; 0: not known
	values    int64 // nulls included
	hasFilter bool
	encrypted bool
}

func (c *parquetColumn) name() string { return strings.Join(c.path, ".") }

// parquetColumns reads the metadata: field 4 has the row groups, field 1 of each the
// columns, field 3 of each the metadata of the column, or field 9 encrypted ones.
func parquetColumns(b []byte) (columns []parquetColumn, err error) {
	r := &thriftReader{b: b}
	group := 0
	r.fields(func(id int64, typ byte) bool {
		if id != 4 || typ != thriftList {
			return false
		}
		r.list(func(byte) {
			r.fields(func(id int64, typ byte) bool {
				if id != 1 || typ != thriftList {
					return false
				}
				r.list(func(byte) {
					// A column without values does not need a filter.
					if c := r.parquetColumn(); c.hasFilter || c.encrypted || c.values != 0 {
						c.group = group
						columns = append(columns, c)
					}
				})
				return true
			})
			group++
		})
		return true
	})
	return columns, r.err
}

func (r *thriftReader) parquetColumn() (c parquetColumn) {
	r.fields(func(id int64, typ byte) bool {
		if id == 8 || id == 9 {
			c.encrypted = true
		}
		if id != 3 || typ != thriftStruct {
			return false
		}
		r.fields(func(id int64, typ byte) bool {
			switch {
			case id == 1 && typ == thriftI32:
				c.physical = r.number()
			case id == 3 && typ == thriftList:
				r.list(func(byte) { c.path = append(c.path, string(r.binary())) })
			case id == 5 && typ == thriftI64:
				c.values = r.number()
			case id == 14 && typ == thriftI64:
				c.offset, c.hasFilter = r.number(), true
			case id == 15 && typ == thriftI32:
				c.length = r.number()
			default:
				return false
			}
			return true
		})
		return true
	})
	return c
}

// part reads the header of the filter in b, which is the file up to its metadata.
func (c *parquetColumn) part(b []byte) (parquetPart, error) {
	if c.physical < 0 || c.physical >= int64(len(parquetPhysical)) || parquetPhysical[c.physical].types == nil {
		return parquetPart{}, fmt.Errorf("columns of type %d have no filters", c.physical)
	}
	if c.offset < 4 || c.offset >= int64(len(b)) {
		return parquetPart{}, fmt.Errorf("offset %d is outside the %d bytes before the metadata", c.offset, len(b))
	}
	f, rest, err := parseParquet(b[c.offset:])
	if err != nil {
		return parquetPart{}, err
	}
	if length := int64(len(b)-len(rest)) - c.offset; c.length != 0 && c.length != length {
		return parquetPart{}, fmt.Errorf("%d bytes by its header, %d by the metadata", length, c.length)
	}
	physical := parquetPhysical[c.physical]
	f.scheme.typ = physical.types[0]
	return parquetPart{Column: c.name(), RowGroup: c.group, Physical: physical.name, Offset: c.offset, Filter: f}, nil
}

// Select returns those filters of f that belong to a column, if it is not "", and to a
// row group, if it is not negative. typ, if it is not "", replaces the type of keys; it
// has to be one that the column can have.
func (f *parquetFile) Select(column string, rowGroup int, typ parquetType) (*parquetFile, error) {
	g := &parquetFile{raw: f.raw, encrypted: f.encrypted}
	if column != "" {
		g.encrypted = 0 // a column is encrypted as a whole, and this one is not
	}
	for _, p := range f.lacking {
		if rowGroup < 0 || p.group == rowGroup {
			g.lacking = append(g.lacking, p)
		}
	}
	for _, p := range f.filters {
		if column != "" && p.Column != column || rowGroup >= 0 && p.RowGroup != rowGroup {
			continue
		}
		if typ != "" {
			if err := p.mayBe(typ); err != nil {
				return nil, err
			}
			q := *p.Filter
			q.scheme.typ, p.Filter = typ, &q
		}
		g.filters = append(g.filters, p)
	}
	if len(g.filters) == 0 {
		of := ""
		if column != "" {
			of = fmt.Sprintf(" of column %q", column)
		}
		if rowGroup >= 0 {
			of += " in row group " + strconv.Itoa(rowGroup)
		}
		return nil, fmt.Errorf("parquet: there is no filter%s; columns with filters: %s", of, strings.Join(f.columns, ", "))
	}
	g.index()
	return g, nil
}

// mayBe returns an error if keys of a type cannot be values of the column.
func (p *parquetPart) mayBe(typ parquetType) error {
	for _, physical := range parquetPhysical {
		if physical.name == p.Physical && !slices.Contains(physical.types, typ) {
			return fmt.Errorf("parquet: column %q is %s, so its keys are not of type %s; use %s", p.Column, p.Physical, typ, physical.types[0])
		}
	}
	return nil
}

// mixed reports whether the filters do not all have keys of one kind. Then keys are
// text, and numbers are in decimal.
func (f *parquetFile) mixed() bool {
	for _, p := range f.filters {
		if p.Filter.scheme.typ.numeric() != f.filters[0].Filter.scheme.typ.numeric() {
			return true
		}
	}
	return false
}

// numeric reports whether keys are numbers of 8 bytes.
func (u parquetType) numeric() bool { return u == parquetInt32 || u == parquetInt64 }

// Has reports whether key may be in any of the filters: in any row group, and any column.
// If some columns are of whole numbers and others are not, keys are text. A row group
// that has values of one of the columns and no filter for it may have any key, and so may
// columns that are encrypted; programs leave out filters that they consider useless.
func (f *parquetFile) Has(key []byte) bool {
	if len(f.lacking) > 0 || f.encrypted > 0 {
		return true
	}
	number, isNumber := key, true
	mixed := f.mixed()
	if mixed {
		v, err := strconv.ParseInt(string(key), 10, 64)
		number, isNumber = binary.LittleEndian.AppendUint64(nil, uint64(v)), err == nil
	}
	for i := range f.filters {
		asked := key
		if p := f.filters[i].Filter; mixed && p.scheme.typ.numeric() {
			if !isNumber {
				continue
			}
			asked = number
		}
		if f.filters[i].Filter.Has(asked) {
			return true
		}
	}
	return false
}

// Stats adds up the filters. The error rate is that of a key that is asked of all of
// them. It reads all arrays.
func (f *parquetFile) Stats() bloom.Stats {
	if len(f.filters) == 1 {
		return f.filters[0].Filter.Stats()
	}
	sum := bloom.Stats{Type: "parquet", Probes: parquetProbes, Layers: len(f.filters)}
	no := 1.0
	for _, p := range f.filters {
		s := p.Filter.Stats()
		sum.Bits += s.Bits
		sum.Bytes += s.Bytes
		sum.Ones += s.Ones
		sum.Cardinality.Value += s.Cardinality.Value
		sum.Cardinality.StdErr = math.Hypot(sum.Cardinality.StdErr, s.Cardinality.StdErr)
		no *= 1 - s.ErrorRate
	}
	sum.Fill = float64(sum.Ones) / float64(sum.Bits)
	sum.ErrorRate = 1 - no
	return sum
}

// one returns the filter of f if there is just one.
func (f *parquetFile) one() (*parquet, error) {
	if len(f.filters) != 1 {
		return nil, fmt.Errorf("parquet: the file has %d filters, of columns %s; choose one by column and rowgroup", len(f.filters), strings.Join(f.columns, ", "))
	}
	if len(f.lacking) > 0 || f.encrypted > 0 {
		return nil, errors.New("parquet: the file has row groups without a filter or encrypted columns, which may hold any key; choose one with a filter by column and rowgroup")
	}
	return f.filters[0].Filter, nil
}

// WriteTo writes the one filter of f with its header, or, if there are several, the
// file as it is.
func (f *parquetFile) WriteTo(w io.Writer) (int64, error) {
	if one, err := f.one(); err == nil {
		return one.WriteTo(w)
	}
	return bytes.NewReader(f.raw).WriteTo(w)
}
