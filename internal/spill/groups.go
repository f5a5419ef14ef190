package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// GroupsConfig says what a Groups keeps of a key, and where.
type GroupsConfig struct {
	// Folder returns the folder for the file. It is called when the file is needed. Nil
	// means that memory has no limit and nothing is written.
	Folder func() (*Folder, error)
	// Memory is how many bytes keys and buffers may take.
	Memory uint64
	// Last keeps the last position of each key instead of the first.
	Last bool
	// Log, when not 0, makes a Record of each occurrence up to this one within a generation
	// but the first generation. It is for callers that decide about occurrences as they
	// come, and about those that they could not decide at the end.
	Log uint64
}

// Groups counts how often each key occurs, and knows where. Keys are given by two hashes, of
// which 96 bits are compared.
//
// Keys are in a table in memory. When it is full its contents become Records on disk, and it
// begins anew: another generation. At the end the Records of a key are brought together by
// Merge. The sum of their counts is exact, and their order is that of writing.
type Groups struct {
	config     GroupsConfig
	table      *groupTable
	runs       *Runs // nil in the first generation
	generation int
	began      uint64 // the first position of the second generation
	spilled    uint64 // records
}

// Record is a part of what is known about a key: some of its occurrences.
type Record struct {
	Position uint64 // of the first of them, or with GroupsConfig.Last of the last
	Count    uint64 // how many they are
	// Logged says that it is an occurrence of its own, as GroupsConfig.Log says.
	Logged bool
}

// Parts of GroupsConfig.Memory, once records are written.
const (
	runsShare  = 8 // one in so many bytes is for buffers of records
	runsBuffer = 4 << 10
	mostRuns   = 256 // partitions
	// With less memory than this, records would be written and read one by one.
	leastBuffers = 256 << 10
	leastMerge   = 1 << 20
)

// recordBytes is the length of a Record on disk: the hash, 32 bits of the second one, six
// bytes of position, six of count. A logged one has a count of 0.
const recordBytes = 24

// NewGroups returns an empty Groups.
func NewGroups(c GroupsConfig) *Groups {
	g := &Groups{config: c}
	limit := uint64(0)
	if c.Folder != nil {
		limit = max(c.Memory-c.Memory/4, 1) // the rest is for buffers and for what the system rounds up
	}
	g.table = newGroupTable(limit)
	return g
}

