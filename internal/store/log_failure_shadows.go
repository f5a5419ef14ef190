package store

import (
	"context"
	"fmt"
	"slices"
)

// If the log cannot be written, memory has changes that no client has been told of. They
// may be lost, or come back at the next start; with Always they must not be shown. So
// questions about values with such changes are answered from shadows: the values as they
// were when the log was last synced. The shadow of a Bloom filter that got keys is the
// filter without these keys; other shadows are read from the disk. The values themselves
// do not change: if the log can be written again, the changes become durable after all.

// shadows are the values that names show while the log cannot be written; nil: no shadows.
type shadows map[string]value

// shadowOf returns the shadow of a name; ok is false if it has none.
func (s *Store) shadowOf(name string) (v value, ok bool) {
	if all := s.shadows.Load(); all != nil {
		v, ok = (*all)[name]
	}
	return v, ok
}

// Shown returns the position up to which changes may be shown, for answers that depend on
// no value: while the log cannot be written, the durable position, otherwise that of the
// last operation.
func (s *Store) Shown() LSN {
	if s.log.stopped() != nil {
		return s.Durable()
	}
	return s.Last()
}

// MayShow waits until it is known what can be shown although the log cannot be written,
// and reports whether an answer that depends on at may be sent. With Always it may if at
// is durable; otherwise it may in any case, since changes were shown as soon as they were
// made. If it may not, ask the question again.
func (s *Store) MayShow(ctx context.Context, at LSN) bool {
	err := s.await(ctx, func() (bool, error) {
		if t := s.log.trouble.Load(); t != nil && t.drains {
			return uint64(at) <= s.written.Load(), nil
		}
		return s.shadowed.Load() || s.log.stopped() == nil || s.Fsync() != Always, nil
	})
	if s.groundLost() != nil && uint64(at) <= s.written.Load() {
		return err == nil // it is in the log, wherever that is now
	}
	return err == nil && (s.Fsync() != Always || at <= s.Durable())
}

// considerShadows makes the shadows that are needed and missing. It is called by the
// goroutine that watches the disk, which also tries to write again.
func (s *Store) considerShadows() {
	s.retreat.Lock()
	defer s.retreat.Unlock()
	if s.log.stopped() == nil || s.Fsync() != Always || s.groundLost() != nil {
		return
	}
	err := s.makeShadows()
	if err != nil && !s.shadowed.Load() { // it is tried again every second
		s.opts.Events.Error(fmt.Errorf("filters with changes that are not durable cannot answer, since their durable state cannot be read: %w", err))
	}
	s.shadowed.Store(true)
	s.announce()
}

// dropShadows ends all shadows: the log is written again. retreat is held.
func (s *Store) dropShadows() {
	s.shadows.Store(nil)
	s.shadowed.Store(false)
}

// makeShadows makes the shadows of all values that have changes which are not durable.
func (s *Store) makeShadows() error {
	durable := s.Durable()
	all, ids := shadows{}, map[uint64]bool{}
	var bytes uint64
	var unread []string // names of ids
	changed := false
	s.space.Lock()
	var affected []value
	for _, v := range s.values {
		h := v.head()
		h.mu.Lock() // a change that is logged was made then, and no other one comes
		if h.LSN() > durable {
			affected = append(affected, v)
		}
		h.mu.Unlock()
	}
	lost, complete := s.lostOps(durable)
	for _, v := range affected {
		id, name := v.head().id, v.head().name
		if _, has := s.shadowOf(name); has {
			continue
		}
		changed = true
		all[name] = nil
		if b, ok := v.(*Bloom); ok && complete && lost[id] != nil && lost[id].onlyAdds {
			b.mu.Lock()
			all[name] = b.without(lost[id], durable, s.frozen())
			b.mu.Unlock()
			continue
		}
		ids[id] = true
		unread = append(unread, name)
		bytes += v.Bytes()
	}
	for _, d := range s.dead {
		if d.at > durable && !s.restored[d.id] {
			ids[d.id], changed = true, true
		}
	}
	s.space.Unlock()
	if !changed {
		return nil
	}
	var err error
	if len(ids) > 0 {
		if err = s.readDurable(ids, durable, bytes, all); err != nil {
			for _, name := range unread {
				delete(all, name) // nothing is known of them
			}
		}
	}
	if former := s.shadows.Load(); former != nil {
		for name, v := range *former {
			if _, has := all[name]; !has {
				all[name] = v
			}
		}
	}
	s.shadows.Store(&all)
	return err
}

// lostChanges are the changes of a value that are not durable.
type lostChanges struct {
	adds     hidden
	grown    map[uint64]bool // layers
	onlyAdds bool            // there are no others
}

// lostOps returns the changes that are not durable; complete is false if some of them are
// no longer known.
func (s *Store) lostOps(durable LSN) (lost map[uint64]*lostChanges, complete bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	first := s.log.first - LSN(s.failedCount)
	lost = map[uint64]*lostChanges{}
	for _, ops := range [][]byte{s.failedOps, s.log.buf} {
		for len(ops) > 0 {
			op, rest, err := nextOp(ops)
			if err != nil {
				return nil, false
			}
			ops = rest
			l := lost[op.id]
			if l == nil {
				l = &lostChanges{adds: hidden{}, grown: map[uint64]bool{}, onlyAdds: true}
				lost[op.id] = l
			}
			l.note(op)
		}
	}
	return lost, first == durable+1
}

