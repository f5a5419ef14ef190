package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"seen/internal/frame"
)

// checked is what reading all of a file has shown.
type checked struct {
	size uint64
	sum  uint32 // CRC-32 of all bytes
}

// tally passes on what is read, sums it up, and tells pace of it.
type tally struct {
	r io.Reader
	checked
	pace func(n int) error
}

func (t *tally) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.size += uint64(n)
	t.sum = crc32.Update(t.sum, crc32.IEEETable, p[:n])
	if paced := t.pace(n); paced != nil {
		return n, paced
	}
	return n, err // which may be io.EOF itself
}

// check reads the file of an array and verifies all its checksums, in little memory.
// want describes the layer of a Bloom filter; it is nil for arrays of other values. It
// calls pace with the number of bytes after each read, and ends with its error.
func (f *files) check(ref fileRef, want *frame.Header, pace func(n int) error) (checked, error) {
	file, size, err := f.open(ref.number)
	if err != nil {
		return checked{}, err
	}
	t := &tally{r: file, pace: pace}
	if want != nil {
		err = checkFrame(t, size, ref, want)
	} else {
		err = checkSummed(t, size, ref)
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		err = fmt.Errorf("%s: %w", f.path(ref.number), err)
	}
	return t.checked, err
}

func checkFrame(r io.Reader, size uint64, ref fileRef, want *frame.Header) error {
	head, at, err := readHeader(r, size, want)
	if err != nil {
		return err
	}
	if st, err := frame.ParseState(head); err != nil || st.Mark != frame.MarkPristine {
		return errors.Join(err, errors.New("it is marked as changed in place, which such a file never is"))
	}
	chunk := make([]byte, frame.ChunkSize)
	var sums []uint32
	for i := range at.Chunks {
		start, end := at.Chunk(i)
		if _, err := io.ReadFull(r, chunk[:end-start]); err != nil {
			return err
		}
		sums = append(sums, crc32.ChecksumIEEE(chunk[:end-start]))
	}
	table := make([]byte, at.Total-at.BodyEnd)
	if _, err := io.ReadFull(r, table); err != nil {
		return err
	}
	if err := at.CompareTable(table, sums); err != nil {
		return err
	}
	return ref.compare(table)
}

// checkSummed checks a file that summed has written.
func checkSummed(r io.Reader, size uint64, ref fileRef) error {
	if size < crc32.Size || size > math.MaxInt64 {
		return fmt.Errorf("it has %d bytes, too few for its checksum", size)
	}
	sum, buffer := crc32.NewIEEE(), make([]byte, frame.ChunkSize)
	if _, err := io.CopyBuffer(sum, io.LimitReader(r, int64(size)-crc32.Size), buffer); err != nil {
		return err
	}
	end := make([]byte, crc32.Size)
	if _, err := io.ReadFull(r, end); err != nil {
		return err
	}
	if err := (fileRef{sum: sum.Sum32(), summed: true}).compare(end); err != nil {
		return fmt.Errorf("its %d bytes do not match their checksum", size)
	}
	return ref.compare(end)
}
