package store

// renew has the next checkpoint write the arrays anew that are in files of the given
// numbers, and reports whether a value in memory has one of them. Memory has them whole.
// Values that were deleted need nothing: a checkpoint drops their files.
func (s *Store) renew(files map[uint64]bool) bool {
	s.checkpointing.Lock() // for stored.at
	defer s.checkpointing.Unlock()
	found := false
	for _, id := range s.withFile(func(n uint64) bool { return files[n] }) {
		v := s.lockByID(id)
		if v == nil {
			continue // it is among the dead
		}
		h := v.head()
		for _, n := range h.stored.numbers() {
			if files[n] {
				found = true
				v.lost(n)
				h.stored.at = 0 // the image in the catalogue is not good enough
			}
		}
		h.mu.Unlock()
	}
	s.space.Lock()
	defer s.space.Unlock()
	for _, d := range s.dead {
		for _, n := range d.numbers() {
			found = found || files[n]
		}
	}
	return found
}

// lost notes that a file is not there any more.
func (b *Bloom) lost(file uint64) {
	for _, l := range b.view.Load().layers {
		if l.large != nil && l.large.file.number == file {
			l.large.file = fileRef{}
		}
	}
}

// lost notes that a file is not there any more.
func (w *whole) lost(file uint64) {
	if w.file.number == file {
		w.file = fileRef{}
	}
}
