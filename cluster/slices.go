package cluster

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

// makeSlices creates the slices of a layer, each with one command: adding 0 to its last
// byte gives it its length, and changes nothing if the slice is already there.
func (c *core) makeSlices(ctx context.Context, l *layer, expireAt int64) error {
	last := strconv.FormatUint((l.sliceBytes()-1)*8, 10)
	epoch := strconv.FormatUint(uint64(l.head)>>8, 10)
	layer := strconv.Itoa(l.index)
	var numbers text
	err := c.eachSlice(ctx, l, func(key string) rueidis.Completed {
		return c.client.B().Arbitrary("BITFIELD").Keys(key).Args(
			"INCRBY", "u8", last, "0",
			"SET", "u56", epochAt, epoch,
			"SET", "u32", layerAt, layer,
			"SET", "u32", indexAt, numbers.number(l.indexOf(key)),
		).Build()
	}, nil)
	if err != nil || expireAt == 0 {
		return err
	}
	return c.eachSlice(ctx, l, c.expireCommand(expireAt), nil)
}

// indexOf returns the index of the slice of the given key, which is of this layer.
func (l *layer) indexOf(key string) (index uint64) {
	for _, digit := range []byte(key[len(l.prefix):]) {
		index = index*10 + uint64(digit-'0')
	}
	return index
}

// expireCommand returns the command that makes a key expire at the given time.
func (c *core) expireCommand(at int64) func(key string) rueidis.Completed {
	return func(key string) rueidis.Completed {
		return c.client.B().Pexpireat().Key(key).MillisecondsTimestamp(at).Build()
	}
}

// seal marks all slices of a layer: their bits decide nothing any more.
func (c *core) seal(ctx context.Context, l *layer) error {
	return c.eachSlice(ctx, l, func(key string) rueidis.Completed {
		return c.client.B().Arbitrary("BITFIELD").Keys(key).Args(
			"GET", "i64", epochAt, "SET", "u8", stateAt, strconv.Itoa(stateSealed),
		).Build()
	}, func(key string, r rueidis.RedisResult) error {
		answers, err := r.AsIntSlice()
		if err != nil {
			return explain(key, err)
		}
		if !l.owns(answers[0]) {
			return missingSlice(key)
		}
		return nil
	})
}

// owns reports whether head is that of a slice of the layer, open or sealed.
func (l *layer) owns(head int64) bool { return head>>8 == l.head>>8 }

// unlink deletes the slices of generations, including those that are being made.
func (c *core) unlink(ctx context.Context, generations []generation) error {
	for _, g := range generations {
		for i := range g.Layers {
			if err := c.eachSlice(ctx, c.newLayer(&g, i, false), c.unlinkCommand, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *core) unlinkCommand(key string) rueidis.Completed {
	return c.client.B().Unlink().Key(key).Build()
}

// sliceBatch is how many slices are made, sealed or deleted in one pipeline. A
// new slice of 16 MiB keeps its node busy for some milliseconds.
const sliceBatch = 32

// eachSlice executes a command for each slice of a layer, in pipelines. The command
// must be one that may be repeated.
func (c *core) eachSlice(ctx context.Context, l *layer, command func(key string) rueidis.Completed, answer func(key string, r rueidis.RedisResult) error) error {
	return c.eachOf(ctx, l, l.Slices, command, answer)
}

// eachOf is eachSlice for n of the slices, evenly spread.
func (c *core) eachOf(ctx context.Context, l *layer, n uint64, command func(key string) rueidis.Completed, answer func(key string, r rueidis.RedisResult) error) error {
	keys := make([]string, 0, sliceBatch)
	var names text
	for from := uint64(0); from < n; from += sliceBatch {
		keys = keys[:0]
		for i := from; i < min(n, from+sliceBatch); i++ {
			keys = append(keys, names.join(l.prefix, i*l.Slices/n))
		}
		if err := c.each(ctx, keys, command, answer); err != nil {
			return err
		}
	}
	return nil
}

func (c *core) each(ctx context.Context, keys []string, command func(key string) rueidis.Completed, answer func(key string, r rueidis.RedisResult) error) error {
	if len(keys) == 0 {
		return nil
	}
	for attempt := 0; ; attempt++ {
		// The client may still hold those of an attempt that failed.
		commands := make([]rueidis.Completed, 0, len(keys))
		for _, key := range keys {
			commands = append(commands, command(key))
		}
		left := keys[:0]
		var failed error
		for i, r := range c.client.DoMulti(ctx, commands...) {
			err := r.Error()
			if err == nil || rueidis.IsRedisNil(err) {
				if answer == nil {
					continue
				}
				if err := answer(keys[i], r); err != nil {
					return err
				}
				continue
			}
			if !hopeful(ctx, err) {
				return explain(keys[i], err)
			}
			left, failed = append(left, keys[i]), explain(keys[i], err)
		}
		if len(left) == 0 {
			return nil
		}
		if attempt >= maxAttempts || !pause(ctx, attempt) {
			return failed
		}
		keys = left
	}
}
