package bloom

const lineSlots = 8

// line is a cache line of fingerprints. The hashes in it come first; the slots
// behind them are 0.
type line [lineSlots]uint64

// one is 1 for true. The compiler makes it an instruction, without a branch.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// has reports whether h, which is not 0, is in l.
func (l *line) has(h uint64) bool {
	return one(l[0] == h)|one(l[1] == h)|one(l[2] == h)|one(l[3] == h)|
		one(l[4] == h)|one(l[5] == h)|one(l[6] == h)|one(l[7] == h) != 0
}

// used returns the number of hashes in l.
func (l *line) used() int {
	return one(l[0] != 0) + one(l[1] != 0) + one(l[2] != 0) + one(l[3] != 0) +
		one(l[4] != 0) + one(l[5] != 0) + one(l[6] != 0) + one(l[7] != 0)
}

// hashes returns the hashes in l.
func (l *line) hashes() []uint64 { return l[:l.used()] }

// touchLines reads a word of each line. The loop is so short that the processor
// has dozens of reads under way at once; Go has no prefetch.
//
//go:noinline
func touchLines(lines []*line) (sum uint64) {
	for _, l := range lines {
		sum += l[0]
	}
	return sum
}
