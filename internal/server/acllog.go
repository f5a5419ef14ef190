package server

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// maxACLLog is the number of entries of the log of refusals.
const maxACLLog = 128

// maxRefusedText is how much of a key or a name an entry keeps.
const maxRefusedText = 256

// refused is an entry of the log of refusals: what somebody was not allowed, how
// often, and who it was first.
type refused struct {
	reason, context, object, user, client string

	count       int64
	id          int64
	first, last time.Time
}

// aclLog holds the last refusals, the latest first.
type aclLog struct {
	mu      sync.Mutex
	entries []refused
	nextID  int64
	reasons map[string]int64
}

// refusedAgain is how long a refusal counts as the same as one before.
const refusedAgain = time.Minute

// add notes a refusal; one that is like an earlier one is counted there.
func (l *aclLog) add(r refused, now time.Time) {
	for _, text := range []*string{&r.object, &r.user} {
		if len(*text) > maxRefusedText {
			*text = strings.Clone((*text)[:maxRefusedText]) + "..."
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reasons == nil {
		l.reasons = map[string]int64{}
	}
	l.reasons[r.reason]++
	at := slices.IndexFunc(l.entries, func(e refused) bool {
		return e.reason == r.reason && e.context == r.context && e.object == r.object && e.user == r.user && now.Sub(e.first) < refusedAgain
	})
	if at >= 0 {
		e := l.entries[at]
		e.count++
		e.last, e.client = now, r.client
		l.entries = slices.Insert(slices.Delete(l.entries, at, at+1), 0, e)
		return
	}
	r.count, r.id, r.first, r.last = 1, l.nextID, now, now
	l.nextID++
	l.entries = slices.Insert(l.entries, 0, r)
	if len(l.entries) > maxACLLog {
		l.entries = l.entries[:maxACLLog]
	}
}

func (l *aclLog) list(n int) []refused {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[:min(n, len(l.entries))])
}

func (l *aclLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// denied returns how often something was refused for a reason.
func (l *aclLog) denied(reason string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reasons[reason]
}
