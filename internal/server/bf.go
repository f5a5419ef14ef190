package server

import (
	"errors"
	"fmt"
	"strconv"

	"seen/internal/resp"
	"seen/internal/store"
)

const (
	noFilter      = "ERR not found"
	itemExists    = "ERR item exists"
	noMemory      = "ERR Insufficient memory to create filter"
	notCreated    = "ERR could not create filter"
	filterFull    = "ERR non scaling filter is full"
	notInserted   = "ERR problem inserting into filter"
	notANumber    = "Second argument must be numeric"
	badInfoField  = "Invalid information value"
	badChunk      = "ERR received bad data"
	noLink        = "ERR invalid offset - no link found"
	chunkTooBig   = "ERR invalid chunk - Too big for current filter"
	notComparable = "ERR filters cannot be compared: "
)

// bloom returns the Bloom filter of the key, or writes an error: absent if there
// is no value.
func (c *call) bloom(key []byte, absent string) (store.Filter, bool) {
	v := c.store().Get(key)
	f, ok := v.(store.Filter)
	if !ok {
		c.notThere(v, absent)
	}
	return f, ok
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

// taken writes the error of a command that makes a value where there is one. It
// reports false if there is none any more.
func (c *call) taken(key []byte, is func(store.Value) bool, exists string) bool {
	v := c.store().Get(key)
	if v == nil {
		return false
	}
	c.after(v.LSN())
	if is(v) {
		c.out.Error(exists)
	} else {
		c.out.Error(wrongType)
	}
	return true
}

func isBloom(v store.Value) bool { _, ok := v.(store.Filter); return ok }

// config is what the store is asked to make.
func (o bloomOptions) config() store.BloomConfig {
	return store.BloomConfig{
		ErrorRate: o.errorRate,
		Capacity:  uint64(o.capacity),
		Expansion: uint32(o.expansion),
		Layout:    o.layout,
		Span:      o.span,
	}
}

// bloomCreation is the error of a filter that could not be made.
func (c *call) bloomCreation(err error) string { return c.creation(err, notCreated) }

// creation is the error of a filter that could not be made, which begins with text
// unless there is a reason that other commands have too.
func (c *call) creation(err error, text string) string {
	switch {
	case errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0:
		return noMemory
	case refusesAll(err):
		return storeError(err)
	}
	return fmt.Sprintf("%s: %s", text, err)
}

func bfReserve(c *call) {
	o, problem := parseBloomReserve(c.args, c.filterSettings())
	c.createBloom(o, problem)
}

func bfWindow(c *call) {
	o, problem := parseBloomWindow(c.args, c.filterSettings())
	c.createBloom(o, problem)
}

func (c *call) createBloom(o bloomOptions, problem string) {
	if problem != "" {
		c.out.Error(problem)
		return
	}
	for !c.taken(c.args[1], isBloom, itemExists) {
		_, at, err := c.store().CreateBloom(c.args[1], o.config())
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
			return
		case !errors.Is(err, store.ErrExists):
			c.out.Error(c.bloomCreation(err))
			return
		}
	}
}

func bfAdd(c *call) {
	answers, problem := c.addToBloom(c.args[1], c.args[2:3], bloomDefaults(c.filterSettings()))
	if problem != "" {
		c.out.Error(problem)
		return
	}
	c.out.Bool(answers[0])
}

func bfMAdd(c *call) {
	c.addAll(c.args[2:], bloomDefaults(c.filterSettings()))
}

func bfInsert(c *call) {
	o, keysAt, problem := parseBloomInsert(c.args, c.filterSettings())
	if problem != "" {
		c.out.Error(problem)
		return
	}
	c.addAll(c.args[keysAt:], o)
}

// addAll adds keys to the filter that the command names and writes an answer for
// each. A key that the filter does not take any more ends the array with an error;
// the keys after it were not tried.
func (c *call) addAll(keys [][]byte, o bloomOptions) {
	answers, problem := c.addToBloom(c.args[1], keys, o)
	c.addedAll(answers, problem)
}

func (c *call) addedAll(answers []bool, problem string) {
	if problem == "" {
		c.bools(answers)
		return
	}
	if problem != filterFull && len(answers) == 0 {
		c.out.Error(problem)
		return
	}
	c.out.Array(len(answers) + 1)
	for _, isNew := range answers {
		c.out.Bool(isNew)
	}
	c.out.Error(problem)
}

// bools writes an array of answers.
func (c *call) bools(answers []bool) {
	c.out.Array(len(answers))
	for _, answer := range answers {
		c.out.Bool(answer)
	}
}

