package pages

import (
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func TestArraysAreZeroAndWritable(t *testing.T) {
	for _, n := range []uint64{0, 1, Least/8 - 1, Least / 8, hugePage/8 + 3, 32<<20/8 + 5} {
		a, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		words := a.Words()
		if uint64(len(words)) != n {
			t.Fatalf("asked for %d words, got %d", n, len(words))
		}
		for i, w := range words {
			if w != 0 {
				t.Fatalf("word %d of %d is %x", i, n, w)
			}
			words[i] = uint64(i)
		}
		for i, w := range words {
			if w != uint64(i) {
				t.Fatalf("word %d of %d is %x after writing", i, n, w)
			}
		}
		if canMap && n*8 >= Least && uintptr(unsafe.Pointer(&words[0]))%hugePage != 0 {
			t.Errorf("an array of %d words is not aligned to a huge page", n)
		}
		runtime.KeepAlive(a)
		a.Release()
		a.Release()
		if a.Words() != nil {
			t.Error("there are words after Release")
		}
	}
}

func TestReleaseReturnsMemory(t *testing.T) {
	if !canMap {
		t.Skip("arrays are ordinary slices on this system")
	}
	before := Live()
	a, err := New(10 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if Live() < before+80<<20 {
		t.Errorf("%d bytes are mapped after making an array of 80 MiB, %d before", Live(), before)
	}
	a.Release()
	if Live() != before {
		t.Errorf("%d bytes are mapped after Release, %d before", Live(), before)
	}
}

// TestForgottenArraysAreReleased makes far more memory than there is, without
// releasing any of it.
func TestForgottenArraysAreReleased(t *testing.T) {
	if !canMap {
		t.Skip("arrays are ordinary slices on this system")
	}
	before := Live()
	for range 400 {
		a, err := New(32<<20/8 - 1)
		if err != nil {
			t.Fatal(err)
		}
		a.Words()[0] = 1
		runtime.KeepAlive(a)
		// The cleanups run in a goroutine of their own, soon after.
		for i := 0; i < 100 && Live() > before+3*leastGarbage; i++ {
			time.Sleep(10 * time.Millisecond)
		}
		if Live() > before+3*leastGarbage {
			t.Fatalf("%d bytes are mapped for one live array", Live()-before)
		}
	}
}

func TestTooLarge(t *testing.T) {
	for _, n := range []uint64{1 << 63, 1 << 59, 1 << 50} {
		a, err := New(n)
		if err == nil {
			a.Release()
			t.Errorf("%d words were had", n)
		} else if !strings.Contains(err.Error(), "") {
			t.Errorf("error %v", err)
		}
	}
}

func TestBytesAreTheWords(t *testing.T) {
	for _, n := range []uint64{0, 3, Least / 8} {
		a, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		b := a.Bytes()
		if uint64(len(b)) != 8*n {
			t.Fatalf("%d words have %d bytes", n, len(b))
		}
		if n > 0 {
			b[8*n-1], b[8*n-8] = 1, 1
			if got := a.Words()[n-1]; got != 1<<56|1 {
				t.Errorf("the last word is %x after a change of its first and last byte", got)
			}
		}
		runtime.KeepAlive(a)
	}
}
