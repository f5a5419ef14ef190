package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"seen/internal/resp"
	"seen/sketch"
)

// batchKeys is the number of keys that one command adds or checks.
const batchKeys = 1024

// kind returns the kind of the value that the request names. If there is no such value or
// an error, it answers the request and returns nil.
func (r *request) kind() *Kind {
	v, ok := r.must("TYPE", r.name())
	if !ok {
		return nil
	}
	if kind := KindOf(v.Text); kind != nil {
		return kind
	}
	r.fail(http.StatusNotFound, fmt.Sprintf("there is no filter %q", r.name()))
	return nil
}

// name returns the name of the filter in the path.
func (r *request) name() string { return r.PathValue("name") }

// filterName is the name of a value. JSON text cannot hold all bytes.
type filterName struct {
	Name   string `json:"name"`
	Base64 []byte `json:"name_base64,omitempty"` // if the name is not UTF-8
}

func newFilterName(s string) filterName {
	if utf8.ValidString(s) {
		return filterName{Name: s}
	}
	return filterName{Name: strings.ToValidUTF8(s, "\uFFFD"), Base64: []byte(s)}
}

// filterList is the answer to GET /v1/filters.
type filterList struct {
	Filters []listed `json:"filters"`
	Next    string   `json:"next,omitempty"` // cursor of the next page; absent on the last page
}

func listFilters(r *request) {
	query := r.URL.Query()
	cursor, limit := cmp.Or(query.Get("cursor"), "0"), cmp.Or(query.Get("limit"), "100")
	if n, err := strconv.Atoi(limit); err != nil || n < 1 || n > 1000 {
		r.fail(http.StatusBadRequest, fmt.Sprintf("the limit %q is not a number from 1 to 1000", limit))
		return
	}
	details := true
	if text := query.Get("details"); text != "" {
		var err error
		if details, err = strconv.ParseBool(text); err != nil {
			r.fail(http.StatusBadRequest, fmt.Sprintf("details is %q; give true or false", text))
			return
		}
	}
	args := []string{"SCAN", cursor, "COUNT", limit}
	if match := query.Get("match"); match != "" {
		args = append(args, "MATCH", match)
	}
	v, ok := r.must(args...)
	if !ok {
		return
	}
	list := filterList{Filters: []listed{}}
	if len(v.Elems) != 2 {
		r.fail(http.StatusInternalServerError, "SCAN answered "+v.String())
		return
	}
	for _, name := range v.Elems[1].Elems {
		one := listed{filterName: newFilterName(name.Text)}
		if details {
			state, gone, err := r.state(name.Text)
			switch {
			case err != nil:
				r.fail(http.StatusInternalServerError, err.Error())
				return
			case gone:
				continue
			}
			one.State = state
		}
		list.Filters = append(list.Filters, one)
	}
	if next := v.Elems[0].Text; next != "0" {
		list.Next = next
	}
	r.reply(http.StatusOK, list)
}

// state returns the state of a filter, nil if the user may not read it. gone is true if the
// filter was deleted.
func (r *request) state(name string) (s *State, gone bool, err error) {
	v, err := r.Ask([]byte("SEEN.INFO"), []byte(name))
	switch {
	case err != nil:
		return nil, false, err
	case v.Kind == resp.Error:
		if status, text := Status(v.Text); status != http.StatusForbidden {
			return nil, false, errors.New(text)
		}
		return nil, false, nil
	case len(v.Elems) != 1:
		return nil, false, fmt.Errorf("SEEN.INFO answered %s", v)
	}
	s, err = ParseState(v.Elems[0])
	return s, s == nil && err == nil, err
}

// filterState is the answer to GET /v1/filters/{name}.
type filterState struct {
	filterName
	Type      string             `json:"type"`
	ExpiresIn *float64           `json:"expires_in,omitempty"` // seconds
	Info      map[string]float64 `json:"info"`
	Errors    *ErrorRates        `json:"errors,omitempty"` // only Bloom filters
}

// ErrorRates are the error rates of a filter.
type ErrorRates struct {
	Now   float64 `json:"now"`
	Asked float64 `json:"asked"`
	Past  bool    `json:"past"` // now is above asked
}

func (h *handler) showFilter(r *request) {
	kind := r.kind()
	if kind == nil {
		return
	}
	state := filterState{filterName: newFilterName(r.name()), Type: kind.Name, Info: map[string]float64{}}
	info, ok := r.must(kind.Info, r.name())
	if !ok {
		return
	}
	for i := 0; i+1 < len(info.Elems); i += 2 {
		number, ok := number(info.Elems[i+1])
		if !ok {
			continue // the expansion of a filter that does not grow
		}
		state.Info[strings.ReplaceAll(strings.ToLower(info.Elems[i].Text), " ", "_")] = number
	}
	state.Errors = h.ErrorRates(r.name()) // the right to the information includes the error rates
	ttl, ok := r.must("PTTL", r.name())
	if !ok {
		return
	}
	if ttl.Int >= 0 {
		seconds := float64(ttl.Int) / 1000
		state.ExpiresIn = &seconds
	}
	r.reply(http.StatusOK, state)
}

// number returns the value of a numeric reply.
func number(v resp.Value) (float64, bool) {
	switch v.Kind {
	case resp.Int:
		return float64(v.Int), true
	case resp.Double:
		return v.Float, true
	case resp.Bulk:
		f, err := strconv.ParseFloat(v.Text, 64)
		return f, err == nil
	}
	return 0, false
}