// addToBloom adds keys to the filter called name, which it makes if it has to and
// may. It returns the answers for the keys that were dealt with, and what was the
// problem with the next.
func (c *call) addToBloom(name []byte, keys [][]byte, o bloomOptions) (answers []bool, problem string) {
	answers = c.answers(len(keys))
	for {
		var (
			done int
			at   store.LSN
			err  error
		)
		add := func(f store.Filter, keys [][]byte) {
			stopped := c.inParts(len(keys), f.Layers, func(from, to int) bool {
				var n int
				n, at, err = f.Add(answers[done:done+to-from], keys[from:to])
				done += n
				return err == nil
			})
			if err == nil {
				err = stopped
			}
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
			// Nobody may see the filter without keys, nor delete it before it has some:
			// it would be a deletion of nothing.
			var made store.Filter
			var madeAt store.LSN
			var problem error
			c.together(len(keys), func() {
				first := min(len(keys), partKeys)
				made, madeAt, problem = c.store().CreateBloomWith(name, o.config(), func(f store.Filter) {
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
				return nil, c.bloomCreation(problem)
			}
			f = made
		}
		c.after(at)
		switch {
		case errors.Is(err, store.ErrGone):
			continue
		case err == nil:
			return answers, ""
		case errors.Is(err, store.ErrReadOnly):
			return nil, storeError(err)
		case errors.Is(err, store.ErrFull) && f.Info().Expansion == 0:
			return answers[:done], filterFull
		case errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0, !refusesAll(err):
			return answers[:done], notInserted
		}
		return answers[:done], storeError(err)
	}
}

func bfExists(c *call) {
	if found, ok := c.hasInBloom(c.args[1], c.args[2:3]); ok {
		c.out.Bool(found[0])
	}
}

func bfMExists(c *call) {
	if found, ok := c.hasInBloom(c.args[1], c.args[2:]); ok {
		c.bools(found)
	}
}

// hasInBloom asks the filter called name for keys. What is not there, and what is
// no filter, has none. It writes the error, and reports false, if it was stopped.
func (c *call) hasInBloom(name []byte, keys [][]byte) (found []bool, ok bool) {
	found = c.answers(len(keys))
	v := c.store().Get(name)
	if f, ok := v.(store.Filter); ok {
		return found, c.ask(len(keys), f.Layers, func(from, to int) store.LSN { return f.Has(found[from:to], keys[from:to]) })
	}
	clear(found)
	c.afterValue(v)
	return found, true
}

// bloomInfoFields are what BF.INFO tells, and the words that ask for each.
var bloomInfoFields = []struct {
	word, name string
	value      func(store.FilterInfo) uint64
}{
	{"CAPACITY", "Capacity", func(i store.FilterInfo) uint64 { return i.Capacity }},
	{"SIZE", "Size", bloomSize},
	{"FILTERS", "Number of filters", func(i store.FilterInfo) uint64 { return uint64(len(i.Layers)) }},
	{"ITEMS", "Number of items inserted", func(i store.FilterInfo) uint64 { return i.Added }},
	{"EXPANSION", "Expansion rate", func(i store.FilterInfo) uint64 { return uint64(i.Expansion) }},
}

// bloomSize is the size of a filter as clients know it from the other server.
func bloomSize(i store.FilterInfo) uint64 {
	size := uint64(32 + 64*len(i.Layers))
	for _, l := range i.Layers {
		size += l.Bytes
	}
	return size
}

func bfInfo(c *call) {
	if len(c.args) > 3 {
		c.out.Error(wrongArity(c.args))
		return
	}
	f, ok := c.bloom(c.args[1], noFilter)
	if !ok {
		return
	}
	c.after(f.LSN())
	info := f.Info()
	value := func(at int) {
		if n := bloomInfoFields[at].value(info); n == 0 && bloomInfoFields[at].word == "EXPANSION" {
			c.out.Null()
		} else {
			c.out.Int(int64(n))
		}
	}
	if len(c.args) == 2 {
		c.out.Map(len(bloomInfoFields))
		for at, field := range bloomInfoFields {
			c.out.Simple(field.name)
			value(at)
		}
		return
	}
	for at, field := range bloomInfoFields {
		if !isWord(c.args[2], field.word) {
			continue
		}
		if c.out.Proto == 3 {
			c.out.Map(1)
			c.out.Simple(field.name)
		} else {
			c.out.Array(1)
		}
		value(at)
		return
	}
	c.out.Error(badInfoField)
}

func bfCard(c *call) {
	switch v := c.store().Get(c.args[1]).(type) {
	case nil:
		c.after(c.store().Absent())
		c.out.Int(0)
	case store.Filter:
		c.after(v.LSN())
		c.out.Int(int64(v.Info().Added))
	default:
		c.notThere(v, "")
	}
}

func bfDebug(c *call) {
	f, ok := c.bloom(c.args[1], noFilter)
	if !ok {
		return
	}
	c.after(f.LSN())
	info := f.Info()
	c.out.Array(1 + len(info.Layers))
	c.out.BulkString(fmt.Sprintf("size:%d", info.Added))
	for _, l := range info.Layers {
		c.out.BulkString(fmt.Sprintf("bytes:%d bits:%d hashes:%d hashwidth:64 capacity:%d size:%d ratio:%s",
			l.Bytes, l.Bits, l.Probes, l.Capacity, l.Added, strconv.FormatFloat(l.ErrorRate, 'g', 6, 64)))
	}
}

func bfScanDump(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok {
		c.out.Error(notANumber)
		return
	}
	f, ok := c.bloom(c.args[1], noFilter)
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
	c.out.Bulk(data)
}
func bfLoadChunk(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok {
		c.out.Error("ERR " + notANumber)
		return
	}
	at, err := c.store().LoadBloom(c.args[1], iterator, c.args[3])
	c.after(at)
	switch {
	case err == nil:
		c.out.OK()
	case errors.Is(err, store.ErrNotFound):
		c.out.Error(noFilter)
	case errors.Is(err, store.ErrWrongType):
		c.out.Error(wrongType)
	case errors.Is(err, store.ErrReadOnly):
		c.out.Error(storeError(err))
	case errors.Is(err, store.ErrOffset):
		c.out.Error(noLink)
	case errors.Is(err, store.ErrChunk):
		c.out.Error(chunkTooBig)
	case errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0, !refusesAll(err):
		c.out.Error(badChunk)
	default:
		c.out.Error(storeError(err))
	}
}
