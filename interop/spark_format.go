package interop

import (
	"fmt"
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
	detect:   detects("spark", Likely, func(b []byte) bool { return parsed(parseSpark(b, Spec{})) }),
	open:     parseAs("spark", parseSpark),
	create:   createSpark,
	clone:    copyOf[spark],
	rewrap:   rewrapOf[*spark],
}

func (f sparkScheme) describe() Description {
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

func (f sparkScheme) keyKind() KeyKind {
	switch f.typ {
	case sparkLong:
		return KeyInt64
	case sparkBinary:
		return KeyBytes
	}
	return KeyText
}
