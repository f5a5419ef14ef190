package interop

import (
	"fmt"
	"io"
	"strconv"
)

var sparkFormat = format{
	name:   "spark",
	system: "Apache Spark BloomFilter (Java), as writeTo writes it",
	params: []param{
		{name: "type", meaning: "the type of the keys: text, bytes, or whole numbers of any width", values: sparkTypes, required: true},
		{name: "version", meaning: "the version to write: 1, which all releases read, or 2, of Spark 4.1 and later", values: []string{"1", "2"}, preset: "1", forWrite: true},
		{name: "seed", meaning: "the seed of version 2, from -2147483648 to 2147483647", preset: "0", forWrite: true},
	},
	verified: "the methods of Spark's source on a Java machine, byte for byte, in both versions; not a release of Spark",
	sign:     "version 1 or 2, k and a number of words that gives the exact length of the file",
	detect: func(b []byte) (Confidence, Spec, bool) {
		_, err := parseSpark(b)
		return Likely, Spec{Name: "spark"}, err == nil
	},
	open: func(b []byte, s Spec) (Foreign, error) {
		return foreign(openSpark(b, sparkType(s.Params["type"])))
	},
	create: func(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
		c := sparkConfig{Capacity: capacity, ErrorRate: errorRate, Type: sparkType(s.Params["type"]), Version: 1}
		if s.Params["version"] == "2" {
			c.Version = 2
		}
		seed, err := strconv.ParseInt(s.Params["seed"], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("spark: %w: seed=%s is not a whole number of 32 bits", ErrSpec, s.Params["seed"])
		}
		c.Seed = int32(seed)
		return foreign(newSpark(c))
	},
	clone:  cloneOf[*spark],
	rewrap: rewrapOf(func(f *spark, _ Spec) (io.WriterTo, error) { return f, nil }),
}

// Describe says what the header says.
func (f *spark) Describe() Description {
	d := Description{
		Format: "spark:type=" + string(f.typ), System: fmt.Sprintf("Apache Spark BloomFilter, version %d", f.version), Hash: "two of Spark's MurmurHash3 for x86, 32 bits",
		Fields: []Field{{"version", strconv.Itoa(f.version)}, {"type", string(f.typ) + " (as given; not in the file)"}},
	}
	if f.version == 2 {
		d.Fields = append(d.Fields, Field{"seed", strconv.Itoa(int(f.seed))})
	}
	if f.version == 1 && f.m > 1<<31 {
		d.Notes = append(d.Notes, "version 1 does not use bits from number 2147483648 on: the error rate is that of a smaller filter")
	}
	return d
}

// KeyKind is KeyText, KeyBytes or KeyInt64, by the type.
func (f *spark) KeyKind() KeyKind {
	switch f.typ {
	case sparkLong:
		return KeyInt64
	case sparkBinary:
		return KeyBytes
	}
	return KeyText
}
