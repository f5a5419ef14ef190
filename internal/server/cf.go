package server

import (
	"errors"
	"fmt"

	"seen/internal/resp"
	"seen/internal/store"
)

const (
	cuckooFull       = "Filter is full"
	cuckooExpansions = "Maximum expansions reached"
	cuckooNoMemory   = "ERR Insufficient memory"
	cuckooNotCreated = "ERR Could not create filter"
	noCuckoo         = "Cuckoo filter was not found"
	notFound         = "Not found"
	badPosition      = "Invalid position"
	badCuckooHeader  = "Invalid header"
	cuckooNotLoaded  = "Couldn't create filter!"
	chunkNotLoaded   = "Couldn't load chunk!"
)

// cuckooHeader is the length of the first chunk of a dump.
const cuckooHeader = 38

// cuckoo returns the cuckoo filter of the key, or writes an error: absent if there
// is no value.
func (c *call) cuckoo(absent string) (*store.Cuckoo, bool) {
	v := c.store().Get(c.args[1])
	f, ok := v.(*store.Cuckoo)
	if !ok {
		c.notThere(v, absent)
	}
	return f, ok
}

func isCuckoo(v store.Value) bool { _, ok := v.(*store.Cuckoo); return ok }

func (c *call) cuckooConfig(o cuckooOptions) store.CuckooConfig {
	return store.CuckooConfig{
		Capacity:      uint64(o.capacity),
		BucketSize:    int(o.bucketSize),
		MaxIterations: int(o.maxIterations),
		Expansion:     int(o.expansion),
		MaxFilters:    int(c.filterSettings().cfMaxExpansions),
		Layout:        o.layout,
	}
}

func (c *call) cuckooCreation(err error) string { return c.creation(err, cuckooNotCreated) }

func cfReserve(c *call) {
	o, problem := parseCuckooReserve(c.args, c.filterSettings())
	if problem != "" {
		c.out.Error(problem)
		return
	}
	for !c.taken(c.args[1], isCuckoo, itemExists) {
		_, at, err := c.store().CreateCuckoo(c.args[1], c.cuckooConfig(o))
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
			return
		case !errors.Is(err, store.ErrExists):
			c.out.Error(c.cuckooCreation(err))
			return
		}
	}
}

// cuckooAnswer is what became of one key.
type cuckooAnswer struct {
	added   bool
	problem error // why it could not be added
}

// addToCuckoo adds keys to the filter that the command names, which it makes if it
// has to and may: all of them, or only those that are absent. The problem, if there
// is one, concerns the command as a whole.
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
			// As with Bloom filters, nobody meets the filter without its keys.
			var madeAt store.LSN
			var problem error
			c.together(len(keys), func() {
				first := min(len(keys), partKeys)
				var made *store.Cuckoo
				made, madeAt, problem = c.store().CreateCuckooWith(c.args[1], c.cuckooConfig(o), func(f *store.Cuckoo) {
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
				return nil, c.cuckooCreation(problem)
			}
		}
		c.after(at)
		switch {
		case err == nil:
			return answers, ""
		case !errors.Is(err, store.ErrGone):
			return nil, storeError(err)
		}
	}
}

// addInParts adds keys to a filter, and lets others pass between its parts. So it must
// not be used where locks of the store are held.
func (c *call) addInParts(f *store.Cuckoo, keys [][]byte, answers []cuckooAnswer, absentOnly bool) (at store.LSN, err error) {
	stopped := c.inParts(len(keys), f.AddCost, func(from, to int) bool {
		at, err = addToFilter(f, keys[from:to], answers[from:to], absentOnly)
		return err == nil
	})
	return at, errors.Join(err, stopped)
}

// addToFilter adds keys to a filter.
func addToFilter(f *store.Cuckoo, keys [][]byte, answers []cuckooAnswer, absentOnly bool) (store.LSN, error) {
	if absentOnly {
		return f.AddNew(keys, func(i int, added bool, err error) { answers[i] = cuckooAnswer{added, err} })
	}
	return f.Add(keys, func(i int, err error) { answers[i] = cuckooAnswer{err == nil, err} })
}

// cuckooAddition is the error of a key that could not be added.
func (c *call) cuckooAddition(err error) string {
	switch {
	case errors.Is(err, store.ErrExpansions):
		return cuckooExpansions
	case errors.Is(err, store.ErrFull):
		return cuckooFull
	case errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0:
		return cuckooNoMemory
	}
	return storeError(err)
}

func cfAdd(c *call)   { c.addOneToCuckoo(false) }
func cfAddNX(c *call) { c.addOneToCuckoo(true) }

func (c *call) addOneToCuckoo(absentOnly bool) {
	answers, problem := c.addToCuckoo(c.args[2:], cuckooDefaults(c.filterSettings()), absentOnly)
	switch {
	case problem != "":
		c.out.Error(problem)
	case answers[0].problem != nil:
		c.out.Error(c.cuckooAddition(answers[0].problem))
	default:
		c.out.Bool(answers[0].added)
	}
}

func cfInsert(c *call) {
	answers, ok := c.insertIntoCuckoo(false)
	if !ok {
		return
	}
	c.out.Array(len(answers))
	for _, a := range answers {
		if a.problem != nil && c.out.Proto != 3 {
			c.out.Int(-1)
		} else {
			c.out.Bool(a.added)
		}
	}
}

