package interop

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"seen/bloom"
)

// openGolden opens the filter of a folder.
func openGolden(t testing.TB, dir, spec string) Foreign {
	t.Helper()
	s := Spec{}
	if spec != "" {
		var err error
		if s, err = ParseSpec(spec); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(readGolden(t, goldenCase{dir: dir}).filter, s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRewrapForeign turns the filters of vectors into each other where that is possible.
func TestRewrapForeign(t *testing.T) {
	for _, c := range []struct{ from, spec, to, want string }{
		{"bnb-v3-binary", "", "bits-and-blooms", "bnb-v3-binary"},
		{"bnb-v3-binary", "", "bits-and-blooms:form=json", "bnb-v3-json"},
		{"bnb-v3-json", "", "bits-and-blooms:form=json-std", "bnb-v3-json-std64"},
		{"bnb-v3-json-std64", "", "bits-and-blooms:order=little", "bnb-v3-bitset-le"},
		{"bnb-v3-bitset-le", "", "bits-and-blooms:form=binary", "bnb-v3-binary"},
		{"dcso-gzip", "", "dcso", "dcso-plain"},
		{"guava-mitz64-string", "guava:funnel=string", "guava:funnel=string", "guava-mitz64-string"},
		{"spark-v2-string", "spark:type=string", "spark:type=string", "spark-v2-string"},
	} {
		to, err := ParseSpec(c.to)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Rewrap(openGolden(t, c.from, c.spec), to)
		if err != nil {
			t.Fatalf("%s to %s: %v", c.from, c.to, err)
		}
		expectBytes(t, c.from+" to "+c.to, written(t, w), readGolden(t, goldenCase{dir: c.want}).filter)
	}
	for _, dir := range []string{"parquet-sbbf-int64", "parquet-sbbf-duckdb-string"} {
		blob := readGolden(t, goldenCase{dir: dir}).filter
		f, err := Open(readGolden(t, goldenCase{dir: dir, file: "table.parquet"}).filter, Spec{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := Rewrap(f, Spec{Name: "parquet"})
		if err != nil {
			t.Fatal(err)
		}
		expectBytes(t, dir, written(t, w), blob)
	}
	many := openGolden(t, "parquet-multi-rowgroup", "")
	if _, err := Rewrap(many, Spec{Name: "parquet"}); err == nil || !strings.Contains(err.Error(), "3 filters") {
		t.Errorf("three filters as one: %v", err)
	}
	if _, err := Clone(many); err == nil || !strings.Contains(err.Error(), "3 filters") {
		t.Errorf("a copy of three filters: %v", err)
	}
	for _, f := range []Foreign{
		openGolden(t, "bnb-v3-json", ""), openGolden(t, "dcso-plain", ""), openGolden(t, "guava-mitz64-string", "guava:funnel=string"),
		openGolden(t, "spark-v1-string", "spark:type=string"), many,
	} {
		own := nameOf(f.Describe().Format)
		for _, name := range []string{"bits-and-blooms", "dcso", "guava", "spark", "parquet"} {
			if _, err := Rewrap(f, Spec{Name: name}); name != own && (!errors.Is(err, ErrNotConvertible) || !strings.Contains(tried(err), "; "+name)) {
				t.Errorf("%s to %s: %v", own, name, err)
			}
		}
	}
}

// TestMergeForeign merges filters of different systems, which must fail, and copies of
// the same, which changes nothing.
func TestMergeForeign(t *testing.T) {
	var all []Foreign
	for _, c := range [][2]string{
		{"bnb-v3-json", ""}, {"dcso-plain", ""}, {"guava-mitz64-string", "guava:funnel=string"}, {"spark-v1-string", "spark:type=string"},
		{"parquet-sbbf-string", "parquet:type=string"},
	} {
		all = append(all, openGolden(t, c[0], c[1]))
	}
	for i, f := range all {
		copied, err := Clone(f)
		if err != nil {
			t.Fatal(err)
		}
		for j, g := range all {
			err := copied.(Merger).Union(g)
			if (err == nil) != (i == j) || err != nil && !errors.Is(err, bloom.ErrIncompatible) {
				t.Errorf("%s and %s: %v", f.Describe().Format, g.Describe().Format, err)
			}
		}
		if d, ok := copied.(*dcso); ok {
			d.added = f.(*dcso).added // the sum of both
		}
		expectBytes(t, f.Describe().Format, written(t, copied), written(t, f))
		if err := f.(Merger).Union(f); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: what was parsed was changed: %v", f.Describe().Format, err)
		}
	}
	// The filter of a file and the same alone.
	blob := openGolden(t, "parquet-sbbf-string", "parquet:type=string")
	file, err := Open(readGolden(t, goldenCase{dir: "parquet-sbbf-string", file: "table.parquet"}).filter, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	copied, err := Clone(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.(Merger).Union(file); err != nil {
		t.Error(err)
	}
	expectBytes(t, "united with itself", written(t, copied), written(t, blob))
	if err := copied.(Merger).Union(openGolden(t, "parquet-multi-rowgroup", "")); err == nil {
		t.Error("three filters were merged into one")
	}
}

func TestDescribeForeign(t *testing.T) {
	for _, c := range []struct {
		dir, file, spec string
		kind            KeyKind
		want            []string
	}{
		{"bnb-v3-fromwithm", "", "", KeyBytes, []string{"bits-and-blooms", "length of the array 2048 bits", "big-endian", "binary"}},
		{"bnb-v3-bitset-le", "", "", KeyBytes, []string{"little-endian"}},
		{"bnb-v3-json-std64", "", "", KeyBytes, []string{"json-std"}},
		{"dcso-data", "", "", KeyBytes, []string{`36 bytes: "{\"source\"`, "plain"}},
		{"dcso-gzip", "", "", KeyBytes, []string{"gzip", "308 keys were added to a filter made for 300"}},
		{"guava-mitz32-long", "", "guava:funnel=long", KeyInt64, []string{"guava:funnel=long", "MURMUR128_MITZ_32"}},
		{"guava-mitz64-int", "", "guava:funnel=int", KeyInt64, []string{"MURMUR128_MITZ_64"}},
		{"guava-mitz64-bytes", "", "guava:funnel=bytes", KeyBytes, nil},
		{"guava-mitz64-unencoded", "", "guava:funnel=unencoded", KeyText, nil},
		{"spark-v1-string", "", "spark:type=string", KeyText, []string{"version 1"}},
		{"spark-v1-bytes", "", "spark:type=binary", KeyBytes, nil},
		{"spark-v2-long-seed", "", "spark:type=long", KeyInt64, []string{"version 2", "seed 1234567"}},
		{"parquet-sbbf-int64", "", "parquet:type=int64", KeyInt64, []string{"10 of 256 bits"}},
		{"parquet-sbbf-string", "", "parquet:type=binary", KeyBytes, nil},
		{"parquet-sbbf-int64", "table.parquet", "", KeyInt64, []string{`column "k" INT64, keys of type int64`}},
		{"parquet-multi-rowgroup", "", "", KeyText, []string{"BYTE_ARRAY", "row groups with filters 3"}},
		{"parquet-multi-rowgroup", "", "parquet:column=k,rowgroup=2,type=binary", KeyBytes, []string{"parquet:column=k,rowgroup=2,type=binary", "row groups with filters 1"}},
	} {
		s := Spec{}
		if c.spec != "" {
			var err error
			if s, err = ParseSpec(c.spec); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Open(readGolden(t, goldenCase{dir: c.dir, file: c.file}).filter, s)
		if err != nil {
			t.Fatal(err)
		}
		d := f.Describe()
		text := d.Format + " " + d.System + " " + d.Hash
		for _, field := range d.Fields {
			text += " " + field.Name + " " + field.Value
		}
		text += strings.Join(d.Notes, " ")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %s", c.dir, want, text)
			}
		}
		if f.KeyKind() != c.kind {
			t.Errorf("%s %s: keys are %v, want %v", c.dir, c.spec, f.KeyKind(), c.kind)
		}
	}
}

func TestDescribeNotes(t *testing.T) {
	sloppy := append(bitsAndBloomsHeaderOf(60, 1, 60, 0), 0xf0, 0, 0, 0, 0, 0, 0, 1) // bits 60 to 63 and 0
	f, err := Open(sloppy, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if d := f.Describe(); len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], "4 bits beyond the 60 of the filter") || f.Stats().Ones != 1 {
		t.Errorf("%q, %d ones", d.Notes, f.Stats().Ones)
	}
	expectBytes(t, "kept", written(t, f), sloppy)
	f, err = Open(bitsAndBloomsHeaderOf(100, 1, 64, 1), Spec{Name: "bits-and-blooms"})
	if err != nil {
		t.Fatal(err)
	}
	if d := f.Describe(); len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "64 bits and m is 100") {
		t.Errorf("%q", d.Notes)
	}
	d := dcsoFile(1, 10, 0.1, 3, 60, 8)
	d[dcsoHeader+7] = 0xf8
	if f, err = Open(d, Spec{}); err != nil {
		t.Fatal(err)
	}
	if d := f.Describe(); len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], "4 bits beyond the 60 of the filter") || f.Stats().Ones != 1 {
		t.Errorf("%q, %d ones", d.Notes, f.Stats().Ones)
	}
}

func TestParquetParts(t *testing.T) {
	g := readGolden(t, goldenCase{dir: "parquet-multi-rowgroup"})
	f, err := Open(g.filter, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	parts := f.(Lister).Parts()
	if len(parts) != 3 {
		t.Fatalf("%+v", parts)
	}
	for i, p := range parts {
		one, err := Open(g.filter, p.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != fmt.Sprintf(`column "k", row group %d`, i) || p.Stats.Ones == 0 || p.Stats != one.Stats() {
			t.Errorf("%+v", p)
		}
		g.answer = i
		g.compare(t, p.Name, one)
	}
}

// TestForeignSpecs gives parameters that do not fit.
func TestForeignSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"bits-and-blooms:m=10":                  "go together",
		"bits-and-blooms:k=10":                  "go together",
		"bits-and-blooms:length=10":             "go together",
		"bits-and-blooms:k=1001,m=10":           "from 1 to 1000",
		"bits-and-blooms:k=1,m=0":               "from 1",
		"guava":                                 "needs funnel",
		"spark":                                 "needs type",
		"spark:seed=1,type=long":                "version 1 with seed 1",
		"spark:seed=x,type=long,version=2":      "seed=x",
		"spark:seed=2147483648,type=long":       "32 bits",
		"parquet":                               "parquet:type=string|",
		"parquet:bytes=33,type=string":          "33 bytes",
		"parquet:bytes=5,type=string":           "from 32",
		"parquet:bytes=1000000000000,type=uuid": "from 32 to 2147483616",
	} {
		s, err := ParseSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Create(s, 10, 0.1); err == nil || !strings.Contains(tried(err), want) {
			t.Errorf("%s: %v, %v; want %q", spec, f, err, want)
		}
	}
	table, blob := readGolden(t, goldenCase{dir: "parquet-sbbf-int64", file: "table.parquet"}).filter, readGolden(t, goldenCase{dir: "parquet-sbbf-int64"}).filter
	for _, c := range []struct {
		b          []byte
		spec, want string
	}{
		{blob, "parquet", "parquet:type=string|"},
		{blob, "parquet:column=k,type=int64", "column and rowgroup are only for a .parquet file"},
		{table, "parquet:type=string", `column "k" is INT64`},
		{table, "parquet:column=x", `no filter of column "x"; columns with filters: k`},
		{table, "parquet:rowgroup=1", "no filter in row group 1"},
		{table, "parquet:rowgroup=x", "rowgroup=x"},
		{blob[1:], "parquet:type=string", "bad data"},
		{bytes.Repeat([]byte("PAR1"), 4), "parquet", "metadata"},
	} {
		s, err := ParseSpec(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Open(c.b, s); err == nil || !strings.Contains(tried(err), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.spec, f, err, c.want)
		}
	}
}
