package spill

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
)

// MaxPosition is the largest position that a Selection takes.
const MaxPosition = 1<<48 - 1

// SelectionConfig says where a Selection is and what it has.
type SelectionConfig struct {
	// Memory is how many bytes of positions stay in memory; 0 is 64 KiB, the least.
	Memory int
	// Folder returns the folder for the file. It is called when the file is needed.
	Folder func() (*Folder, error)
	// Values says that each position has a value.
	Values bool
}

// Selection collects positions in any order, each with a value if the Config says so, and
// returns them in ascending order. Where memory ends, it writes them as sorted runs, in which
// a position that is near the one before takes a byte or two, and merges the runs when they
// are read. A position may be added once.
type Selection struct {
	config    SelectionConfig
	room      int // positions in memory
	positions []uint64
	values    []uint64
	sorted    bool // positions are
	spare     [2][]uint64
	count     uint64

	log    chunkLog
	levels [][]run // runs of about the same length; a full level becomes a run of the next one
}

// run is the part of the log with one ascending sequence of positions.
type run struct{ from, to int64 }

const (
	// fan is how many runs are merged together.
	fan = 64
	// leastMemory is enough for one buffer of runBuffer bytes for each run, and for the
	// positions in memory.
	leastMemory = 64 << 10
	runBuffer   = 512
)

// NewSelection returns an empty Selection.
func NewSelection(c SelectionConfig) *Selection {
	c.Memory = max(c.Memory, leastMemory)
	words := 2 // a position, and its place while they are sorted
	if c.Values {
		words = 4
	}
	// Half of the memory is for the buffers of the merge, up to what they can use.
	reading := min(c.Memory/2, fan*bufferOf(c.Memory))
	return &Selection{config: c, room: (c.Memory - reading) / (8 * words), sorted: true, log: chunkLog{folder: c.Folder}}
}

// bufferOf returns the size of the buffer of each run.
func bufferOf(memory int) int { return min(max(memory/2/fan, runBuffer), 64<<10) }

// Len returns how many positions there are.
func (s *Selection) Len() uint64 { return s.count }

// Bytes returns how much memory the Selection uses.
func (s *Selection) Bytes() int {
	return 8 * (cap(s.positions) + cap(s.values) + cap(s.spare[0]) + cap(s.spare[1]))
}

// Add adds a position with its value. After an error, the Selection is of no use.
func (s *Selection) Add(position, value uint64) error {
	if position > MaxPosition {
		return fmt.Errorf("line %d is behind the last line that can be selected, %d", position, uint64(MaxPosition))
	}
	n := len(s.positions)
	if n == s.room {
		if err := s.spill(); err != nil {
			return err
		}
		n = 0
	}
	s.sorted = s.sorted && (n == 0 || s.positions[n-1] < position)
	s.positions = append(s.grown(s.positions), position)
	if s.config.Values {
		s.values = append(s.grown(s.values), value)
	}
	s.count++
	return nil
}

// grown returns p with room for one more; append would take more than there may be.
func (s *Selection) grown(p []uint64) []uint64 {
	if len(p) < cap(p) {
		return p
	}
	return append(make([]uint64, 0, min(max(2*len(p), 512), s.room)), p...)
}

// spill writes the positions in memory as a run.
func (s *Selection) spill() error {
	s.sort()
	cursor := &Cursor{sources: []*source{{positions: s.positions, values: s.values}}, values: s.config.Values}
	r, err := s.write(cursor)
	if err != nil {
		return err
	}
	s.positions, s.values, s.sorted = s.positions[:0], s.values[:0], true
	return s.enter(0, r)
}

// enter adds a run to a level. It merges the level if it is full.
func (s *Selection) enter(level int, r run) error {
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], r)
	if len(s.levels[level]) < fan {
		return nil
	}
	cursor := s.cursor(s.levels[level])
	merged, err := s.write(cursor)
	if err != nil {
		return err
	}
	s.levels[level] = s.levels[level][:0]
	return s.enter(level+1, merged)
}

// write writes what c returns as a run.
func (s *Selection) write(c *Cursor) (run, error) {
	r := run{from: s.log.end()}
	size := bufferOf(s.config.Memory) - 2*binary.MaxVarintLen64
	chunk := make([]byte, 0, size+2*binary.MaxVarintLen64)
	var last uint64
	for c.Next() {
		chunk = binary.AppendUvarint(chunk, c.Position-last)
		last = c.Position
		if s.config.Values {
			chunk = binary.AppendUvarint(chunk, c.Value)
		}
		if len(chunk) >= size {
			if err := s.log.append(chunk); err != nil {
				return r, err
			}
			chunk = chunk[:0]
		}
	}
	if err := c.Err(); err != nil {
		return r, err
	}
	if len(chunk) > 0 {
		if err := s.log.append(chunk); err != nil {
			return r, err
		}
	}
	r.to = s.log.end()
	return r, nil
}

