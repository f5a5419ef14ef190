package bloom

import "sync"

// pending is a batch of hashes that several arrays are asked about one after
// another, reduced to those that none has answered yet.
type pending struct {
	answers []bool // of the whole batch, may be nil
	n       int    // hashes that are left
	hs      [keyBatch]uint64
	at      [keyBatch]uint8 // where in the batch they stand
	hit     [keyBatch]bool
}

// pendings keeps batch calls free of allocation.
var pendings = sync.Pool{New: func() any { return new(pending) }}

func getPending() *pending { return pendings.Get().(*pending) }

func (p *pending) release() {
	p.answers = nil
	pendings.Put(p)
}

// part returns the m answers from at on, if answers are wanted at all.
func part(answers []bool, at, m int) []bool {
	if answers == nil {
		return nil
	}
	return answers[at : at+m]
}

// start begins with all of hs, of which there are at most keyBatch.
func (p *pending) start(answers []bool, hs []uint64) {
	p.answers = answers
	p.n = copy(p.hs[:], hs)
	for i := range hs {
		p.at[i] = uint8(i)
	}
}

// startMissed begins with those of hs that are not hit, and answers false to the
// others.
func (p *pending) startMissed(answers []bool, hs []uint64) {
	p.answers = answers
	clear(answers)
	p.n = 0
	for i, h := range hs {
		p.hs[p.n&(keyBatch-1)], p.at[p.n&(keyBatch-1)] = h, uint8(i)
		p.n += one(!p.hit[i&(keyBatch-1)])
	}
}

// ask answers with the given answer those that f has; the others are left.
func (p *pending) ask(f *Blocked, answer bool) {
	if f.HasHashes(p.hit[:p.n], p.hs[:p.n]) == 0 {
		return
	}
	p.settle(answer)
}

// settle answers with the given answer those that are hit; the others are left.
func (p *pending) settle(answer bool) {
	n := 0
	for i := range p.n {
		if p.hit[i] {
			if p.answers != nil {
				p.answers[p.at[i]] = answer
			}
			continue
		}
		p.hs[n], p.at[n] = p.hs[i], p.at[i]
		n++
	}
	p.n = n
}

// add adds the first m of those that are left to f, answers which were new, and
// returns their number; the others are left.
func (p *pending) add(f *Blocked, m int) int {
	m = min(m, p.n)
	count := f.AddHashes(p.hit[:m], p.hs[:m])
	if p.answers != nil {
		for i, isNew := range p.hit[:m] {
			p.answers[p.at[i]] = isNew
		}
	}
	p.n = copy(p.hs[:], p.hs[m:p.n])
	copy(p.at[:], p.at[m:m+p.n])
	return count
}

// answer answers for those that are left what stands in hit.
func (p *pending) answer() {
	if p.answers != nil {
		for i, yes := range p.hit[:p.n] {
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

// hasBatches asks about hs a batch at a time, and returns how many of them ask
// has settled, which are those that are there.
func hasBatches(found []bool, hs []uint64, ask func(*pending)) int {
	p := getPending()
	total := 0
	for at := 0; at < len(hs); at += keyBatch {
		m := min(keyBatch, len(hs)-at)
		p.start(part(found, at, m), hs[at:at+m])
		ask(p)
		p.rest(false)
		total += m - p.n
	}
	p.release()
	return total
}
