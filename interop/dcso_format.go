package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
)

var dcsoFormat = format{
	name:   "dcso",
	system: "DCSO .bloom files of threat intelligence (github.com/DCSO/bloom, flor, fleur, poppy version 1)",
	params: []param{
		{name: "form", meaning: "the form to write: plain, or compressed with gzip", values: []string{"plain", "gzip"}, preset: "plain", forWrite: true, form: true},
		{name: "data", meaning: "text to store after the bits", forWrite: true},
	},
	verified: "files and answers of github.com/DCSO/bloom 0.2.4, byte for byte; of compressed files, the content",
	sign:     "version 1, an error rate, k, and all bits of m, plain or in gzip",
	detect:   detectDCSO,
	open:     parseAs("dcso", parseDCSO),
	create:   createDCSO,
	clone:    cloneOf[*dcso],
	rewrap:   rewrapAs(func(f *dcso, s Spec) (io.WriterTo, error) { return f.As(s.Params["form"] == "gzip"), nil }),
}

// detectDCSO looks at the header, and for a file in gzip at the length at its end, modulo
// 2^32. The data after the bits may have any length.
func detectDCSO(b []byte) (Confidence, Spec, bool) {
	s := Spec{Name: "dcso"}
	if !isGzip(b) {
		f, err := parseDCSOPlain(b)
		if err != nil {
			return 0, Spec{}, false
		}
		return f.confidence(uint64(len(f.data))), s, true
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return 0, Spec{}, false
	}
	var head [dcsoHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, Spec{}, false
	}
	f, size, err := parseDCSOHead(head[:])
	if err != nil || size/gzipMost > uint64(len(b)) {
		return 0, Spec{}, false
	}
	data := uint64(binary.LittleEndian.Uint32(b[len(b)-4:]) - uint32(dcsoHeader+size))
	return f.confidence(data), s, data <= dcsoMostData
}

// confidence says how sure it is that f is a header with so much data after its bits. The
// data may have any length, but the version fills 64 bits, and all programs derive m and
// k from the capacity and the error rate.
func (f *dcso) confidence(data uint64) Confidence {
	if data == 0 {
		return Likely
	}
	m, k := dcsoSize(float64(f.capacity), f.rate)
	if math.Abs(m-float64(f.scheme.m)) <= 1+1e-9*m && math.Abs(k-float64(f.scheme.k)) <= 1 {
		return Likely
	}
	return Possible
}

func (dcsoScheme) describe() Description {
	return Description{Format: "dcso", System: "DCSO bloom file, version 1", Hash: "FNV-1, 64 bits"}
}

// Describe says what the header says, and describes the data after the bits.
func (f *dcso) Describe() Description {
	form := "plain"
	if f.gzip {
		form = "gzip"
	}
	data := fmt.Sprintf("%d bytes", len(f.data))
	if text := f.data[:min(len(f.data), 200)]; len(text) > 0 && utf8.Valid(text) {
		data += ": " + strconv.Quote(string(text))
	}
	d := f.plain.Describe()
	d.Fields = []Field{{"form", form}, {"data after the bits", data}}
	if f.added >= f.capacity {
		d.Notes = append(d.Notes, fmt.Sprintf("%d keys were added to a filter made for %d; flor adds no more keys to it", f.added, f.capacity))
	}
	return d
}
