package exact

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"seen/internal/spill"
)

// Late is a doubt that was new: the first one of its key.
type Late struct{ Position, Place uint64 }

// JoinConfig says how a join is done.
type JoinConfig struct {
	// Last says that no key comes after the join: the memory of the Set is used for it, and
	// Add must not be called any more. Otherwise a join takes an eighth of Config.Memory
	// beside what the Set has, and reads its files more often.
	Last bool
	// Jobs is how many partitions are joined at the same time; at least 1.
	Jobs int
	// Late is called with doubts that were new, in no particular order and by one goroutine
	// at a time. An error ends the join.
	Late func([]Late) error
}

// Join decides all doubts. After an error none is decided.
func (s *Set) Join(ctx context.Context, c JoinConfig) error {
	for _, r := range []*spill.Runs{s.printed, s.doubts} {
		if err := r.Flush(); err != nil {
			return err
		}
	}
	if s.open == 0 {
		if c.Last {
			s.release()
		}
		return nil
	}
	memory := s.config.Memory / bufferShare
	if c.Last {
		s.release()
		memory = s.config.Memory
	}
	jobs := max(min(c.Jobs, s.partitions), 1)
	j := &join{set: s, config: &c, late: nil}
	if !c.Last {
		var err error
		if j.late, err = s.list(printedSize, s.buffers); err != nil {
			return err
		}
		defer j.late.Close() // it is only for this join
	}
	caller := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			if err := j.work(ctx, memory/uint64(jobs)); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := caller.Err(); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if !c.Last {
		if err := s.again(j.late); err != nil {
			return err
		}
	}
	s.open = 0
	s.keysLate += j.count
	return nil
}

// again prepares for what comes after a join: late keys are printed ones now, and there are
// no doubts.
func (s *Set) again(late *spill.Runs) error {
	if err := late.Flush(); err != nil {
		return err
	}
	for i := range s.partitions {
		for b, err := range late.Read(i) {
			if err != nil {
				return err
			}
			for ; len(b) >= printedSize; b = b[printedSize:] {
				if err := s.printed.Append(binary.LittleEndian.Uint64(b), b[:printedSize]); err != nil {
					return err
				}
			}
		}
	}
	doubts, err := s.list(s.doubtSize(), s.buffers)
	if err != nil {
		return err
	}
	former := s.doubts
	s.doubts = doubts
	return former.Close()
}

// join is one call of Join.
type join struct {
	set    *Set
	config *JoinConfig
	next   atomic.Int64 // partition

	mutex sync.Mutex  // of what follows
	late  *spill.Runs // keys, unless it is nil
	count uint64
}

// work joins partitions until there are no more.
func (j *join) work(ctx context.Context, memory uint64) error {
	t := table{placed: j.set.config.Places}
	defer t.release()
	for {
		i := int(j.next.Add(1) - 1)
		if i >= j.set.partitions {
			return nil
		}
		doubts := j.set.doubts.Records(i)
		if doubts == 0 {
			continue
		}
		passBits := t.bitsFor(doubts, memory)
		for pass := range uint64(1) << passBits {
			err := t.reset(share(doubts, passBits), j.set.partitions, passBits, pass)
			if err == nil {
				err = j.partition(ctx, i, &t)
			}
			if err == errCrowded {
				// More memory than was meant to be used is better than no result.
				if err = t.reset(doubts, j.set.partitions, passBits, pass); err == nil {
					err = j.partition(ctx, i, &t)
				}
			}
			if err != nil {
				return err
			}
		}
	}
}

// partition joins the part of a partition that the table is for.
func (j *join) partition(ctx context.Context, i int, t *table) error {
	s := j.set
	for _, list := range []struct {
		runs *spill.Runs
		take func([]byte) error
	}{{s.doubts, t.fill}, {s.printed, t.crossPrinted}, {s.before, t.crossBefore}} {
		for b, err := range list.runs.Read(i) {
			if err == nil {
				err = context.Cause(ctx)
			}
			if err == nil {
				err = list.take(b)
			}
			if err != nil {
				return err
			}
		}
	}
	return j.report(t)
}

// lateAtOnce is how many late keys are handed over together.
const lateAtOnce = 4096

// report hands over what is left in the table.
func (j *join) report(t *table) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	some := make([]Late, 0, lateAtOnce)
	for key := range t.left() {
		j.count++
		if j.late != nil {
			slot, err := j.late.Slot(key.hash)
			if err != nil {
				return err
			}
			putPrinted(slot, key.hash, key.second)
		}
		if some = append(some, Late{key.position, key.place}); len(some) == cap(some) {
			if err := j.config.Late(some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	if len(some) == 0 {
		return nil
	}
	return j.config.Late(some)
}
