package bloom

import (
	"io"
	"runtime"
	"sync/atomic"

	"seen/internal/frame"
)

// AppendBinary appends the filter, as a Filter, in the format of docs/FORMAT.md to
// b. Additions wait for it.
func (s *Shared) AppendBinary(b []byte) (out []byte, err error) {
	s.still(func(f *Filter) { out, err = f.AppendBinary(b) })
	return out, err
}

// MarshalBinary returns the filter, as a Filter, in the format of docs/FORMAT.md.
// Additions wait for it.
func (s *Shared) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary replaces s by the blocked filter in b. After an error s is unchanged.
// A SipHash filter is read with the secret of s. It must not run at the same time as
// any other call.
func (s *Shared) UnmarshalBinary(b []byte) error { return decodeInto(s, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own. Additions
// wait until w has taken all of it; see [Shared.WriteSnapshot].
func (s *Shared) WriteTo(w io.Writer) (n int64, err error) {
	s.still(func(f *Filter) { n, err = f.WriteTo(w) })
	return n, err
}

// ReadFrom replaces s by the blocked filter in r, which it reads to the end. It must
// not run at the same time as any other call.
func (s *Shared) ReadFrom(r io.Reader) (int64, error) { return readInto(s, r) }

// WriteSnapshot writes the filter to w, as a Filter, while other goroutines go on adding:
// it is WriteTo for a filter in use and a slow w. It needs 64 KiB of memory, and four bytes
// for each 64 KiB that it writes.
//
// The snapshot has all keys whose Add had returned when WriteSnapshot was called, and the
// count of keys of a moment soon after. It may have keys that came later, and keys that
// Clear forgets meanwhile.
func (s *Shared) WriteSnapshot(w io.Writer) (int64, error) {
	var h *frame.Header
	s.still(func(f *Filter) {
		h = f.arrayHeader()
	})
	buffer := make([]uint64, frame.ChunkSize/8)
	n, err := frame.WritePieces(w, h, func(_ int, off, n uint64) []byte {
		if s.f.touch != nil {
			s.f.touch(off, n)
		}
		words := buffer[:n/8]
		for i := range words {
			words[i] = atomic.LoadUint64(&s.f.words[off/8+uint64(i)])
		}
		return frame.Bytes(words)
	})
	runtime.KeepAlive(s.f)
	return n, err
}
