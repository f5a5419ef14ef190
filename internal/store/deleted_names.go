package store

// tombs remembers when names lost their values, for transactions that watch a name without
// one. When it has too many it forgets them; then every name counts as having lost a value
// when the last of these did.
type tombs struct {
	names  map[string]LSN
	floor  LSN // all others count as changed then
	newest LSN
}

const maxTombs = 1 << 12

func (t *tombs) note(name string, at LSN) {
	if t.names == nil || len(t.names) >= maxTombs {
		t.floor = t.newest
		t.names = map[string]LSN{}
	}
	t.names[name] = at
	t.newest = at
}

// flush notes that all names lost their values.
func (t *tombs) flush(at LSN) {
	t.names, t.floor, t.newest = nil, at, at
}

// version returns a number that changes when a name without a value had one.
func (t *tombs) version(name []byte) uint64 {
	if at, ok := t.names[string(name)]; ok {
		return uint64(at)
	}
	return uint64(t.floor)
}
