package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"seen/keys"
)

// urlFlags say that keys are URLs, and which spellings of a URL are one key. Each rule
// implies --url.
type urlFlags struct {
	on    bool
	keep  []string
	rules keys.URLConfig
}

func (u *urlFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&u.on, "url", false, "the key is a URL; use its canonical form, without the fragment")
	f.BoolVar(&u.rules.SortQuery, "url-sort-query", false, "ignore the order of query parameters; implies --url")
	f.BoolVar(&u.rules.DropTracking, "url-drop-tracking", false, "ignore query parameters such as utm_* and gclid; implies --url")
	f.StringArrayVar(&u.rules.Drop, "url-drop", nil, "ignore the query parameter `NAME`, or all that begin with START (START*); may be repeated; implies --url")
	f.StringSliceVar(&u.keep, "url-keep", nil, "do not canonicalize `PARTS`: host, port, dots, escapes, fragment; implies --url")
}

// config returns the rules, or nil if keys are not URLs.
func (u *urlFlags) config() (*keys.URLConfig, error) {
	c := u.rules
	if !u.on && !c.SortQuery && !c.DropTracking && len(c.Drop) == 0 && len(u.keep) == 0 {
		return nil, nil
	}
	parts := urlParts(&c)
	for _, word := range u.keep {
		i := slices.IndexFunc(parts, func(p urlPart) bool { return p.word == word })
		if i < 0 {
			return nil, usagef("--url-keep %s: known are host, port, dots, escapes and fragment", word)
		}
		*parts[i].keep = true
	}
	return &c, nil
}

// urlPart is a word of --url-keep, and what it sets.
type urlPart struct {
	word string
	keep *bool
}

func urlParts(c *keys.URLConfig) []urlPart {
	return []urlPart{
		{"host", &c.KeepHost}, {"port", &c.KeepPort}, {"dots", &c.KeepDots}, {"escapes", &c.KeepEscapes}, {"fragment", &c.KeepFragment},
	}
}

// tag is the part of recordFlags.tag for URLs. It lists each parameter that is dropped,
// so that a later version that knows more of them has another tag.
func (u *urlFlags) tag() string {
	c, err := u.config()
	if err != nil || c == nil {
		return "" // the error was reported before, or there are no rules
	}
	drop := c.Drop
	if c.DropTracking {
		drop = append(keys.TrackingParameters(), drop...)
	}
	return fmt.Sprintf(" url %t %t %t %t %t %t %s", c.KeepHost, c.KeepPort, c.KeepDots, c.KeepEscapes, c.KeepFragment, c.SortQuery, strings.Join(drop, "&"))
}
