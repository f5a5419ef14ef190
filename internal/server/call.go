package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

// A call is one command being executed. It is valid until its handler returns.
type call struct {
	*conn
	command *command
	args    [][]byte     // args[0] is the name as it was sent; they are slices of the input
	out     *resp.Writer // takes exactly one reply
}

// after has the reply wait until the log is durable up to at.
func (c *call) after(at store.LSN) { c.lsn = max(c.lsn, at) }

// afterValue has the reply wait for the last change of v or, if it is nil, for what has
// removed values.
func (c *call) afterValue(v store.Value) {
	if v == nil {
		c.after(c.store().Absent())
		return
	}
	c.after(v.LSN())
}

// store returns where the values are.
func (c *call) store() *store.Store { return c.server.store }

// wrongArity replies that there are too few or too many words.
func (c *call) wrongArity() {
	c.out.Error(args.WrongNumber(c.command.full))
}

// look returns the value of a key, nil if there is none; the reply waits for what it
// shows by that.
func (c *call) look(key []byte) store.Value {
	v := c.store().Get(key)
	if v == nil {
		c.after(c.store().Absent())
	} else {
		c.after(v.LSN())
	}
	return v
}

// notThere writes the error for a value that is not what the command is about:
// absent if there is none.
func (c *call) notThere(v store.Value, absent string) {
	c.afterValue(v)
	if v == nil {
		c.out.Error(absent)
		return
	}
	c.out.Error(wrongType)
}

// valueOf returns the value of a key if it is a V, or writes an error: absent if there is
// no value.
func valueOf[V store.Value](c *call, key []byte, absent string) (V, bool) {
	v := c.store().Get(key)
	value, ok := v.(V)
	if !ok {
		c.notThere(v, absent)
	}
	return value, ok
}

// taken writes the error of a command that makes a V where there is a value: exists if
// it is a V. It reports false if there is none any more.
func taken[V store.Value](c *call, exists string) bool {
	v := c.store().Get(c.args[1])
	if v == nil {
		return false
	}
	c.after(v.LSN())
	if _, ok := v.(V); ok {
		c.out.Error(exists)
	} else {
		c.out.Error(wrongType)
	}
	return true
}

// scratch is memory that a connection uses again for each command.
type scratch struct {
	bools []bool
	keys  [][]byte
}

// maxScratch is the number of keys up to which a connection keeps the memory for
// them when a command has ended.
const maxScratch = 4096

// answers returns n answers to be filled in. They are valid until the next call.
func (c *call) answers(n int) []bool {
	if n > maxScratch {
		return make([]bool, n)
	}
	if cap(c.scratch.bools) < n {
		c.scratch.bools = make([]bool, min(2*n, maxScratch))
	}
	return c.scratch.bools[:n]
}

// runKeys returns the keys of all commands of a run. They are valid until the next
// call.
func (c *call) runKeys(batch []parsed) [][]byte {
	keys := c.scratch.keys[:0]
	for _, p := range batch {
		keys = append(keys, p.args[2:]...)
	}
	if cap(keys) <= maxScratch {
		c.scratch.keys = keys
	}
	return keys
}

// bools writes an array of answers.
func (c *call) bools(answers []bool) {
	c.out.Array(len(answers))
	for _, answer := range answers {
		c.out.Bool(answer)
	}
}

// integer is a number with its name.
type integer struct {
	name string
	n    uint64
}

// integers writes a map of named numbers.
func (c *call) integers(fields []integer) {
	c.out.Map(len(fields))
	for _, field := range fields {
		c.out.Simple(field.name)
		c.out.Int(int64(field.n))
	}
}
