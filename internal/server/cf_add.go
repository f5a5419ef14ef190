package server

import (
	"errors"

	"seen/internal/store"
)

const (
	cuckooFull       = "Filter is full"
	cuckooExpansions = "Maximum expansions reached"
	cuckooNoMemory   = "ERR Insufficient memory"
)

var cfAddCommand = command{
	name: "cf.add", arity: 3, flags: writer, handle: cfAdd, since: "1.0.0", complexity: "O(f + i), f sub-filters and i iterations",
	summary: "Adds a copy of an item to a cuckoo filter. Creates the filter if it does not exist.",
	syntax:  "key item",
}

var cfAddNXCommand = command{
	name: "cf.addnx", arity: 3, flags: writer, handle: cfAddNX, since: "1.0.0", complexity: "O(f + i), f sub-filters and i iterations",
	summary: "Adds an item to a cuckoo filter if the item is not in it.",
	syntax:  "key item",
}

func cfAdd(c *call) { c.addOneToCuckoo(false) }

func cfAddNX(c *call) { c.addOneToCuckoo(true) }

func (c *call) addOneToCuckoo(absentOnly bool) {
	answers, problem := c.addToCuckoo(c.args[2:], cuckooDefaults(c.filterDefaults()), absentOnly)
	switch {
	case problem != "":
		c.out.Error(problem)
	case answers[0].problem != nil:
		c.out.Error(c.cuckooAddition(answers[0].problem))
	default:
		c.out.Bool(answers[0].added)
	}
}

// cuckooAnswer is the result for one key.
type cuckooAnswer struct {
	added   bool
	problem error // why it could not be added
}

// addToCuckoo adds keys to the filter of the command, all or only the absent ones, and
// creates the filter if necessary and allowed. The problem, if there is one, is about the
// whole command.
func (c *call) addToCuckoo(keys [][]byte, o cuckooOptions, absentOnly bool) (answers []cuckooAnswer, problem string) {
	answers = make([]cuckooAnswer, len(keys))
	for {
		var (
			at  store.LSN
			err error
		)
		v := c.store().Get(c.args[1])
		f, ok := v.(*store.Cuckoo)
		switch {
		case ok:
			c.together(len(keys), func() { at, err = c.addInParts(f, keys, answers, absentOnly) })
		case v != nil:
			c.after(v.LSN())
			return nil, wrongType
		case o.noCreate:
			c.after(c.store().Absent())
			return nil, noFilter
		default:
			// As with Bloom filters, no other client sees the filter without its keys.
			var madeAt store.LSN
			var problem error
			c.together(len(keys), func() {
				first := min(len(keys), partKeys)
				var made *store.Cuckoo
				made, madeAt, problem = c.store().CreateCuckooWith(c.args[1], o.CuckooConfig, func(f *store.Cuckoo) {
					at, err = addToFilter(f, keys[:first], answers[:first], absentOnly)
				})
				if problem == nil && err == nil && first < len(keys) {
					at, err = c.addInParts(made, keys[first:], answers[first:], absentOnly)
				}
			})
			c.after(madeAt)
			if errors.Is(problem, store.ErrExists) {
				continue
			}
			if problem != nil {
				return nil, c.storeError(problem, notMade(cuckooNotCreated)...)
			}
		}
		c.after(at)
		switch {
		case err == nil:
			return answers, ""
		case !errors.Is(err, store.ErrGone):
			return nil, c.storeError(err)
		}
	}
}

// addInParts adds keys to a filter in parts, between which other commands run. The caller
// must not hold locks of the store.
func (c *call) addInParts(f *store.Cuckoo, keys [][]byte, answers []cuckooAnswer, absentOnly bool) (at store.LSN, err error) {
	err = c.inParts(len(keys), f.AddCost, func(from, to int) error {
		at, err = addToFilter(f, keys[from:to], answers[from:to], absentOnly)
		return err
	})
	return at, err
}

func addToFilter(f *store.Cuckoo, keys [][]byte, answers []cuckooAnswer, absentOnly bool) (store.LSN, error) {
	if absentOnly {
		return f.AddNew(keys, func(i int, added bool, err error) { answers[i] = cuckooAnswer{added, err} })
	}
	return f.Add(keys, func(i int, err error) { answers[i] = cuckooAnswer{err == nil, err} })
}

// cuckooAddition is the reply for a key that cannot be added.
func (c *call) cuckooAddition(err error) string {
	return c.storeError(err, own{store.ErrExpansions, cuckooExpansions}, own{store.ErrFull, cuckooFull}, own{errMachineMemory, cuckooNoMemory})
}
