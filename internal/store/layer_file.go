package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/internal/frame"
	"seen/internal/pages"
)

// load reads the file of a layer into its memory and verifies every checksum.
func (l *layer) load(f *files, ref fileRef, want *frame.Header) error {
	file, size, err := f.open(ref.number)
	if err != nil {
		return err
	}
	err = errors.Join(l.loadFrom(file, size, ref, want), file.Close())
	runtime.KeepAlive(l)
	if err != nil {
		return fmt.Errorf("%s: %w; restore it from a backup", f.path(ref.number), err)
	}
	return nil
}

func (l *layer) loadFrom(file vfs.File, size uint64, ref fileRef, want *frame.Header) error {
	// The state does not matter: all that is loaded is compared with the checksums.
	_, at, err := readHeader(file, size, want)
	if err != nil {
		return err
	}
	table := make([]byte, at.Total-at.BodyEnd)
	if _, err := file.ReadAt(table, int64(at.BodyEnd)); err != nil {
		return err
	}
	sums, err := readChunks(file, &at, l.bits(), table)
	if err != nil {
		return err
	}
	if err := at.CompareTable(table, sums); err != nil {
		return err
	}
	return ref.compare(table)
}

// readHeader reads the header of the file of a layer and returns it with the layout that it
// describes. want is the header according to the catalogue.
func readHeader(r io.Reader, size uint64, want *frame.Header) (head []byte, at frame.Layout, err error) {
	head = make([]byte, min(size, frame.PageSize))
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, at, err
	}
	h, err := frame.ParseHeader(head)
	if err != nil {
		return nil, at, err
	}
	if at, err = h.Layout(); err != nil {
		return nil, at, err
	}
	if err := at.CheckSize(size); err != nil {
		return nil, at, err
	}
	if !alike(h, want) {
		return nil, at, errOtherFilter
	}
	return head, at, nil
}

var errOtherFilter = errors.New("it holds another filter than the catalogue says")

// alike reports whether a file holds the array that it should: all but the number
// of keys, which the catalogue knows better.
func alike(h, want *frame.Header) bool {
	if len(h.Parts) != 1 {
		return false
	}
	p, w := h.Parts[0], want.Parts[0]
	p.Added, w.Added = 0, 0
	return h.Type == want.Type && h.HashAlgorithm == want.HashAlgorithm && h.HashKeyID == want.HashKeyID && p == w
}

// readChunks reads the body of a frame with one part into memory, on all cores, and returns
// the checksums of its chunks. A chunk that is a hole in the file and, according to table,
// all zeros is not read, since memory is zero already. A hole that table does not confirm
// is read, so that a file system that is wrong about its holes does no harm.
func readChunks(file vfs.File, at *frame.Layout, body, table []byte) ([]uint32, error) {
	sums := make([]uint32, (at.BodyEnd-at.Header+frame.ChunkSize-1)/frame.ChunkSize)
	var next atomic.Int64
	var mu sync.Mutex
	var first error
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(sums)) {
		wg.Go(func() {
			piece := make([]byte, frame.ChunkSize)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(sums) {
					return
				}
				want := binary.LittleEndian.Uint32(table[crc32.Size*i:])
				if start, end := at.Chunk(uint64(i)); want == zeroChunk && end-start == frame.ChunkSize && isHole(file, start, end) {
					sums[i] = zeroChunk
					continue
				}
				var err error
				if sums[i], err = readChunk(file, at, body, piece, uint64(i)); err != nil {
					mu.Lock()
					first = err
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return sums, first
}

// zeroChunk is the checksum of a whole chunk of zeros.
var zeroChunk = crc32.ChecksumIEEE(make([]byte, frame.ChunkSize))

// readChunk reads one chunk by way of piece, so that zeros take no memory of body.
// After the array comes the padding of the last.
func readChunk(file vfs.File, at *frame.Layout, body, piece []byte, i uint64) (uint32, error) {
	start, end := at.Chunk(i)
	to := body[start-at.Header : min(end-at.Header, uint64(len(body)))]
	b := piece[:len(to)]
	if _, err := file.ReadAt(b, int64(start)); err != nil {
		return 0, err
	}
	pages.CopyBytes(to, b)
	sum := crc32.ChecksumIEEE(b)
	if pad := end - start - uint64(len(b)); pad > 0 {
		zero := make([]byte, pad)
		if _, err := file.ReadAt(zero, int64(end-pad)); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, crc32.IEEETable, zero)
	}
	return sum, nil
}
