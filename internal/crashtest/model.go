package crashtest

import (
	"sync"
	"sync/atomic"
)

// Model is what clients know about a server that has crashed, perhaps many times:
// what it has acknowledged, which must be there, and what was sent, beyond which
// nothing may be.
type Model struct {
	mutex sync.Mutex
	state
	now   func() int64
	facts []fact        // all of them, if there is a clock
	next  atomic.Uint64 // of the keys that all clients add at about the same time
}

// state is what is known at one moment.
type state struct {
	added   map[string]bool     // keys that BF.ADD or BF.MADD has answered for, with 1 or 0
	copies  map[string]interval // CF.ADD, by key; what was only sent is counted in total
	total   interval            // of them all
	counts  map[string]interval // CMS.INCRBY, by key
	batches map[string]bool     // transactions by their key: sent, and whether EXEC was answered
	made    map[string]bool     // names of filters that BF.RESERVE has answered for
}

// interval is a number that is known only between two values: acknowledged, and
// sent.
type interval struct{ acked, sent uint64 }

// fact is one thing that became known, and when.
type fact struct {
	at    int64
	apply func(*state)
}

// NewModel returns a model that knows nothing yet. If now is not nil, it is a
// clock that never goes back, of whatever unit, and the model can be asked for
// what was known At one of its times.
func NewModel(now func() int64) *Model {
	return &Model{now: now, state: state{
		added: map[string]bool{}, copies: map[string]interval{}, counts: map[string]interval{}, batches: map[string]bool{}, made: map[string]bool{},
	}}
}

// learn records a fact. What is sent is recorded before it is sent, and what is
// acknowledged after the answer has come.
func (m *Model) learn(apply func(*state)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	apply(&m.state)
	if m.now != nil {
		m.facts = append(m.facts, fact{m.now(), apply})
	}
}

// At returns a model of what was known at a time of the clock, that time included.
// It has no clock.
func (m *Model) At(time int64) *Model {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	then := NewModel(nil)
	for _, f := range m.facts {
		if f.at > time {
			break
		}
		f.apply(&then.state)
	}
	then.next.Store(m.next.Load())
	return then
}

// Acknowledged returns how many keys and transactions must be there.
func (m *Model) Acknowledged() (keys, transactions int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, answered := range m.batches {
		if answered {
			transactions++
		}
	}
	return len(m.added), transactions
}

func (s *state) sum(of map[string]interval, key string, sent, acked uint64) {
	i := of[key]
	of[key] = interval{i.acked + acked, i.sent + sent}
}
