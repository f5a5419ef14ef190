package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
)

var cfInsertCommand = command{
	name: "cf.insert", arity: -4, flags: writer, handle: cfInsert, since: "1.0.0", complexity: "O(n * (f + i)), n items, f sub-filters and i iterations",
	summary: "Adds items to a cuckoo filter. Creates the filter with the given options if it does not exist.",
	syntax:  "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]",
}

var cfInsertNXCommand = command{
	name: "cf.insertnx", arity: -4, flags: writer, handle: cfInsertNX, since: "1.0.0", complexity: "O(n * (f + i)), n items, f sub-filters and i iterations",
	summary: "Adds items to a cuckoo filter if they are not in it.",
	syntax:  "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]",
}

func cfInsert(c *call) { c.insertIntoCuckoo(false) }

func cfInsertNX(c *call) { c.insertIntoCuckoo(true) }

func (c *call) insertIntoCuckoo(absentOnly bool) {
	o, keysAt, problem := parseCuckooInsert(c.args, c.filterDefaults())
	if c.failed(problem) {
		return
	}
	answers, problem := c.addToCuckoo(c.args[keysAt:], o, absentOnly)
	if c.failed(problem) {
		return
	}
	numbers := absentOnly || c.out.Proto != 3 // as RedisBloom replies
	c.out.Array(len(answers))
	for _, a := range answers {
		switch {
		case a.problem != nil && numbers:
			c.out.Int(-1)
		case numbers && a.added:
			c.out.Int(1)
		case numbers:
			c.out.Int(0)
		default:
			c.out.Bool(a.added)
		}
	}
}

// parseCuckooInsert reads
//
//	CF.INSERT|CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS key [key ...]
//
// and returns the index of the first key to add. The first letter decides which option a
// word is.
func parseCuckooInsert(words [][]byte, s filterDefaults) (o cuckooOptions, keysAt int, problem string) {
	o = cuckooDefaults(s)
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
			n, ok := resp.ParseInt(words[at])
			if !ok {
				return o, 0, "Bad capacity"
			}
			if !o.setCapacity(n) {
				return o, 0, "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
			}
		default:
			return o, 0, "Unknown argument received"
		}
	}
	return o, 0, args.WrongArity(words)
}
