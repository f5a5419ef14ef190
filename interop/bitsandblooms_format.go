package interop

import (
	"bytes"
	"fmt"
	"io"
)

var bitsAndBloomsFormat = format{
	name:   "bits-and-blooms",
	system: "github.com/bits-and-blooms/bloom (Go), versions 2.0.3 to 3",
	params: []param{
		{name: "form", meaning: "the form to write: binary, JSON, or JSON with the other alphabet of base64",
			values: []string{string(bitsAndBloomsBinary), string(bitsAndBloomsJSON), string(bitsAndBloomsJSONStd)}, preset: string(bitsAndBloomsBinary), forWrite: true, form: true},
		{name: "order", meaning: "the byte order of the array; the module writes little after bitset.LittleEndian()",
			values: []string{"big", "little"}, preset: "big", forWrite: true, form: true},
		{name: "m", meaning: "the length in bits, together with k; by default both follow from capacity and error rate", forWrite: true},
		{name: "k", meaning: "the probes of a key, together with m", forWrite: true},
		{name: "length", meaning: "the length of the array in bits, if it is longer than m; together with m", forWrite: true},
	},
	verified: "files and answers of versions 2.0.3 and 3.7.1, byte for byte, in both byte orders and both alphabets",
	sign:     "m, k and a length that gives the exact length of the file, or JSON with m, k and b",
	detect:   detectBitsAndBlooms,
	open:     parseAs("bits-and-blooms", parseBitsAndBlooms),
	create:   createBitsAndBlooms,
	clone:    cloneOf[*bitsAndBlooms],
	rewrap:   rewrapAs(func(f *bitsAndBlooms, s Spec) (io.WriterTo, error) { return f.as(s), nil }),
}

func detectBitsAndBlooms(b []byte) (Confidence, Spec, bool) {
	s := Spec{Name: "bits-and-blooms"}
	if text := bytes.TrimLeft(b[:min(len(b), 4096)], " \t\r\n"); len(text) > 0 && text[0] == '{' {
		return Certain, s, jsonFilter(b) == "bits-and-blooms"
	}
	f, err := parseBitsAndBlooms(b, s)
	if err != nil || f.length < f.scheme.m && f.length != 0 {
		return 0, Spec{}, false
	}
	if f.length == 0 && f.scheme.m > 1 {
		return Possible, s, true // the module makes no array later only where m is 1
	}
	return Likely, s, true
}

func (bitsAndBloomsScheme) describe() Description {
	return Description{Format: "bits-and-blooms", System: "bits-and-blooms/bloom (Go)", Hash: "two MurmurHash3 for x64, 128 bits"}
}

// Describe says what the header says.
func (f *bitsAndBlooms) Describe() Description {
	order := "big-endian"
	if f.order == lsbFirst {
		order = "little-endian"
	}
	d := f.scheme.describe()
	d.Fields = []Field{{"form", string(f.form)}, {"order of the array", order}, {"length of the array", fmt.Sprintf("%d bits", f.length)}}
	d.Notes = noteBeyond(&f.bits, max(f.scheme.m, f.length))
	if f.length < f.scheme.m {
		d.Notes = append(d.Notes, fmt.Sprintf("the array has %d bits and m is %d: bits from %d on are 0", f.length, f.scheme.m, f.length))
	}
	return d
}
