package server

import (
	"errors"

	"seen/internal/store"
)

const (
	filterFull  = "ERR non scaling filter is full"
	notInserted = "ERR problem inserting into filter"
)

var bfAddCommand = command{
	name: "bf.add", arity: 3, flags: writer, handle: bfAdd, runs: bloomAdditions, since: "1.0.0",
	complexity: "O(k * l), k probes in each of l layers",
	summary:    "Adds an item to a Bloom filter. Creates the filter if it does not exist.",
	syntax:     "key item",
}

var bfMAddCommand = command{
	name: "bf.madd", arity: -3, flags: writer, handle: bfAdd, runs: bloomAdditions, since: "1.0.0",
	complexity: "O(n * k * l), n items and k probes in each of l layers",
	summary:    "Adds items to a Bloom filter. Creates the filter if it does not exist.",
	syntax:     "key item [item ...]",
}

func bfAdd(c *call) { c.addAll(c.args[2:], bloomDefaults(c.filterDefaults())) }

var bloomAdditions = &runs{handle: addRun}

// addRun runs several BF.ADD and BF.MADD on one filter with the results that they would
// have one after another: if a key cannot be added, the rest of its command is skipped and
// the next command runs.
func addRun(c *call, batch []parsed) {
	o := bloomDefaults(c.filterDefaults())
	answers, problem := c.addToBloom(batch[0].args[1], c.runKeys(batch), o)
	for i, p := range batch {
		keys := len(p.args) - 2
		if len(answers) < keys {
			c.added(p.command, answers, problem)
			// One by one from here: most of them will fail too.
			for _, p := range batch[i+1:] {
				answers, problem := c.addToBloom(p.args[1], p.args[2:], o)
				c.added(p.command, answers, problem)
			}
			return
		}
		c.added(p.command, answers[:keys], "")
		answers = answers[keys:]
	}
}

// addAll adds keys to the filter of the command and replies.
func (c *call) addAll(keys [][]byte, o bloomOptions) {
	answers, problem := c.addToBloom(c.args[1], keys, o)
	c.added(c.command, answers, problem)
}

// added replies to a command that adds keys. If a key cannot be added, an array ends with
// the error: the keys after it were not tried.
func (c *call) added(cmd *command, answers []bool, problem string) {
	if problem == "" {
		c.answer(cmd, answers)
		return
	}
	if cmd.arity > 0 || problem != filterFull && len(answers) == 0 {
		c.out.Error(problem)
		return
	}
	c.out.Array(len(answers) + 1)
	for _, isNew := range answers {
		c.out.Bool(isNew)
	}
	c.out.Error(problem)
}

// addToBloom adds keys to the filter called name and creates the filter if necessary and
// allowed. It returns the answers for the first keys, and the problem with the next key.
func (c *call) addToBloom(name []byte, keys [][]byte, o bloomOptions) (answers []bool, problem string) {
	answers = c.answers(len(keys))
	for {
		var (
			done int
			at   store.LSN
			err  error
		)
		add := func(f store.Filter, keys [][]byte) {
			err = c.inParts(len(keys), f.Layers, func(from, to int) error {
				var n int
				n, at, err = f.Add(answers[done:done+to-from], keys[from:to])
				done += n
				return err
			})
		}
		v := c.store().Get(name)
		f, ok := v.(store.Filter)
		switch {
		case ok:
			c.together(len(keys), func() { add(f, keys) })
		case v != nil:
			c.after(v.LSN())
			return nil, wrongType
		case o.noCreate:
			c.after(c.store().Absent())
			return nil, noFilter
		default:
			// No other client may see the filter without keys, or delete it before it has
			// some: the log would have a deletion of nothing.
			var made store.Filter
			var madeAt store.LSN
			var problem error
			c.together(len(keys), func() {
				first := min(len(keys), partKeys)
				made, madeAt, problem = c.store().CreateBloomWith(name, o.BloomConfig, func(f store.Filter) {
					done, at, err = f.Add(answers[:first], keys[:first])
				})
				if problem == nil && err == nil {
					add(made, keys[first:])
				}
			})
			c.after(madeAt)
			if errors.Is(problem, store.ErrExists) {
				continue
			}
			if problem != nil {
				return nil, c.storeError(problem, notMade(notCreated)...)
			}
			f = made
		}
		c.after(at)
		switch {
		case errors.Is(err, store.ErrGone):
			continue
		case err == nil:
			return answers, ""
		}
		full := notInserted
		if f.Info().Expansion == 0 {
			full = filterFull
		}
		return answers[:done], c.storeError(err, own{store.ErrReadOnly, ""}, own{store.ErrFull, full}, own{errAnyOther, notInserted})
	}
}
