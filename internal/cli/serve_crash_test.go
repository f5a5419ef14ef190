//go:build unix

package cli

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seen/internal/resp"
)

// crashModel is what clients know about a server that was killed, perhaps many
// times: what it has acknowledged, which must be there, and what was sent, beyond
// which nothing may be.
type crashModel struct {
	mutex sync.Mutex

	added   map[string]bool     // keys that BF.ADD or BF.MADD has answered for, with 1 or 0
	copies  map[string]interval // CF.ADD, by key; what was only sent is counted in total
	total   interval            // of them all
	counts  map[string]interval // CMS.INCRBY, by key
	batches map[string]bool     // transactions by their key: sent, and whether EXEC was answered
	made    map[string]bool     // names of filters that BF.RESERVE has answered for
	next    atomic.Uint64       // of the keys that all clients add at about the same time
}

// interval is a number that is known only between two values: acknowledged, and
// sent.
type interval struct{ acked, sent uint64 }

func newCrashModel() *crashModel {
	return &crashModel{
		added: map[string]bool{}, copies: map[string]interval{}, counts: map[string]interval{}, batches: map[string]bool{}, made: map[string]bool{},
	}
}

// sum notes that something was sent, before it is, or acknowledged.
func (m *crashModel) sum(of map[string]interval, key string, sent, acked uint64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	i := of[key]
	of[key] = interval{i.acked + acked, i.sent + sent}
}

func (m *crashModel) note(of map[string]bool, value bool, keys ...string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, key := range keys {
		of[key] = value
	}
}

// prepare makes the filters that all clients use. The count-min sketch and the
// error rates are such that few keys do not meet by chance.
func (m *crashModel) prepare(s *served) {
	s.must("BF.RESERVE", "bloom", "1e-7", "2000")
	s.must("CF.RESERVE", "cuckoo", "20000")
	s.must("CMS.INITBYDIM", "counts", "5000", "6")
	s.must("BF.RESERVE", "batch-bloom", "1e-9", "100000")
	s.must("CF.RESERVE", "batch-cuckoo", "100000")
	s.must("CMS.INITBYDIM", "batch-counts", "100000", "6")
}

// errAnswer is an answer that no server may give, killed or not.
var errAnswer = errors.New("wrong answer")

