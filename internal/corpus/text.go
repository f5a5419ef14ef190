package corpus

import "strconv"

// scribe writes the text of one line. All its choices come from the random
// numbers it starts with, so that equal starts give equal text.
//
// Each method appends a number which it is given as the last run of digits of
// the line; neither the words nor what follows the number hold digits.
type scribe struct{ random }

// url appends an address of a site that has more pages the lower its number,
// in a crawl of the given count of distinct pages.
func (s *scribe) url(dst []byte, number, pages, seed uint64) []byte {
	if s.below(8) == 0 {
		dst = append(dst, "http://"...)
	} else {
		dst = append(dst, "https://"...)
	}
	site := scribe{random{mix(s.zipf(pages/64+1) ^ seed<<32)}}
	dst = site.host(dst)
	switch style := site.below(8); {
	case style < 3: // a magazine
		dst = append(s.date(append(s.section(dst), '/')), '/')
		dst = append(s.words(dst, 1+s.below(3), '-'), '-')
		dst = strconv.AppendUint(dst, number, 10)
		return s.pick(dst, "", ".html", "/", "?ref=rss")
	case style < 6: // a shop
		dst = append(s.section(dst), '/')
		dst = append(s.words(dst, 1+s.below(3), '-'), "/p/"...)
		dst = strconv.AppendUint(dst, number, 10)
		return s.pick(dst, "", "", "/reviews", "?currency=eur&lang=en")
	default: // a forum
		dst = s.pick(dst, "/view.php?f=", "/board?area=")
		dst = append(strconv.AppendUint(dst, 1+s.below(40), 10), "&t="...)
		dst = strconv.AppendUint(dst, number, 10)
		return s.pick(dst, "", "&order=asc", "#latest")
	}
}

// host appends the name of a site.
func (s *scribe) host(dst []byte) []byte {
	dst = s.pick(dst, "www.", "www.", "www.", "", "", "m.", "blog.", "shop.")
	dst = append(append(dst, s.word()...), s.pick(nil, "", "", "-")...)
	dst = append(dst, s.word()...)
	if s.below(2) == 0 {
		dst = strconv.AppendUint(dst, s.below(1000), 10)
	}
	return s.pick(dst, ".example", ".com.example", ".org.example")
}

// short appends a name and its number.
func (s *scribe) short(dst []byte, number uint64) []byte {
	dst = append(append(dst, s.word()...), '-')
	return strconv.AppendUint(dst, number, 10)
}

// path appends the absolute name of a file.
func (s *scribe) path(dst []byte, number uint64) []byte {
	switch s.below(4) {
	case 0:
		dst = append(s.words(append(dst, "/home/"...), 1, '/'), s.pick(nil, "/Documents/", "/projects/", "/Pictures/")...)
	case 1:
		dst = append(s.pick(dst, "/usr/share/doc/", "/usr/lib/x86_64-linux-gnu/", "/usr/share/"), "lib"...)
	case 2:
		dst = append(s.date(s.pick(dst, "/var/log/archive/", "/srv/backup/", "/mnt/data/")), '/')
	default:
		dst = append(append(append(dst, "/srv/www/"...), s.word()...), ".example/htdocs/"...)
	}
	dst = append(s.words(dst, 1+s.below(3), '/'), '/')
	dst = append(s.words(dst, 1+s.below(2), '_'), '_')
	dst = strconv.AppendUint(dst, number, 10)
	return s.pick(dst, ".txt", ".jpg", ".html", ".go", ".pdf", ".log.gz", ".json", "")
}

// section appends one of a few first path elements.
func (s *scribe) section(dst []byte) []byte {
	return s.pick(dst, "/news", "/world", "/sport", "/culture", "/science", "/garden", "/travel", "/kitchen", "/archive", "/en", "/de", "/fr/blog")
}

// date appends a year and a month.
func (s *scribe) date(dst []byte) []byte {
	dst = append(strconv.AppendUint(dst, 2008+s.below(18), 10), '/')
	month := 1 + s.below(12)
	return append(dst, byte('0'+month/10), byte('0'+month%10))
}

// words appends n words with a separator between them.
func (s *scribe) words(dst []byte, n uint64, separator byte) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, separator)
		}
		dst = append(dst, s.word()...)
	}
	return dst
}

func (s *scribe) word() string { return vocabulary[s.below(uint64(len(vocabulary)))] }

// pick appends one of the choices.
func (s *scribe) pick(dst []byte, choices ...string) []byte {
	return append(dst, choices[s.below(uint64(len(choices)))]...)
}

// appendHex appends x as 16 hexadecimal digits.
func appendHex(dst []byte, x uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[x>>shift&15])
	}
	return dst
}
