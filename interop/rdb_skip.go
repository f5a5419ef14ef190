package interop

// Kinds of values in RDB files that consist of more than one string. Encodings come
// with versions of Redis; names are those of its source.
const (
	rdbList         = 1
	rdbSet          = 2
	rdbSortedSet    = 3
	rdbHash         = 4
	rdbSortedSet2   = 5
	rdbQuickList    = 14
	rdbStream       = 15
	rdbHashPack     = 16
	rdbQuickList2   = 18
	rdbStream2      = 19
	rdbStream3      = 21
	rdbHashExpiry   = 24
	rdbHashListPack = 25
)

// oneString are the kinds that are one string.
var oneString = map[byte]bool{rdbPlainValue: true, 9: true, 10: true, 11: true, 12: true, 13: true, rdbHashPack: true, 17: true, 20: true}

// atBloom reports whether the value of a module that follows is a filter of RedisBloom.
func (r *rdbReader) atBloom() bool {
	ahead := rdbReader{rest: r.rest}
	id := ahead.length()
	return ahead.err == nil && id>>10 == rdbModuleID(redisModuleName, 0)>>10
}

// skipValue skips a value. Of a kind that is not known nothing can be told, not even
// where it ends.
func (r *rdbReader) skipValue(kind byte) {
	switch {
	case oneString[kind]:
		r.plainText()
		return
	case kind == rdbModuleValue:
		r.length()
		r.skipModule()
		return
	}
	switch kind {
	case rdbList, rdbSet, rdbQuickList:
		r.repeat(func() { r.plainText() })
	case rdbSortedSet:
		r.repeat(func() {
			r.plainText()
			r.skipScore()
		})
	case rdbHash:
		r.repeat(func() {
			r.plainText()
			r.plainText()
		})
	case rdbSortedSet2:
		r.repeat(func() {
			r.plainText()
			r.take(8)
		})
	case rdbQuickList2:
		r.repeat(func() {
			r.length()
			r.plainText()
		})
	case rdbHashExpiry:
		r.take(8)
		r.repeat(func() {
			r.length()
			r.plainText()
			r.plainText()
		})
	case rdbHashListPack:
		r.take(8)
		r.plainText()
	case rdbStream, rdbStream2, rdbStream3:
		r.skipStream(kind)
	default:
		r.fail("a value of kind %d, whose end cannot be told", kind)
	}
}

// repeat reads a number and calls each that many times, or until it fails.
func (r *rdbReader) repeat(each func()) {
	for n := r.length(); n > 0 && r.err == nil; n-- {
		each()
	}
}

// skipScore skips a number of a sorted set in the text form of early versions.
func (r *rdbReader) skipScore() {
	// From 253 on the length stands for not a number and the two infinities.
	if n := r.take(1)[0]; n < 253 {
		r.take(uint64(n))
	}
}

// skipModule skips the parts of a module's value, up to its end.
func (r *rdbReader) skipModule() {
	for r.err == nil {
		switch kind := r.take(1)[0]; kind {
		case rdbEnd:
			return
		case rdbSigned, rdbNumber:
			r.length()
		case rdbFloat:
			r.take(4)
		case rdbDouble:
			r.take(8)
		case rdbString:
			r.plainText()
		default:
			r.fail("a part of kind %d in the value of a module", kind)
		}
	}
}

// lengths skips n lengths.
func (r *rdbReader) lengths(n int) {
	for range n {
		r.length()
	}
}

// skipStream skips a stream: its blocks of entries, its numbers, and its groups, each
// with what is pending and its consumers.
func (r *rdbReader) skipStream(kind byte) {
	const id = 16 // bytes of an entry's id
	r.repeat(func() {
		r.plainText()
		r.plainText()
	})
	r.lengths(3) // entries, and the last id
	if kind >= rdbStream2 {
		r.lengths(5) // the first id, the greatest deleted one, entries ever added
	}
	r.repeat(func() {
		r.plainText()
		r.lengths(2)
		if kind >= rdbStream2 {
			r.length()
		}
		r.repeat(func() {
			r.take(id + 8)
			r.length()
		})
		r.repeat(func() {
			r.plainText()
			r.take(8)
			if kind >= rdbStream3 {
				r.take(8)
			}
			r.repeat(func() { r.take(id) })
		})
	})
}
