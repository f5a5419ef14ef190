package interop

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// pyFormat is pyprobables with all of its classes.
var pyFormat = format{
	name:   "pyprobables",
	system: "pyprobables (Python), or the C library of the same format",
	params: []param{
		{name: "type", meaning: "the class", values: []string{"bloom", "counting", "expanding", "countmin"}},
		{name: "hash", meaning: "the hash, if the program chose one", values: []string{"fnv", "md5", "sha256"}, preset: "fnv"},
		{name: "keys", meaning: "the type of the keys; it matters only beyond ASCII", values: []string{"str", "bytes"}, preset: "str"},
		{name: "form", meaning: "the form to write: as export or as export_hex does", values: []string{"binary", "hex"}, preset: "binary", forWrite: true, form: true},
		{name: "width", meaning: "the counters in a row of a count-min sketch", forWrite: true},
		{name: "depth", meaning: "the rows of a count-min sketch", forWrite: true},
		{name: "confidence", meaning: "the confidence of a count-min sketch without width and depth", preset: "0.99", forWrite: true},
	},
	verified: "answers and bytes of pyprobables 0.7.0, and files rebuilt byte for byte",
	sign:     "the footer, and a length that follows from it",
	detect:   detectPy,
	open: func(b []byte, s Spec) (Foreign, error) {
		o, kind := pyOptionsOf(s), s.Params["type"]
		if kind == "" {
			kind, _ = pyKind(b)
		}
		switch kind {
		case "counting":
			return foreign(openPyCounting(b, o))
		case "expanding":
			return foreign(openPyExpanding(b, o))
		case "countmin":
			return foreign(openPyCountMin(b, o))
		}
		return foreign(openPyBloom(b, o))
	},
	create: createPy,
	clone: func(f Foreign) (Foreign, error) {
		switch f := f.(type) {
		case *pyCounting:
			return foreign(f.Clone())
		case *pyExpanding:
			return foreign(f.Clone())
		case *pyCountMin:
			return foreign(f.Clone())
		}
		return cloneOf[*pyBloom](f)
	},
	rewrap: func(f Foreign, s Spec) (io.WriterTo, error) {
		switch f := f.(type) {
		case *pyBloom:
			if kind := s.Params["type"]; kind == "" || kind == "bloom" {
				return f.In(s.Params["form"] == "hex"), nil
			}
		case *pyCounting:
			if kind := s.Params["type"]; kind == "" || kind == "counting" {
				return f.In(s.Params["form"] == "hex"), nil
			}
		}
		return nil, errConvert(f, "pyprobables")
	},
}

func pyOptionsOf(s Spec) pyOptions {
	hashes := map[string]pyHash{"fnv": pyFNV, "md5": pyMD5, "sha256": pySHA256}
	return pyOptions{Hash: hashes[s.Params["hash"]], Bytes: s.Params["keys"] == "bytes"}
}

func createPy(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	c := pyConfig{capacity, errorRate, pyOptionsOf(s), s.Params["form"] == "hex"}
	switch s.Params["type"] {
	case "counting":
		return foreign(newPyCounting(c))
	case "expanding":
		return foreign(newPyExpanding(c))
	case "", "bloom":
		return foreign(newPyBloom(c))
	}
	if c.Hex {
		return nil, fmt.Errorf("%s: %w: a count-min sketch has no form=hex", s.Name, ErrSpec)
	}
	width, err := s.number("width", 1, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	depth, err := s.number("depth", 1, foreignMaxProbes)
	if err != nil {
		return nil, err
	}
	sketch := pyCountMinConfig{Width: uint32(width), Depth: uint32(depth)}
	if width == 0 && depth == 0 {
		confidence, err := strconv.ParseFloat(s.Params["confidence"], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: confidence=%s is not a number between 0 and 1", s.Name, ErrSpec, s.Params["confidence"])
		}
		if sketch, err = pyCountMinFor(confidence, errorRate); err != nil {
			return nil, err
		}
	}
	sketch.pyOptions = c.pyOptions
	return foreign(newPyCountMin(sketch))
}

func detectPy(b []byte) (Confidence, Spec, bool) {
	kind, confidence := pyKind(b)
	return confidence, Spec{Name: "pyprobables"}.with("type", kind), kind != ""
}

// pyKind returns the class that the footer and the length of a file fit.
func pyKind(b []byte) (kind string, confidence Confidence) {
	if f, err := readPyFile(b); err == nil {
		if m, _, err := pySize(f.footer.capacity, f.footer.rate); err == nil {
			_, noChain := f.chain(m)
			switch {
			case f.holds(bytesOf(m)):
				return "bloom", Likely
			case f.holds(4 * m):
				return "counting", Likely
			case noChain == nil:
				return "expanding", Likely
			}
		}
	}
	if f, err := parsePyCountMin(b, pyOptions{}); err == nil && f.depth <= 64 && f.added >= 0 {
		return "countmin", Possible
	}
	return "", 0
}
