package spill

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"sync"

	"seen/internal/pages"
)

// RunsConfig describes records and the memory to collect them in.
type RunsConfig struct {
	Record     int // bytes of a record
	Partitions int // a power of two
	Memory     int // bytes of the buffers; at least one record for each partition is used
}

// Limits of a RunsConfig, and of the buffers made for it.
const (
	MaxRecord     = 4096
	MaxPartitions = 1 << 12
	maxChunk      = 256 << 10
	// spareShare is the part of the buffers that are written while others are filled.
	spareShare = 8
)

// Runs is a partitioned list of records. Append puts a record into the buffer of its
// partition; full buffers are written by a goroutine. After Flush, Read reads a partition
// in the order of writing. Then more can be appended.
//
// The first error of a write stays: all later calls return it, Flush too, so that it cannot
// get lost.
type Runs struct {
	folder  *Folder
	record  int
	shift   uint // of a hash, for its partition
	chunk   int  // bytes of a full buffer, whole records
	spares  int
	open    []buffer // of each partition
	chunks  [][]chunk
	records []uint64 // of each partition, without those in buffers

	reading sync.Pool // of *[]byte, chunk bytes long

	memory *pages.Array // of the buffers; nil if there are none
	file   *File        // nil before the first chunk
	jobs   chan job     // to the writer; nil if there is none
	free   chan []byte  // buffers that are not in use
	writer sync.WaitGroup

	mutex sync.Mutex
	err   error // the first one of the writer; guarded by mutex
}

// buffer is the memory for a chunk; empty before the first record.
type buffer struct {
	bytes []byte
	n     int // of them in use
}

// chunk is a written buffer.
type chunk struct {
	at  int64
	n   uint32
	sum uint32
}

type job struct {
	partition int
	buffer    []byte
}

// NewRuns returns an empty list in the folder. It takes no memory and makes no file before
// the first record.
func NewRuns(f *Folder, c RunsConfig) (*Runs, error) {
	switch {
	case c.Record < 1 || c.Record > MaxRecord:
		return nil, fmt.Errorf("records of %d bytes; the limits are 1 and %d", c.Record, MaxRecord)
	case c.Partitions < 1 || c.Partitions > MaxPartitions || c.Partitions&(c.Partitions-1) != 0:
		return nil, fmt.Errorf("%d partitions; the number must be a power of two up to %d", c.Partitions, MaxPartitions)
	}
	spares := max(2, c.Partitions/spareShare)
	size := min(max(c.Memory/(c.Partitions+spares), 0), maxChunk)
	return &Runs{
		folder:  f,
		record:  c.Record,
		shift:   uint(64 - bits.Len(uint(c.Partitions-1))),
		chunk:   max(size/c.Record, 1) * c.Record,
		spares:  spares,
		open:    make([]buffer, c.Partitions),
		chunks:  make([][]chunk, c.Partitions),
		records: make([]uint64, c.Partitions),
	}, nil
}

// Partitions returns the number of partitions.
func (r *Runs) Partitions() int { return len(r.open) }

// Buffers returns the memory of the buffers while records are appended.
func (r *Runs) Buffers() int { return (len(r.open) + r.spares) * r.chunk }

// Records returns the number of records in a partition.
func (r *Runs) Records(partition int) uint64 {
	return r.records[partition] + uint64(r.open[partition].n/r.record)
}

// Partition returns the partition of a hash: its leading bits.
func (r *Runs) Partition(hash uint64) int { return int(hash >> 1 >> (r.shift - 1)) }

// Append copies record, which has the length of RunsConfig, into the partition of hash.
func (r *Runs) Append(hash uint64, record []byte) error {
	slot, err := r.Slot(hash)
	if err == nil {
		copy(slot, record)
	}
	return err
}

// Slot is Append for a caller that fills the record in: it returns the room for it, valid
// until the next call. All of it must be written.
func (r *Runs) Slot(hash uint64) ([]byte, error) {
	b := &r.open[hash>>1>>((r.shift-1)&63)]
	if b.n == len(b.bytes) {
		if err := r.next(r.Partition(hash)); err != nil {
			return nil, err
		}
	}
	n := b.n
	b.n += r.record
	return b.bytes[n:b.n], nil
}

