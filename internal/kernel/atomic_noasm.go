//go:build !amd64 || noasm

package kernel

import "sync/atomic"

// Assembly reports whether the operations run in assembly. It does not change.
func Assembly() bool { return false }

// Release stores v in *p after everything that was written before, as the owner of
// a lock does who gives it up.
func Release(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// The functions below stand for the assembly, which would leave everything to others.

func addGuardedHash(guarded *uint64, h uint64) uint8 { return uint8(Busy) }

func addGuardedKey(guarded *uint64, key *byte, n int) uint8 { return uint8(Busy) }
