package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
)

var cfInsertCommand = command{
	name: "cf.insert", arity: -4, flags: writer, handle: cfInsert, since: "1.0.0", complexity: "O(n * (f + i)), n items, f sub-filters and i iterations",
	summary:   "Adds items to a cuckoo filter. Creates the filter with the given options if it does not exist.",
	arguments: args.Of("key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]"),
}

var cfInsertNXCommand = command{
	name: "cf.insertnx", arity: -4, flags: writer, handle: cfInsertNX, since: "1.0.0", complexity: "O(n * (f + i)), n items, f sub-filters and i iterations",
	summary:   "Adds items to a cuckoo filter if they are not in it.",
	arguments: args.Of("key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]"),
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

// insertIntoCuckoo returns the results for the keys of CF.INSERT and CF.INSERTNX, or
// writes an error.
func (c *call) insertIntoCuckoo(absentOnly bool) ([]cuckooAnswer, bool) {
	o, keysAt, problem := parseCuckooInsert(c.args, c.filterDefaults())
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

// parseCuckooInsert reads
//
//	CF.INSERT|CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS key [key ...]
//
// and returns the index of the first key to add. The first letter decides which option a
// word is.
func parseCuckooInsert(words [][]byte, s filterDefaults) (o cuckooOptions, keysAt int, problem string) {
	o = cuckooDefaults(s)
	if len(words) < 4 {
		return o, 0, args.WrongArity(words)
	}
	for at := 2; at < len(words); at++ {
		switch args.Letter(words[at], 0) {
		case 'I':
			if at+1 == len(words) {
				return o, 0, args.WrongArity(words)
			}
			return o, at + 1, ""
		case 'N':
			o.noCreate = true
		case 'C':
			if at++; at == len(words) {
				return o, 0, args.WrongArity(words)
			}
			var ok bool
			if o.capacity, ok = resp.ParseInt(words[at]); !ok {
				return o, 0, "Bad capacity"
			}
			if !args.Within(o.capacity, 2*o.bucketSize, maxCapacity) {
				return o, 0, "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
			}
		default:
			return o, 0, "Unknown argument received"
		}
	}
	return o, 0, args.WrongArity(words)
}
