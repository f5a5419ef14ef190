package corpus

import (
	"io"
	"math/bits"
)

// Line is one line of a corpus.
type Line struct {
	// Text is the line without its newline. It is valid until the next call of
	// Next.
	Text []byte
	// Ordinal numbers the distinct lines by their first occurrence, from 0.
	Ordinal uint64
	// First reports whether this is the first occurrence.
	First bool
}

// Generator yields the lines of a corpus in order, in constant memory and
// without allocating once the longest line has been met.
type Generator struct {
	config Config
	random random
	line   []byte

	done     uint64 // lines yielded
	distinct uint64 // of them with First set
	left     uint64 // lines left in the current block
	fresh    uint64 // first occurrences left in the current block
}

// blockLines is the number of lines among which first occurrences are placed
// at random; how many they are is fixed for each block.
const blockLines = 4096

// New returns a generator at the first line of the corpus c.
func New(c Config) (*Generator, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Generator{config: c, random: random{mix(c.Seed)}}, nil
}

// Next returns the next line, or false after the last.
func (g *Generator) Next() (Line, bool) {
	if g.left == 0 && !g.nextBlock() {
		return Line{}, false
	}
	l := Line{Ordinal: g.distinct, First: true}
	// Selection sampling (Knuth, TAOCP vol. 2, 3.4.2, algorithm S) takes
	// exactly g.fresh of the g.left lines.
	if g.distinct == 0 || g.random.below(g.left) < g.fresh {
		g.distinct++
		g.fresh--
	} else {
		l = Line{Ordinal: g.random.zipf(g.distinct)}
	}
	g.left--
	g.done++
	g.line = g.config.AppendLine(g.line[:0], l.Ordinal)
	l.Text = g.line
	return l, true
}

// nextBlock decides how many first occurrences the next block has and reports
// whether there is one.
func (g *Generator) nextBlock() bool {
	rest := g.config.Lines - g.done
	if rest == 0 {
		return false
	}
	g.left = min(rest, blockLines)
	goal := max(1, g.config.distinctBy(g.done+g.left))
	g.fresh = 0
	if goal > g.distinct {
		g.fresh = min(goal-g.distinct, g.left)
	}
	return true
}

// distinctBy returns how many distinct lines the first n lines should hold: D
// of L over the whole, at a density that falls evenly from 1.5 D/L to 0.5 D/L,
// so D n (3L - n) / 2L^2.
//
// It is never less than D - (L - n), so that the lines left are enough for the
// distinct ones left and their number comes out exact: D n / L, rounded down, is
// not, and the second factor is at least 1.
func (c Config) distinctBy(n uint64) uint64 {
	high, low := bits.Mul64(c.Distinct, n)
	even, _ := bits.Div64(high, low, c.Lines)
	high, low = bits.Mul64(even, 3*c.Lines-n)
	goal, _ := bits.Div64(high, low, 2*c.Lines)
	return goal
}

// NewReader returns the corpus c as a stream of lines, each ended by a newline.
func NewReader(c Config) (io.Reader, error) {
	g, err := New(c)
	if err != nil {
		return nil, err
	}
	return &reader{lines: g}, nil
}

type reader struct {
	lines *Generator
	rest  []byte // of the current line with its newline
	line  []byte
}

func (r *reader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(r.rest) == 0 {
			l, ok := r.lines.Next()
			if !ok {
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			}
			r.line = append(append(r.line[:0], l.Text...), '\n')
			r.rest = r.line
		}
		copied := copy(p[n:], r.rest)
		r.rest = r.rest[copied:]
		n += copied
	}
	return n, nil
}
