package store

import "time"

// sweepEvery is the time between two searches for values that have expired. They count as
// absent before; the search gives their memory back.
const sweepEvery = time.Second

// sweep is the goroutine that deletes what has expired.
func (s *Store) sweep() { s.every(sweepEvery, func() { s.Sweep() }) }

// Sweep deletes the values that have expired, which otherwise happens within a
// second, and returns their number.
func (s *Store) Sweep() int {
	values := s.lockSpace(func() (values []value) {
		for _, v := range s.expiring {
			if v.head().expired() {
				values = append(values, v)
			}
		}
		return values
	})
	defer s.unlockSpace(values)
	if s.log.deletable() != nil {
		return 0
	}
	for _, v := range values {
		s.remove(v)
	}
	s.expired.Add(uint64(len(values)))
	return len(values)
}
