package remote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/stream"
)

// questions is a batch of keys.
type questions struct {
	// Hashes holds the hashes of the keys.
	Hashes []uint64
	// Keys holds the keys themselves, in the order of Hashes; nil unless
	// pipeConfig.Keys asks for them.
	Keys [][]byte
}

// pipeConfig tells a pipe how to ask a filter.
type pipeConfig struct {
	// Ask answers for each key of a batch whether it is new, with Adds, or else whether
	// it may have been added. The keys at the indices in undecided have no answer because
	// of err; with err and without undecided, no key has one. Ask must return soon when
	// the context ends.
	Ask func(ctx context.Context, q questions) (answers []bool, undecided []int, err error)
	// Adds says that Ask adds the keys it is asked about.
	Adds bool
	// Keys says that Ask wants the keys and not only their hashes.
	Keys bool
	// Deliver is called with each block in input order. It is not called with blocks that
	// were not asked about because of an earlier error.
	Deliver func(b *stream.Block, v *Verdicts) error
	// Window is how long the filter remembers a key, 0 if it forgets none. A key is then
	// asked about again when a small part of that has passed.
	Window time.Duration
	// BatchKeys is the most keys in a batch; 0 is defaultBatchKeys. Fewer are
	// sent where a block of the stream has no more.
	BatchKeys int
	// Calls is how many batches are under way at a time; 0 is defaultCalls.
	Calls int
}

// With these, a round trip of 50 ms still allows 600,000 keys a second, and a key waits
// for few others.
const (
	defaultBatchKeys = 2048
	defaultCalls     = 16
)

// windowShare is the part of a window's span, as a divisor, for which a pipe remembers
// that it has asked about a key.
const windowShare = 64

// Verdicts are the answers for one block.
type Verdicts struct {
	// Yes has the answer of Ask for each record. It is false for records without a key,
	// for undecided ones, and with Adds for repeats.
	Yes []bool
	// Undecided lists the records without an answer, in ascending order. Repeats of
	// their keys are not among them.
	Undecided []int
	// Errs has an error for each call that has failed.
	Errs []error
}

// Totals tell what a [Run] has done.
type Totals struct {
	Calls    uint64        // of Ask
	Keys     uint64        // asked about
	Repeats  uint64        // that needed no asking, since they were asked about a short while ago
	Waited   time.Duration // sum of what the calls took
	Inflight int           // calls under way
}

// pipe is between a stream and a filter on other machines. An answer takes as long as
// the network does, so several batches are under way at a time; the answers are
// delivered in the order of the input. What to do about keys that could not be decided
// is up to Deliver.
//
// For a filter that is added to, a pipe sees to it that of equal keys in one stream
// the first is the one told new, whichever batch arrives first: a key that was asked
// about a short while ago is not asked again.
//
// A pipe belongs to the goroutine that feeds it. It calls Ask from several goroutines
// at a time and Deliver from one. Its zero value is not usable; newPipe makes one.
type pipe struct {
	config pipeConfig
	ctx    context.Context // of Ask
	slots  chan struct{}   // a token for each call under way
	queue  chan *pending   // blocks to deliver, in input order
	free   sync.Pool       // of *pending
	done   chan struct{}   // closed when all is delivered
	recent *recent         // with Adds

	failed context.Context // ends with the first error, its cause
	fail   context.CancelCauseFunc

	calls, keys, repeats atomic.Uint64
	waited               atomic.Int64
}

// pending is a block that waits for answers.
type pending struct {
	block    stream.Block
	verdicts Verdicts
	calls    []*call // in the order of the records
	used     int     // of calls; the others are kept for their memory
	arrived  sync.WaitGroup
}

// call is one batch of a block.
type call struct {
	batch     questions
	records   []int // of the block, for each key of the batch
	keyBytes  []byte
	answers   []bool
	undecided []int
	err       error
}

// maxBlocks is how many blocks wait for answers at most. It bounds memory where
// blocks are small or hold only repeats.
const maxBlocks = 64

// newPipe returns a pipe. ctx is for the calls of Ask and must outlive the stream, since
// keys that were sent need answers. The caller must call Close.
func newPipe(ctx context.Context, c pipeConfig) *pipe {
	c.BatchKeys, c.Calls = cmp.Or(c.BatchKeys, defaultBatchKeys), cmp.Or(c.Calls, defaultCalls)
	p := &pipe{
		config: c, ctx: ctx,
		slots: make(chan struct{}, c.Calls),
		queue: make(chan *pending, maxBlocks),
		free:  sync.Pool{New: func() any { return new(pending) }},
		done:  make(chan struct{}),
	}
	p.failed, p.fail = context.WithCancelCause(context.Background())
	if c.Adds {
		p.recent = newRecent(c.Window / windowShare)
	}
	go p.deliver()
	return p
}

// Consume sends the keys of b and returns; it does not keep b. It is the function for
// stream.Run. It waits while enough batches are under way, and stops sending when ctx ends.
// The error is that of ctx or of an earlier block: what Deliver returned, or what is wrong
// with an answer. Later records are not asked about and not delivered.
func (p *pipe) Consume(ctx context.Context, b *stream.Block) error {
	w := p.free.Get().(*pending)
	b.CopyTo(&w.block)
	err := p.send(ctx, w)
	if w.block.Len() == 0 {
		return err
	}
	w.verdicts.Yes = slices.Grow(w.verdicts.Yes[:0], w.block.Len())[:w.block.Len()]
	// This ends, since deliver takes every block.
	p.queue <- w
	return err
}

