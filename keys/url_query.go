package keys

import (
	"bytes"
	"slices"
	"strings"
)

// tracking are the parameters that advertising and mailing systems add to links
// so that they can follow who clicks; no server needs them to answer.
var tracking = []string{
	"utm_*",                                                                                                 // Urchin, today Google Analytics
	"gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "_ga", "_gl", "srsltid", // Google
	"fbclid", "igshid", "igsh", // Facebook, Instagram
	"msclkid",            // Microsoft
	"twclid",             // Twitter
	"ttclid",             // TikTok
	"li_fat_id",          // LinkedIn
	"yclid", "_openstat", // Yandex
	"epik",             // Pinterest
	"rdt_cid",          // Reddit
	"ScCid",            // Snapchat
	"irclickid",        // Impact
	"mc_cid", "mc_eid", // Mailchimp
	"_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsCtaTracking", // HubSpot
	"mkt_tok",                   // Marketo
	"vero_id",                   // Vero
	"oly_anon_id", "oly_enc_id", // Omeda
	"wickedid",      // Wicked Reports
	"mtm_*", "pk_*", // Matomo
	"s_cid", // Adobe
}

// TrackingParameters returns the names of the query parameters that
// URLConfig.DropTracking drops, in the form of URLConfig.Drop.
func TrackingParameters() []string { return slices.Clone(tracking) }

// listsQuery reports whether a rule takes the query for a list of parameters.
func (f *URLForm) listsQuery() bool {
	return f.config.SortQuery || len(f.names) > 0 || len(f.prefixes) > 0
}

// drops reports whether the parameter of that name goes.
func (f *URLForm) drops(name []byte) bool {
	return f.names[string(name)] || slices.ContainsFunc(f.prefixes, func(p string) bool { return strings.HasPrefix(string(name), p) })
}

// arrangeQuery applies the rules of the query to the URL that dst has from start
// on, and returns dst. Only a query of more than 16 parameters takes memory.
func (f *URLForm) arrangeQuery(dst []byte, start int) []byte {
	url := dst[start:]
	end := len(url)
	if f.config.KeepFragment {
		if i := bytes.IndexByte(url, '#'); i >= 0 {
			end = i
		}
	}
	mark := bytes.IndexByte(url[:end], '?')
	if mark < 0 {
		return dst
	}
	var few [16]parameter
	list := few[:0]
	changed := false
	for at := mark + 1; at <= end; {
		p := parameter{at, end}
		if i := bytes.IndexByte(url[at:end], '&'); i >= 0 {
			p.end = at + i
		}
		at = p.end + 1
		if p.from == p.end || f.drops(p.name(url)) {
			changed = true
			continue
		}
		list = append(list, p)
	}
	byName := func(a, b parameter) int { return bytes.Compare(a.name(url), b.name(url)) }
	if f.config.SortQuery && !slices.IsSortedFunc(list, byName) {
		changed = true
		slices.SortStableFunc(list, byName)
	}
	if !changed {
		return dst
	}
	// The new end of the URL is written behind the old one and then moved there.
	old := len(dst)
	for i, p := range list {
		dst = append(dst, "?&"[min(i, 1)])
		dst = append(dst, dst[start+p.from:start+p.end]...)
	}
	dst = append(dst, dst[start+end:old]...)
	n := copy(dst[start+mark:], dst[old:])
	return dst[:start+mark+n]
}

// parameter is a piece of a URL, name=value or a name alone.
type parameter struct{ from, end int }

func (p parameter) name(url []byte) []byte {
	piece := url[p.from:p.end]
	if i := bytes.IndexByte(piece, '='); i >= 0 {
		return piece[:i]
	}
	return piece
}
