package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"seen/internal/server/rest"
)

// contract checks requests and answers against docs/openapi.yaml.
type contract struct {
	router  routers.Router
	handler http.Handler
	asked   map[string]bool // operations and the statuses of their answers
}

func newContract(t *testing.T, handler http.Handler) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &contract{router: router, handler: handler, asked: map[string]bool{}}
}

// localRequest returns a request as a client on this machine sends it.
func localRequest(method, target string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.RemoteAddr = "127.0.0.1:4711"
	return r
}

// webRequest is a request to the API.
type webRequest struct {
	method, path, kind, body string
	header                   map[string]string
	host                     string
	wrong                    bool // the request itself is against the contract
}

// do sends a request, and checks it and its answer against the contract.
func (c *contract) do(t *testing.T, a webRequest) *httptest.ResponseRecorder {
	t.Helper()
	make := func() *http.Request {
		r := localRequest(a.method, "http://127.0.0.1:6390"+a.path, strings.NewReader(a.body))
		if a.kind != "" {
			r.Header.Set("Content-Type", a.kind)
		}
		if a.host != "" {
			r.Host = a.host
		}
		for name, value := range a.header {
			r.Header.Set(name, value)
		}
		return r
	}
	checked := make()
	checked.Host = "127.0.0.1:6390"
	route, params, err := c.router.FindRoute(checked)
	if err != nil {
		t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	in := &openapi3filter.RequestValidationInput{
		Request: checked, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil != a.wrong {
		t.Errorf("%s %s %.100q: against the contract: %v", a.method, a.path, a.body, err)
	}
	out := httptest.NewRecorder()
	c.handler.ServeHTTP(out, make())
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: out.Code, Header: out.Header(), Body: io.NopCloser(bytes.NewReader(out.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		t.Errorf("%s %s: the answer %d %.200s is against the contract: %v", a.method, a.path, out.Code, out.Body, err)
	}
	c.asked[fmt.Sprint(route.Operation.OperationID, " ", out.Code)] = true
	return out
}

const (
	isJSON = "application/json"
	isText = "text/plain"
)

func TestHTTPContract(t *testing.T) {
	c := newContract(t, start(t).HTTP(HTTPConfig{}))
	for _, step := range []struct {
		webRequest
		status int
		want   string // the body, or part of it
	}{
		{webRequest{method: "GET", path: "/healthz"}, 200, "ok\n"},
		{webRequest{method: "GET", path: "/readyz"}, 200, "ready\n"},
		{webRequest{method: "GET", path: "/v1/filters"}, 200, `{"filters":[]}`},
		{webRequest{method: "PUT", path: "/v1/filters/a", kind: isJSON, body: `{"capacity":1000,"error_rate":0.001}`}, 201, `{"name":"a"}`},
		{webRequest{method: "PUT", path: "/v1/filters/a", kind: isJSON, body: `{"capacity":1000,"error_rate":0.001}`}, 409, "item exists"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"capacity":0,"error_rate":0.001}`, wrong: true}, 400, "capacity"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"capacity":10,"error_rate":2}`}, 400, "error rate"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"size":10}`, wrong: true}, 400, "size"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"type":"sets"}`, wrong: true}, 400, "not one of bloom"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{} {}`}, 400, "data after"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: ``, wrong: true}, 400, "filter: it is empty"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{`, wrong: true}, 400, "filter: the JSON is incomplete"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `[]`, wrong: true}, 400, "filter: it must be a JSON object, got array"},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"capacity":-3}`, wrong: true}, 400, `\"capacity\" must be a whole number of at least 0, got number -3`},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"error_rate":"x"}`, wrong: true}, 400, `\"error_rate\" must be a number, got string`},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"type":1}`, wrong: true}, 400, `\"type\" must be a string, got number`},
		{webRequest{method: "PUT", path: "/v1/filters/b", kind: isJSON, body: `{"size":1}`, wrong: true}, 400, `filter: unknown field \"size\"`},
		{webRequest{method: "PUT", path: "/v1/filters/full", kind: isJSON, body: `{"capacity":2,"error_rate":0.001,"expansion":0}`}, 201, ""},
		{webRequest{method: "PUT", path: "/v1/filters/out", kind: isJSON, body: `{"capacity":2,"error_rate":0.001,"layout":"redisbloom","expansion":4}`}, 201, ""},
		{webRequest{method: "PUT", path: "/v1/filters/w", kind: isJSON, body: `{"capacity":100,"error_rate":0.001,"window":"1h"}`}, 201, ""},
		{webRequest{method: "PUT", path: "/v1/filters/c", kind: isJSON, body: `{"type":"cuckoo","capacity":1000,"bucket_size":4,"max_iterations":50,"expansion":2}`}, 201, ""},
		{webRequest{method: "PUT", path: "/v1/filters/m", kind: isJSON, body: `{"type":"countmin","width":100,"depth":4}`}, 201, ""},
		{webRequest{method: "PUT", path: "/v1/filters/m2", kind: isJSON, body: `{"type":"countmin","error_rate":0.01,"probability":0.01}`}, 201, ""},
		{webRequest{method: "PUT", path: "/v1/filters/k", kind: isJSON, body: `{"type":"topk","k":3,"width":50,"depth":4,"decay":0.9}`}, 201, ""},
		{webRequest{method: "PUT", path: "/v1/filters/huge", kind: isJSON, body: `{"capacity":1073741824,"error_rate":1e-300}`}, 400, ""},

		{webRequest{method: "POST", path: "/v1/filters/a/add", kind: isJSON, body: `["x","y","x"]`}, 200, `{"keys":3,"count":2}` + "\n"},
		{webRequest{method: "POST", path: "/v1/filters/a/add?each=true", kind: isText, body: "y\nz\r\n"}, 200, `{"added":[false,true],"keys":2,"count":1}` + "\n"},
		{webRequest{method: "POST", path: "/v1/filters/a/add?each=1x", kind: isText, body: "y", wrong: true}, 400, `each is \"1x\"; give true or false`},
		{webRequest{method: "POST", path: "/v1/filters/a/add", kind: isJSON, body: `[]`}, 200, `{"keys":0,"count":0}`},
		{webRequest{method: "POST", path: "/v1/filters/a/add?each=true", kind: isJSON, body: `[]`}, 200, `{"added":[],"keys":0,"count":0}`},
		{webRequest{method: "POST", path: "/v1/filters/a/check", kind: isJSON, body: `["x","z","no"]`}, 200, `{"seen":[true,true,false],"keys":3,"count":2}`},
		{webRequest{method: "POST", path: "/v1/filters/a/check", kind: isJSON, body: `["x",1]`, wrong: true}, 400, `"done":0`},
		{webRequest{method: "POST", path: "/v1/filters/a/check", kind: "text/csv", body: `x`, wrong: true}, 415, "text/plain"},
		{webRequest{method: "POST", path: "/v1/filters/none/check", kind: isJSON, body: `["x"]`}, 404, "there is no filter"},
		{webRequest{method: "POST", path: "/v1/filters/none/add?create=false", kind: isJSON, body: `["x"]`}, 404, "not found"},
		{webRequest{method: "POST", path: "/v1/filters/new%2Fone/add", kind: isText, body: "x"}, 200, `{"keys":1,"count":1}`},
		{webRequest{method: "POST", path: "/v1/filters/full/add", kind: isJSON, body: `["1","2","3"]`}, 507, `"done":2`},
		{webRequest{method: "POST", path: "/v1/filters/c/add", kind: isJSON, body: `["1","2","1"]`}, 200, `{"keys":3,"count":2}`},
		{webRequest{method: "POST", path: "/v1/filters/c/check", kind: isJSON, body: `["1","3"]`}, 200, `{"seen":[true,false],"keys":2,"count":1}`},
		{webRequest{method: "POST", path: "/v1/filters/m/add", kind: isJSON, body: `["1"]`}, 409, "wrong kind"},
		{webRequest{method: "POST", path: "/v1/filters/m/check", kind: isJSON, body: `["1"]`}, 409, "countmin"},

		{webRequest{method: "GET", path: "/v1/filters/a"}, 200, `"capacity":1000`},
		{webRequest{method: "GET", path: "/v1/filters/a"}, 200, `"number_of_items_inserted":3`},
		{webRequest{method: "GET", path: "/v1/filters/c"}, 200, `"type":"cuckoo"`},
		{webRequest{method: "GET", path: "/v1/filters/m"}, 200, `"width":100`},
		{webRequest{method: "GET", path: "/v1/filters/k"}, 200, `"decay":0.9`},
		{webRequest{method: "GET", path: "/v1/filters/w"}, 200, `"type":"bloom"`},
		{webRequest{method: "GET", path: "/v1/filters/none"}, 404, "there is no filter"},
		{webRequest{method: "GET", path: "/v1/filters?limit=0", wrong: true}, 400, "limit"},
		{webRequest{method: "GET", path: "/v1/filters?cursor=x", wrong: true}, 400, "cursor"},
		{webRequest{method: "GET", path: "/v1/filters?match=new*"}, 200, `{"filters":[{"name":"new/one","type":"bloom","keys":1,"capacity":`},
		{webRequest{method: "GET", path: "/v1/filters?match=full"}, 200, `"grows":false,"fill":`},
		{webRequest{method: "GET", path: "/v1/filters?match=w"}, 200, `"variant":"window"`},
		{webRequest{method: "GET", path: "/v1/filters?match=m"}, 200, `{"filters":[{"name":"m","type":"countmin","keys":0,"bytes":`},
		{webRequest{method: "GET", path: "/v1/filters?match=new*&details=false"}, 200, `{"filters":[{"name":"new/one"}]}`},
		{webRequest{method: "GET", path: "/v1/filters?details=maybe", wrong: true}, 400, `details is \"maybe\"; give true or false`},
		{webRequest{method: "DELETE", path: "/v1/filters/a"}, 204, ""},
		{webRequest{method: "DELETE", path: "/v1/filters/a"}, 404, "there is no filter"},
		{webRequest{method: "GET", path: "/metrics"}, 200, "seen_filters "},
	} {
		out := c.do(t, step.webRequest)
		if out.Code != step.status || !strings.Contains(out.Body.String(), step.want) {
			t.Errorf("%s %s %.100s: %d %.300s; want %d with %s", step.method, step.path, step.body, out.Code, out.Body, step.status, step.want)
		}
	}
	for _, operation := range []string{"health 200", "ready 200", "metrics 200", "listFilters 200", "showFilter 200", "makeFilter 201", "deleteFilter 204", "addKeys 200", "checkKeys 200"} {
		if !c.asked[operation] {
			t.Errorf("%s was never asked for", operation)
		}
	}
}