// send cuts the block into batches and starts a call for each. With an error the
// block is truncated to what was sent.
func (p *pipe) send(ctx context.Context, w *pending) error {
	w.used = 0
	b := &w.block
	if b.Header {
		return p.err(ctx)
	}
	if p.recent != nil {
		p.recent.age(time.Now())
	}
	c := w.next(p.config.BatchKeys)
	for lo, hi := range b.Keyed() {
		for i := lo; i < hi; i++ {
			if p.recent != nil && p.recent.has(b.Hashes[i]) {
				p.repeats.Add(1)
				continue
			}
			c.add(b, i, p.config.Keys)
			if p.recent != nil {
				p.recent.add(b.Hashes[i])
			}
			if len(c.records) < p.config.BatchKeys {
				continue
			}
			if err := p.start(ctx, w, c); err != nil {
				return err
			}
			c = w.next(p.config.BatchKeys)
		}
	}
	if len(c.records) == 0 {
		w.used--
		return p.err(ctx)
	}
	return p.start(ctx, w, c)
}

// start starts a call when there is a slot for it. If the pipe has failed or ctx has ended
// before, the block is cut before the first record of the call.
func (p *pipe) start(ctx context.Context, w *pending, c *call) error {
	err := p.err(ctx)
	if err == nil {
		select {
		case p.slots <- struct{}{}:
		case <-p.failed.Done():
			err = p.err(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		w.block.Truncate(c.records[0])
		w.used--
		return err
	}
	p.calls.Add(1)
	p.keys.Add(uint64(len(c.records)))
	w.arrived.Add(1)
	var answered func()
	if p.recent != nil {
		answered = p.recent.sent()
	}
	go func() {
		began := time.Now()
		c.answers, c.undecided, c.err = p.config.Ask(p.ctx, c.batch)
		p.waited.Add(int64(time.Since(began)))
		if answered != nil {
			answered()
		}
		<-p.slots
		w.arrived.Done()
	}()
	return nil
}

// err returns the first error of deliver, or that of ctx.
func (p *pipe) err(ctx context.Context) error {
	if p.failed.Err() != nil {
		return context.Cause(p.failed)
	}
	return ctx.Err()
}

// Failed is closed when there is an error that the next Consume will return. So a stream
// that waits for its input learns of it.
func (p *pipe) Failed() <-chan struct{} { return p.failed.Done() }

// Close waits until everything that was sent is answered and delivered, and
// returns the first error. Nothing may be consumed after it.
func (p *pipe) Close() error {
	close(p.queue)
	<-p.done
	return p.err(context.Background())
}

// Totals returns what was done so far. It may be called at any time by any goroutine.
func (p *pipe) Totals() Totals {
	return Totals{
		Calls: p.calls.Load(), Keys: p.keys.Load(), Repeats: p.repeats.Load(),
		Waited: time.Duration(p.waited.Load()), Inflight: len(p.slots),
	}
}

// deliver delivers the blocks in order. It delivers what was sent also after an error:
// the filter has recorded the keys, and tells no other run that they are new.
func (p *pipe) deliver() {
	defer close(p.done)
	for w := range p.queue {
		w.arrived.Wait()
		err := w.settle()
		if deliverErr := p.config.Deliver(&w.block, &w.verdicts); err == nil {
			err = deliverErr
		}
		if err != nil {
			p.fail(err)
		}
		p.free.Put(w)
	}
}

// next returns an empty call of the block, and counts it as used.
func (w *pending) next(batchKeys int) *call {
	if w.used == len(w.calls) {
		w.calls = append(w.calls, new(call))
	}
	c := w.calls[w.used]
	w.used++
	*c = call{
		batch:    questions{Hashes: c.batch.Hashes[:0], Keys: c.batch.Keys[:0]},
		records:  c.records[:0],
		keyBytes: c.keyBytes[:0],
	}
	if cap(c.records) == 0 {
		c.records = make([]int, 0, batchKeys)
		c.batch.Hashes = make([]uint64, 0, batchKeys)
	}
	return c
}

// add adds the key of record i of b.
func (c *call) add(b *stream.Block, i int, withKey bool) {
	c.batch.Hashes = append(c.batch.Hashes, b.Hashes[i])
	c.records = append(c.records, i)
	if withKey {
		// When the buffer grows, earlier keys stay in the old one.
		from := len(c.keyBytes)
		c.keyBytes = append(c.keyBytes, b.Key(i)...)
		c.batch.Keys = append(c.batch.Keys, c.keyBytes[from:len(c.keyBytes):len(c.keyBytes)])
	}
}

// settle turns the answers of the calls into the verdicts on the block. The error is that
// of a filter that has answered for another number of keys.
func (w *pending) settle() (wrong error) {
	v := &w.verdicts
	clear(v.Yes)
	v.Undecided, v.Errs = v.Undecided[:0], nil
	for _, c := range w.calls[:w.used] {
		if c.err == nil && len(c.answers) != len(c.records) {
			c.err = fmt.Errorf("%d answers for %d keys", len(c.answers), len(c.records))
			wrong = c.err
		}
		if c.err != nil {
			v.Errs = append(v.Errs, c.err)
		}
		if c.err != nil && (len(c.undecided) == 0 || len(c.answers) != len(c.records)) {
			v.Undecided = append(v.Undecided, c.records...)
			continue
		}
		for i, yes := range c.answers {
			v.Yes[c.records[i]] = yes
		}
		for _, i := range c.undecided {
			v.Yes[c.records[i]] = false
			v.Undecided = append(v.Undecided, c.records[i])
		}
	}
	return wrong
}
