package acl

// Match reports whether s matches a pattern of Redis: * matches any bytes, ? one byte,
// [abc], [a-z] and [^a] one byte of a set, and \ the next byte literally. It takes at most
// len(pattern) * len(s) steps.
func Match(pattern, s []byte) bool {
	matches, _ := MatchFor(func(int) error { return nil }, pattern, s) // it is never stopped
	return matches
}

// MatchFor is Match as a part of some work: it reports its steps to step and stops when
// step returns an error.
func MatchFor(step func(n int) error, pattern, s []byte) (bool, error) {
	p, at := 0, 0
	star, resume := -1, 0 // the last *, and where to try it next
	for at < len(s) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, resume = p, at
				p++
				continue
			}
			if next, ok := matchByte(pattern, p, s[at]); ok {
				p, at = next, at+1
				continue
			}
		}
		if star < 0 {
			return false, nil
		}
		if err := step(1 + at - resume); err != nil {
			return false, err
		}
		resume++
		p, at = star+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern), nil
}

// matchByte reports whether c matches the pattern at p, which is not *, and returns the
// position after the match. A set without an end ends with the pattern.
func matchByte(pattern []byte, p int, c byte) (next int, ok bool) {
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
		return p + 1, pattern[p] == c
	case '[':
	default:
		return p + 1, pattern[p] == c
	}
	p++
	not := p < len(pattern) && pattern[p] == '^'
	if not {
		p++
	}
	found := false
	for ; p < len(pattern) && pattern[p] != ']'; p++ {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			found = found || pattern[p] == c
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := pattern[p], pattern[p+2]
			found = found || min(low, high) <= c && c <= max(low, high)
			p += 2
		default:
			found = found || pattern[p] == c
		}
	}
	return min(p+1, len(pattern)), found != not
}
