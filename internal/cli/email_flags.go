package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"seen/keys"
)

// emailFlags say that keys are mail addresses, and which spellings of an address are one
// key. Each rule implies --email.
type emailFlags struct {
	on    bool
	keep  []string
	rules keys.EmailConfig
}

func (e *emailFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&e.on, "email", false, "the key is a mail address; use its canonical form")
	f.BoolVar(&e.rules.DropTags, "email-plus", false, "ignore the +tag of addresses at every domain, not only at large providers; implies --email")
	f.StringSliceVar(&e.keep, "email-keep", nil, "do not canonicalize `PARTS`: host (its script); implies --email")
}

// isSet reports whether keys are mail addresses.
func (e *emailFlags) isSet() bool { return e.on || e.rules.DropTags || len(e.keep) > 0 }

// config returns the rules, or nil if keys are not mail addresses.
func (e *emailFlags) config() (*keys.EmailConfig, error) {
	if !e.isSet() {
		return nil, nil
	}
	c := e.rules
	for _, part := range e.keep {
		if part != emailHost {
			return nil, usagef("--email-keep %s: known is %s", part, emailHost)
		}
		c.KeepHost = true
	}
	return &c, nil
}

// emailHost is the part of --email-keep.
const emailHost = "host"

// keepsHost returns the flags with or without --email-keep host, if keys are addresses.
func (e emailFlags) keepsHost(is bool) emailFlags {
	if e.on = e.isSet(); e.on && is {
		e.keep = []string{emailHost}
	} else {
		e.keep = nil
	}
	return e
}

// tag is the part of recordFlags.tag for mail addresses. It is empty for the rules of
// versions without --email-keep, which kept hosts in their script.
func (e *emailFlags) tag() string {
	c, err := e.config()
	if err != nil || c == nil || *c == (keys.EmailConfig{KeepHost: true}) {
		return "" // the error was reported before, or there are no other rules
	}
	return fmt.Sprintf(" email %t %t", c.KeepHost, c.DropTags)
}
