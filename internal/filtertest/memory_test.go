package filtertest

import (
	"runtime"
	"testing"
)

var sink []byte

// Objects from before are not counted when the runtime adds them up, at the end of a
// collection.
func TestHeapAllocs(t *testing.T) {
	for range 5 {
		for i := range 20_000 {
			sink = make([]byte, 8+i%3000)
		}
		before := HeapAllocs()
		runtime.GC()
		if n := HeapAllocs() - before; n > 8<<10 {
			t.Errorf("%d bytes are counted for a collection", n)
		}
		before = HeapAllocs()
		sink = make([]byte, 1000)
		if n := HeapAllocs() - before; n < 1000 || n > 8<<10 {
			t.Errorf("%d bytes are counted for 1000", n)
		}
	}
}
