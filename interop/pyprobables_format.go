package interop

import "io"

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
		kind := s.Params["type"]
		if kind == "" {
			kind, _ = pyKind(b)
		}
		class, known := pyClasses[kind]
		if !known {
			class = pyClasses["bloom"]
		}
		return class(b, s)
	},
	create: createPy,
	clone: func(f Foreign) (Foreign, error) {
		switch f.(type) {
		case *pyCounting:
			return copyOf[pyCounting](f)
		case *pyCountMin:
			return copyOf[pyCountMin](f)
		case *pyExpanding:
			return cloneOf[*pyExpanding](f)
		}
		return copyOf[pyBloom](f)
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

// pyClasses open the classes.
var pyClasses = map[string]func(b []byte, s Spec) (Foreign, error){
	"bloom":     parseAs("pyprobables BloomFilter", parsePyBloom),
	"counting":  parseAs("pyprobables CountingBloomFilter", parsePyCounting),
	"expanding": parseAs("pyprobables ExpandingBloomFilter", parsePyExpanding),
	"countmin":  parseAs("pyprobables CountMinSketch", parsePyCountMin),
}

func pyOptionsOf(s Spec) pyOptions {
	return pyOptions{Hash: pyHash(s.Params["hash"]), Bytes: s.Params["keys"] == "bytes"}
}

func createPy(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	hex := s.Params["form"] == "hex"
	switch s.Params["type"] {
	case "expanding":
		return createPyExpanding(s, capacity, errorRate)
	case "countmin":
		return createPyCountMin(s, errorRate)
	case "counting":
		p, footer, err := pyOptionsOf(s).create(capacity, errorRate, 32)
		return foreign(&pyCounting{pyCounters{p.scheme, p.bits}, footer, hex}, err)
	}
	p, _, err := pyOptionsOf(s).create(capacity, errorRate, 1)
	return foreign(&pyBloom{p, hex}, err)
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
	if f, err := parsePyCountMin(b, Spec{}); err == nil && f.scheme.k <= 64 && f.added >= 0 {
		return "countmin", Possible
	}
	return "", 0
}
