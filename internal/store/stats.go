package store

import "time"

// Stats describes a store.
type Stats struct {
	Values   int
	Memory   uint64 // bytes of all values
	LogBytes uint64 // appended to the log since the last checkpoint
	Last     LSN    // of the log
	Durable  LSN    // synced

	LastCheckpoint time.Time
	Expired        uint64 // values that were deleted because their time was over
	DiskFree       uint64 // bytes; 0 if unknown

	Scrubbed time.Time // when all files of values were last read; zero: not yet
	Damaged  uint64    // files of values that were found missing or damaged, and written again
	Ground   error     // why the data directory is not what was opened; nil: it is
}

// Stats describes the store. It reads no bits of values.
func (s *Store) Stats() Stats {
	free, _ := s.free()
	s.disk.mu.Lock()
	scrubbing, lost := s.scrubbing, s.ground.lost
	s.disk.mu.Unlock()
	return Stats{
		Scrubbed: scrubbing.ended, Damaged: scrubbing.damaged, Ground: lost,
		Values: s.Len(), Memory: s.Memory(), LogBytes: s.log.bytes.Load(),
		Last: s.Last(), Durable: s.Durable(), LastCheckpoint: s.LastCheckpoint(),
		Expired: s.expired.Load(), DiskFree: free,
	}
}