// FilterConfig is the body of PUT /v1/filters/{name}. The comments name the types that use
// a field.
type FilterConfig struct {
	Type string `json:"type"`

	Capacity  uint64  `json:"capacity"`   // bloom, cuckoo
	ErrorRate float64 `json:"error_rate"` // bloom; countmin: the share of the total by which a count may be too high
	Expansion *uint64 `json:"expansion"`  // bloom, cuckoo; 0: the filter does not grow
	Layout    string  `json:"layout"`     // bloom
	Window    string  `json:"window"`     // bloom: the time after which keys are forgotten

	BucketSize    *uint64 `json:"bucket_size"`    // cuckoo
	MaxIterations *uint64 `json:"max_iterations"` // cuckoo

	Probability float64 `json:"probability"` // countmin: the probability of a larger error

	K     uint64  `json:"k"` // topk
	Width uint64  `json:"width"`
	Depth uint64  `json:"depth"`
	Decay float64 `json:"decay"`
}

// Words returns the command that creates the filter.
func (c *FilterConfig) Words(name string) ([]string, error) {
	whole := func(n uint64) string { return strconv.FormatUint(n, 10) }
	real := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	var words []string
	option := func(word string, n *uint64) {
		if n != nil {
			words = append(words, word, whole(*n))
		}
	}
	switch c.Type {
	case "bloom", "":
		if c.Window != "" {
			if c.Expansion != nil || c.Layout != "" {
				return nil, errors.New("a filter with a window cannot have an expansion or a layout")
			}
			return []string{"BF.WINDOW", name, real(c.ErrorRate), whole(c.Capacity), c.Window}, nil
		}
		words = []string{"BF.RESERVE", name, real(c.ErrorRate), whole(c.Capacity)}
		if c.Expansion != nil && *c.Expansion == 0 {
			words = append(words, "NONSCALING")
		} else {
			option("EXPANSION", c.Expansion)
		}
		if c.Layout != "" {
			words = append(words, "LAYOUT", c.Layout)
		}
	case "cuckoo":
		words = []string{"CF.RESERVE", name, whole(c.Capacity)}
		option("BUCKETSIZE", c.BucketSize)
		option("MAXITERATIONS", c.MaxIterations)
		option("EXPANSION", c.Expansion)
	case "countmin":
		if c.Width > 0 || c.Depth > 0 {
			return []string{"CMS.INITBYDIM", name, whole(c.Width), whole(c.Depth)}, nil
		}
		return []string{"CMS.INITBYPROB", name, real(c.ErrorRate), real(c.Probability)}, nil
	case "topk":
		words = []string{"TOPK.RESERVE", name, whole(c.K)}
		// The defaults of the command are those of RedisBloom, which are too small for most
		// uses. The command refuses an invalid k.
		if size, err := sketch.DefaultTopK(int(min(c.K, math.MaxInt32))); err == nil {
			words = append(words, whole(cmp.Or(c.Width, uint64(size.Width))), whole(cmp.Or(c.Depth, uint64(size.Depth))), real(cmp.Or(c.Decay, size.Decay)))
		}
	default:
		return nil, fmt.Errorf("the type %q is not one of bloom, cuckoo, countmin and topk", c.Type)
	}
	return words, nil
}

// wrongConfig says what is wrong with a FilterConfig in the words of JSON, since clients do
// not know the types of this program.
func wrongConfig(err error) string {
	var field *json.UnmarshalTypeError
	switch {
	case err == io.EOF:
		return "it is empty"
	case err == io.ErrUnexpectedEOF:
		return "the JSON is incomplete"
	case !errors.As(err, &field):
		return strings.TrimPrefix(err.Error(), "json: ")
	case field.Field == "":
		return "it must be a JSON object, got " + field.Value
	}
	want := "a string"
	switch field.Type.Kind() {
	case reflect.Uint64:
		want = "a whole number of at least 0"
	case reflect.Float64:
		want = "a number"
	}
	return fmt.Sprintf("%q must be %s, got %s", field.Field, want, field.Value)
}

// maxConfigBytes bounds the body that describes a filter.
const maxConfigBytes = 16 << 10

func makeFilter(r *request) {
	body, err := r.content(maxConfigBytes)
	if err != nil {
		r.fail(http.StatusUnsupportedMediaType, err.Error())
		return
	}
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	var c FilterConfig
	if err := decoder.Decode(&c); err != nil {
		r.fail(http.StatusBadRequest, "the body does not describe a filter: "+wrongConfig(err))
		return
	}
	if _, err := decoder.Token(); err != io.EOF {
		r.fail(http.StatusBadRequest, "there is data after the description of the filter")
		return
	}
	words, err := c.Words(r.name())
	if err != nil {
		r.fail(http.StatusBadRequest, err.Error())
		return
	}
	v, ok := r.must(words...)
	if !ok {
		return
	}
	if v.Text != "OK" {
		r.fail(http.StatusInternalServerError, words[0]+" answered "+v.String())
		return
	}
	r.reply(http.StatusCreated, newFilterName(r.name()))
}

func deleteFilter(r *request) {
	v, ok := r.must("DEL", r.name())
	switch {
	case !ok:
	case v.Int == 0:
		r.fail(http.StatusNotFound, fmt.Sprintf("there is no filter %q", r.name()))
	default:
		r.out.WriteHeader(http.StatusNoContent)
	}
}
