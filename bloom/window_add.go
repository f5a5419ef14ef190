package bloom

import "time"

// AddHash is Add for a key whose hash is h.
func (w *Window) AddHash(h uint64) bool {
	now := w.now()
	w.advance(now)
	isNew, recorded := w.add(now, h)
	if w.byKeys() && (recorded || !w.config.CountNew) {
		w.calls++
	}
	return isNew
}

// AddHashAt is AddHash at time t instead of now, for times that come from the data. A t
// later than now becomes the present time of the window. With an earlier t the key is
// recorded in the generation of t, or not at all if that is already forgotten. The answer
// says whether the key is new to all generations. A window that counts keys ignores t.
func (w *Window) AddHashAt(t time.Time, h uint64) bool {
	if w.byKeys() {
		return w.AddHash(h)
	}
	number := floorDiv(nanos(t), w.step)
	w.advance(max(number, w.now()))
	isNew, _ := w.add(number, h)
	return isNew
}

// add adds h to the given generation, which is not newer than the current one.
func (w *Window) add(number int64, h uint64) (isNew, recorded bool) {
	isNew = true
	for i := range w.gens {
		if w.gens[i].set.HasHash(h) {
			if w.config.NoRefresh || w.gens[i].number >= number {
				return false, false
			}
			isNew = false
			break
		}
	}
	if !w.live(number, w.current) {
		return isNew, false
	}
	// With Overfill there is no error here; Err returns it.
	_ = w.set(number).addNew(h)
	return isNew, true
}

// HasHash is Has for a key whose hash is h.
func (w *Window) HasHash(h uint64) bool {
	gens := w.liveGens(w.now())
	for i := range gens {
		if gens[i].set.HasHash(h) {
			return true
		}
	}
	return false
}

// AddHashes is AddKeys for hashes.
func (w *Window) AddHashes(added []bool, hs []uint64) int {
	checkAnswers(added, len(hs))
	if !w.byKeys() {
		now := w.now()
		w.advance(now)
		count, _ := w.addBatches(now, added, hs)
		return count
	}
	if w.step == 1 {
		return w.keyed.AddHashes(added, hs) // faster where each call begins a generation
	}
	count := 0
	for at := 0; at < len(hs); {
		now := w.now()
		w.advance(now)
		m := int(min(uint64(len(hs)-at), uint64(w.step)-w.calls%uint64(w.step)))
		c, recorded := w.addBatches(now, part(added, at, m), hs[at:at+m])
		count += c
		if w.config.CountNew {
			w.calls += uint64(recorded)
		} else {
			w.calls += uint64(m)
		}
		at += m
	}
	return count
}

// AddHashesAt does AddHashAt for each of hs in order, at the time ts[i] in Unix
// nanoseconds; ts must be as long as hs. It stores the answers in added, which must be nil
// or as long as hs, and returns the number of trues.
func (w *Window) AddHashesAt(added []bool, ts []int64, hs []uint64) int {
	checkAnswers(added, len(hs))
	ts = ts[:len(hs)]
	if w.byKeys() {
		return w.AddHashes(added, hs)
	}
	w.advance(w.now())
	count := 0
	for at := 0; at < len(hs); {
		number := floorDiv(ts[at], w.step)
		end := at + 1
		for end < len(hs) && floorDiv(ts[end], w.step) == number {
			end++
		}
		w.advance(number)
		c, _ := w.addBatches(number, part(added, at, end-at), hs[at:end])
		count += c
		at = end
	}
	return count
}

// addBatches adds hs to the given generation. It returns how many were new and how many
// were recorded, which is more with refreshing.
func (w *Window) addBatches(number int64, added []bool, hs []uint64) (count, recorded int) {
	p := getPending()
	defer p.release()
	for at := 0; at < len(hs); at += keyBatch {
		m := min(keyBatch, len(hs)-at)
		p.start(part(added, at, m), hs[at:at+m], false)
		recorded += w.addPending(number, p)
		count += p.n
	}
	return count, recorded
}

// addPending adds a batch, leaves the new hashes in it, and returns how many were
// recorded.
func (w *Window) addPending(number int64, p *pending) (recorded int) {
	// Newer generations have keys only if this time comes late.
	w.askOthers(p, func(n int64) bool { return n > number })
	older := func(n int64) bool { return n < number }
	if w.config.NoRefresh {
		w.askOthers(p, older)
	}
	if p.n > 0 && w.live(number, w.current) {
		w.set(number).addRemaining(p)
		recorded = p.n
	}
	if !w.config.NoRefresh {
		w.askOthers(p, older)
	}
	p.rest(true)
	return recorded
}

// askOthers settles those that one of the chosen generations has.
func (w *Window) askOthers(p *pending, chosen func(number int64) bool) {
	for i := range w.gens {
		if chosen(w.gens[i].number) {
			w.gens[i].set.askPending(p)
		}
	}
}

// HasHashes is HasKeys for hashes.
func (w *Window) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	gens := w.liveGens(w.now())
	return hasBatches(found, hs, func(p *pending) {
		for i := range gens {
			gens[i].set.askPending(p)
		}
	})
}
