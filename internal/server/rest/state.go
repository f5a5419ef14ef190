package rest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"seen/internal/resp"
)

// State is what SEEN.INFO and the list of the filters say about a filter. Fields that do not
// apply to its type, or are not known, are "", 0 or nil.
type State struct {
	Type     string   `json:"type,omitempty"`    // the name of a Kind; "": the user may not read the filter
	Variant  string   `json:"variant,omitempty"` // window, redisbloom
	Keys     *uint64  `json:"keys,omitempty"`
	Capacity *uint64  `json:"capacity,omitempty"`
	Grows    *bool    `json:"grows,omitempty"`
	Fill     *float64 `json:"fill,omitempty"` // share of ones, or of slots in use
	Bytes    *uint64  `json:"bytes,omitempty"`

	ErrorRate     *float64 `json:"error_rate,omitempty"`
	Asked         *float64 `json:"asked_error_rate,omitempty"`
	PastErrorRate *bool    `json:"past_error_rate,omitempty"`

	// FullIn is the number of seconds until the filter has as many keys as its capacity, at
	// the recent rate; if it grows, it then does. The range is from FullInLow to FullInHigh,
	// which is nil if that may take for ever.
	FullIn     *float64 `json:"full_in,omitempty"`
	FullInLow  *float64 `json:"full_in_low,omitempty"`
	FullInHigh *float64 `json:"full_in_high,omitempty"`
	ExpiresIn  *float64 `json:"expires_in,omitempty"` // seconds
}

// field is a field of a State with its name in a reply.
type field struct {
	name string
	at   any // a pointer to the field
}

// fields returns the fields in the order of a reply. The names are those in JSON.
func (s *State) fields() []field {
	return []field{
		{"type", &s.Type},
		{"variant", &s.Variant},
		{"keys", &s.Keys},
		{"capacity", &s.Capacity},
		{"grows", &s.Grows},
		{"fill", &s.Fill},
		{"bytes", &s.Bytes},
		{"error_rate", &s.ErrorRate},
		{"asked_error_rate", &s.Asked},
		{"past_error_rate", &s.PastErrorRate},
		{"full_in", &s.FullIn},
		{"full_in_low", &s.FullInLow},
		{"full_in_high", &s.FullInHigh},
		{"expires_in", &s.ExpiresIn},
	}
}

// Reply writes the state as a map of the fields that it has.
func (s *State) Reply(w *resp.Writer) {
	var parts []func()
	for _, f := range s.fields() {
		part := func(write func()) {
			parts = append(parts, func() {
				w.BulkString(f.name)
				write()
			})
		}
		switch at := f.at.(type) {
		case *string:
			if *at != "" {
				part(func() { w.BulkString(*at) })
			}
		case **uint64:
			if *at != nil {
				part(func() { w.Int(int64(**at)) })
			}
		case **bool:
			if *at != nil {
				part(func() { w.Bool(**at) })
			}
		case **float64:
			if *at != nil {
				part(func() { w.Double(**at) })
			}
		}
	}
	w.Map(len(parts))
	for _, write := range parts {
		write()
	}
}

// ParseState reads the map that Reply has written, in RESP2 or RESP3. It skips names that it
// does not know. A null is nil: there is no such filter.
func ParseState(v resp.Value) (*State, error) {
	switch {
	case v.Kind == resp.Null:
		return nil, nil
	case v.Kind != resp.Map && v.Kind != resp.Array || len(v.Elems)%2 != 0:
		return nil, fmt.Errorf("the state of a filter is not a map but %.100s", v)
	}
	s := new(State)
	for _, f := range s.fields() {
		for i := 0; i < len(v.Elems); i += 2 {
			if v.Elems[i].Text != f.name {
				continue
			}
			if err := f.set(v.Elems[i+1]); err != nil {
				return nil, fmt.Errorf("the state of a filter has %s for %s: %w", v.Elems[i+1], f.name, err)
			}
		}
	}
	return s, nil
}

// set sets the field to a value of a reply.
func (f field) set(v resp.Value) error {
	switch at := f.at.(type) {
	case *string:
		*at = v.Text
	case **uint64:
		if v.Kind != resp.Int || v.Int < 0 {
			return fmt.Errorf("it is not a number of at least 0")
		}
		n := uint64(v.Int)
		*at = &n
	case **bool:
		if v.Kind != resp.Int && v.Kind != resp.Bool {
			return fmt.Errorf("it is neither 0 nor 1")
		}
		is := v.Int != 0
		*at = &is
	case **float64:
		x := v.Float
		if v.Kind != resp.Double {
			var err error
			if x, err = strconv.ParseFloat(v.Text, 64); err != nil {
				return err
			}
		}
		*at = &x
	}
	return nil
}

// listed is a filter in a list.
type listed struct {
	filterName
	*State
}

// ListedJSON returns a filter of a list as JSON: its name, in base64 too if it is not UTF-8,
// and its state.
func ListedJSON(name string, s *State) ([]byte, error) {
	return json.Marshal(listed{newFilterName(name), s})
}
