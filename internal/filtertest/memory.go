package filtertest

import "runtime/metrics"

// HeapAllocs returns the bytes that were ever allocated on the heap.
func HeapAllocs() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
