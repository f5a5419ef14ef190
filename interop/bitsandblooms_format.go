package interop

import (
	"bytes"
	"fmt"
	"io"
	"math"
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
	open: func(b []byte, _ Spec) (Foreign, error) {
		return foreign(openBitsAndBlooms(b))
	},
	create: createBitsAndBlooms,
	clone:  cloneOf[*bitsAndBlooms],
	rewrap: rewrapOf(func(f *bitsAndBlooms, s Spec) (io.WriterTo, error) {
		return f.As(bitsAndBloomsForm(s.Params["form"]), s.Params["order"] == "little")
	}),
}

func detectBitsAndBlooms(b []byte) (Confidence, Spec, bool) {
	s := Spec{Name: "bits-and-blooms"}
	if text := bytes.TrimLeft(b[:min(len(b), 4096)], " \t\r\n"); len(text) > 0 && text[0] == '{' {
		return Certain, s, jsonFilter(b) == "bits-and-blooms"
	}
	f, err := parseBitsAndBlooms(b)
	if err != nil || f.length < f.m && f.length != 0 {
		return 0, Spec{}, false
	}
	if f.length == 0 && f.m > 1 {
		return Possible, s, true // the module makes no array later only where m is 1
	}
	return Likely, s, true
}

func createBitsAndBlooms(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	c := bitsAndBloomsConfig{Capacity: capacity, ErrorRate: errorRate, Form: bitsAndBloomsForm(s.Params["form"]), LittleEndian: s.Params["order"] == "little"}
	for _, p := range []struct {
		name string
		to   *uint64
		most uint64
	}{{"m", &c.M, math.MaxUint64}, {"k", &c.K, foreignMaxProbes}, {"length", &c.Length, math.MaxUint64}} {
		n, err := s.number(p.name, 1, p.most)
		if err != nil {
			return nil, err
		}
		*p.to = n
	}
	if (c.M == 0) != (c.K == 0) || c.M == 0 && c.Length != 0 {
		return nil, fmt.Errorf("bits-and-blooms: %w: m, k and length go together: give m and k, or leave out all three", ErrSpec)
	}
	return foreign(newBitsAndBlooms(c))
}

// Describe says what the header says.
func (f *bitsAndBlooms) Describe() Description {
	order := "big-endian"
	if f.order == lsbFirst {
		order = "little-endian"
	}
	d := Description{
		Format: "bits-and-blooms", System: "bits-and-blooms/bloom (Go)", Hash: "two MurmurHash3 for x64, 128 bits",
		Fields: []Field{{"form", string(f.form)}, {"order of the array", order}, {"length of the array", fmt.Sprintf("%d bits", f.length)}},
		Notes:  noteBeyond(&f.bits, max(f.m, f.length)),
	}
	if f.length < f.m {
		d.Notes = append(d.Notes, fmt.Sprintf("the array has %d bits and m is %d: bits from %d on are 0", f.length, f.m, f.length))
	}
	return d
}

// KeyKind is KeyBytes.
func (f *bitsAndBlooms) KeyKind() KeyKind { return KeyBytes }
