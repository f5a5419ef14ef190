package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"time"
)

// lookup returns the value of a name, or nil if there is none or it has expired.
func (s *Store) lookup(name []byte) value {
	if v := s.names.get(name); v != nil && !v.head().expired() {
		return v
	}
	return nil
}

// Get returns the value of a name, or nil if there is none or it has expired. It
// takes no lock and does not allocate. An answer that says that there is none
// depends on Absent.
func (s *Store) Get(name []byte) Value {
	if v := s.lookup(name); v != nil {
		return v
	}
	return nil // not an interface around nil
}

// Absent returns the position that answers depend on which say that there is no
// value of some name: that of the last deletion.
func (s *Store) Absent() LSN { return LSN(s.removed.Load()) }

// Version returns a number that changes whenever the value of a name does, or the
// name gets another value or none. It is for optimistic transactions.
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
	s.names.put(h.name, v)
	if h.expire.Load() != 0 {
		s.expiring[h.id] = v
	}
}

// create gives v, a new value of which nobody else knows yet, a name that has none,
// or in place of the value that it has if replace is true. The memory of v must be
// accounted for; it is given back if there is an error. first, unless it is nil, may
// change v before anybody else can see it; a crash leaves v so, or not at all.
func (s *Store) create(name []byte, v value, replace bool, first func()) (at LSN, err error) {
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
	files, err := s.putParts(c)
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
	s.space.Lock()
	defer s.space.Unlock()
	if !replace && s.lookup([]byte(h.name)) != nil {
		return 0, fmt.Errorf("%w: %q", ErrExists, h.name)
	}
	if err := s.log.writable(); err != nil {
		return 0, err
	}
	s.together(func() {
		if prior := s.names.get([]byte(h.name)); prior != nil {
			s.drop(prior)
		}
		s.lastID++
		h.id = s.lastID
		c.at = s.log.append(opCreate, h.id, c.append(nil))
		h.stored = &stored{files: c.files()}
		h.changedAll(c.at)
		if c.saved != nil {
			c.saved(c.image, c.at) // nobody else knows v yet
		}
		if first != nil {
			first()
		}
		s.insert(v)
	})
	return c.at, nil
}

// remove deletes a value; space is held.
func (s *Store) remove(v value) {
	s.drop(v)
	s.names.remove(v.head().name)
}

// drop deletes a value whose name is about to get another: until then who looks the
// name up finds this one, as it was. space is held.
func (s *Store) drop(v value) {
	h := v.head()
	h.mu.Lock()
	defer h.mu.Unlock()
	at := s.log.append(opDelete, h.id, nil)
	s.note(h.name, at)
	h.gone = true
	delete(s.values, h.id)
	delete(s.expiring, h.id)
	s.memory.force(h.Bytes(), 0)
	s.dead = append(s.dead, dead{h.id, at, h.stored})
}

// note remembers that a name lost its value at the given position.
func (s *Store) note(name string, at LSN) {
	s.removed.Store(uint64(at))
	s.tombs.note(name, at)
}

// Delete deletes the values of names and returns how many there were. at is the
// position that the answer depends on.
func (s *Store) Delete(names ...[]byte) (count int, at LSN, err error) {
	s.space.Lock()
	defer s.space.Unlock()
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

// Rename gives the value of a name another name, whose value, if there is one, is
// deleted; keep refuses that with ErrExists. Without a value it is ErrNotFound.
func (s *Store) Rename(from, to []byte, keep bool) (LSN, error) {
	s.space.Lock()
	defer s.space.Unlock()
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

// rename gives v another, free name.
func (s *Store) rename(v value, to string) {
	h := v.head()
	h.mu.Lock()
	defer h.mu.Unlock()
	at := s.log.append(opRename, h.id, []byte(to))
	s.note(h.name, at)
	// Who has looked the value up under its former name must not change it under
	// the new one, so it stands there as another Value.
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
	s.space.Lock()
	defer s.space.Unlock()
	v := s.lookup(name)
	if v == nil {
		return false, s.Absent(), nil
	}
	h := v.head()
	if !wanted(h.expire.Load()) {
		return false, h.LSN(), nil
	}
	if err := h.lock(); err != nil {
		return false, 0, err
	}
	defer h.mu.Unlock()
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
	s.space.Lock()
	defer s.space.Unlock()
	if err := s.log.deletable(); err != nil {
		return 0, err
	}
	// Nobody may log a change of a value after the flush that was decided before.
	for _, v := range s.values {
		h := v.head()
		h.mu.Lock()
		h.gone = true
		h.mu.Unlock()
	}
	at := s.log.append(opFlush, 0, nil)
	for _, v := range s.values {
		h := v.head()
		s.memory.force(h.Bytes(), 0)
		s.dead = append(s.dead, dead{h.id, at, h.stored})
	}
	clear(s.values)
	clear(s.expiring)
	s.names.clear()
	s.removed.Store(uint64(at))
	s.tombs.flush(at)
	return at, nil
}

// Len returns the number of values, with those that have expired and are not
// deleted yet.
func (s *Store) Len() int {
	s.space.Lock()
	defer s.space.Unlock()
	return len(s.values)
}

// Names returns all names with their values, in no order. The values are those of
// some moments between the beginning and the end of the iteration.
func (s *Store) Names() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		type entry struct {
			name string
			v    value
		}
		var found []entry
		for cursor := uint64(0); ; {
			found = found[:0]
			cursor = s.names.scan(cursor, func(name string, v value) {
				if !v.head().expired() {
					found = append(found, entry{name, v})
				}
			})
			for _, e := range found {
				if !yield(e.name, e.v) {
					return
				}
			}
			if cursor == 0 {
				return
			}
		}
	}
}

// Scan passes some names with their values to emit, about count, and returns the
// cursor for the next call, 0 after the last; the first call is with cursor 0. A
// name that is there from the first call to the last is passed at least once.
func (s *Store) Scan(cursor uint64, count int, emit func(name string, v Value)) (next uint64) {
	passed := 0
	// Empty chains count a little, so that a call ends.
	for range 10 * max(count, 1) {
		cursor = s.names.scan(cursor, func(name string, v value) {
			if !v.head().expired() {
				emit(name, v)
				passed++
			}
		})
		if cursor == 0 || passed >= count {
			break
		}
	}
	return cursor
}
