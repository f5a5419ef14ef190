package stream

import (
	"context"
	"io"
	"sync"
	"time"
)

// delivery hands blocks to the consumer, in order.
type delivery struct {
	consume  func(*Block) error
	counters *Counters
	next     uint64 // number of the next record within its file
}

// deliver hands b on and returns what ends the run: an error of the consumer or
// the failure of the block.
func (d *delivery) deliver(b *Block) error {
	if b.fresh {
		d.next = 1
	}
	b.First = d.next
	n := b.Len()
	d.next += uint64(n)
	if n > 0 {
		if err := d.consume(b); err != nil {
			return err
		}
	}
	if c := d.counters; c != nil {
		c.Bytes.Add(uint64(len(b.Data)))
		if !b.Header {
			c.Records.Add(uint64(n))
			c.Missing.Add(uint64(len(b.Missing)))
		}
	}
	if b.inner {
		return &RecordError{File: b.File, Record: d.next, Err: b.failure, NoKey: b.noKey}
	}
	return b.failure
}

// runSerial does everything in the caller's goroutine, with one block.
func runSerial(ctx context.Context, r *reader, d *delivery) error {
	defer r.close()
	if r.in.Live() {
		r.pause = r.config.Pause
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx) // or pauses could not be told
		defer cancel()
	}
	var b Block
	for {
		if err := r.fill(ctx, &b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b.process(&r.config.Hash)
		if err := d.deliver(&b); err != nil {
			return err
		}
	}
}

// parallel is the state that the workers of one run share.
type parallel struct {
	reader  *reader
	free    chan *Block  // unused blocks
	queue   chan *Block  // blocks in input order; each says by its ready when it is processed
	helping bool         // the caller's goroutine reads blocks too
	mutex   sync.Mutex   // held while somebody reads, so that the order of queue is that of the input
	ended   bool         // nothing more is to be read; guarded by mutex
	err     error        // why, if not because of the end of the input; valid when queue is closed
	pause   func() error // Config.Pause if an input is live, else nil
	timer   *time.Timer  // of receive
}

// runParallel lets workers take turns in reading. A worker that has read a block enters it
// into the queue, lets the next worker read, and splits and hashes its block while that is
// still in its cache. The caller's goroutine takes blocks from the queue in order, and
// reads a block itself while the next one is not ready. The queue has room for all blocks,
// so that a worker waits only for its turn, for a free block or for the input, and all of
// these end.
func runParallel(ctx context.Context, r *reader, d *delivery, jobs int) error {
	blocks := 2*jobs + 1
	p := &parallel{
		reader: r,
		free:   make(chan *Block, blocks),
		queue:  make(chan *Block, blocks),
	}
	for range blocks {
		p.free <- &Block{ready: make(chan struct{}, 1)}
	}
	// A read of a pipe can take forever, while blocks wait to be consumed.
	p.helping = !r.in.Live()
	if !p.helping {
		p.pause = r.config.Pause
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range jobs - 1 {
		wg.Go(func() {
			for p.work(ctx, true) {
			}
		})
	}
	defer r.close()
	defer wg.Wait()
	defer cancel()
	for {
		b, err := p.next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			return p.err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.deliver(b); err != nil {
			return err
		}
		p.free <- b
	}
}

// next returns the next block of the queue when it is processed, or nil behind
// the last one. The error is one of Config.Pause.
func (p *parallel) next(ctx context.Context) (*Block, error) {
	for p.helping && len(p.queue) == 0 && p.work(ctx, false) {
	}
	b, err := p.receive()
	if b == nil {
		return nil, err
	}
	for p.helping && len(b.ready) == 0 && p.work(ctx, false) {
	}
	<-b.ready
	return b, nil
}

// receive takes a block out of the queue, and calls pause if none comes for PauseTime.
func (p *parallel) receive() (*Block, error) {
	if p.pause == nil || len(p.queue) > 0 {
		return <-p.queue, nil
	}
	if p.timer == nil {
		p.timer = time.NewTimer(PauseTime)
	} else {
		p.timer.Reset(PauseTime)
	}
	select {
	case b := <-p.queue:
		p.timer.Stop()
		return b, nil
	case <-p.timer.C:
	}
	if err := p.pause(); err != nil {
		return nil, err
	}
	return <-p.queue, nil
}

// work reads and processes one block. It returns false when there is nothing more to read
// and, unless it may wait for its turn, when another worker is reading or no block is
// free.
func (p *parallel) work(ctx context.Context, wait bool) bool {
	b := p.read(ctx, wait)
	if b == nil {
		return false
	}
	b.process(&p.reader.config.Hash)
	b.ready <- struct{}{}
	return true
}

// read fills a block and enters it into the queue. It returns nil where work
// returns false.
func (p *parallel) read(ctx context.Context, wait bool) *Block {
	if wait {
		p.mutex.Lock()
	} else if !p.mutex.TryLock() {
		return nil
	}
	defer p.mutex.Unlock()
	if p.ended {
		return nil
	}
	b := p.take(ctx, wait)
	if b == nil {
		return nil
	}
	if err := p.reader.fill(ctx, b); err != nil {
		if err == io.EOF {
			err = nil
		}
		p.end(err)
		return nil
	}
	p.queue <- b
	if b.failure != nil {
		p.end(nil) // the block itself tells why
	}
	return b
}

// take returns a free block, or nil when the context has ended, or when no block is free
// and wait is false.
func (p *parallel) take(ctx context.Context, wait bool) *Block {
	select {
	case b := <-p.free:
		return b
	default:
		if !wait {
			return nil
		}
	}
	select {
	case b := <-p.free:
		return b
	case <-ctx.Done():
		p.end(ctx.Err())
		return nil
	}
}

func (p *parallel) end(err error) {
	p.ended, p.err = true, err
	close(p.queue)
}