// next hands the full buffer of partition i, if there is one, to the writer, and gives the
// partition an empty one.
func (r *Runs) next(i int) error {
	if err := r.failed(); err != nil {
		return err
	}
	if r.memory == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	r.hand(i)
	r.open[i].bytes = <-r.free
	return nil
}

// hand hands what is in the buffer of partition i to the writer.
func (r *Runs) hand(i int) {
	b := &r.open[i]
	if b.n > 0 {
		r.records[i] += uint64(b.n / r.record)
		r.jobs <- job{i, b.bytes[:b.n]}
	}
	*b = buffer{}
}

// begin takes the memory and starts the writer.
func (r *Runs) begin() error {
	if r.file == nil {
		file, err := r.folder.Create()
		if err != nil {
			return r.fail(err)
		}
		r.file = file
	}
	n := len(r.open) + r.spares
	memory, err := pages.New(uint64(n*r.chunk+7) / 8)
	if err != nil {
		return r.fail(err)
	}
	r.memory = memory
	r.jobs, r.free = make(chan job, n), make(chan []byte, n)
	for all := memory.Bytes(); n > 0; n-- {
		r.free <- all[:r.chunk:r.chunk]
		all = all[r.chunk:]
	}
	r.writer.Go(func() {
		for j := range r.jobs {
			if r.failed() == nil {
				r.write(j)
			}
			r.free <- j.buffer[:r.chunk]
		}
	})
	return nil
}

func (r *Runs) write(j job) {
	at, err := r.file.Append(j.buffer)
	if err != nil {
		r.fail(err) // it stays in r.err
		return
	}
	r.chunks[j.partition] = append(r.chunks[j.partition], chunk{at, uint32(len(j.buffer)), Checksum(j.buffer)})
}

func (r *Runs) fail(err error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.err == nil {
		r.err = err
	}
	return r.err
}

func (r *Runs) failed() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.err
}

// Flush writes what is in buffers, releases their memory and waits for the writer. Its error
// is the first of all writes.
func (r *Runs) Flush() error {
	if r.memory == nil {
		return r.failed()
	}
	for i := range r.open {
		r.hand(i)
	}
	r.stop()
	return r.failed()
}

// stop ends the writer behind what it was given and releases the buffers.
func (r *Runs) stop() {
	close(r.jobs)
	r.writer.Wait()
	clear(r.open)
	r.memory.Release()
	r.memory, r.jobs, r.free = nil, nil, nil
}

// lookAhead is the number of chunks that the system is told of before they are read.
const lookAhead = 8

// Read yields the records of a partition, many at a time, in the order in which they were
// appended. A slice is valid until the next one. Flush must have been called since the last
// Append. Goroutines may read at the same time. It takes the memory of one chunk. An error
// is the last thing that it yields.
func (r *Runs) Read(partition int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := r.failed(); err != nil {
			yield(nil, err)
			return
		}
		if r.memory != nil {
			yield(nil, errors.New("records were appended since the last flush"))
			return
		}
		chunks := r.chunks[partition]
		advised, n := 0, uint64(0)
		buffer, _ := r.reading.Get().(*[]byte)
		if buffer == nil {
			b := make([]byte, r.chunk)
			buffer = &b
		}
		defer r.reading.Put(buffer)
		for i, c := range chunks {
			for ; advised < min(i+lookAhead, len(chunks)); advised++ {
				r.file.advise(chunks[advised].at, int(chunks[advised].n))
			}
			b := (*buffer)[:c.n]
			err := r.file.ReadAt(b, c.at)
			if err == nil && Checksum(b) != c.sum {
				err = &DamageError{Dir: r.folder.dir, What: fmt.Sprintf("the checksum of %d bytes at %d is wrong", c.n, c.at)}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			n += uint64(len(b) / r.record)
			if !yield(b, nil) {
				return
			}
		}
		if n != r.records[partition] {
			yield(nil, fmt.Errorf("partition %d has %d records of %d", partition, n, r.records[partition]))
		}
	}
}

// Close ends the writer and gives memory and disk space back. Records that were not written
// are lost. It does nothing the second time.
func (r *Runs) Close() error {
	if r.memory != nil {
		r.stop()
	}
	if r.file == nil {
		return nil
	}
	file := r.file
	r.file = nil
	return file.Close()
}
