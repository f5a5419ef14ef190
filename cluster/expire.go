package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// Expire deletes the whole filter after ttl, by the engine's clock, with layers that are
// made later. ttl must be at least a millisecond. It replaces one that was set before.
func (f *Filter) Expire(ctx context.Context, ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("%q is to expire after %v; give at least 1ms, or drop it", f.name, ttl)
	}
	now, err := f.engineTime(ctx)
	if err != nil {
		return err
	}
	return f.setExpiry(ctx, now.Add(ttl).UnixMilli())
}

// Persist cancels Expire.
func (f *Filter) Persist(ctx context.Context) error { return f.setExpiry(ctx, 0) }

// TTL returns the time until the filter expires; false if it does not.
func (f *Filter) TTL(ctx context.Context) (ttl time.Duration, expires bool, err error) {
	ms, err := f.client.Do(ctx, f.client.B().Pttl().Key(f.name).Build()).AsInt64()
	switch {
	case err != nil:
		return 0, false, explain(f.name, err)
	case ms == -2:
		return 0, false, fmt.Errorf("%q: %w", f.name, ErrNotFound)
	case ms == -1:
		return 0, false, nil
	}
	return time.Duration(ms) * time.Millisecond, true, nil
}

// setExpiry sets when all keys expire, in Unix milliseconds; 0 means never. The
// record says it first, so that clients give it to slices that they make. The record's
// own key gets the time last and loses it first: if this is interrupted, slices may expire
// before their record, which is an error and not a wrong answer.
func (c *core) setExpiry(ctx context.Context, at int64) error {
	command := c.expireCommand(at)
	if at == 0 {
		command = func(key string) rueidis.Completed { return c.client.B().Persist().Key(key).Build() }
	}
	if err := c.change(ctx, func(r *record) error {
		r.ExpireAt = at
		return nil
	}); err != nil {
		return err
	}
	record := []string{c.name}
	if at == 0 {
		if err := c.each(ctx, record, command, nil); err != nil {
			return err
		}
	}
	for _, l := range c.current.Load().layers {
		if err := c.eachSlice(ctx, l, command, nil); err != nil {
			return err
		}
	}
	if at == 0 {
		return nil
	}
	return c.each(ctx, record, command, nil)
}

// engineTime asks the node that holds the record for its time.
func (c *core) engineTime(ctx context.Context) (time.Time, error) {
	var parts []int64
	for attempt := 0; ; attempt++ {
		err := c.dedicated(func(d connection) error {
			// The first command leads to the node.
			results := d.multi(ctx, d.B().Exists().Key(c.name).Build(), d.B().Time().Build())
			err := results[0].Error()
			if err == nil {
				parts, err = results[1].AsIntSlice()
			}
			return err
		})
		if err == nil && len(parts) == 2 {
			return time.Unix(parts[0], parts[1]*int64(time.Microsecond)), nil
		}
		if err == nil {
			return time.Time{}, fmt.Errorf("TIME has given %d numbers instead of 2", len(parts))
		}
		if !again(ctx, attempt, err) {
			return time.Time{}, fmt.Errorf("the engine's time: %w", err)
		}
		if err := c.learn(ctx, c.name, attempt); err != nil {
			return time.Time{}, fmt.Errorf("the engine's time: %w", err)
		}
	}
}
