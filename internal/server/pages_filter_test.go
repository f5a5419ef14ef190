package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"seen/bloom"
	"seen/internal/store"
	"seen/internal/web"
	"seen/interop"
	"seen/sizing"
)

func visitorOf(t *testing.T, s *testServer) web.Visitor {
	t.Helper()
	v, err := s.dashboard.Anybody(localRequest("GET", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A visitor's actions do what the commands do, for every type.
func TestVisitorChanges(t *testing.T) {
	s := start(t)
	s.run(t, "BF.RESERVE", "fixed", "0.001", "1000", "NONSCALING")
	s.run(t, "BF.RESERVE", "theirs", "0.001", "1000", "LAYOUT", "redisbloom")
	s.run(t, "BF.WINDOW", "window", "0.001", "1000", "1h")
	s.run(t, "CF.RESERVE", "cuckoo", "2000")
	s.run(t, "CMS.INITBYDIM", "counts", "1000", "5")
	s.run(t, "TOPK.RESERVE", "best", "5")
	v := visitorOf(t, s)
	for _, c := range []struct {
		name    string
		added   int // of the keys a, b, a
		layers  int
		formats string
		clear   bool
	}{
		{"fixed", 2, 1, "dump file", true}, {"theirs", 2, 1, "dump redisbloom:form=chunks rdb:key=theirs", true}, {"window", 2, 1, "dump", true},
		{"cuckoo", 2, 0, "dump", false}, {"counts", 0, 0, "dump", false}, {"best", 0, 0, "dump", false},
	} {
		added, all, err := v.Add(c.name, strings.NewReader("a\nb\r\n\na"))
		if err != nil || added != c.added || all != 3 {
			t.Fatalf("%s: %d of %d were new, %v", c.name, added, all, err)
		}
		answers, err := v.Check(c.name, [][]byte{[]byte("a"), []byte("absent")})
		if err != nil || len(answers) != 2 || !answers[0].Found || answers[1].Found {
			t.Errorf("%s: %+v, %v", c.name, answers, err)
		} else if c.added == 0 && answers[0].Count != 2 {
			t.Errorf("%s: %+v", c.name, answers)
		}
		d, err := v.Filter(c.name)
		if err != nil {
			t.Fatal(err)
		}
		var formats []string
		for _, f := range d.Formats {
			formats = append(formats, f.Name)
			var b bytes.Buffer
			if err := v.Download(c.name, f.Name, func() io.Writer { return &b }); err != nil || b.Len() == 0 {
				t.Errorf("%s as %s: %d bytes, %v", c.name, f.Name, b.Len(), err)
			}
			switch f.Name {
			case "redisbloom:form=chunks", "rdb:key=theirs":
				s, err := interop.ParseSpec(f.Name)
				if err != nil {
					t.Fatal(err)
				}
				again, err := interop.Open(b.Bytes(), s)
				if err != nil || !again.Has([]byte("b")) || again.Has([]byte("absent")) {
					t.Errorf("as %s it is not what it was: %v", f.Name, err)
				}
			case "dump":
				s.run(t, "RESTORE", "again "+c.name, "0", b.String())
				if answers, err := v.Check("again "+c.name, [][]byte{[]byte("a")}); err != nil || !answers[0].Found {
					t.Errorf("%s is not what it was: %v, %v", c.name, answers, err)
				}
			case "file":
				f, err := bloom.Decode(b.Bytes(), bloom.LoadOptions{Secret: s.store.Hash().Secret})
				if err != nil || !f.(*bloom.Filter).HasString("b") || f.(*bloom.Filter).HasString("absent") {
					t.Errorf("the file: %v", err)
				}
			}
		}
		if d.NoFormat == "" {
			t.Errorf("%s: nothing says why there are no other formats", c.name)
		}
		if len(d.Layers) != c.layers || strings.Join(formats, " ") != c.formats || d.May != (web.May{Check: true, Add: true, Clear: c.clear, Expire: true, Delete: true}) {
			t.Errorf("%s: %d layers, formats %v, may %+v", c.name, len(d.Layers), formats, d.May)
		}
		bits, err := v.Bits(c.name)
		if err != nil || (len(bits) == 0) != (c.added == 0) {
			t.Errorf("%s: bits of %d layers, %v", c.name, len(bits), err)
		}
		if err := v.Expire(c.name, time.Hour); err != nil {
			t.Error(err)
		}
		if d, _ := v.Filter(c.name); d.Expires.Sub(s.clock.Now()) != time.Hour {
			t.Errorf("%s expires at %v", c.name, d.Expires)
		}
		if err := v.Expire(c.name, 0); err != nil {
			t.Error(err)
		}
		if d, _ := v.Filter(c.name); !d.Expires.IsZero() {
			t.Errorf("%s expires at %v", c.name, d.Expires)
		}
		if c.clear {
			if err := v.Clear(c.name); err != nil {
				t.Error(err)
			}
			if d, _ := v.Filter(c.name); d.Items != 0 {
				t.Errorf("%s has %d keys", c.name, d.Items)
			}
		}
		if err := v.Delete(c.name); err != nil {
			t.Error(err)
		}
		for what, err := range map[string]error{
			"delete": v.Delete(c.name), "expire": v.Expire(c.name, time.Hour), "check": second(v.Check(c.name, nil)), "show": second(v.Filter(c.name)),
			"history": second(v.History(c.name, web.Day)),
		} {
			var refused *web.Refused
			if !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
				t.Errorf("%s of %s, which is gone: %v", what, c.name, err)
			}
		}
	}
}

// A filter of another system can be downloaded as it was imported, and in every format with
// the same bits.
func TestVisitorDownloadsForeign(t *testing.T) {
	for spec, want := range map[string]string{
		"guava:funnel=string": "dump original", "dcso": "dump original dcso dcso:form=gzip", "redisson:m=729,k=5": "dump original rdb:key=theirs",
	} {
		s, parsed := start(t), must(interop.ParseSpec(spec))
		made := must(interop.Create(parsed, 100, 0.01))
		if _, err := made.(interop.Adder).Add([]byte("in")); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := made.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		s.run(t, "RESTORE", "theirs", "0", string(store.AppendForeign(nil, parsed, file.Bytes())))
		v := visitorOf(t, s)
		d := must(v.Filter("theirs"))
		var names []string
		for _, f := range d.Formats {
			names = append(names, f.Name)
			var b bytes.Buffer
			if err := v.Download("theirs", f.Name, func() io.Writer { return &b }); err != nil || b.Len() == 0 || f.Extension == "" || f.Use == "" {
				t.Errorf("%s as %+v: %d bytes, %v", spec, f, b.Len(), err)
			}
			if f.Name == "original" && !bytes.Equal(b.Bytes(), file.Bytes()) {
				t.Errorf("%s is not as it came", spec)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s can be had as %s, want %s", spec, got, want)
		}
		if d.May.Add || d.May.Clear {
			t.Errorf("%s: there is a button for what such a filter refuses: %+v", spec, d.May)
		}
	}
}

// must returns a value whose error would be a mistake of the test.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func second[T any](_ T, err error) error { return err }

// A filter that becomes full says so, and how many keys it took.
func TestVisitorFills(t *testing.T) {
	s := start(t)
	s.run(t, "BF.RESERVE", "small", "1e-6", "1500", "NONSCALING")
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintln(&lines, i)
	}
	added, all, err := visitorOf(t, s).Add("small", strings.NewReader(lines.String()))
	var refused *web.Refused
	if !errors.As(err, &refused) || refused.Status != http.StatusInsufficientStorage || added != 1500 || all != 1500 {
		t.Errorf("%d of %d were new, %v", added, all, err)
	}
}

// The pages refuse everything that the user may not do.
func TestVisitorRights(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	for _, name := range []string{"a:1", "b:1"} {
		s.run(t, "BF.ADD", name, "x")
	}
	s.run(t, "ACL", "SETUSER", "ann", "on", ">one", "%R~a:*", "+@read")
	v, err := s.dashboard.Enter(localRequest("GET", "/", nil), "ann", "one")
	if err != nil {
		t.Fatal(err)
	}
	d, err := v.Filter("a:1")
	if err != nil || d.May != (web.May{Check: true}) {
		t.Fatalf("%+v, %v", d, err)
	}
	_, _, added := v.Add("a:1", strings.NewReader("y"))
	for what, err := range map[string]error{
		"show b": second(v.Filter("b:1")), "bits of b": second(v.Bits("b:1")), "history of b": second(v.History("b:1", web.Hour)),
		"compare": second(v.Compare("a:1", "b:1")), "check b": second(v.Check("b:1", [][]byte{[]byte("x")})),
		"download b": v.Download("b:1", "file", func() io.Writer { t.Error("it is written"); return io.Discard }),
		"add":        added, "clear": v.Clear("a:1"), "expire": v.Expire("a:1", time.Hour), "delete": v.Delete("a:1"),
	} {
		var refused *web.Refused
		if !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
			t.Errorf("%s: %v", what, err)
		}
	}
	if d, err := v.Filter("a:1"); err != nil || d.Items != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

// A comparison is right within its standard errors.
func TestVisitorCompares(t *testing.T) {
	s := start(t)
	for i, name := range []string{"a", "b"} {
		s.run(t, "BF.RESERVE", name, "0.001", "5000", "NONSCALING")
		s.run(t, keysOf("BF.MADD "+name, 1000*i, 3000)...)
	}
	s.run(t, "BF.RESERVE", "other", "0.01", "5000", "NONSCALING")
	v := visitorOf(t, s)
	c, err := v.Compare("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	for what, e := range map[string]struct{ is, stdErr, want float64 }{
		"a": {c.KeysA.Value, c.KeysA.StdErr, 3000}, "b": {c.KeysB.Value, c.KeysB.StdErr, 3000}, "union": {c.Union.Value, c.Union.StdErr, 4000}, "intersection": {c.Intersection.Value, c.Intersection.StdErr, 2000},
		"Jaccard": {c.Jaccard.Value, c.Jaccard.StdErr, 0.5},
	} {
		if !(math.Abs(e.is-e.want) < 5*e.stdErr && e.stdErr < e.want/10) {
			t.Errorf("%s is %v ± %v, not %v", what, e.is, e.stdErr, e.want)
		}
	}
	// By the same calculation as the commands, and "seen compare" of the files.
	for command, e := range map[string]sizing.Estimate{"BF.UNIONCARD": c.Union, "BF.INTERCARD": c.Intersection} {
		got, err := s.newLocalClient(s.acl.Default).Ask([]byte(command), []byte("a"), []byte("b"))
		if err != nil || got.Int != int64(math.Round(e.Value)) {
			t.Errorf("%s says %v, %v, the page %v", command, got, err, e)
		}
	}
	if e := c.KeysA.Value + c.KeysB.Value - c.Union.Value; math.Abs(e-c.Intersection.Value) > 1e-6 {
		t.Errorf("%v and %v, of which %v in both and %v in one of them", c.KeysA, c.KeysB, c.Intersection, c.Union)
	}
	for _, other := range []string{"other", "none"} {
		if _, err := v.Compare("a", other); err == nil {
			t.Errorf("a and %s are compared", other)
		}
	}
}

// The history that pages show is that of the store.
func TestVisitorHistory(t *testing.T) {
	s := start(t)
	s.run(t, keysOf("BF.MADD a", 0, 60)...)
	if err := s.store.Record(); err != nil {
		t.Fatal(err)
	}
	samples, err := visitorOf(t, s).History("a", web.Hour)
	if err != nil || len(samples) != 1 {
		t.Fatalf("%+v, %v", samples, err)
	}
	if p := samples[0]; p.Items != 60 || p.Adds != 60 || p.Capacity != 100 || p.To.Before(p.From) || !(p.Rate > 0 && p.Fill > 0) {
		t.Errorf("%+v", p)
	}
}

// The keys that a filter wrongly reported as seen are estimated in filters of all layouts,
// also grown ones, but not in windows, which forget keys.
func TestVisitorCountsMissedKeys(t *testing.T) {
	s := start(t)
	s.run(t, "BF.RESERVE", "fixed", "0.2", "4000", "NONSCALING")
	s.run(t, "BF.RESERVE", "grown", "0.2", "500")
	s.run(t, "BF.RESERVE", "theirs", "0.2", "500", "LAYOUT", "redisbloom")
	s.run(t, "BF.WINDOW", "window", "0.2", "4000", "1h")
	v := visitorOf(t, s)
	for _, name := range []string{"fixed", "grown", "theirs", "window"} {
		for i := range 400 { // the keys of one call are looked up before the first is in
			s.run(t, keysOf("BF.MADD "+name, 10*i, 10)...)
		}
		if err := s.store.Record(); err != nil {
			t.Fatal(err)
		}
		d, samples := must(v.Filter(name)), must(v.History(name, web.Hour))
		if name == "window" {
			if d.Keys.Value != 0 {
				t.Errorf("a window has had %v keys", d.Keys)
			}
			continue
		}
		if len(samples) != 1 || samples[0].Keys != d.Keys {
			t.Errorf("%s: the history says %+v, the present %v", name, samples, d.Keys)
		}
		if e := d.Keys; d.Items >= 3950 || math.Abs(e.Value-4000) > 5*e.StdErr || e.StdErr > 40 {
			t.Errorf("%s: 4000 keys were added, %d counted, %v estimated", name, d.Items, e)
		}
	}
}