// Read returns the positions in ascending order. Nothing can be added afterwards.
func (s *Selection) Read() (*Cursor, error) {
	// A merge of all runs at once needs a buffer for each of them.
	for level := 0; level < len(s.levels); level++ {
		total := 0
		for _, runs := range s.levels {
			total += len(runs)
		}
		if total <= fan {
			break
		}
		if runs := s.levels[level]; len(runs) > 1 {
			merged, err := s.write(s.cursor(runs))
			if err != nil {
				return nil, err
			}
			s.levels[level] = append(runs[:0], merged)
		}
	}
	s.sort()
	var runs []run
	for _, level := range s.levels {
		runs = append(runs, level...)
	}
	c := s.cursor(runs)
	c.add(&source{positions: s.positions, values: s.values})
	return c, s.log.err
}

// cursor returns a cursor over runs.
func (s *Selection) cursor(runs []run) *Cursor {
	c := &Cursor{values: s.config.Values}
	for _, r := range runs {
		c.add(&source{chunks: &chunkReader{log: &s.log, at: r.from, to: r.to}})
	}
	return c
}

// Close gives memory and file back.
func (s *Selection) Close() error {
	s.positions, s.values, s.spare = nil, nil, [2][]uint64{}
	return s.log.close()
}

// sort sorts the positions in memory, with their values, by radix: digits of eight bits from
// the lowest to the highest, those that are the same in all positions left out.
func (s *Selection) sort() {
	if s.sorted {
		return
	}
	s.sorted = true
	n := len(s.positions)
	var differ uint64
	for _, p := range s.positions {
		differ |= p ^ s.positions[0]
	}
	for i, of := range [][]uint64{s.positions, s.values} {
		if cap(s.spare[i]) < len(of) {
			s.spare[i] = make([]uint64, cap(of))
		}
	}
	for shift := 0; differ>>shift != 0; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var ends [256]int
		for _, p := range s.positions {
			ends[p>>shift&0xff]++
		}
		at := 0
		for digit, count := range ends {
			ends[digit] = at
			at += count
		}
		to, toValues := s.spare[0][:n], s.spare[1][:len(s.values)]
		for i, p := range s.positions {
			digit := p >> shift & 0xff
			to[ends[digit]] = p
			if s.config.Values {
				toValues[ends[digit]] = s.values[i]
			}
			ends[digit]++
		}
		s.spare[0], s.positions = s.positions, to
		if s.config.Values {
			s.spare[1], s.values = s.values, toValues
		}
	}
}

// Cursor goes through positions in ascending order:
//
//	for c.Next() {
//		... c.Position, c.Value
//	}
//	err := c.Err()
type Cursor struct {
	Position uint64
	Value    uint64

	values  bool
	sources []*source // a heap by their next position, once begun
	begun   bool
	err     error
}

// source is one ascending sequence: a run, or what is in memory.
type source struct {
	position, value   uint64 // the next one
	positions, values []uint64
	chunks            *chunkReader
	chunk             []byte
}

func (c *Cursor) add(s *source) { c.sources = append(c.sources, s) }

// Next goes to the next position. It returns false behind the last one and after an error.
func (c *Cursor) Next() bool {
	switch {
	case c.err != nil:
		return false
	case !c.begun:
		c.begun = true
		all := c.sources
		c.sources = c.sources[:0]
		for _, s := range all {
			if c.advance(s) {
				c.sources = append(c.sources, s)
			}
		}
		heap.Init((*byPosition)(c))
	case len(c.sources) == 0:
		return false
	case c.advance(c.sources[0]):
		if len(c.sources) > 1 {
			heap.Fix((*byPosition)(c), 0)
		}
	default:
		heap.Pop((*byPosition)(c))
	}
	if c.err != nil || len(c.sources) == 0 {
		return false
	}
	c.Position, c.Value = c.sources[0].position, c.sources[0].value
	return true
}

// Err returns the error that ended Next, if any.
func (c *Cursor) Err() error { return c.err }

// advance goes to the next position of one sequence.
func (c *Cursor) advance(s *source) bool {
	if s.chunks == nil {
		if len(s.positions) == 0 {
			return false
		}
		s.position, s.positions = s.positions[0], s.positions[1:]
		if c.values {
			s.value, s.values = s.values[0], s.values[1:]
		}
		return true
	}
	if len(s.chunk) == 0 {
		chunk, err := s.chunks.next()
		if err != nil {
			if err != io.EOF {
				c.err = err
			}
			return false
		}
		s.chunk = chunk
	}
	s.position += c.number(s)
	if c.values {
		s.value = c.number(s)
	}
	return c.err == nil
}

// number takes a number off the chunk of s.
func (c *Cursor) number(s *source) uint64 {
	v, n := binary.Uvarint(s.chunk)
	if n <= 0 {
		c.err = s.chunks.log.damage("a position is cut off")
		return 0
	}
	s.chunk = s.chunk[n:]
	return v
}

// byPosition is the heap of a Cursor.
type byPosition Cursor

func (h *byPosition) Len() int           { return len(h.sources) }
func (h *byPosition) Less(i, j int) bool { return h.sources[i].position < h.sources[j].position }
func (h *byPosition) Swap(i, j int)      { h.sources[i], h.sources[j] = h.sources[j], h.sources[i] }
func (h *byPosition) Push(x any)         { h.sources = append(h.sources, x.(*source)) }
func (h *byPosition) Pop() any {
	last := len(h.sources) - 1
	s := h.sources[last]
	h.sources = h.sources[:last]
	return s
}
