package crashtest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"seen/internal/resp"
)

// Check compares what a restarted server holds with what the clients know, and
// returns what contradicts it. No client may be at work.
func (m *Model) Check(c *Client) (problems []string, err error) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	keys := slices.Sorted(maps.Keys(m.added))
	found, err := inBatches(c, keys, "BF.MEXISTS", "bloom")
	if err != nil {
		return nil, err
	}
	for i, v := range found {
		if v.Int != 1 {
			complain("BF.ADD of %s was answered, and the key is not there", keys[i])
		}
	}

	for key, i := range m.copies {
		v, err := ask(c, "CF.COUNT", "cuckoo", key)
		if err != nil {
			return nil, err
		}
		if uint64(v.Int) < i.acked { // above what was sent there may be copies of a like key
			complain("%d additions of %s to the cuckoo filter were answered, and it holds %d", i.acked, key, v.Int)
		}
	}
	n, err := items(c, "cuckoo")
	if err != nil {
		return nil, err
	}
	if n < m.total.acked || n > m.total.sent {
		complain("the cuckoo filter counts %d additions; %d were answered and %d sent", n, m.total.acked, m.total.sent)
	}

	for key, i := range m.counts {
		v, err := ask(c, "CMS.QUERY", "counts", key)
		if err != nil {
			return nil, err
		}
		if n := uint64(v.Elems[0].Int); n < i.acked || n > i.sent {
			complain("the count of %s is %d; %d were answered and %d sent", key, n, i.acked, i.sent)
		}
	}

	keys = slices.Sorted(maps.Keys(m.batches))
	var sides [3][]resp.Value
	for i, fixed := range [][]string{{"BF.MEXISTS", "batch-bloom"}, {"CMS.QUERY", "batch-counts"}, {"CF.MEXISTS", "batch-cuckoo"}} {
		if sides[i], err = inBatches(c, keys, fixed...); err != nil {
			return nil, err
		}
	}
	inCuckoo := uint64(0)
	for i, key := range keys {
		inBloom, counted, cuckoo := sides[0][i].Int == 1, sides[1][i].Int, sides[2][i].Int == 1
		switch {
		case inBloom != (counted == 1) || counted > 1 || inBloom && !cuckoo:
			complain("the transaction of %s is there in part: bloom %v, count %d, cuckoo %v", key, inBloom, counted, cuckoo)
		case m.batches[key] && !inBloom:
			complain("the transaction of %s was answered, and is not there", key)
		}
		if inBloom {
			inCuckoo++
			m.batches[key] = true
		} else {
			delete(m.batches, key)
		}
	}
	// A cuckoo filter may take a key for another; their number tells.
	if n, err = items(c, "batch-cuckoo"); err != nil {
		return nil, err
	}
	if n != inCuckoo {
		complain("%d transactions are there, and %d of their keys in the cuckoo filter", inCuckoo, n)
	}

	for name := range m.made {
		v, err := ask(c, "EXISTS", name)
		if err != nil {
			return nil, err
		}
		if v.Int != 1 {
			complain("BF.RESERVE of %s was answered, and it is not there", name)
		}
	}
	return problems, nil
}

// Settle makes the state of the server the state of the model, after a Check: what
// was in flight at the crash is known now.
func (m *Model) Settle(c *Client) error {
	for key, i := range m.counts {
		v, err := ask(c, "CMS.QUERY", "counts", key)
		if err != nil {
			return err
		}
		i.acked, i.sent = uint64(v.Elems[0].Int), uint64(v.Elems[0].Int)
		m.counts[key] = i
	}
	n, err := items(c, "cuckoo")
	m.total = interval{n, n}
	return err
}

// items returns how many additions a cuckoo filter counts.
func items(c *Client, name string) (uint64, error) {
	info, err := ask(c, "CF.INFO", name)
	for field := range slices.Chunk(info.Elems, 2) { // a name and its value
		if field[0].Text == "Number of items inserted" {
			return uint64(field[1].Int), nil
		}
	}
	return math.MaxUint64, err
}

// inBatches asks for many keys, some at a time.
func inBatches(c *Client, keys []string, fixed ...string) (all []resp.Value, err error) {
	for part := range slices.Chunk(keys, 1000) {
		v, err := ask(c, append(slices.Clone(fixed), part...)...)
		if err != nil {
			return nil, err
		}
		if len(v.Elems) != len(part) {
			return nil, fmt.Errorf("%w: %v: %d answers for %d keys", errAnswer, fixed, len(v.Elems), len(part))
		}
		all = append(all, v.Elems...)
	}
	return all, nil
}
