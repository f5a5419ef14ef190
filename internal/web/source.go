package web

import (
	"io"
	"net/http"
	"time"

	"seen/internal/forecast"
	"seen/sizing"
)

// A Source is the server whose filters the pages show. Any number of goroutines call its
// methods and those of its visitors.
type Source interface {
	// Enter returns the visitor with a name and a password. An error for the user to read
	// is a *Refused.
	Enter(r *http.Request, name, password string) (Visitor, error)
	// Anybody returns the visitor for requests without a password, nil if every request
	// needs one. A *Refused says why this request may not go without one.
	Anybody(r *http.Request) (Visitor, error)
	// Done is closed when the server begins to shut down.
	Done() <-chan struct{}
}

// A Visitor is a user of the pages, and does what the rights of that user allow.
type Visitor interface {
	// User returns the name.
	User() string
	// Valid reports whether the session may go on: the user still exists, with the same
	// passwords as at the log-in.
	Valid() bool
	// MayAll reports whether the visitor may do everything on this server.
	MayAll() bool
	// MayCreate reports whether the visitor may create filters, at least of some names.
	MayCreate() bool
	// Create creates a filter.
	Create(f NewFilter) error
	// Overview returns the state of the server with the filters that the visitor may
	// read, as of at most a few seconds ago.
	Overview() (Overview, error)

	// Filter returns the details of a filter, and what the visitor may do with it.
	Filter(name string) (*Detail, error)
	// History returns the samples of a filter over a span until now, the oldest first.
	History(name string, span Span) ([]Sample, error)
	// Bits returns, for each layer of a filter, the share of ones in each of a number of
	// lines evenly spread over the layer.
	Bits(name string) ([][]float64, error)
	// Compare estimates how many keys two filters share. It reads all their bits.
	Compare(a, b string) (*Comparison, error)

	// Check returns the answers for keys, in order.
	Check(name string, keys [][]byte) ([]Answer, error)
	// Add adds the keys of a text with one key per line. It returns how many keys were new
	// and how many there were, also with an error.
	Add(name string, lines io.Reader) (added, all int, err error)
	// Clear forgets all keys.
	Clear(name string) error
	// Expire sets after what time the filter is deleted; 0 means never.
	Expire(name string, after time.Duration) error
	// Delete deletes the filter.
	Delete(name string) error
	// Download writes the filter in a format to the writer that begin returns. It calls
	// begin when only writing can still fail.
	Download(name, format string, begin func() io.Writer) error
}

// NewFilter describes a filter to create.
type NewFilter struct {
	Name string
	Type string // one of the NewTypes
	Keys uint64
	Rate float64 // error rate
}

// The types of a NewFilter.
const (
	NewBloom    = "bloom" // grows
	NewFixed    = "fixed" // a Bloom filter that does not grow
	NewCuckoo   = "cuckoo"
	NewCountMin = "countmin"
	NewTopK     = "topk"
)

// Refused is the error of a request that a Source refuses. Its text is for the visitor.
type Refused struct {
	Status int // HTTP status
	Text   string
}

func (r *Refused) Error() string { return r.Text }

// Overview is the state of a server.
type Overview struct {
	At        time.Time
	Filters   []*Filter // in no order; not to be changed
	Others    int       // smaller filters that are not in Filters
	Partial   bool      // there may be such filters
	Memory    uint64    // bytes of all filters, including those not in Filters
	MaxMemory uint64    // 0: no limit
	DiskFree  uint64    // bytes; 0: unknown
	Lag       uint64    // operations that are not on the disk yet
	Trouble   string    // why the server refuses changes; "" if it accepts them
}

// Filter is the state of a filter or sketch in a row of the overview. Fields that do not
// apply to its type are 0.
type Filter struct {
	Name     string
	Type     string // bloom, cuckoo, countmin or topk
	Kind     string // variant of the type: window, redisbloom; else ""
	Items    uint64 // keys in it
	Capacity uint64 // keys until it grows or is full
	Grows    bool
	Rate     float64 // current error rate; NaN: the type has none
	Asked    float64 // error rate asked for; NaN: none
	PastRate bool    // Rate is above Asked, by more than rounding
	Bytes    uint64
	Adds     float64   // keys per second in commands that add
	Checks   float64   // keys per second in commands that check
	Hits     float64   // share of Checks that were found; NaN: no checks
	Expires  time.Time // zero: never
}

// Load returns the share of the capacity that is in use, 0 if there is no capacity.
func (f *Filter) Load() float64 {
	if f.Capacity == 0 {
		return 0
	}
	return float64(f.Items) / float64(f.Capacity)
}

// nearlyFull is the load above which a filter that cannot grow gets a warning.
const nearlyFull = 0.8

// Full reports whether a filter that cannot grow has all the keys it was made for.
func (f *Filter) Full() bool { return !f.Grows && f.Capacity > 0 && f.Items >= f.Capacity }

// Near reports whether a filter that cannot grow will be full soon.
func (f *Filter) Near() bool {
	return !f.Grows && f.Capacity > 0 && !f.Full() && f.Load() > nearlyFull
}

// Marked reports whether the filter has a warning.
func (f *Filter) Marked() bool { return f.Full() || f.Near() || f.PastRate }

// Detail has the details of a filter.
type Detail struct {
	Filter
	Created time.Time
	// Keys estimates how many keys were added, including those that the filter wrongly
	// reported as seen, which Items does not count. It may be unknown.
	Keys sizing.Estimate
	// Forecast says when it will be full or, if it grows, when it will grow. It is nil if
	// that is unknown or never.
	Forecast *forecast.Forecast
	Fill     float64 // expected share of ones, or of slots in use
	Facts    []Fact
	Layers   []Layer // the oldest first
	Window   time.Duration
	Stuck    *Stuck // for a sketch with counters; else nil
	Best     []Counted
	May      May
	Formats  []Format // formats for a download
	// NoFormat says why there are no other formats.
	NoFormat string
}

// Fact is a parameter with its value.
type Fact struct{ Name, Value string }

// Layer is a layer of a filter, or a generation of a window.
type Layer struct {
	Bits, Capacity, Added, Bytes uint64
	Probes                       int
	Asked, Fill                  float64
	Begin                        time.Time // when a generation began; else zero
}

// Stuck says how many of the sampled counters no longer count.
type Stuck struct{ Stuck, Of uint64 }

// Counted is a key with its count.
type Counted struct {
	Key   string
	Count uint64
}

// May says what a visitor may do with a filter.
type May struct{ Check, Add, Clear, Expire, Delete bool }

// Format is a format in which a filter can be downloaded.
type Format struct{ Name, Title, Extension, Use string }

// Answer is the answer of a filter for a key.
type Answer struct {
	Key   string
	Found bool
	Count uint64 // for a type that counts
}

// A Span is how far a history reaches back.
type Span string

// The spans of a history.
const (
	Hour  Span = "hour"
	Day   Span = "day"
	Month Span = "month"
)

// Sample is the state of a filter at the time To, with its traffic from From to To. Between
// the sample before and From nothing happened.
type Sample struct {
	From, To           time.Time
	Items, Capacity    uint64
	Fill, Rate         float64 // Rate is NaN if the type has none
	Adds, Checks, Hits uint64
	Keys               sizing.Estimate // as in Detail
}

// Comparison estimates how many keys two filters hold and share.
type Comparison struct {
	A, B                         string
	KeysA, KeysB                 sizing.Estimate
	Union, Intersection, Jaccard sizing.Estimate
}