func (l *lostChanges) note(op operation) {
	r := reader{b: op.body}
	switch op.code {
	case opGrow:
		l.grown[r.layerConfig().serial] = true
	case opAdd:
		serial := r.uvarint()
		if l.adds[serial] == nil {
			l.adds[serial] = map[uint64]bool{}
		}
		for r.err == nil && len(r.b) >= 8 {
			l.adds[serial][r.uint64()] = true
		}
	default:
		l.onlyAdds = false
	}
}

// readDurable adds the values of the given numbers to all, as they are on the disk with
// the log up to the given operation.
func (s *Store) readDurable(ids map[uint64]bool, upTo LSN, bytes uint64, all shadows) error {
	if err := s.memory.change(0, bytes); err != nil {
		return err
	}
	defer s.memory.force(bytes, 0) // they are counted as the values that they replace
	r := s.frozen()
	r.only, r.upTo = ids, upTo
	db, err := openDatabase(readOnly{FS: s.opts.FS}, s.opts.FS.PathJoin(s.dir, dbName), &s.opts.Events, func(*database, error) {})
	if err != nil {
		return err
	}
	r.db.Store(db)
	err = db.guarded(r.read)
	if closeErr := db.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	for _, v := range r.values {
		if h := v.head(); h.LSN() > upTo {
			return fmt.Errorf("the image of %q has changes that are not durable", h.name)
		}
	}
	for _, v := range r.values {
		all[v.head().name] = v
	}
	s.space.Lock()
	defer s.space.Unlock()
	if s.restored == nil {
		s.restored = map[uint64]bool{}
	}
	for id := range ids {
		s.restored[id] = true
		if v := s.values[id]; v != nil {
			if shadow := r.values[id]; shadow != nil {
				shadow.head().traffic.set(v.Traffic())
			}
		}
	}
	return nil
}

// frozen returns a store for values that never change.
func (s *Store) frozen() *Store {
	r := &Store{opts: s.opts, life: s.life, dir: s.dir, hash: s.hash, values: map[uint64]value{}, expiring: map[uint64]value{}}
	r.files.fs, r.files.dir, r.files.hooks = s.files.fs, s.files.dir, s.files.hooks
	r.names.init()
	r.log.trouble.Store(s.log.trouble.Load())
	return r
}

// read reads the values of the given numbers.
func (s *Store) read() error {
	st, err := s.db.Load().readState()
	if err != nil {
		return err
	}
	s.trimmed = st.trimmed
	keep := map[uint64]bool{}
	if err := s.loadCatalogue(keep); err != nil {
		return err
	}
	_, err = s.replay(keep)
	return err
}

// hidden are hashes of keys that a shadow does not show, by layer.
type hidden map[uint64]map[uint64]bool

// count returns how many of them are in a layer.
func (h *hidden) count(layer uint64) uint64 {
	if h == nil {
		return 0
	}
	return uint64(len((*h)[layer]))
}

// without returns the filter as it is without some changes, in a store where nothing
// changes. It has the bits of b.
func (b *Bloom) without(lost *lostChanges, at LSN, frozen *Store) *Bloom {
	v := b.view.Load()
	shown := &view{current: v.current}
	for _, l := range v.layers {
		if !lost.grown[l.serial] {
			shown.layers = append(shown.layers, l)
		}
	}
	p := *b.plan
	p.hidden = &lost.adds
	c := &Bloom{plan: &p, next: b.next}
	b.copyTo(&c.base)
	c.store = frozen
	c.last.Store(uint64(at))
	c.applied.Store(uint64(at))
	c.floor.Store(min(uint64(at), b.floor.Load()))
	c.view.Store(shown)
	return c
}

// shows reports whether the filter has a key with hash h, apart from the keys that it
// hides.
func (b *Bloom) shows(v *view, h uint64, from int64) bool {
	return slices.ContainsFunc(v.layers, func(l *layer) bool {
		return l.gen >= from && !(*b.hidden)[l.serial][h] && l.has(h)
	})
}

// hasShown is Has of a filter that hides keys.
func (b *Bloom) hasShown(found []bool, keys [][]byte) LSN {
	v := b.view.Load()
	for i, key := range keys {
		found[i] = b.shows(v, b.store.hash.Sum(key), b.oldest(v))
	}
	return b.answered(found)
}

// addShown is Add of a filter that hides keys. It adds nothing: it answers for keys up to
// the first that the filter does not show.
func (b *Bloom) addShown(added []bool, keys [][]byte) (done int, at LSN, err error) {
	v := b.view.Load()
	for i, key := range keys {
		if !b.shows(v, b.store.hash.Sum(key), b.generation(v)) {
			return i, b.LSN(), b.store.log.writable()
		}
		added[i] = false
	}
	return len(keys), b.LSN(), nil
}

// counted returns how many of n names are to be seen.
func (s *Store) counted(n int) int {
	if all := s.shadows.Load(); all != nil {
		for name, v := range *all {
			switch there := s.names.get([]byte(name)) != nil; {
			case there && v == nil:
				n--
			case !there && v != nil:
				n++
			}
		}
	}
	return n
}

// extraShadows passes the shadows of names that have no value now.
func (s *Store) extraShadows(emit func(name string, v value)) {
	all := s.shadows.Load()
	if all == nil {
		return
	}
	for name, v := range *all {
		if s.names.get([]byte(name)) == nil {
			s.seen(name, v, emit)
		}
	}
}

// seen passes a name with its value, or the shadow of it, unless that is absent.
func (s *Store) seen(name string, v value, emit func(name string, v value)) {
	if shadow, ok := s.shadowOf(name); ok {
		v = shadow
	}
	if v != nil && !v.head().expired() {
		emit(name, v)
	}
}
