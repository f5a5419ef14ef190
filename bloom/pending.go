package bloom

import (
	"runtime"
	"sync"

	"seen/internal/kernel"
)

// pending is a batch of hashes that several arrays are asked about one after another,
// reduced to the hashes without an answer.
type pending struct {
	answers []bool // of the whole batch, may be nil
	n       int    // hashes that are left
	hs      [keyBatch]uint64
	at      [keyBatch]uint8 // their indexes in the batch
	hit     [keyBatch]bool

	// Scratch memory of askLikely.
	likely    [keyBatch]uint64
	likelyAt  [keyBatch]uint8
	likelyHit [keyBatch]bool
}

// pendings keeps batch calls free of allocation.
var pendings = sync.Pool{New: func() any { return new(pending) }}

func getPending() *pending { return pendings.Get().(*pending) }

func (p *pending) release() {
	p.answers = nil
	pendings.Put(p)
}

// part returns the m answers from at on, or nil if answers is.
func part(answers []bool, at, m int) []bool {
	if answers == nil {
		return nil
	}
	return answers[at : at+m]
}

// start begins with all of hs, at most keyBatch. Hashes that are settled later are answered
// with hit.
func (p *pending) start(answers []bool, hs []uint64, hit bool) {
	p.answers = answers
	for i := range answers {
		answers[i] = hit
	}
	p.n = copy(p.hs[:], hs)
	p.at = inOrder
}

// inOrder is at for a batch without settled hashes.
var inOrder = func() (at [keyBatch]uint8) {
	for i := range at {
		at[i] = uint8(i)
	}
	return at
}()

// startMissed begins with those of hs that are not hit, and answers false to the
// others.
func (p *pending) startMissed(answers []bool, hs []uint64) {
	p.start(answers, hs, false)
	p.settle()
}

// ask settles those that f has; the others are left.
//
// A filter that is one of many has few of the keys that it is asked about, and the first
// line of a key is nearly always enough to know that. The other lines are read only where
// it is not, which saves most reads from memory.
func (p *pending) ask(f *Filter) {
	hs, hit := p.hs[:p.n], p.hit[:p.n]
	if f.layout.Lines > 1 && f.touch == nil {
		likely := f.hasFirst(hit, hs)
		if likely == 0 {
			return
		}
		if likely <= len(hs)/2 {
			p.askLikely(f)
			return
		}
	}
	if f.HasHashes(hit, hs) > 0 {
		p.settle()
	}
}

// askLikely is ask about the hashes that are hit; the others are absent.
func (p *pending) askLikely(f *Filter) {
	n := 0
	for i, hit := range p.hit[:p.n] {
		k := n & (keyBatch - 1)
		p.likely[k], p.likelyAt[k] = p.hs[i&(keyBatch-1)], uint8(i)
		n += one(hit)
	}
	if f.HasHashes(p.likelyHit[:n], p.likely[:n]) == 0 {
		return
	}
	for i, at := range p.likelyAt[:n] {
		p.hit[at] = p.likelyHit[i]
	}
	p.settle()
}

// hasFirst is HasHashes for the first lines of the keys only: true means possible, false is
// certain. Access to f must not be announced.
func (f *Filter) hasFirst(possible []bool, hs []uint64) int {
	n := f.firstLines().HasBatch(f.words, possible, hs)
	runtime.KeepAlive(f)
	return n
}

// firstLines returns the layout of the first region, which is all of an array with
// one line for each key.
func (f *Filter) firstLines() kernel.Layout {
	return kernel.Layout{RegionLines: f.layout.RegionLines, Lines: 1, Lanes: f.layout.Lanes}
}

// settle settles those that are hit; the others are left. It has no branch, which would be
// mispredicted half of the time.
func (p *pending) settle() {
	n := 0
	for i, hit := range p.hit[:p.n] {
		k := n & (keyBatch - 1)
		p.hs[k], p.at[k] = p.hs[i&(keyBatch-1)], p.at[i&(keyBatch-1)]
		n += one(!hit)
	}
	p.n = n
}

// add adds the first m of those that are left to f, answers which were new, and
// returns their number; the others are left.
func (p *pending) add(f *Filter, m int) int {
	m = min(m, p.n)
	count := f.AddHashes(p.hit[:m], p.hs[:m])
	p.answer(m)
	p.n = copy(p.hs[:], p.hs[m:p.n])
	copy(p.at[:], p.at[m:m+p.n])
	return count
}

// answer stores hit as the answers to the first m of those that are left.
func (p *pending) answer(m int) {
	if p.answers != nil {
		for i, yes := range p.hit[:m] {
			p.answers[p.at[i]] = yes
		}
	}
}

// rest answers all that are left.
func (p *pending) rest(answer bool) {
	if p.answers != nil {
		for _, at := range p.at[:p.n] {
			p.answers[at] = answer
		}
	}
}

// hasBatches asks about hs a batch at a time, and returns how many of them ask has settled,
// because they are there.
func hasBatches(found []bool, hs []uint64, ask func(*pending)) int {
	p := getPending()
	total := 0
	for at := 0; at < len(hs); at += keyBatch {
		m := min(keyBatch, len(hs)-at)
		p.start(part(found, at, m), hs[at:at+m], true)
		ask(p)
		p.rest(false)
		total += m - p.n
	}
	p.release()
	return total
}
