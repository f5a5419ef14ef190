package bloom

// StaticBuilder collects the keys of a [Static]. It is an exact set of their hashes: Add and
// Has answer like those of an exact [Adaptive].
//
// It takes about 11 bytes for each distinct key, and three times as many during Build. The
// zero value is not usable; make one with [NewStaticBuilder]. Any number of goroutines may
// ask at the same time while none adds. A StaticBuilder must not be copied.
type StaticBuilder struct {
	keyed
	config StaticConfig
	hashes *fingerprints
}

// NewStaticBuilder returns a builder with the keys of c.Hashes. It fails if the
// configuration is impossible for any number of keys.
func NewStaticBuilder(c StaticConfig) (*StaticBuilder, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	b := &StaticBuilder{config: c, hashes: newFingerprints(nil)}
	b.bind(c.Hash.key(), c.Hash.KeyID(), b)
	b.AddHashes(nil, c.Hashes)
	b.config.Hashes = nil
	return b, nil
}

// room makes room for h.
func (b *StaticBuilder) room(h uint64) bool {
	b.hashes.grow(h)
	return true
}

// AddHash is Add for a key whose hash is h.
func (b *StaticBuilder) AddHash(h uint64) bool {
	for {
		if isNew, done := b.hashes.add(h); done {
			return isNew
		}
		b.hashes.grow(h)
	}
}

// HasHash is Has for a key whose hash is h.
func (b *StaticBuilder) HasHash(h uint64) bool { return b.hashes.has(h) }

// AddHashes is AddKeys for hashes.
func (b *StaticBuilder) AddHashes(added []bool, hs []uint64) int {
	checkAnswers(added, len(hs))
	n, _ := b.hashes.addBatch(added, hs, b.room)
	return n
}

// HasHashes is HasKeys for hashes.
func (b *StaticBuilder) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	return b.hashes.hasBatch(found, hs)
}

// Added returns the number of distinct keys collected so far.
func (b *StaticBuilder) Added() uint64 { return b.hashes.count() }

// Build returns the filter of the keys, with the tag and the rules of the builder. It uses
// the memory of the builder, which has no keys afterwards. It fails as [NewStatic] does, and
// then the builder keeps its keys.
func (b *StaticBuilder) Build() (*Static, error) {
	sorted := b.hashes.sorted()
	b.hashes = newFingerprints(nil)
	f, err := newStatic(b.config, sorted)
	if err != nil {
		b.hashes = newFingerprints(sorted)
		return nil, err
	}
	f.label = b.label
	return f, nil
}
