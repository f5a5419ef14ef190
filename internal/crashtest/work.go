package crashtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"seen/internal/resp"
)

// Prepare makes the filters that all clients use. The count-min sketch and the
// error rates are such that few keys do not meet by chance.
func Prepare(c *Client) error {
	for _, args := range [][]string{
		{"BF.RESERVE", "bloom", "1e-7", "2000"},
		{"CF.RESERVE", "cuckoo", "20000"},
		{"CMS.INITBYDIM", "counts", "5000", "6"},
		{"BF.RESERVE", "batch-bloom", "1e-9", "100000"},
		{"CF.RESERVE", "batch-cuckoo", "100000"},
		{"CMS.INITBYDIM", "batch-counts", "100000", "6"},
	} {
		if _, err := ask(c, args...); err != nil {
			return err
		}
	}
	return nil
}

// errAnswer is a reply that a server must not give.
var errAnswer = errors.New("wrong answer")

// Work is one client: it sends commands of all kinds until the connection fails,
// and returns how many were acknowledged. An error is a wrong answer; the end of the
// server is not an error.
func (m *Model) Work(addr string, r *rand.Rand) (acked int, err error) {
	c, err := Dial(addr)
	if err != nil {
		return 0, nil // killed before we came
	}
	defer c.Close() // the test has its answers
	for ; ; acked++ {
		var err error
		switch n := r.IntN(100); {
		case n < 45:
			err = m.add(c, r)
		case n < 60:
			err = m.addMany(c, r)
		case n < 75:
			err = m.copy(c, r)
		case n < 85:
			err = m.count(c, r)
		case n < 98:
			err = m.transact(c, r)
		default:
			err = m.make(c)
		}
		if errors.Is(err, errAnswer) {
			return acked, err
		}
		if err != nil {
			return acked, nil
		}
	}
}

// fresh returns a key that other clients send at about the same time, or have
// sent a moment before.
func (m *Model) fresh(r *rand.Rand) string {
	return "key" + strconv.FormatUint(m.next.Add(1)/4-r.Uint64N(1+min(m.next.Load()/4, 3)), 10)
}

// ask runs a command and fails if the reply is an error.
func ask(c *Client, args ...string) (resp.Value, error) {
	v, err := c.Do(args...)
	if err == nil && v.Kind == resp.Error {
		err = fmt.Errorf("%w: %.60q: %s", errAnswer, args, v.Text)
	}
	return v, err
}

func (m *Model) add(c *Client, r *rand.Rand) error {
	key := m.fresh(r)
	if _, err := ask(c, "BF.ADD", "bloom", key); err != nil {
		return err
	}
	m.learn(func(s *state) { s.added[key] = true })
	return nil
}

func (m *Model) addMany(c *Client, r *rand.Rand) error {
	keys := make([]string, 1+r.IntN(20))
	for i := range keys {
		keys[i] = m.fresh(r)
	}
	if _, err := ask(c, append([]string{"BF.MADD", "bloom"}, keys...)...); err != nil {
		return err
	}
	m.learn(func(s *state) {
		for _, key := range keys {
			s.added[key] = true
		}
	})
	return nil
}

func (m *Model) copy(c *Client, r *rand.Rand) error {
	key := "copy" + strconv.Itoa(r.IntN(5000))
	m.learn(func(s *state) { s.total.sent++ })
	if _, err := ask(c, "CF.ADD", "cuckoo", key); err != nil {
		return err
	}
	m.learn(func(s *state) {
		s.sum(s.copies, key, 0, 1)
		s.total.acked++
	})
	return nil
}

func (m *Model) count(c *Client, r *rand.Rand) error {
	key, n := "count"+strconv.Itoa(r.IntN(50)), 1+r.Uint64N(9)
	m.learn(func(s *state) { s.sum(s.counts, key, n, 0) })
	if _, err := ask(c, "CMS.INCRBY", "counts", key, strconv.FormatUint(n, 10)); err != nil {
		return err
	}
	m.learn(func(s *state) { s.sum(s.counts, key, 0, n) })
	return nil
}

// transact adds a new key to three values at once.
func (m *Model) transact(c *Client, r *rand.Rand) error {
	key := "batch" + strconv.FormatUint(r.Uint64(), 36)
	m.learn(func(s *state) { s.batches[key] = false })
	for _, args := range [][]string{
		{"MULTI"}, {"BF.ADD", "batch-bloom", key}, {"CMS.INCRBY", "batch-counts", key, "1"}, {"CF.ADD", "batch-cuckoo", key}, {"EXEC"},
	} {
		if err := c.Send(args...); err != nil {
			return err
		}
	}
	for range 4 {
		if v, err := c.Receive(); err != nil {
			return err
		} else if v.Kind == resp.Error {
			return fmt.Errorf("%w: within MULTI: %s", errAnswer, v.Text)
		}
	}
	v, err := c.Receive()
	if err != nil {
		return err
	}
	if len(v.Elems) != 3 || slices.ContainsFunc(v.Elems, func(e resp.Value) bool { return e.Kind == resp.Error }) {
		return fmt.Errorf("%w: EXEC: %v", errAnswer, v)
	}
	m.learn(func(s *state) { s.batches[key] = true })
	return nil
}

func (m *Model) make(c *Client) error {
	name := "made" + strconv.FormatUint(m.next.Add(1), 10)
	if _, err := ask(c, "BF.RESERVE", name, "0.01", "100"); err != nil {
		return err
	}
	m.learn(func(s *state) { s.made[name] = true })
	return nil
}