// work is one client: it sends commands of all kinds until the connection fails,
// and returns how many were acknowledged.
func (m *crashModel) work(addr string, r *rand.Rand) (acked int, err error) {
	c, err := dialServed(addr)
	if err != nil {
		return 0, nil // killed before we came
	}
	defer c.conn.Close()
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
func (m *crashModel) fresh(r *rand.Rand) string {
	return "key" + strconv.FormatUint(m.next.Add(1)/4-r.Uint64N(1+min(m.next.Load()/4, 3)), 10)
}

// ask runs a command whose reply must be no error.
func ask(c *talk, args ...string) (resp.Value, error) {
	v, err := c.do(args...)
	if err == nil && v.Kind == resp.Error {
		err = fmt.Errorf("%w: %.60q: %s", errAnswer, args, v.Text)
	}
	return v, err
}

func (m *crashModel) add(c *talk, r *rand.Rand) error {
	key := m.fresh(r)
	if _, err := ask(c, "BF.ADD", "bloom", key); err != nil {
		return err
	}
	m.note(m.added, true, key)
	return nil
}

func (m *crashModel) addMany(c *talk, r *rand.Rand) error {
	keys := make([]string, 1+r.IntN(20))
	for i := range keys {
		keys[i] = m.fresh(r)
	}
	if _, err := ask(c, append([]string{"BF.MADD", "bloom"}, keys...)...); err != nil {
		return err
	}
	m.note(m.added, true, keys...)
	return nil
}

func (m *crashModel) copy(c *talk, r *rand.Rand) error {
	key := "copy" + strconv.Itoa(r.IntN(5000))
	m.mutex.Lock()
	m.total.sent++
	m.mutex.Unlock()
	if _, err := ask(c, "CF.ADD", "cuckoo", key); err != nil {
		return err
	}
	m.sum(m.copies, key, 0, 1)
	m.mutex.Lock()
	m.total.acked++
	m.mutex.Unlock()
	return nil
}

func (m *crashModel) count(c *talk, r *rand.Rand) error {
	key, n := "count"+strconv.Itoa(r.IntN(50)), 1+r.Uint64N(9)
	m.sum(m.counts, key, n, 0)
	if _, err := ask(c, "CMS.INCRBY", "counts", key, strconv.FormatUint(n, 10)); err != nil {
		return err
	}
	m.sum(m.counts, key, 0, n)
	return nil
}

// transact adds a new key to three values at once.
func (m *crashModel) transact(c *talk, r *rand.Rand) error {
	key := "batch" + strconv.FormatUint(r.Uint64(), 36)
	m.note(m.batches, false, key)
	for _, args := range [][]string{
		{"MULTI"}, {"BF.ADD", "batch-bloom", key}, {"CMS.INCRBY", "batch-counts", key, "1"}, {"CF.ADD", "batch-cuckoo", key}, {"EXEC"},
	} {
		if err := c.send(args...); err != nil {
			return err
		}
	}
	for range 4 {
		if v, err := c.receive(); err != nil {
			return err
		} else if v.Kind == resp.Error {
			return fmt.Errorf("%w: within MULTI: %s", errAnswer, v.Text)
		}
	}
	v, err := c.receive()
	if err != nil {
		return err
	}
	if len(v.Elems) != 3 || slices.ContainsFunc(v.Elems, func(e resp.Value) bool { return e.Kind == resp.Error }) {
		return fmt.Errorf("%w: EXEC: %v", errAnswer, v)
	}
	m.note(m.batches, true, key)
	return nil
}

func (m *crashModel) make(c *talk) error {
	name := "made" + strconv.FormatUint(m.next.Add(1), 10)
	if _, err := ask(c, "BF.RESERVE", name, "0.01", "100"); err != nil {
		return err
	}
	m.note(m.made, true, name)
	return nil
}

// check compares what a restarted server holds with what the clients know, and
// returns what contradicts it.
func (m *crashModel) check(c *talk) (problems []string, err error) {
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
	info, err := ask(c, "CF.INFO", "cuckoo")
	if err != nil {
		return nil, err
	}
	if n := uint64(field(info, "Number of items inserted")); n < m.total.acked || n > m.total.sent {
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
	inCuckoo := 0
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
	if info, err = ask(c, "CF.INFO", "batch-cuckoo"); err != nil {
		return nil, err
	}
	if n := field(info, "Number of items inserted"); n != int64(inCuckoo) {
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

// settle makes the state of the server the state of the model, after a check: what
// was in flight at the crash is known now.
func (m *crashModel) settle(c *talk) error {
	for key, i := range m.counts {
		v, err := ask(c, "CMS.QUERY", "counts", key)
		if err != nil {
			return err
		}
		i.acked, i.sent = uint64(v.Elems[0].Int), uint64(v.Elems[0].Int)
		m.counts[key] = i
	}
	info, err := ask(c, "CF.INFO", "cuckoo")
	m.total.acked = uint64(field(info, "Number of items inserted"))
	m.total.sent = m.total.acked
	return err
}

// field returns the number of a name in an answer of names and values in turn.
func field(v resp.Value, name string) int64 {
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if v.Elems[i].Text == name {
			return v.Elems[i+1].Int
		}
	}
	return -1
}

// inBatches asks for many keys, some at a time.
func inBatches(c *talk, keys []string, fixed ...string) (all []resp.Value, err error) {
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

// TestKilledServerLosesNothing kills a server under the load of several clients at
// random moments and looks, after each restart, for everything that it has
// acknowledged.
func TestKilledServerLosesNothing(t *testing.T) { killServer(t, 20, 1) }

// TestKilledServerThatDoesNotWait is the same with answers that do not wait for the
// log: the test above must notice what is lost then.
func TestKilledServerThatDoesNotWait(t *testing.T) {
	dir := t.TempDir() + "/data"
	m := newCrashModel()
	s := startServed(t, dir, "--fsync", "no")
	m.prepare(s)
	s.stop()
	for range 20 {
		s = startServed(t, dir, "--fsync", "no")
		done := make(chan error, 1)
		go func() {
			_, err := m.work(s.addr, rand.New(rand.NewPCG(3, 0)))
			done <- err
		}()
		time.Sleep(100 * time.Millisecond)
		s.kill()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s = startServed(t, dir, "--fsync", "no")
		c, err := dialServed(s.addr)
		if err != nil {
			t.Fatal(err)
		}
		problems, err := m.check(c)
		_ = c.conn.Close()
		s.stop()
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			return
		}
	}
	t.Error("answers did not wait for the log, and nothing that is lost was noticed")
}

// killServer kills a server for a number of rounds.
func killServer(t *testing.T, rounds int, seed uint64) {
	const clients = 6
	dir := t.TempDir() + "/data"
	// Small, so that many are cut off in the middle.
	args := []string{"--checkpoint", "100KiB"}
	r := rand.New(rand.NewPCG(seed, 0))
	m := newCrashModel()
	s := startServed(t, dir, args...)
	m.prepare(s)
	acked := 0
	for round := range rounds {
		var group sync.WaitGroup
		var answered atomic.Int64
		for i := range clients {
			own := rand.New(rand.NewPCG(seed, uint64(round*clients+i+1)))
			group.Go(func() {
				n, err := m.work(s.addr, own)
				answered.Add(int64(n))
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		time.Sleep(time.Duration(r.Int64N(int64(400 * time.Millisecond))))
		s.kill()
		group.Wait()
		acked += int(answered.Load())

		s = startServed(t, dir, args...)
		c, err := dialServed(s.addr)
		if err != nil {
			t.Fatal(err)
		}
		problems, err := m.check(c)
		if err == nil {
			err = m.settle(c)
		}
		if err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, &s.log)
		}
		_ = c.conn.Close()
		for i, p := range problems {
			if i < 10 {
				t.Errorf("round %d: %s", round, p)
			}
		}
		if t.Failed() {
			t.Fatalf("%d problems after round %d", len(problems), round)
		}
	}
	s.stop()
	if acked < 100*rounds {
		t.Errorf("only %d commands were answered in %d rounds; the test shows nothing", acked, rounds)
	}
	t.Logf("%d rounds, %d commands answered, %d keys, %d transactions", rounds, acked, len(m.added), len(m.batches))
}

// TestCrashJudge makes sure that the judge of the test above judges.
func TestCrashJudge(t *testing.T) {
	s := startServed(t, t.TempDir()+"/data")
	defer s.stop()
	c, err := dialServed(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.conn.Close()
	newCrashModel().prepare(s)
	s.must("CF.ADD", "cuckoo", "more")
	s.must("CMS.INCRBY", "counts", "more", "1")
	s.must("BF.ADD", "batch-bloom", "part")
	for want, lie := range map[string]func(*crashModel){
		"":                          func(*crashModel) {},
		"BF.ADD of lost":            func(m *crashModel) { m.note(m.added, true, "lost") },
		"additions of lost":         func(m *crashModel) { m.sum(m.copies, "lost", 0, 1) },
		"counts 1 additions":        func(m *crashModel) { m.total = interval{} },
		"the count of lost":         func(m *crashModel) { m.sum(m.counts, "lost", 1, 1) },
		"the count of more is 1":    func(m *crashModel) { m.sum(m.counts, "more", 0, 0) },
		"of lost was answered":      func(m *crashModel) { m.note(m.batches, true, "lost") },
		"of part is there in part":  func(m *crashModel) { m.note(m.batches, false, "part") },
		"BF.RESERVE of lost":        func(m *crashModel) { m.note(m.made, true, "lost") },
		"of their keys in the cuck": func(m *crashModel) { m.note(m.batches, false, "part") },
	} {
		m := newCrashModel()
		m.total = interval{1, 1}
		lie(m)
		problems, err := m.check(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(problems, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("the problems are %q, want %q", got, want)
		}
	}
}
