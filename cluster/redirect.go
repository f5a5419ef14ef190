package cluster

import (
	"context"

	"github.com/redis/rueidis"
)

// This file is what we do about redirections of a Redis Cluster. The client library
// follows MOVED and ASK for the commands that it sends on connections of its own choice,
// which is nearly all. It does not on a connection that one call uses alone, for a
// transaction or for WAIT: there ASK is followed by dedicated, and after MOVED learn makes
// the library find the node, and the caller tries again (passing, in refusal.go).

// connection is one that only one call uses, since commands belong together.
type connection struct {
	rueidis.DedicatedClient
	asking bool // for a slot that is moving to the node
}

// dedicated calls do with a connection to the node of the keys that do asks for first,
// and if that says that the slot is moving and the key has gone already, with one to
// where it has gone to.
func (c *core) dedicated(do func(connection) error) error {
	err := c.client.Dedicated(func(d rueidis.DedicatedClient) error { return do(connection{d, false}) })
	e, ok := refusal(err)
	if !ok {
		return err
	}
	addr, ok := e.IsAsk()
	if !ok {
		return err
	}
	node := c.client.Nodes()[addr]
	if node == nil {
		return err
	}
	return node.Dedicated(func(d rueidis.DedicatedClient) error { return do(connection{d, true}) })
}

// multi sends commands in one pipeline. ASKING holds for the command that comes next,
// or the transaction.
func (d connection) multi(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	if !d.asking {
		return d.DoMulti(ctx, commands...)
	}
	inside := commands[0].Commands()[0] == "MULTI"
	var all []rueidis.Completed
	for i, command := range commands {
		if i == 0 || !inside {
			all = append(all, d.B().Asking().Build())
		}
		all = append(all, command)
	}
	results := d.DoMulti(ctx, all...)
	if inside {
		return results[1:]
	}
	answers := results[:0]
	for i := 1; i < len(results); i += 2 {
		answers = append(answers, results[i])
	}
	return answers
}

// learn makes the client learn where a key is, since a connection of its own does
// not follow redirections.
func (c *core) learn(ctx context.Context, key string, attempt int) error {
	if !pause(ctx, attempt) {
		return ctx.Err()
	}
	return c.client.Do(ctx, c.client.B().Exists().Key(key).Build()).Error()
}
