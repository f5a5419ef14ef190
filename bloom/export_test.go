package bloom

import "seen/internal/bridge"

// SetAloneFrom sets the number of new keys from which on batches lock all lines
// rather than those of each key.
func (s *Shared) SetAloneFrom(n int) { s.locks.aloneFrom = n }

// FromFrame is the way in for mapped files; see package bridge.
var FromFrame = fromFrame

// What a server does with cuckoo filters; see package bridge.

var (
	NewCuckooFromHeader = cuckooFromHeader
	ErrBadDump          = bridge.ErrBadDump
)

func (f *Cuckoo) PrepareHash(h uint64) error                   { return served{f}.PrepareHash(h) }
func (f *Cuckoo) SetReserve(reserve func(bytes uint64) error)  { served{f}.SetReserve(reserve) }
func (f *Cuckoo) SetMaxFilters(n int)                          { served{f}.SetMaxFilters(n) }
func (f *Cuckoo) AppendHeader(dst []byte) []byte               { return served{f}.AppendHeader(dst) }
func (f *Cuckoo) ScanDump(dst []byte, i int64) (int64, []byte) { return served{f}.ScanDump(dst, i) }
func (f *Cuckoo) LoadChunk(i int64, data []byte) error         { return served{f}.LoadChunk(i, data) }
func (f *Cuckoo) Sample(n int) [][]float64                     { return served{f}.Sample(n) }
