package bloom

import (
	"fmt"
	"sync"

	"seen/internal/frame"
	"seen/internal/keyhash"
)

// keyBatch is the number of keys that the batch calls on keys hash before they
// ask the filter.
const keyBatch = 256

// scratch keeps the batch calls free of allocation; the hashes cannot be on the stack
// because they are passed through an interface.
var scratch = sync.Pool{New: func() any { return new([keyBatch]uint64) }}

// hashView is what the calls that take keys need from a filter.
type hashView interface {
	HasHash(h uint64) bool
	HasHashes(found []bool, hs []uint64) int
}

// hashSet is hashView with additions.
type hashSet interface {
	hashView
	AddHash(h uint64) bool
	AddHashes(added []bool, hs []uint64) int
}

// lookup gives a filter the calls that ask for keys instead of hashes.
type lookup struct {
	hash  keyhash.Hash
	keyID uint64 // of hash, also where the secret itself is not known
	view  hashView
	label
}

// label is what the owner of a filter keeps in it in addition to its keys.
type label struct {
	tag   uint64
	rules string
}

func (l *lookup) bindView(h keyhash.Hash, keyID uint64, v hashView) {
	l.hash, l.keyID, l.view = h, keyID, v
}

// rebind makes a copy of a filter ask itself.
func (l *lookup) rebind(f hashView) { l.view = f }

// Hash returns the key hash of the filter.
func (l *lookup) Hash() Hash { return hashOf(l.hash) }

// Tag returns the number that SetTag gave the filter, 0 if it has none.
func (l *lookup) Tag() uint64 { return l.tag }

// SetTag gives the filter a number for its owner, such as what its keys are. Files contain
// it; Union and Equal ignore it.
func (l *lookup) SetTag(tag uint64) { l.tag = tag }

// Rules returns what SetRules stored, "" if nothing.
func (l *lookup) Rules() string { return l.rules }

// MaxRules is the length in bytes of the longest text for SetRules.
const MaxRules = frame.MaxRules

// SetRules stores what is done to keys before they are added, as words with blanks between
// them, such as "lower trim"; [seen/keys.Rules] has the words that "seen" uses. Files
// contain the rules; filters with different ones are not equal and do not unite. The filter
// does not apply them: its calls take keys as they are hashed. The error says which word cannot be stored.
func (l *lookup) SetRules(rules string) error {
	canonical, err := frame.CanonicalRules(rules)
	if err != nil {
		return err
	}
	l.rules = canonical
	return nil
}

// Has reports whether key may have been added. No is certain; yes is wrong with
// the filter's error rate. It does not allocate.
func (l *lookup) Has(key []byte) bool { return l.view.HasHash(l.hash.Sum(key)) }

// HasString is Has for a string, without a copy.
func (l *lookup) HasString(key string) bool { return l.view.HasHash(l.hash.SumString(key)) }

// HasKeys does Has for each key, stores the answers in found, which must be nil or as
// long as keys, and returns the number of keys that may have been added. For filters
// larger than the caches it is several times faster than single calls, because cache
// misses overlap.
func (l *lookup) HasKeys(found []bool, keys [][]byte) int {
	return inBatches(found, len(keys), func(hs []uint64, at int) { l.hash.SumKeys(hs, keys[at:at+len(hs)]) }, l.view.HasHashes)
}

// HasStrings is HasKeys for strings.
func (l *lookup) HasStrings(found []bool, keys []string) int {
	return inBatches(found, len(keys), func(hs []uint64, at int) { l.hash.SumStrings(hs, keys[at:at+len(hs)]) }, l.view.HasHashes)
}

// HasHashes is HasKeys for hashes.
func (l *lookup) HasHashes(found []bool, hs []uint64) int {
	f := l.view
	checkAnswers(found, len(hs))
	n := 0
	for i, h := range hs {
		has := f.HasHash(h)
		if found != nil {
			found[i] = has
		}
		if has {
			n++
		}
	}
	return n
}

// keyed gives a filter the calls that take keys instead of hashes.
type keyed struct {
	lookup
	set hashSet
}

func (k *keyed) bind(h keyhash.Hash, keyID uint64, s hashSet) {
	k.bindView(h, keyID, s)
	k.set = s
}

func (k *keyed) rebind(f hashView) { k.view, k.set = f, f.(hashSet) }

// Add adds key and reports whether it is new. True is certain; false is wrong with the
// filter's error rate. It does not allocate and does not keep key.
func (k *keyed) Add(key []byte) bool { return k.set.AddHash(k.hash.Sum(key)) }

// AddString is Add for a string, without a copy.
func (k *keyed) AddString(key string) bool { return k.set.AddHash(k.hash.SumString(key)) }

// AddKeys does Add for each key in order, stores the answers in added, which must be nil
// or as long as keys, and returns the number of new keys. Of two equal keys in one call
// only the first is new.
func (k *keyed) AddKeys(added []bool, keys [][]byte) int {
	return inBatches(added, len(keys), func(hs []uint64, at int) { k.hash.SumKeys(hs, keys[at:at+len(hs)]) }, k.set.AddHashes)
}

// AddStrings is AddKeys for strings.
func (k *keyed) AddStrings(added []bool, keys []string) int {
	return inBatches(added, len(keys), func(hs []uint64, at int) { k.hash.SumStrings(hs, keys[at:at+len(hs)]) }, k.set.AddHashes)
}

// AddHashes is AddKeys for hashes.
func (k *keyed) AddHashes(added []bool, hs []uint64) int {
	f := k.set
	checkAnswers(added, len(hs))
	n := 0
	for i, h := range hs {
		isNew := f.AddHash(h)
		if added != nil {
			added[i] = isNew
		}
		if isNew {
			n++
		}
	}
	return n
}

// inBatches passes the hashes of n keys to ask, a batch at a time. sum stores those
// of the keys from index at on in hs.
func inBatches(answers []bool, n int, sum func(hs []uint64, at int), ask func([]bool, []uint64) int) int {
	checkAnswers(answers, n)
	hs := scratch.Get().(*[keyBatch]uint64)
	total := 0
	for at := 0; at < n; at += keyBatch {
		m := min(keyBatch, n-at)
		sum(hs[:m], at)
		if answers == nil {
			total += ask(nil, hs[:m])
		} else {
			total += ask(answers[at:at+m], hs[:m])
		}
	}
	scratch.Put(hs)
	return total
}

// checkAnswers panics when a caller of a batch call passes a slice of the wrong
// length, as an index out of range would.
func checkAnswers(answers []bool, n int) {
	if answers != nil && len(answers) != n {
		panic(fmt.Sprintf("%d answers were asked for %d keys; pass nil or a slice of equal length", len(answers), n))
	}
}