func cfInsertNX(c *call) {
	answers, ok := c.insertIntoCuckoo(true)
	if !ok {
		return
	}
	c.out.Array(len(answers))
	for _, a := range answers {
		switch {
		case a.problem != nil:
			c.out.Int(-1)
		case a.added:
			c.out.Int(1)
		default:
			c.out.Int(0)
		}
	}
}

// insertIntoCuckoo returns what became of the keys of CF.INSERT and CF.INSERTNX,
// or writes an error.
func (c *call) insertIntoCuckoo(absentOnly bool) ([]cuckooAnswer, bool) {
	o, keysAt, problem := parseCuckooInsert(c.args, c.filterSettings())
	if problem != "" {
		c.out.Error(problem)
		return nil, false
	}
	answers, problem := c.addToCuckoo(c.args[keysAt:], o, absentOnly)
	if problem != "" {
		c.out.Error(problem)
		return nil, false
	}
	return answers, true
}

func cfExists(c *call) {
	if found, ok := c.hasInCuckoo(); ok {
		c.out.Bool(found[0])
	}
}

func cfMExists(c *call) {
	if found, ok := c.hasInCuckoo(); ok {
		c.bools(found)
	}
}

// hasInCuckoo asks for the keys of the command. What is not there, and what is no
// cuckoo filter, has none. It writes the error, and reports false, if it was stopped.
func (c *call) hasInCuckoo() (found []bool, ok bool) {
	keys := c.args[2:]
	found = c.answers(len(keys))
	v := c.store().Get(c.args[1])
	if f, ok := v.(*store.Cuckoo); ok {
		return found, c.ask(len(keys), f.Layers, func(from, to int) store.LSN { return f.Has(found[from:to], keys[from:to]) })
	}
	clear(found)
	c.afterValue(v)
	return found, true
}

func cfCount(c *call) {
	v := c.store().Get(c.args[1])
	if f, ok := v.(*store.Cuckoo); ok {
		n, at := f.Count(c.args[2])
		c.after(at)
		c.out.Int(int64(n))
		return
	}
	c.afterValue(v)
	c.out.Int(0)
}

// existingCuckoo is cuckoo for the commands that do not tell apart what is not
// there and what is something else.
func (c *call) existingCuckoo(absent string) (*store.Cuckoo, bool) {
	v := c.store().Get(c.args[1])
	if f, ok := v.(*store.Cuckoo); ok {
		return f, true
	}
	c.afterValue(v)
	c.out.Error(absent)
	return nil, false
}

func cfDel(c *call) {
	for {
		f, ok := c.existingCuckoo(notFound)
		if !ok {
			return
		}
		removed, at, err := f.Remove(c.args[2])
		c.after(at)
		switch {
		case err == nil:
			c.out.Bool(removed)
			return
		case !errors.Is(err, store.ErrGone):
			c.out.Error(storeError(err))
			return
		}
	}
}

func cfCompact(c *call) {
	if len(c.args) != 2 {
		c.out.Error(wrongArity(c.args))
		return
	}
	for {
		f, ok := c.existingCuckoo(noCuckoo)
		if !ok {
			return
		}
		at, err := f.Compact()
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
			return
		case !errors.Is(err, store.ErrGone):
			c.out.Error(storeError(err))
			return
		}
	}
}

func cfInfo(c *call) {
	f, ok := c.cuckoo(noFilter)
	if !ok {
		return
	}
	c.after(f.LSN())
	info := f.Info()
	c.integers([]integer{
		{"Size", info.Size},
		{"Number of buckets", info.Buckets},
		{"Number of filters", uint64(info.Filters)},
		{"Number of items inserted", info.Added},
		{"Number of items deleted", info.Removed},
		{"Bucket size", uint64(info.BucketSize)},
		{"Expansion rate", uint64(info.Expansion)},
		{"Max iterations", uint64(info.MaxIterations)},
	})
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

func cfDebug(c *call) {
	f, ok := c.cuckoo(noFilter)
	if !ok {
		return
	}
	c.after(f.LSN())
	info := f.Info()
	c.out.BulkString(fmt.Sprintf("bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
		info.BucketSize, info.Buckets, info.Added, info.Removed, info.Filters, info.MaxIterations, info.Expansion))
}

func cfScanDump(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok || iterator < 0 {
		c.out.Error(badPosition)
		return
	}
	f, ok := c.cuckoo(noFilter)
	if !ok {
		return
	}
	next, data, at, err := f.Dump(iterator)
	c.after(at)
	if err != nil {
		c.out.Error(storeError(err))
		return
	}
	c.out.Array(2)
	c.out.Int(next)
	if len(data) == 0 {
		c.out.Null()
	} else {
		c.out.Bulk(data)
	}
}

func cfLoadChunk(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok || iterator == 0 {
		c.out.Error(badPosition)
		return
	}
	at, err := c.store().LoadCuckoo(c.args[1], iterator, c.args[3], int(c.filterSettings().cfMaxExpansions))
	c.after(at)
	switch {
	case err == nil:
		c.out.OK()
	case errors.Is(err, store.ErrExists):
		c.out.Error(itemExists)
	case errors.Is(err, store.ErrNotFound):
		c.out.Error(noFilter)
	case errors.Is(err, store.ErrWrongType):
		c.out.Error(wrongType)
	case refusesAll(err) && !(errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0):
		c.out.Error(storeError(err))
	case iterator == 1 && len(c.args[3]) != cuckooHeader:
		c.out.Error(badCuckooHeader)
	case iterator == 1:
		c.out.Error(cuckooNotLoaded)
	default:
		c.out.Error(chunkNotLoaded)
	}
}
