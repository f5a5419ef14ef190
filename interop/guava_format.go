package interop

var guavaFormat = format{
	name:   "guava",
	system: "Guava BloomFilter (Java), as writeTo writes it",
	params: []param{
		{name: "funnel", meaning: "how Guava turned keys into bytes: stringFunnel(UTF_8), unencodedCharsFunnel(), byteArrayFunnel(), longFunnel() or integerFunnel()",
			values: guavaFunnels, required: true},
		{name: "strategy", meaning: "how positions follow from the hash; releases before 17 write mitz32", values: []string{"mitz64", "mitz32"}, preset: "mitz64", forWrite: true},
		{name: "probes", meaning: "what determines the number of probes: the size, or the error rate as in the newest releases",
			values: []string{"size", "rate"}, preset: "size", forWrite: true},
	},
	verified: "files and answers of Guava 31.1, byte for byte, with both strategies and all five funnels",
	sign:     "a strategy, k and a number of words that gives the exact length of the file",
	detect:   detects("guava", Likely, func(b []byte) bool { return parsed(parseGuava(b, Spec{})) }),
	open:     parseAs("guava", parseGuava),
	create:   createGuava,
	clone:    copyOf[guava],
	rewrap:   rewrapOf[*guava],
}

func (f guavaScheme) describe() Description {
	d := Description{
		Format: "guava:funnel=" + string(f.funnel), System: "Guava BloomFilter, strategy " + f.strategy.String(), Hash: "MurmurHash3 for x64, 128 bits",
		Fields: []Field{{"strategy", f.strategy.String()}, {"funnel", string(f.funnel) + " (as given; not in the file)"}},
	}
	if f.strategy == guavaMitz32 && f.m > 1<<31 {
		d.Notes = append(d.Notes, "this strategy does not use bits from number 2147483648 on: the error rate is that of a smaller filter")
	}
	return d
}

func (f guavaScheme) keyKind() KeyKind {
	switch f.funnel {
	case guavaLong, guavaInt:
		return KeyInt64
	case guavaBytes:
		return KeyBytes
	}
	return KeyText
}
