package sketch

import "testing"

// A sketch that no machine has the memory for is an error, and not the end of the
// process.
func TestTopKWithoutMemory(t *testing.T) {
	c := TopKConfig{K: 10, Width: maxCounters >> 10, Depth: 1 << 10} // the largest that is allowed
	if s, err := NewTopK(c); err == nil {
		t.Errorf("a sketch of %d bytes", s.Bytes())
	}
}
