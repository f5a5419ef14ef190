package server

import (
	"errors"

	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

// A call is one running command. It is valid until its handler returns.
type call struct {
	*conn
	command *command
	args    [][]byte     // slices of the input; args[0] is the name as it was sent
	out     *resp.Writer // takes exactly one reply
}

// after makes the reply wait until the log is durable up to at.
func (c *call) after(at store.LSN) { c.lsn = max(c.lsn, at) }

// afterValue makes the reply wait for the last change of v or, if v is nil, for the last
// removal of values.
func (c *call) afterValue(v store.Value) {
	if v == nil {
		c.after(c.store().Absent())
		return
	}
	c.after(v.LSN())
}

// failed writes a problem, unless it is "", and reports whether there is one.
func (c *call) failed(problem string) bool {
	if problem != "" {
		c.out.Error(problem)
	}
	return problem != ""
}

func (c *call) store() *store.Store { return c.server.store }

func (c *call) wrongArity() {
	c.out.Error(args.WrongNumber(c.command.full))
}

// look returns the value of a key, nil if there is none. The reply waits until that is
// durable.
func (c *call) look(key []byte) store.Value {
	v := c.store().Get(key)
	c.afterValue(v)
	return v
}

// valueOf returns the value of a key if it is a V. Otherwise it writes an error: absent if
// there is no value, other if the value has another type.
func valueOf[V store.Value](c *call, key []byte, absent, other string) (V, bool) {
	v := c.store().Get(key)
	value, ok := v.(V)
	if ok {
		return value, true
	}
	c.afterValue(v)
	if v == nil {
		c.out.Error(absent)
	} else {
		c.out.Error(other)
	}
	return value, false
}

// shows is a handler that shows the state of the value that find returns.
func shows[V store.Value](find func(*call) (V, bool), show func(*call, V)) func(*call) {
	return func(c *call) {
		if v, ok := find(c); ok {
			c.after(v.LSN())
			show(c, v)
		}
	}
}

// alter changes the value that find returns. If another client deletes the value at the
// same time, it tries again.
func alter[V store.Value](c *call, find func() (V, bool), do func(V) (store.LSN, error), texts ...own) {
	for {
		v, ok := find()
		if !ok {
			return
		}
		at, err := do(v)
		if !errors.Is(err, store.ErrGone) {
			c.confirm(at, err, texts...)
			return
		}
		c.after(at)
	}
}

// taken writes the error of a command that creates a V under a key that has a value:
// exists if that is a V. It reports false if the key has no value now.
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

// scratch is memory that a connection reuses for each command.
type scratch struct {
	bools []bool
	keys  [][]byte
}

// maxScratch is the largest number of keys for which a connection keeps the memory after a
// command.
const maxScratch = 4096

// answers returns room for n answers. It is valid until the next call.
func (c *call) answers(n int) []bool {
	if n > maxScratch {
		return make([]bool, n)
	}
	if cap(c.scratch.bools) < n {
		c.scratch.bools = make([]bool, min(2*n, maxScratch))
	}
	return c.scratch.bools[:n]
}

// runKeys returns the keys of all commands of a run. They are valid until the next call.
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

// answer writes the answers of a command: an array if the command takes several items.
func (c *call) answer(cmd *command, answers []bool) {
	if cmd.arity < 0 {
		c.bools(answers)
	} else {
		c.out.Bool(answers[0])
	}
}

func (c *call) bools(answers []bool) {
	c.out.Array(len(answers))
	for _, answer := range answers {
		c.out.Bool(answer)
	}
}

func (c *call) strings(list []string) {
	c.out.Array(len(list))
	for _, s := range list {
		c.out.BulkString(s)
	}
}

// fields writes members of a map, names and values in turn. A value is a string, a
// number or a list of strings.
func (c *call) fields(list ...any) {
	for _, member := range list {
		switch m := member.(type) {
		case string:
			c.out.BulkString(m)
		case int:
			c.out.Int(int64(m))
		case int64:
			c.out.Int(m)
		case float64:
			c.out.Double(m)
		case []string:
			c.strings(m)
		}
	}
}

// create replies to a command that creates a V under its key: exists if the key has one.
func create[V store.Value](c *call, exists string, do func() (store.LSN, error), texts ...own) {
	for !taken[V](c, exists) {
		at, err := do()
		if !errors.Is(err, store.ErrExists) {
			c.confirm(at, err, texts...)
			return
		}
		c.after(at)
	}
}

// integer is a number with its name.
type integer struct {
	name string
	n    uint64
}

// integers writes a map of n members, which begins with numbers by name.
func (c *call) integers(n int, fields []integer) {
	c.out.Map(n)
	for _, field := range fields {
		c.out.Simple(field.name)
		c.out.Int(int64(field.n))
	}
}
