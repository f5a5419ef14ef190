package fair

import "time"

const (
	// Patience is how long a client may leave a connection idle, a request half sent or
	// replies unread before others can take its place.
	Patience = 10 * time.Second
	// leastRate is how many bytes of a request must come in a second, on average, from a
	// client that does not count as slow.
	leastRate = 16 << 10
)

// Slow reports whether a client that has sent so many bytes of a request in a time keeps
// others from being served.
func Slow(since time.Duration, bytes int64) bool {
	return since >= Patience && float64(bytes) < since.Seconds()*leastRate
}
