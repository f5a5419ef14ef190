package web

import (
	"io"
	"net/http"
	"time"

	"seen/sizing"
)

// A Source is the server whose filters the pages show. Its methods, and those of its
// visitors, are called by any number of goroutines.
type Source interface {
	// Enter returns who sends a request with a name and a password, or why nobody does,
	// mostly a *Refused.
	Enter(r *http.Request, name, password string) (Visitor, error)
	// Anybody returns who sends a request without them, nil if a password is needed, or
	// a *Refused for those who may not come in at all.
	Anybody(r *http.Request) (Visitor, error)
	// Done is closed when the server is about to end.
	Done() <-chan struct{}
}

// A Visitor is somebody who looks at pages, with what they may see and do.
type Visitor interface {
	// User returns the name.
	User() string
	// Valid reports whether the visitor may still come in: the user is there and has
	// the password that it had.
	Valid() bool
	// Overview returns the state of the server, of a few seconds ago at most, with the
	// filters that the visitor may read.
	Overview() (Overview, error)

	// Filter returns all about a filter, and what the visitor may do with it.
	Filter(name string) (*Detail, error)
	// History returns the samples of a filter over a span until now, the oldest first.
	History(name string, span Span) ([]Sample, error)
	// Bits returns, for each layer of a filter, the share of ones in lines that are
	// evenly spread over it.
	Bits(name string) ([][]float64, error)
	// Compare estimates what two filters have in common. It reads all of their bits.
	Compare(a, b string) (*Comparison, error)

	// Check returns the answers for keys, in order.
	Check(name string, keys [][]byte) ([]Answer, error)
	// Add adds the keys of a text, one a line, and returns how many lines there were,
	// and how many of their keys were new; both also with an error.
	Add(name string, lines io.Reader) (added, all int, err error)
	// Clear forgets all keys.
	Clear(name string) error
	// Expire has the filter deleted after a time; 0 takes that back.
	Expire(name string, after time.Duration) error
	// Delete deletes the filter.
	Delete(name string) error
	// Download writes the filter in a format to what begin returns, which is called
	// when nothing can go wrong any more but the writing.
	Download(name, format string, begin func() io.Writer) error
}

// Refused is the error of a Source that does not do what a visitor asks for. Its
// text is for them to read.
type Refused struct {
	Status int // of HTTP
	Text   string
}

func (r *Refused) Error() string { return r.Text }

// Overview is the state of a server.
type Overview struct {
	At        time.Time
	Filters   []*Filter // in no order; not to be changed
	Others    int       // smaller filters that are not among them
	Partial   bool      // there may be such filters
	Memory    uint64    // bytes of all of them, also those that are not told
	MaxMemory uint64    // 0: no limit
	DiskFree  uint64    // bytes; 0: unknown
	Lag       uint64    // operations that are not on the disk yet
	Trouble   string    // why changes are not taken; "" if they are
}

// Filter is the state of a filter or sketch in a row of the overview. What does not
// apply to its type is 0.
type Filter struct {
	Name     string
	Type     string // bloom, cuckoo, countmin or topk
	Kind     string // what there is to say besides: window, redisbloom
	Items    uint64 // keys in it
	Capacity uint64 // keys until it grows or is full
	Grows    bool
	Rate     float64 // error rate now; NaN: this type has none
	Asked    float64 // as asked for; NaN: nobody has
	PastRate bool    // Rate is above Asked, by more than rounding
	Bytes    uint64
	Adds     float64   // keys per second that were to be added
	Checks   float64   // keys per second that were asked for
	Hits     float64   // share of Checks that was found; NaN: there were none
	Expires  time.Time // zero: never
}

// Load is the share of the capacity that is in use; 0 where there is no capacity.
func (f *Filter) Load() float64 {
	if f.Capacity == 0 {
		return 0
	}
	return float64(f.Items) / float64(f.Capacity)
}

// nearlyFull is the load from which a filter that cannot grow is marked.
const nearlyFull = 0.8

// Full reports whether a filter that cannot grow has all the keys it was made for.
func (f *Filter) Full() bool { return !f.Grows && f.Capacity > 0 && f.Items >= f.Capacity }

// Near reports whether a filter that cannot grow will be full soon.
func (f *Filter) Near() bool {
	return !f.Grows && f.Capacity > 0 && !f.Full() && f.Load() > nearlyFull
}

// Marked reports whether somebody should look at it.
func (f *Filter) Marked() bool { return f.Full() || f.Near() || f.PastRate }

// Detail is all about a filter.
type Detail struct {
	Filter
	Created time.Time
	// Keys is how many were added, with those that were taken for seen by mistake and
	// are not in Items; without a value where that cannot be told.
	Keys    sizing.Estimate
	Fill    float64 // share of ones, or of slots in use, that the keys make expect
	Facts   []Fact
	Layers  []Layer // the oldest first
	Window  time.Duration
	Stuck   *Stuck // of a sketch with counters; else nil
	Best    []Counted
	May     May
	Formats []Format // in which it can be downloaded
	// NoFormat says why there are no others.
	NoFormat string
}

// Fact is a parameter with its value.
type Fact struct{ Name, Value string }

// Layer is an array of a filter.
type Layer struct {
	Bits, Capacity, Added, Bytes uint64
	Probes                       int
	Asked, Fill                  float64
	Begin                        time.Time // of a generation of a window; else zero
}

// Stuck tells how many counters do not go on counting.
type Stuck struct{ Stuck, Of uint64 }

// Counted is a key with its count.
type Counted struct {
	Key   string
	Count uint64
}

// May says what a visitor may do with a filter.
type May struct{ Check, Add, Clear, Expire, Delete bool }

// Changes reports whether the visitor may do anything but look.
func (m May) Changes() bool { return m.Add || m.Clear || m.Expire || m.Delete }

// Format is a form in which a filter can be downloaded.
type Format struct{ Name, Title, Extension, Use string }

// Answer is what a filter says of a key.
type Answer struct {
	Key   string
	Found bool
	Count uint64 // of a type that counts
}

// A Span is a time that a history reaches back.
type Span string

// The spans of a history.
const (
	Hour  Span = "hour"
	Day   Span = "day"
	Month Span = "month"
)

// Sample is the state of a filter at the end of a step of time. Steps in which nothing
// happened have none.
type Sample struct {
	Begin              time.Time
	Step               time.Duration
	Items, Capacity    uint64
	Fill, Rate         float64         // Rate is NaN where there is none
	Adds, Checks, Hits uint64          // during the step
	Keys               sizing.Estimate // as in Detail
}

// Comparison is what two filters have in common, estimated.
type Comparison struct {
	A, B                         string
	KeysA, KeysB                 sizing.Estimate
	Union, Intersection, Jaccard sizing.Estimate
}
