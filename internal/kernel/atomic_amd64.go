//go:build !noasm

package kernel

// Assembly reports whether the operations run in assembly. It does not change.
func Assembly() bool { return chosen != reference }

// Release stores v in *p after everything that was written before, as the owner of
// a lock does who gives it up. It costs a fraction of an atomic store, which also
// waits until others see it.
func Release(p *uint64, v uint64) { release(p, v) }
