package server

import (
	"bytes"
	"maps"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// latencyBuckets is the number of buckets of a latency histogram. The last has everything
// over 2^38 ns, four and a half minutes.
const latencyBuckets = 40

type commandStats struct {
	calls    atomic.Uint64
	rejected atomic.Uint64 // not run
	failed   atomic.Uint64 // ended with an error
	nanos    atomic.Uint64
	// latency counts calls by duration: bucket i has those from 2^(i-1) to 2^i ns.
	// Commands that run together each count with the time of all.
	latency [latencyBuckets]atomic.Uint64
}

func (s *commandStats) add(n int, took time.Duration, failed bool) {
	if failed {
		s.failed.Add(uint64(n))
	}
	s.calls.Add(uint64(n))
	s.nanos.Add(uint64(took))
	s.latency[min(bits.Len64(uint64(took)), latencyBuckets-1)].Add(uint64(n))
}

func (s *commandStats) reset() {
	s.calls.Store(0)
	s.rejected.Store(0)
	s.failed.Store(0)
	s.nanos.Store(0)
	for i := range s.latency {
		s.latency[i].Store(0)
	}
}

// errorStats counts errors by their code.
type errorStats struct {
	mu    sync.Mutex
	codes map[string]uint64
}

// maxErrorCodes is far more than there are codes.
const maxErrorCodes = 128

// count counts an error by its code; line is the reply without the sign.
func (e *errorStats) count(line []byte) {
	code, _, _ := bytes.Cut(line, []byte{' '})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.codes == nil {
		e.codes = map[string]uint64{}
	}
	if _, ok := e.codes[string(code)]; ok || len(e.codes) < maxErrorCodes {
		e.codes[string(code)]++
	}
}

// all returns the number of errors of each code.
func (e *errorStats) all() map[string]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.codes)
}

func (e *errorStats) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.codes)
}
