package store

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
)

// memory accounts for the bytes of all values.
type memory struct {
	used  atomic.Uint64
	limit atomic.Uint64 // 0: none
}

// change replaces a part of was bytes by one of is bytes, or refuses that if it
// passes the limit.
func (m *memory) change(was, is uint64) error {
	if is <= was {
		m.force(was, is)
		return nil
	}
	for {
		used, limit := m.used.Load(), m.limit.Load()
		if limit == 0 {
			limit = math.MaxInt64 // no machine has more, and the sums stay within 64 bits
		}
		if used > limit || is-was > limit-used {
			return fmt.Errorf("%w: %d bytes more than the %d in use would pass the limit of %d; delete what is not needed or raise the limit", ErrMemory, is-was, used, limit)
		}
		if m.used.CompareAndSwap(used, used+is-was) {
			return nil
		}
	}
}

// sum adds up lengths that a stranger may have chosen: what is beyond 64 bits is more
// than there is.
func sum(a, b uint64) uint64 {
	if n, carry := bits.Add64(a, b, 0); carry == 0 {
		return n
	}
	return math.MaxUint64
}

// force is change that is not refused.
func (m *memory) force(was, is uint64) { m.used.Add(is - was) }

// Memory returns the bytes that all values take.
func (s *Store) Memory() uint64 { return s.memory.used.Load() }

// MaxMemory returns the limit of memory, 0 if there is none.
func (s *Store) MaxMemory() uint64 { return s.memory.limit.Load() }

// SetMaxMemory replaces the limit of memory; 0 removes it. What there is stays even
// if it exceeds the limit.
func (s *Store) SetMaxMemory(bytes uint64) { s.memory.limit.Store(bytes) }
