package cluster

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
)

// part is what a call asks for some of its keys in one go.
type part struct {
	key  string // of the engine
	keys []int  // indices in the call of those that are undecided
	// commands makes the commands, anew for each attempt.
	commands func() []rueidis.Completed
	// decide reads their answers. With an error, it leaves in keys those that the error
	// is about.
	decide func(results []rueidis.RedisResult) error
}

// exchange sends the commands of all parts at once, and again those that were refused for
// a reason that goes away by itself. A write without an answer is not sent again; the
// client library repeats reads. say turns an engine's refusal into the error to return.
func exchange(ctx context.Context, client rueidis.Client, parts []*part, writes bool, say func(key string, err error) error, f *failures) {
	for attempt := 1; len(parts) > 0; attempt++ {
		var commands []rueidis.Completed
		counts := make([]int, len(parts))
		for i, p := range parts {
			c := p.commands()
			counts[i] = len(c)
			commands = append(commands, c...)
		}
		results := client.DoMulti(ctx, commands...)
		again := parts[:0]
		var refusal error
		for i, p := range parts {
			err := p.decide(results[:counts[i]])
			results = results[counts[i]:]
			switch {
			case err == nil:
			case passing(err):
				again, refusal = append(again, p), err
			case writes:
				f.undecided(p.keys, f.ofWrite(p.key, err, say))
			default:
				f.undecided(p.keys, say(p.key, err))
			}
		}
		parts = again
		if len(parts) > 0 && (attempt > maxAttempts || !pause(ctx, attempt)) {
			for _, p := range parts {
				f.undecided(p.keys, say(p.key, refusal))
			}
			return
		}
	}
}

// undecided makes keys undecided.
func (f *failures) undecided(keys []int, err error) {
	if len(keys) > 0 {
		f.keys = append(f.keys, keys...)
		f.because(err)
	}
}

// ofWrite says what became of a write that has failed; say turns an engine's refusal into
// the error to return.
func (f *failures) ofWrite(key string, err error, say func(key string, err error) error) error {
	switch {
	case refused(err) && !executed(err):
		return say(key, err)
	case unsent(err):
		return about(key, fmt.Errorf("nothing was sent: %w", err))
	}
	f.maybe = true
	return about(key, fmt.Errorf("no answer came, the keys may have been added: %w", err))
}
