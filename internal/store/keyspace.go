package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// lookup returns the value of a name, or nil if there is none or it has expired.
func (s *Store) lookup(name []byte) value {
	v := s.names.get(name)
	if all := s.shadows.Load(); all != nil {
		if shadow, ok := (*all)[string(name)]; ok {
			v = shadow
		}
	}
	if v != nil && !v.head().expired() {
		return v
	}
	return nil
}

// Get returns the value of a name, or nil if there is no value or it has expired. It
// takes no lock and does not allocate. The answer that there is no value depends on
// Absent.
func (s *Store) Get(name []byte) Value {
	if v := s.lookup(name); v != nil {
		return v
	}
	return nil // not an interface around nil
}

// Absent returns the position that the answer "no value" depends on, for any name: that
// of the last deletion.
func (s *Store) Absent() LSN {
	at := LSN(s.removed.Load())
	if s.shadows.Load() != nil {
		return min(at, s.Durable()) // what was deleted since has a shadow
	}
	return at
}

// Version returns a number that changes whenever the value of a name changes, is replaced
// or is deleted. It is for optimistic transactions.
func (s *Store) Version(name []byte) uint64 {
	if v := s.lookup(name); v != nil {
		return uint64(v.LSN())
	}
	s.space.Lock()
	defer s.space.Unlock()
	return s.tombs.version(name)
}

// insert enters v into the tables.
func (s *Store) insert(v value) {
	h := v.head()
	s.values[h.id] = v
	s.names.put(v)
	if h.expire.Load() != 0 {
		s.expiring[h.id] = v
	}
}

// create gives v, a new value that is not shared yet, a name. If the name has a value,
// replace allows v to take its place. The memory of v must be accounted for; it is
// released after an error. first, unless it is nil, may change v before others can see
// it; a crash leaves v changed, or leaves no v.
func (s *Store) create(w *Work, name []byte, v value, replace bool, first func()) (at LSN, err error) {
	h := v.head()
	if err := s.memory.change(0, uint64(len(name))); err != nil {
		s.memory.force(h.memory.Swap(0), 0)
		return 0, err
	}
	h.name = string(name)
	h.created = s.now()
	defer func() {
		if err != nil {
			s.memory.force(h.memory.Swap(0)+uint64(len(name)), 0)
		}
	}()
	c, err := v.capture()
	if err != nil {
		return 0, err
	}
	// Files first: the log may only name what is durable.
	files, err := s.putParts(w, c)
	if err != nil {
		return 0, err
	}
	if at, err = s.enter(v, c, replace, first); err != nil {
		s.files.remove(files)
	}
	return at, err
}

// enter logs the creation of v, which c describes, and makes it the value of its
// name.
func (s *Store) enter(v value, c *capture, replace bool, first func()) (LSN, error) {
	h := v.head()
	prior := s.lockSpace(func() []value { return s.present([]byte(h.name)) })
	defer s.unlockSpace(prior)
	if !replace && s.lookup([]byte(h.name)) != nil {
		return 0, fmt.Errorf("%w: %q", ErrExists, h.name)
	}
	if err := s.log.writable(); err != nil {
		return 0, err
	}
	s.together(func() {
		for _, v := range prior {
			s.drop(v)
		}
		s.lastID++
		h.id = s.lastID
		c.at = s.log.append(opCreate, h.id, c.append(nil))
		h.stored.set(c.files())
		h.changedAll(c.at)
		if c.saved != nil {
			c.saved(c.image, c.at) // v is not shared yet
		}
		if first != nil {
			first()
		}
		s.insert(v)
	})
	return c.at, nil
}

func byID(a, b value) int { return cmp.Compare(a.head().id, b.head().id) }

// present returns the values of names, also those that have expired; space is held.
func (s *Store) present(names ...[]byte) []value {
	var values []value
	for _, name := range names {
		if v := s.names.get(name); v != nil {
			values = append(values, v)
		}
	}
	if len(values) > 1 {
		slices.SortFunc(values, byID)
		values = slices.Compact(values)
	}
	return values
}

// lockSpace locks space and the mutexes of the values that pick returns, which must all be
// different. While a long change has such a mutex, lockSpace releases space, so that other
// values can change.
func (s *Store) lockSpace(pick func() []value) []value {
	const tries = 20 // where values change all the time, one of many is always busy
	for try := 0; ; try++ {
		s.space.Lock()
		values := pick()
		if try == tries {
			slices.SortFunc(values, byID) // as all do who lock several
			for _, v := range values {
				v.head().mu.Lock()
			}
			return values
		}
		locked := 0
		for locked < len(values) && values[locked].head().mu.TryLock() {
			locked++
		}
		if locked == len(values) {
			return values
		}
		s.unlockSpace(values[:locked])
		values[locked].head().await()
	}
}

// unlockSpace undoes lockSpace.
func (s *Store) unlockSpace(values []value) {
	for _, v := range values {
		v.head().mu.Unlock()
	}
	s.space.Unlock()
}

// remove deletes a value; space and its mutex are held.
func (s *Store) remove(v value) {
	s.drop(v)
	s.names.remove(v.head().name)
}

// drop deletes a value whose name is about to get another one. Until then a lookup of the
// name finds this value, unchanged. space and the mutex of v are held.
func (s *Store) drop(v value) {
	h := v.head()
	at := s.log.append(opDelete, h.id, nil)
	s.note(h.name, at)
	delete(s.expiring, h.id)
	s.bury(v, at)
}

// note remembers that a name lost its value at the given position.
func (s *Store) note(name string, at LSN) {
	s.removed.Store(uint64(at))
	s.tombs.note(name, at)
}

