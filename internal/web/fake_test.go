package web

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"seen/internal/forecast"
	"seen/sizing"
)

// fake is a server with a user, and with filters that a test may change.
type fake struct {
	mu       sync.Mutex
	open     bool   // no password is needed
	password string // of the user ann
	reader   bool   // visitors may only look
	overview Overview
	samples  []Sample
	created  []NewFilter
	forecast *forecast.Forecast
	keys     map[string]bool // of the filter a
	name     string          // of it, if it is not a
	expires  time.Duration
	cut      bool // downloads fail in the middle
	slow     int  // steps of a download
	done     chan struct{}
}

type fakeVisitor struct {
	*fake
	name, password string
}

func (f *fake) Enter(_ *http.Request, name, password string) (Visitor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name != "ann" || password != f.password {
		return nil, &Refused{http.StatusUnauthorized, "The name or the password is wrong."}
	}
	return &fakeVisitor{f, name, password}, nil
}

func (f *fake) Anybody(*http.Request) (Visitor, error) {
	if !f.open {
		return nil, nil
	}
	return &fakeVisitor{f, "default", ""}, nil
}

func (f *fake) Done() <-chan struct{} { return f.done }
func (v *fakeVisitor) User() string   { return v.name }

func (v *fakeVisitor) Valid() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.name == "default" || v.password == v.fake.password
}

func (v *fakeVisitor) MayAll() bool    { return !v.reader }
func (v *fakeVisitor) MayCreate() bool { return !v.reader }

func (v *fakeVisitor) Create(f NewFilter) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f.Name == "taken" {
		return &Refused{http.StatusConflict, "There is already a filter."}
	}
	v.created = append(v.created, f)
	return nil
}

func (v *fakeVisitor) Overview() (Overview, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.overview, nil
}

// There is one filter, a, while it has a set of keys.
func (v *fakeVisitor) there(name string) error {
	if name != cmp.Or(v.fake.name, "a") || v.keys == nil {
		return &Refused{http.StatusNotFound, fmt.Sprintf("There is no filter %q.", name)}
	}
	return nil
}

func (v *fakeVisitor) Filter(name string) (*Detail, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d := &Detail{
		Filter: Filter{Name: name, Type: "bloom", Items: uint64(len(v.keys)), Capacity: 100, Rate: 1e-3, Asked: 0.01, Bytes: 1 << 20, Hits: math.NaN()},
		Fill:   0.25, Facts: []Fact{{"layout", "seen"}}, Layers: []Layer{{Bits: 4096, Probes: 7, Capacity: 100}},
		Formats: []Format{{"dump", "dump", ".dump", "for RESTORE"}},
	}
	d.Forecast = v.forecast
	if v.expires > 0 {
		d.Expires = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if !v.reader {
		d.May = May{true, true, true, true, true}
	}
	return d, v.there(name)
}

func (v *fakeVisitor) History(string, Span) ([]Sample, error) { return v.samples, nil }

func (v *fakeVisitor) Bits(name string) ([][]float64, error) {
	return [][]float64{{0, 0.5, 1}, make([]float64, 100)}, v.there(name)
}

func (v *fakeVisitor) Compare(a, b string) (*Comparison, error) {
	e := func(v float64) sizing.Estimate { return sizing.Estimate{Value: v, StdErr: v / 100} }
	if b == "other" {
		return nil, &Refused{http.StatusBadRequest, "They are unlike."}
	}
	return &Comparison{a, b, e(300), e(400), e(500), e(200), e(0.4)}, v.there(a)
}

func (v *fakeVisitor) Check(name string, keys [][]byte) (answers []Answer, err error) {
	for _, k := range keys {
		answers = append(answers, Answer{Key: string(k), Found: v.keys[string(k)]})
	}
	return answers, v.there(name)
}

func (v *fakeVisitor) Add(name string, lines io.Reader) (added, all int, err error) {
	if err := v.there(name); err != nil {
		return 0, 0, err
	}
	if v.reader {
		return 0, 0, &Refused{http.StatusForbidden, "You may not add."}
	}
	for in := bufio.NewScanner(lines); in.Scan(); all++ {
		if all == 1000 {
			return added, all, &Refused{http.StatusInsufficientStorage, "The filter is full."}
		}
		if !v.keys[in.Text()] {
			added++
		}
		v.keys[in.Text()] = true
	}
	return added, all, nil
}

func (v *fakeVisitor) Clear(name string) error {
	clear(v.keys)
	return v.there(name)
}

func (v *fakeVisitor) Expire(name string, after time.Duration) error {
	v.expires = after
	return v.there(name)
}

func (v *fakeVisitor) Delete(name string) error {
	err := v.there(name)
	v.keys = nil
	return err
}

func (v *fakeVisitor) Download(name, format string, begin func() io.Writer) error {
	if len(v.keys) == 0 {
		return &Refused{http.StatusConflict, "It is empty."}
	}
	out := begin()
	_, err := io.WriteString(out, "bytes of "+name)
	for range v.slow {
		time.Sleep(20 * time.Millisecond)
		_, err = io.WriteString(out, ".")
	}
	if v.cut {
		err = errors.New("the disk is gone")
	}
	return err
}
