package kernel

// Slots is a line that holds up to eight words other than 0. They come first; the
// places behind them are 0.
type Slots [LineWords]uint64

// one is 1 for true. The compiler makes it an instruction, without a branch.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Has reports whether w, which is not 0, is in s.
func (s *Slots) Has(w uint64) bool {
	return one(s[0] == w)|one(s[1] == w)|one(s[2] == w)|one(s[3] == w)|
		one(s[4] == w)|one(s[5] == w)|one(s[6] == w)|one(s[7] == w) != 0
}

// Full reports whether there is no place left.
func (s *Slots) Full() bool { return s[LineWords-1] != 0 }

// Used returns the number of words in s.
func (s *Slots) Used() int {
	return one(s[0] != 0) + one(s[1] != 0) + one(s[2] != 0) + one(s[3] != 0) +
		one(s[4] != 0) + one(s[5] != 0) + one(s[6] != 0) + one(s[7] != 0)
}

// Words returns the words in s.
func (s *Slots) Words() []uint64 { return s[:s.Used()] }

// Search reports for each of words, which are not 0, whether it is in the line of the same
// number. found and lines must be at least as long as words.
func Search(found []bool, lines []*Slots, words []uint64) {
	found, lines = found[:len(words)], lines[:len(words)]
	if len(words) > 0 {
		search(found, lines, words)
	}
}

// FetchNext is Fetch for the line behind each of lines in memory, which may not be the
// caller's. Without an instruction for that it does nothing.
func FetchNext(lines []*Slots) {
	if len(lines) > 0 {
		fetchNext(lines)
	}
}

func searchRef(found []bool, lines []*Slots, words []uint64) {
	for i, w := range words {
		found[i] = lines[i].Has(w)
	}
}

// Fetch brings lines into the cache, together and without waiting for them where
// there is an instruction for that.
func Fetch(lines []*Slots) {
	if len(lines) > 0 {
		fetch(lines)
	}
}

// fetchRef reads a word of each line. The loop is so short that the processor has
// dozens of reads under way at once; Go has no prefetch.
//
//go:noinline
func fetchRef(lines []*Slots) (sum uint64) {
	for _, s := range lines {
		sum += s[0]
	}
	return sum
}