// Delete deletes the values of names and returns how many there were. at is the
// position that the answer depends on.
func (s *Store) Delete(names ...[]byte) (count int, at LSN, err error) {
	defer s.unlockSpace(s.lockSpace(func() []value { return s.present(names...) }))
	s.log.hold() // all or none after a crash
	defer s.log.release()
	for _, name := range names {
		v := s.lookup(name)
		if v == nil {
			continue
		}
		if err := s.log.deletable(); err != nil {
			return count, s.Absent(), err
		}
		s.remove(v)
		count++
	}
	return count, s.Absent(), nil
}

// Rename gives the value of a name another name. A value that has that name is deleted; if
// keep is true, it stays and the error is ErrExists. Without a value to rename the error
// is ErrNotFound.
func (s *Store) Rename(from, to []byte, keep bool) (LSN, error) {
	defer s.unlockSpace(s.lockSpace(func() []value { return s.present(from, to) }))
	v := s.lookup(from)
	if v == nil {
		return 0, fmt.Errorf("%w: %q", ErrNotFound, from)
	}
	other := s.lookup(to)
	if keep && other != nil {
		return 0, fmt.Errorf("%w: %q", ErrExists, to)
	}
	if err := s.log.writable(); err != nil {
		return 0, err
	}
	if bytes.Equal(from, to) {
		return v.LSN(), nil
	}
	if err := s.memory.change(uint64(len(from)), uint64(len(to))); err != nil {
		return 0, err
	}
	// Both or none after a crash.
	s.together(func() {
		if prior := s.names.get(to); prior != nil {
			s.drop(prior)
		}
		s.rename(v, string(to))
	})
	return s.Absent(), nil
}

// rename gives v another, free name; space and its mutex are held.
func (s *Store) rename(v value, to string) {
	h := v.head()
	at := s.log.append(opRename, h.id, []byte(to))
	s.note(h.name, at)
	// A caller that has looked the value up under its former name must not change it under
	// the new one, so the new name has another Value.
	h.gone = true
	c := v.renamed()
	c.head().name = to
	c.head().changedAll(at) // keys of a former value of that name are absent now
	// First the new name, so that at no moment the value has none.
	s.insert(c)
	s.names.remove(h.name)
}

// Expire sets when the value of a name will be gone, and reports whether there is
// a value. A deadline that has passed deletes it.
func (s *Store) Expire(name []byte, at time.Time) (bool, LSN, error) {
	deadline := at.UnixMilli()
	if deadline <= s.now() {
		n, lsn, err := s.Delete(name)
		return n > 0, lsn, err
	}
	return s.setExpiry(name, deadline, func(int64) bool { return true })
}

// Persist takes back the deadline of the value of a name, and reports whether there
// was one.
func (s *Store) Persist(name []byte) (bool, LSN, error) {
	return s.setExpiry(name, 0, func(former int64) bool { return former != 0 })
}

func (s *Store) setExpiry(name []byte, deadline int64, wanted func(former int64) bool) (bool, LSN, error) {
	defer s.unlockSpace(s.lockSpace(func() []value { return s.present(name) }))
	v := s.lookup(name)
	if v == nil {
		return false, s.Absent(), nil
	}
	h := v.head()
	if !wanted(h.expire.Load()) {
		return false, h.LSN(), nil
	}
	if err := s.log.writable(); err != nil {
		return false, 0, err
	}
	at := s.log.append(opExpire, h.id, binary.AppendVarint(nil, deadline))
	h.changed(at)
	s.removed.Store(uint64(at)) // once it is over, nothing else tells of it
	h.expire.Store(deadline)
	if delete(s.expiring, h.id); deadline != 0 {
		s.expiring[h.id] = v
	}
	return true, at, nil
}

// Flush deletes all values.
func (s *Store) Flush() (LSN, error) {
	values := s.lockSpace(func() []value { return slices.Collect(maps.Values(s.values)) })
	defer s.unlockSpace(values)
	if err := s.log.deletable(); err != nil {
		return 0, err
	}
	at := s.log.append(opFlush, 0, nil)
	for _, v := range values {
		s.bury(v, at)
	}
	clear(s.expiring)
	s.names.clear()
	s.removed.Store(uint64(at))
	s.tombs.flush(at)
	return at, nil
}

// Len returns the number of values, including those that have expired and are not deleted
// yet.
func (s *Store) Len() int {
	s.space.Lock()
	defer s.space.Unlock()
	return s.counted(len(s.values))
}

// Names returns all names with their values, in no order. Each value is from some moment
// of the iteration.
func (s *Store) Names() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		var found []Named
		for cursor := uint64(0); ; {
			found = found[:0]
			cursor = s.Scan(cursor, 1, func(name string, v Value) { found = append(found, Named{Name: name, Value: v}) })
			for _, e := range found {
				if !yield(e.Name, e.Value) {
					return
				}
			}
			if cursor == 0 {
				return
			}
		}
	}
}

// Scan passes about count names with their values to emit, and returns the cursor for the
// next call, 0 after the last. Begin with cursor 0. A name that exists from the first call
// to the last is passed at least once.
func (s *Store) Scan(cursor uint64, count int, emit func(name string, v Value)) (next uint64) {
	passed := 0
	// Empty chains count a little, so that a call ends.
	for range 10 * max(count, 1) {
		add := func(name string, v value) {
			emit(name, v)
			passed++
		}
		cursor = s.names.scan(cursor, func(name string, v value) { s.seen(name, v, add) })
		if cursor == 0 {
			s.extraShadows(add)
		}
		if cursor == 0 || passed >= count {
			break
		}
	}
	return cursor
}
