package rdb

// Kinds of values in RDB files. Encodings come with versions of Redis; names are those of
// its source.
const (
	KindString   = 0
	list         = 1
	set          = 2
	sortedSet    = 3
	KindHash     = 4
	sortedSet2   = 5
	KindModule   = 7
	quickList    = 14
	stream       = 15
	KindHashPack = 16
	quickList2   = 18
	stream2      = 19
	stream3      = 21
	hashExpiry   = 24
	hashListPack = 25
)

// oneString are the kinds that are one string.
var oneString = map[byte]bool{KindString: true, 9: true, 10: true, 11: true, 12: true, 13: true, KindHashPack: true, 17: true, 20: true}

// IsModule reports whether the value of a module that follows is one of the named type.
func (r *Reader) IsModule(name string) bool {
	ahead := Reader{rest: r.rest}
	id := ahead.Length()
	return ahead.err == nil && id>>10 == ModuleID(name, 0)>>10
}

// SkipValue skips a value. A kind that is not known is a failure, since its end is not
// known either.
func (r *Reader) SkipValue(kind byte) {
	switch {
	case oneString[kind]:
		r.Text()
		return
	case kind == KindModule:
		r.Length()
		r.skipModule()
		return
	}
	switch kind {
	case list, set, quickList:
		r.repeat(func() { r.Text() })
	case sortedSet:
		r.repeat(func() {
			r.Text()
			r.skipScore()
		})
	case KindHash:
		r.repeat(func() {
			r.Text()
			r.Text()
		})
	case sortedSet2:
		r.repeat(func() {
			r.Text()
			r.Take(8)
		})
	case quickList2:
		r.repeat(func() {
			r.Length()
			r.Text()
		})
	case hashExpiry:
		r.Take(8)
		r.repeat(func() {
			r.Length()
			r.Text()
			r.Text()
		})
	case hashListPack:
		r.Take(8)
		r.Text()
	case stream, stream2, stream3:
		r.skipStream(kind)
	default:
		r.Fail("a value of the unknown kind %d", kind)
	}
}

// repeat reads a number and calls each that many times, or until it fails.
func (r *Reader) repeat(each func()) {
	for n := r.Length(); n > 0 && r.err == nil; n-- {
		each()
	}
}

// skipScore skips a number of a sorted set in the text form of early versions.
func (r *Reader) skipScore() {
	// Lengths from 253 on are not-a-number and the two infinities.
	if n := r.Take(1)[0]; n < 253 {
		r.Take(uint64(n))
	}
}

// skipModule skips the parts of a module's value, up to its end.
func (r *Reader) skipModule() {
	for r.err == nil {
		switch kind := r.Take(1)[0]; kind {
		case moduleEnd:
			return
		case moduleSigned, moduleNumber:
			r.Length()
		case moduleFloat:
			r.Take(4)
		case moduleDouble:
			r.Take(8)
		case moduleText:
			r.Text()
		default:
			r.Fail("a part of kind %d in the value of a module", kind)
		}
	}
}

// lengths skips n lengths.
func (r *Reader) lengths(n int) {
	for range n {
		r.Length()
	}
}

// skipStream skips a stream: its blocks of entries, its numbers, and its groups, each
// with what is pending and its consumers.
func (r *Reader) skipStream(kind byte) {
	const id = 16 // bytes of an entry's id
	r.repeat(func() {
		r.Text()
		r.Text()
	})
	r.lengths(3) // entries, and the last id
	if kind >= stream2 {
		r.lengths(5) // the first id, the greatest deleted one, entries ever added
	}
	r.repeat(func() {
		r.Text()
		r.lengths(2)
		if kind >= stream2 {
			r.Length()
		}
		r.repeat(func() {
			r.Take(id + 8)
			r.Length()
		})
		r.repeat(func() {
			r.Text()
			r.Take(8)
			if kind >= stream3 {
				r.Take(8)
			}
			r.repeat(func() { r.Take(id) })
		})
	})
}