// Add adds an occurrence of a key. Positions ascend. It returns how many occurrences the
// present generation has of the key, this one included, and the position that was kept
// for it before. After an error, g is of no use.
func (g *Groups) Add(hash, second, position uint64) (count, before uint64, err error) {
	slot, err := g.table.find(hash, uint32(second))
	if slot == nil {
		if err == nil {
			err = g.spill(position)
		}
		if err == nil {
			slot, err = g.table.find(hash, uint32(second))
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if count = slot.count() + 1; count == 1 {
		g.table.take(slot, hash, uint32(second), position, 1)
		before = position
	} else {
		before = slot.at()
		kept := before
		if g.config.Last {
			kept = position
		}
		slot.set(kept, count)
	}
	if g.generation > 0 && count <= g.config.Log {
		err = g.write(hash, uint32(second), position, 0)
	}
	return count, before, err
}

// Generation returns how often the table has begun anew.
func (g *Groups) Generation() int { return g.generation }

// Began returns the position of the first occurrence that the first generation does not have.
// It means nothing before the second one.
func (g *Groups) Began() uint64 { return g.began }

// Keys returns how many keys the present generation has.
func (g *Groups) Keys() uint64 { return g.table.count }

// Bytes returns how much memory the table uses.
func (g *Groups) Bytes() uint64 { return g.table.bytes }

// Records returns how many records were written.
func (g *Groups) Records() uint64 { return g.spilled }

// spill begins a generation with the occurrence at a position.
func (g *Groups) spill(position uint64) error {
	if g.config.Folder == nil {
		return errors.New("a table without a limit is full")
	}
	if g.runs == nil {
		memory := max(g.config.Memory/runsShare, leastBuffers)
		partitions := 4
		for partitions < mostRuns && uint64(partitions)*runsBuffer < memory {
			partitions *= 2
		}
		folder, err := g.config.Folder()
		if err != nil {
			return err
		}
		if g.runs, err = NewRuns(folder, RunsConfig{Record: recordBytes, Partitions: partitions, Memory: int(memory)}); err != nil {
			return err
		}
		g.began = position
	}
	if err := g.flush(); err != nil {
		return err
	}
	g.table.empty()
	g.generation++
	return nil
}

// flush writes the table, unless its occurrences are logged.
func (g *Groups) flush() error {
	if g.generation > 0 && g.config.Log > 0 {
		return nil
	}
	return g.table.each(func(s *groupSlot) error { return g.write(s.hash, s.second(), s.at(), s.count()) })
}

func (g *Groups) write(hash uint64, second uint32, position, count uint64) error {
	b, err := g.runs.Slot(hash)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(b, hash)
	binary.LittleEndian.PutUint64(b[16:], count<<16|position>>32)
	binary.LittleEndian.PutUint64(b[8:], uint64(second)|position<<32)
	g.spilled++
	return nil
}

// Visitor is what Merge calls, each of them if it is not nil. The keys come in no order.
type Visitor struct {
	// Record is called with each record of a key in the order of writing, and with how many
	// occurrences the records of the key before it have.
	Record func(before uint64, r Record) error
	// Key is called for each key with all its occurrences, once.
	Key func(total, position uint64) error
	// Again is called with each record, after Key was called for its key.
	Again func(total uint64, r Record) error
}

// Merge brings together what is known about each key. What is in memory counts as one record.
// Nothing can be added afterwards.
func (g *Groups) Merge(v Visitor) error {
	if g.runs == nil {
		return g.visit(v)
	}
	if err := g.flush(); err != nil {
		return err
	}
	g.table.release()
	if err := g.runs.Flush(); err != nil {
		return err
	}
	for i := range g.runs.Partitions() {
		// As many keys as there are records, in a table that is three quarters full after
		// it has grown within the memory.
		needed := g.runs.Records(i) * slotBytes * 4
		passes := uint(0)
		for needed>>passes > max(g.config.Memory, leastMerge) {
			passes++
		}
		for pass := range uint64(1) << passes {
			if err := g.merge(i, passes, pass, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit is Merge when all is in memory.
func (g *Groups) visit(v Visitor) error {
	return g.table.each(func(s *groupSlot) error {
		r := Record{Position: s.at(), Count: s.count()}
		if v.Record != nil {
			if err := v.Record(0, r); err != nil {
				return err
			}
		}
		if v.Key != nil {
			if err := v.Key(r.Count, r.Position); err != nil {
				return err
			}
		}
		if v.Again != nil {
			return v.Again(r.Count, r)
		}
		return nil
	})
}

// merge brings together the records of a partition in which passes bits of the hash, behind
// those of the partition, are pass.
func (g *Groups) merge(partition int, passes uint, pass uint64, v Visitor) error {
	known := bits.Len(uint(g.runs.Partitions() - 1)) // bits that are the same in all hashes
	table := newGroupTable(0)
	defer table.release()
	records := func(visit func(hash uint64, second uint32, r Record) error) error {
		for chunk, err := range g.runs.Read(partition) {
			if err != nil {
				return err
			}
			for ; len(chunk) > 0; chunk = chunk[recordBytes:] {
				hash := bits.RotateLeft64(binary.LittleEndian.Uint64(chunk), known)
				if passes > 0 && hash>>(64-passes) != pass {
					continue
				}
				low, high := binary.LittleEndian.Uint64(chunk[8:]), binary.LittleEndian.Uint64(chunk[16:])
				r := Record{Position: low>>32 | high&countOfHigh<<32, Count: high >> 16}
				if r.Logged = r.Count == 0; r.Logged {
					r.Count = 1
				}
				if err := visit(bits.RotateLeft64(hash, int(passes)), uint32(low), r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := records(func(hash uint64, second uint32, r Record) error {
		slot, err := table.find(hash, second)
		if err != nil {
			return err
		}
		before := slot.count()
		switch {
		case before == 0:
			table.take(slot, hash, second, r.Position, r.Count)
		case g.config.Last:
			slot.set(r.Position, before+r.Count)
		default:
			slot.set(slot.at(), before+r.Count)
		}
		if v.Record != nil {
			return v.Record(before, r)
		}
		return nil
	})
	if err == nil && v.Key != nil {
		err = table.each(func(s *groupSlot) error { return v.Key(s.count(), s.at()) })
	}
	if err == nil && v.Again != nil {
		err = records(func(hash uint64, second uint32, r Record) error {
			slot, err := table.find(hash, second)
			if err != nil {
				return err
			}
			if slot.count() == 0 {
				return fmt.Errorf("partition %d has another content at the second reading", partition)
			}
			return v.Again(slot.count(), r)
		})
	}
	return err
}

// Close gives memory and disk space back.
func (g *Groups) Close() error {
	g.table.release()
	if g.runs == nil {
		return nil
	}
	return g.runs.Close()
}
