package store

import "sync/atomic"

// Traffic counts what a value was asked since it was made, or since the start. A key
// that was asked for twice counts twice.
type Traffic struct {
	Adds   uint64 // keys that were added, new or not; not those that were refused
	Checks uint64 // keys that were asked for
	Hits   uint64 // of Checks: those that were found
}

// traffic is what a value counts, also under another name.
type traffic struct {
	adds   atomic.Uint64
	checks atomic.Uint64
	hits   atomic.Uint64
}

// Traffic returns what the value was asked so far. It takes no lock.
func (b *base) Traffic() Traffic {
	// Hits are read first, so that there are never more hits than checks.
	hits := b.traffic.hits.Load()
	return Traffic{Adds: b.traffic.adds.Load(), Checks: b.traffic.checks.Load(), Hits: hits}
}

// answered counts the questions for some keys and returns the position that the
// answers depend on.
func (b *base) answered(found []bool) LSN {
	if b.traffic.asked(found) > 0 {
		return b.LSN()
	}
	return b.absent()
}

// asked counts the questions for some keys and returns how many were found.
func (t *traffic) asked(found []bool) (hits int) {
	for _, f := range found {
		if f {
			hits++
		}
	}
	t.note(len(found), hits)
	return hits
}

// note counts questions, of which some were answered with yes.
func (t *traffic) note(checks, hits int) {
	t.checks.Add(uint64(checks))
	if hits > 0 {
		t.hits.Add(uint64(hits))
	}
}

// counted counts the questions for some counts.
func (t *traffic) counted(counts []uint32) {
	hits := 0
	for _, n := range counts {
		if n > 0 {
			hits++
		}
	}
	t.note(len(counts), hits)
}

// set replaces the counts.
func (t *traffic) set(to Traffic) {
	t.adds.Store(to.Adds)
	t.checks.Store(to.Checks)
	t.hits.Store(to.Hits)
}
