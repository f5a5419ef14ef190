package store

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// names maps names to values. Lookups take no lock and do not allocate: the table is an
// array of chains with atomic links, and is replaced as a whole when it grows. Changes are
// made by one goroutine at a time, which holds Store.space.
type names struct {
	seed  maphash.Seed
	table atomic.Pointer[table]
}

// table is an array of a power of two of chains.
type table struct {
	chains []atomic.Pointer[node]
	count  int // of nodes; guarded by Store.space
}

// node is one name, which is that of its value. The value of a node stays as it is.
type node struct {
	v    value
	next atomic.Pointer[node]
}

const leastChains = 64

func (n *names) init() {
	n.seed = maphash.MakeSeed()
	n.clear()
}

func (n *names) clear() {
	n.table.Store(&table{chains: make([]atomic.Pointer[node], leastChains)})
}

func (t *table) chain(hash uint64) *atomic.Pointer[node] {
	return &t.chains[hash&uint64(len(t.chains)-1)]
}

func (n *names) get(name []byte) value {
	hash := maphash.Bytes(n.seed, name)
	for at := n.table.Load().chain(hash).Load(); at != nil; at = at.next.Load() {
		if at.v.head().name == string(name) {
			return at.v
		}
	}
	return nil
}

// put makes v the value of its name, and replaces another value of that name: a concurrent
// lookup finds one of the two. The name of v must not change after that.
func (n *names) put(v value) {
	name := v.head().name
	t := n.table.Load()
	if t.count >= len(t.chains) {
		t = t.grown(n.seed)
		n.table.Store(t)
	}
	at := &node{v: v}
	link := t.chain(maphash.String(n.seed, name))
	if former := find(&link, name); former != nil {
		at.next.Store(former.next.Load())
	} else {
		t.count++
	}
	link.Store(at) // at the end of the chain, or where the former one was
}

// remove forgets a name. A reader that is at its node goes on from there.
func (n *names) remove(name string) {
	t := n.table.Load()
	link := t.chain(maphash.String(n.seed, name))
	if at := find(&link, name); at != nil {
		link.Store(at.next.Load())
		t.count--
	}
}

// find returns the node of a name in the chain that begins at link, or nil, and moves
// link to the link that leads to it, or to the last one.
func find(link **atomic.Pointer[node], name string) *node {
	for at := (*link).Load(); at != nil; at = (*link).Load() {
		if at.v.head().name == name {
			return at
		}
		*link = &at.next
	}
	return nil
}

// grown returns a table of twice the chains with the same names. The nodes are
// new ones, since readers may still follow the links of the old.
func (t *table) grown(seed maphash.Seed) *table {
	g := &table{chains: make([]atomic.Pointer[node], 2*len(t.chains)), count: t.count}
	for i := range t.chains {
		for at := t.chains[i].Load(); at != nil; at = at.next.Load() {
			c := &node{v: at.v}
			chain := g.chain(maphash.String(seed, at.v.head().name))
			c.next.Store(chain.Load())
			chain.Store(c)
		}
	}
	return g
}

// scan passes the names of the chain at cursor to emit, and returns the cursor of the next
// chain, 0 after the last. The cursor counts with its bits reversed: if the table doubles
// between two calls, each chain that was passed becomes two chains that count as passed,
// so that no name is missed that exists all the time. A name may come twice.
func (n *names) scan(cursor uint64, emit func(name string, v value)) uint64 {
	t := n.table.Load()
	mask := uint64(len(t.chains) - 1)
	for at := t.chains[cursor&mask].Load(); at != nil; at = at.next.Load() {
		emit(at.v.head().name, at.v)
	}
	cursor |= ^mask
	return bits.Reverse64(bits.Reverse64(cursor) + 1)
}
