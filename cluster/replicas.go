package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

const (
	defaultWait = time.Second
	// waiters is how many connections of one call wait for replicas at once.
	waiters = 8
)

// confirm waits, if the caller has asked for it, until replicas have what was written. It
// makes keys undecided that they do not confirm: these are on the primary only.
func (c *core) confirm(ctx context.Context, b *batch) {
	if c.wait.Replicas == 0 || len(b.confirm) == 0 {
		return
	}
	keys := make([]string, len(b.confirm))
	for i, p := range b.confirm {
		keys[i] = p.key
	}
	for i, err := range c.replicated(ctx, keys, c.wait.Replicas) {
		if err == nil {
			continue
		}
		p := b.confirm[i]
		for k := p.from; k < p.to; k++ {
			if it := b.item(k); it.at < 0 {
				it.at = ^it.at
				b.answers[it.at] = false
				b.fail(it, err)
				b.failures.maybe = true
				it.at = ^it.at
			}
		}
	}
}

// replicated waits until replicas have confirmed what was written before to the
// nodes of the given keys, and returns an error for each key, or nil.
func (c *core) replicated(ctx context.Context, keys []string, replicas int) []error {
	errs := make([]error, len(keys))
	if c.client.Mode() != rueidis.ClientModeCluster {
		// All keys are on one node.
		err := c.waitFor(ctx, keys[0], replicas)
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	var group sync.WaitGroup
	free := make(chan struct{}, waiters)
	for i, key := range keys {
		if i > 0 && key == keys[i-1] {
			continue
		}
		free <- struct{}{}
		group.Go(func() {
			errs[i] = c.waitFor(ctx, key, replicas)
			<-free
		})
	}
	group.Wait()
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			errs[i] = errs[i-1]
		}
	}
	return errs
}

// waitFor waits for the replicas of the node of one slice, or if replicas is 0 as
// waitForOne does. WAIT is about what its own connection has written, so that connection
// writes something that changes nothing. Replicas receive it after all earlier writes.
func (c *core) waitFor(ctx context.Context, key string, replicas int) error {
	timeout := c.waitTime()
	for attempt := 0; ; attempt++ {
		var have int64
		err := c.dedicated(func(d connection) error {
			err := c.touched(ctx, d, key)
			switch {
			case err != nil:
				return err
			case replicas == 0:
				return c.waitForOne(ctx, d)
			}
			have, err = d.Do(ctx, d.B().Wait().Numreplicas(int64(replicas)).Timeout(timeout.Milliseconds()).Build()).AsInt64()
			return err
		})
		switch {
		case err == nil && have >= int64(replicas):
			return nil
		case err == nil:
			return about(key, fmt.Errorf("%w: %d of %d within %v; the write is on the primary", ErrReplicas, have, replicas, timeout))
		}
		// After a connection broke, another node may have taken over, which may lack the
		// caller's keys.
		repeats := func(err error) bool { return passing(err) || replicas == 0 && hopeful(ctx, err) }
		if attempt < maxAttempts && repeats(err) {
			if err = c.learn(ctx, key, attempt); err == nil || repeats(err) {
				continue
			}
		}
		return about(key, fmt.Errorf("%w: %w", ErrReplicas, err))
	}
}

// touched writes something to a key that changes nothing. If the slice was deleted after
// keys were written to it, that creates it, and touched deletes it again.
func (c *core) touched(ctx context.Context, d connection, key string) error {
	if c.touch != nil {
		return d.multi(ctx, c.touch(d.B(), key))[0].Error()
	}
	answers, err := d.multi(ctx, d.B().Arbitrary("BITFIELD").Keys(key).
		Args("GET", "i64", epochAt, "INCRBY", "i64", countAt, "1", "INCRBY", "i64", countAt, "-1").Build())[0].AsIntSlice()
	if err != nil || answers[0] != 0 {
		return err
	}
	if err := d.multi(ctx, d.B().Unlink().Key(key).Build())[0].Error(); err != nil {
		return err
	}
	return missingSlice(key)
}

func (c *core) waitTime() time.Duration {
	return max(cmp.Or(c.wait.Timeout, defaultWait), time.Millisecond)
}

// confirmedSlices is how many slices of a layer are used to reach all of its nodes.
const confirmedSlices = 64

// confirmLayer waits until changes of all slices of a layer are on replicas: on as many as
// the caller has asked for, or else on one of each node that has any. The latter ends
// after a time, since a filter must be able to grow while a replica is away.
func (c *core) confirmLayer(ctx context.Context, l *layer) error {
	n := min(l.Slices, confirmedSlices)
	if c.client.Mode() != rueidis.ClientModeCluster {
		n = 1
	}
	keys := make([]string, n)
	for i := range n {
		keys[i] = l.prefix + strconv.FormatUint(i*l.Slices/n, 10)
	}
	var f failures // lists a reason once if several slices share it
	for _, err := range c.replicated(ctx, keys, c.wait.Replicas) {
		if err != nil {
			f.because(err)
		}
	}
	return errors.Join(f.errs...)
}

// waitForOne waits until one replica, if there are any, has what the connection has
// written. A timeout is not an error. An engine that refuses to say whether there are
// replicas is assumed to have some.
func (c *core) waitForOne(ctx context.Context, d connection) error {
	role, err := d.Do(ctx, d.B().Role().Build()).ToArray()
	switch {
	case err != nil && !refused(err):
		return err
	case err == nil && len(role) > 2:
		replicas, err := role[2].ToArray()
		if err != nil || len(replicas) == 0 {
			return err
		}
	}
	return d.Do(ctx, d.B().Wait().Numreplicas(1).Timeout(c.waitTime().Milliseconds()).Build()).Error()
}
