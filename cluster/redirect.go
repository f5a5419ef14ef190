package cluster

import (
	"context"

	"github.com/redis/rueidis"
)

// This file handles redirections of a Redis Cluster. The client library follows MOVED and
// ASK for nearly all commands, which it sends on connections of its own choice. It does
// not follow them on a connection that one call uses alone, for a transaction or for WAIT.
// There, dedicated follows ASK. After MOVED, learn makes the library find the node, and
// the caller tries again (passing, in refusal.go).

// connection is one that only one call uses, since commands belong together.
type connection struct {
	rueidis.DedicatedClient
	asking bool // for a slot that is moving to the node
}

// dedicated calls do with a connection to the node of the first key that do uses. If that
// node answers that the slot is moving and the key has left already, it calls do again
// with a connection to the key's new node.
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

// multi sends commands in one pipeline. ASKING applies to the next command or transaction.
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

// learn pauses, and then makes the library learn the node of a key: it follows the
// redirection of a command of its own.
func (c *core) learn(ctx context.Context, key string, attempt int) error {
	if !pause(ctx, attempt) {
		return ctx.Err()
	}
	return c.client.Do(ctx, c.client.B().Exists().Key(key).Build()).Error()
}
