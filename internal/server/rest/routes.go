package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// routes answers requests under /v1/. The mux of the standard library cleans paths first:
// it would redirect a request for the filter "a/../b" to the filter "b", and would not
// find filters named "", "." and "..".
type routes struct {
	all   map[string]http.Handler            // the list of filters, by method
	one   map[string]map[string]http.Handler // operations on a filter, by the word after its name and by method
	other http.Handler                       // everything else
}

// routes returns the routes of the API.
func (h *handler) routes(other http.Handler) *routes {
	on := func(serve func(*request)) http.Handler { return h.guard(h.slots, serve) }
	return &routes{
		all: map[string]http.Handler{http.MethodGet: on(listFilters)},
		one: map[string]map[string]http.Handler{
			"":      {http.MethodGet: on(h.showFilter), http.MethodPut: on(makeFilter), http.MethodDelete: on(deleteFilter)},
			"add":   {http.MethodPost: on(addKeys)},
			"check": {http.MethodPost: on(checkKeys)},
		},
		other: other,
	}
}

// inAPI reports whether a request is for the API, and returns its path below /v1/.
func inAPI(in *http.Request) (rest string, ok bool) {
	path := in.URL.EscapedPath()
	if path == "/v1" {
		return "", true
	}
	return strings.CutPrefix(path, "/v1/")
}

// ServeHTTP answers /v1/filters, /v1/filters/NAME/WORD, where NAME is percent-encoded,
// and /v1/filter/WORD?name=NAME, for names that a client or a proxy would change in a path.
func (t *routes) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	rest, ok := inAPI(in)
	if !ok {
		t.other.ServeHTTP(out, in)
		return
	}
	r := &request{Request: in, out: out}
	parts := strings.Split(rest, "/")
	var methods map[string]http.Handler
	var words []string // after the name: none or one
	switch n := len(parts); {
	case parts[0] == "filters" && n == 1:
		methods = t.all
	case parts[0] == "filters" && n <= 3:
		name, err := url.PathUnescape(parts[1])
		if err != nil {
			r.fail(http.StatusBadRequest, "the name in the path is not percent-encoded: "+err.Error())
			return
		}
		in.SetPathValue("name", name)
		methods, words = t.one[strings.Join(parts[2:], "")], parts[2:]
	case parts[0] == "filter" && n <= 2:
		query, err := url.ParseQuery(in.URL.RawQuery)
		if names := query["name"]; err != nil || len(names) != 1 {
			r.fail(http.StatusBadRequest, "give the parameter ?name=NAME once, percent-encoded")
			return
		}
		in.SetPathValue("name", query.Get("name"))
		methods, words = t.one[strings.Join(parts[1:], "")], parts[1:]
	}
	if methods == nil || slices.Contains(words, "") {
		r.fail(http.StatusNotFound, fmt.Sprintf("there is nothing at %q; see /v1/filters", in.URL.EscapedPath()))
		return
	}
	method := in.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	serve := methods[method]
	if serve == nil {
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		out.Header().Set("Allow", allowed)
		r.fail(http.StatusMethodNotAllowed, fmt.Sprintf("the method %s is not allowed here; allowed: %s", in.Method, allowed))
		return
	}
	serve.ServeHTTP(out, in)
}
