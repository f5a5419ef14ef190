package acl

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// MaxLog is the largest number of entries of a Log.
const MaxLog = 128

// maxRefusedText is how much of a key or a name an entry keeps.
const maxRefusedText = 256

// A Refusal is an entry of the log: what a user was denied, how often, and the last
// client.
type Refusal struct {
	Reason, Context, Object, User, Client string

	// Set by the log.
	Count       int64
	ID          int64
	First, Last time.Time
}

// A Log holds the last refusals, the latest first.
type Log struct {
	mu      sync.Mutex
	entries []Refusal
	nextID  int64
	reasons map[string]int64
}

// refusedAgain is how long an equal refusal counts as the same.
const refusedAgain = time.Minute

// Add adds a refusal, or counts it as an earlier equal one.
func (l *Log) Add(r Refusal, now time.Time) {
	for _, text := range []*string{&r.Object, &r.User} {
		if len(*text) > maxRefusedText {
			*text = strings.Clone((*text)[:maxRefusedText]) + "..."
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reasons == nil {
		l.reasons = map[string]int64{}
	}
	l.reasons[r.Reason]++
	at := slices.IndexFunc(l.entries, func(e Refusal) bool {
		return e.Reason == r.Reason && e.Context == r.Context && e.Object == r.Object && e.User == r.User && now.Sub(e.First) < refusedAgain
	})
	if at >= 0 {
		e := l.entries[at]
		e.Count++
		e.Last, e.Client = now, r.Client
		l.entries = slices.Insert(slices.Delete(l.entries, at, at+1), 0, e)
		return
	}
	r.Count, r.ID, r.First, r.Last = 1, l.nextID, now, now
	l.nextID++
	l.entries = slices.Insert(l.entries, 0, r)
	if len(l.entries) > MaxLog {
		l.entries = l.entries[:MaxLog]
	}
}

// List returns the last n refusals, the latest first.
func (l *Log) List(n int) []Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[:min(n, len(l.entries))])
}

// Clear deletes all entries.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// Denied returns how many refusals there were for a reason.
func (l *Log) Denied(reason string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reasons[reason]
}