// Pages list every filter once, including filters whose names are not text.
func TestHTTPPages(t *testing.T) {
	c := newContract(t, start(t).HTTP(HTTPConfig{}))
	want := map[string]bool{"\xff/\x00": true}
	for i := range 250 {
		want[fmt.Sprint("f", i)] = true
	}
	for name := range want {
		if out := c.do(t, webRequest{method: "POST", path: "/v1/filters/" + url.PathEscape(name) + "/add", kind: isText, body: "x"}); out.Code != 200 {
			t.Fatalf("%q: %d %s", name, out.Code, out.Body)
		}
	}
	got := map[string]int{}
	pages := 0
	for cursor := ""; ; pages++ {
		out := c.do(t, webRequest{method: "GET", path: "/v1/filters?limit=50&cursor=" + cursor, wrong: cursor == ""})
		var page struct {
			Filters []struct {
				Name   string `json:"name"`
				Base64 []byte `json:"name_base64"`
			}
			Next string
		}
		if err := json.Unmarshal(out.Body.Bytes(), &page); err != nil {
			t.Fatalf("%v: %s", err, out.Body)
		}
		for _, f := range page.Filters {
			if f.Base64 != nil {
				f.Name = string(f.Base64)
			}
			got[f.Name]++
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(got) != len(want) || pages < 2 {
		t.Errorf("%d names on %d pages, want %d", len(got), pages+1, len(want))
	}
	for name, n := range got {
		if n != 1 || !want[name] {
			t.Errorf("%q is named %d times", name, n)
		}
	}
}

// The list says of each filter what its page says, and when it will be full. Of filters that
// the user may not read, it has only the names.
func TestHTTPListSaysWhatPagesSay(t *testing.T) {
	s := start(t)
	c := newContract(t, s.HTTP(HTTPConfig{}))
	s.run(t, "BF.RESERVE", "a", "0.001", "10000", "NONSCALING")
	s.run(t, "CF.RESERVE", "b", "4000")
	for i := range 4 {
		s.clock.advance(time.Minute)
		s.run(t, keysOf("BF.MADD a", 600*i, 600)...)
		s.run(t, keysOf("CF.INSERT b ITEMS", 60*i, 60)...)
		if err := s.store.Record(); err != nil {
			t.Fatal(err)
		}
	}
	s.run(t, "PEXPIRE", "a", "60000")
	list := func(header map[string]string) map[string]rest.State {
		t.Helper()
		out := c.do(t, webRequest{method: "GET", path: "/v1/filters", header: header})
		var page struct {
			Filters []struct {
				Name string
				rest.State
			}
		}
		if err := json.Unmarshal(out.Body.Bytes(), &page); err != nil {
			t.Fatalf("%v: %s", err, out.Body)
		}
		all := map[string]rest.State{}
		for _, f := range page.Filters {
			all[f.Name] = f.State
		}
		return all
	}
	v := visitorOf(t, s)
	for name, got := range list(nil) {
		d := must(v.Filter(name))
		if got.Type != d.Type || *got.Keys != d.Items || *got.Capacity != d.Capacity || *got.Grows != d.Grows || *got.Fill != d.Fill || *got.Bytes != d.Bytes || *got.ErrorRate != d.Rate {
			t.Errorf("%s: %+v, its page has %+v", name, got, d)
		}
		// The keys come at a steady rate, a tenth of them in b.
		left := float64(d.Capacity-d.Items) / map[string]float64{"a": 10, "b": 1}[name]
		if got.FullIn == nil || *got.FullIn != d.Forecast.Best || math.Abs(*got.FullIn/left-1) > 0.2 || !(*got.FullInLow < left && left < *got.FullInHigh) {
			t.Errorf("%s: full in %v, want %v", name, got.FullIn, left)
		}
		if name == "a" && (*got.Asked != 0.001 || *got.PastErrorRate || *got.ExpiresIn != 60) || name == "b" && (got.Asked != nil || got.ExpiresIn != nil) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s.run(t, "ACL", "SETUSER", "ann", "on", ">one", "%R~a", "+@read")
	all := list(map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:one"))})
	if len(all) != 2 || all["a"].Type != "bloom" || all["b"] != (rest.State{}) {
		t.Errorf("ann sees %+v", all)
	}
}

// A body of many keys goes through in batches; one of too many does not.
func TestHTTPManyKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := newContract(t, start(t).HTTP(HTTPConfig{}))
	var body strings.Builder
	const n = 3*1024 + 7
	for i := range n {
		fmt.Fprintln(&body, "key", i)
	}
	c.do(t, webRequest{method: "PUT", path: "/v1/filters/a", kind: isJSON, body: `{"capacity":100000,"error_rate":1e-9}`})
	for _, verb := range []string{"add", "check"} {
		out := c.do(t, webRequest{method: "POST", path: "/v1/filters/a/" + verb, kind: isText, body: body.String()})
		if answer := out.Body.String(); !strings.HasSuffix(answer, fmt.Sprintf(`"count":%d}`+"\n", n)) {
			t.Errorf("%s: %d, ending in %q", verb, out.Code, answer[max(0, len(answer)-50):])
		}
	}
	out := c.do(t, webRequest{method: "POST", path: "/v1/filters/a/check", kind: isText, body: strings.Repeat("k\n", rest.MaxKeys+1)})
	if out.Code != 413 || !strings.Contains(out.Body.String(), "send it in parts") {
		t.Errorf("too many keys: %d %.200s", out.Code, out.Body)
	}
	out = c.do(t, webRequest{method: "POST", path: "/v1/filters/a/check", kind: isText, body: strings.Repeat("k", 10) + strings.Repeat("\n", rest.MaxBytes)})
	if out.Code != 413 {
		t.Errorf("too many bytes: %d %.200s", out.Code, out.Body)
	}
}

// Clients without rights get an error, and web pages of other sites can do nothing.
func TestHTTPSafety(t *testing.T) {
	open := newContract(t, start(t).HTTP(HTTPConfig{Hosts: []string{"filters.example"}}))
	closed := newContract(t, start(t, func(c *Config) { c.Password = "sesame" }).HTTP(HTTPConfig{}))
	list := webRequest{method: "GET", path: "/v1/filters"}
	add := webRequest{method: "POST", path: "/v1/filters/a/add", kind: isText, body: "x"}
	with := func(a webRequest, host string, header ...string) webRequest {
		a.host, a.header = host, map[string]string{}
		for i := 0; i+1 < len(header); i += 2 {
			a.header[header[i]] = header[i+1]
		}
		return a
	}
	for _, c := range []struct {
		server *contract
		webRequest
		status int
	}{
		{open, with(list, "localhost:6390"), 200},
		{open, with(list, "[::1]:6390"), 200},
		{open, with(list, "10.1.2.3"), 200},
		{open, with(list, "Filters.Example:6390"), 200},
		{open, with(list, "evil.example:6390"), 421},
		{open, with(webRequest{method: "GET", path: "/metrics"}, "evil.example"), 421},
		{open, with(webRequest{method: "GET", path: "/healthz"}, "evil.example"), 200},
		{open, with(add, "localhost", "Origin", "https://evil.example"), 403},
		{open, with(add, "localhost", "Sec-Fetch-Site", "cross-site"), 403},
		{open, with(add, "localhost:6390", "Origin", "http://localhost:6390"), 200},
		{closed, with(list, "localhost"), 401},
		{closed, with(list, "localhost", "Authorization", "Bearer wrong"), 401},
		{closed, with(list, "localhost", "Authorization", "Bearer sesame"), 200},
		{closed, with(list, "any.example", "Authorization", "Bearer sesame"), 200},
		{closed, with(list, "localhost", "Authorization", "Basic ZGVmYXVsdDpzZXNhbWU="), 200},
		{closed, with(list, "localhost", "Authorization", "Basic ZGVmYXVsdDp3cm9uZw=="), 401},
		{closed, webRequest{method: "GET", path: "/metrics"}, 401},
		{closed, webRequest{method: "GET", path: "/readyz"}, 200},
	} {
		out := httptest.NewRecorder()
		r := localRequest(c.method, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		if c.host != "" {
			r.Host = c.host
		}
		c.server.handler.ServeHTTP(out, r)
		if out.Code != c.status {
			t.Errorf("%s %s of %q with %v: %d %s, want %d", c.method, c.path, c.host, c.header, out.Code, out.Body, c.status)
		}
	}
}
