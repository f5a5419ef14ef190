package filtertest

import "runtime"

// HeapAllocs returns the bytes that were ever allocated on the heap, exactly: the runtime's
// own metric counts small objects late, and so for what runs when a collection ends.
func HeapAllocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
