package sketch

import (
	"math"
	"testing"
)

func TestCountMin32Stuck(t *testing.T) {
	c := newCountMin32(t, CountMin32Config{Width: 100, Depth: 4})
	c.Add([]byte("a"), 5)
	if stuck, of := c.Stuck(1000); stuck != 0 || of != 400 {
		t.Errorf("%d of %d are stuck", stuck, of)
	}
	c.Add([]byte("b"), math.MaxUint32)
	if stuck, of := c.Stuck(1000); stuck != 4 || of != 400 {
		t.Errorf("%d of %d are stuck, want one in each row", stuck, of)
	}
	if _, of := c.Stuck(7); of != 7 {
		t.Errorf("a sample of 7 looked at %d", of)
	}
}
