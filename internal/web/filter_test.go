package web

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seen/internal/chart"
	"seen/internal/forecast"
	"seen/sizing"
)

var noon = time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC)

func filterBrowser(t *testing.T, source *fake) *browser {
	source.open = true
	return newBrowser(t, New(Config{Source: source, Now: func() time.Time { return noon }}))
}

// Forms do what they say, and the page confirms it.
func TestFilterForms(t *testing.T) {
	source := &fake{keys: map[string]bool{"k1": true}}
	b := filterBrowser(t, source)
	_, proof := b.get("/filter?name=a")
	for _, c := range []struct {
		path   string
		form   url.Values
		status int
		want   string // in the page, or where the browser is sent
	}{
		{"check", url.Values{"keys": {"k1\r\nk2"}}, 200, "no, certainly not"},
		{"check", url.Values{"keys": {"k1"}}, 200, "maybe: it was added"},
		{"check", url.Values{"keys": {"\r\n"}}, 400, "Type the keys to check"},
		{"check", url.Values{"keys": {strings.Repeat("k\n", 1001)}}, 400, "At most 1000"},
		{"add", url.Values{"keys": {"k1\nk2\nk3"}}, 303, "/filter?done=added&name=a&new=2&of=3"},
		{"add", url.Values{"keys": {" "}}, 400, "Type the keys to add"},
		{"add", url.Values{"keys": {strings.Repeat("k\n", 1001)}}, 507, "The filter is full. Before that, 1000 keys were added, 1 of them new."},
		{"clear", url.Values{}, 400, "To confirm"},
		{"delete", url.Values{}, 400, "To confirm"},
		{"expire", url.Values{"number": {"x"}, "unit": {"days"}}, 400, "Write a number"},
		{"expire", url.Values{"number": {"-1"}, "unit": {"days"}}, 400, "Write a number"},
		{"expire", url.Values{"number": {"NaN"}, "unit": {"days"}}, 400, "Write a number"},
		{"expire", url.Values{"number": {"1"}, "unit": {"years"}}, 400, "Write a number"},
		{"expire", url.Values{"number": {"1e9"}, "unit": {"days"}}, 400, "Write a number"},
		{"expire", url.Values{"number": {"1.5"}, "unit": {"hours"}}, 303, "/filter?done=expires&name=a"},
		{"expire", url.Values{"never": {"1"}}, 303, "/filter?done=persists&name=a"},
		{"clear", url.Values{"sure": {"1"}}, 303, "/filter?done=cleared&name=a"},
		{"delete", url.Values{"sure": {"1"}}, 303, "/?done=deleted"},
		{"delete", url.Values{"sure": {"1"}}, 404, "There is no filter"},
		{"check", url.Values{"keys": {"k1"}}, 404, "There is no filter"},
	} {
		c.form.Set("csrf", proof)
		c.form.Set("name", "a")
		a := b.do("POST", "/filter/"+c.path, c.form)
		if got := text(t, a) + a.Header.Get("Location"); a.StatusCode != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s %.60v: %s %s", c.path, c.form, a.Status, got)
		}
		if c.path == "expire" && c.form.Get("unit") == "hours" && source.expires != 90*time.Minute {
			t.Errorf("it expires after %v", source.expires)
		}
		c.form.Del("csrf")
		if a := b.do("POST", "/filter/"+c.path, c.form); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s without a proof: %s", c.path, a.Status)
		}
	}
	source.keys = map[string]bool{}
	for query, want := range map[string]string{
		"&done=added&new=1234&of=5678": "1,234 of 5,678 keys were new.", "&done=added&new=<b>": "0 of 0 keys", "&done=cleared": "The filter was cleared", "&done=x<b>": "",
	} {
		page, _ := b.get("/filter?name=a" + query)
		if !strings.Contains(page, want) || strings.Contains(page, `class="done"`) != (want != "") {
			t.Errorf("%s does not say %q", query, want)
		}
	}
}

// sendFile sends a form with fields and a file, in the order given.
func (b *browser) sendFile(fields ...string) *http.Response {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		var part io.Writer
		var err error
		if fields[i] == "file" {
			part, err = w.CreateFormFile("file", "keys.txt")
		} else {
			part, err = w.CreateFormField(fields[i])
		}
		if err == nil {
			_, err = io.WriteString(part, fields[i+1])
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/filter/upload", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	for name, value := range b.cookie {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	out := httptest.NewRecorder()
	b.site.ServeHTTP(out, r)
	return out.Result()
}

func TestUpload(t *testing.T) {
	source := &fake{keys: map[string]bool{}}
	b := filterBrowser(t, source)
	_, proof := b.get("/filter?name=a")
	if a := b.sendFile("csrf", proof, "name", "a", "file", "x\ny\nx\n"); a.StatusCode != 303 || !strings.Contains(a.Header.Get("Location"), "new=2&of=3") {
		t.Errorf("%s to %s", a.Status, a.Header.Get("Location"))
	}
	for _, c := range []struct {
		status int
		fields []string
	}{
		{403, []string{"name", "a", "file", "x"}},
		{403, []string{"name", "a", "file", "x", "csrf", proof}}, // nothing is read before the proof
		{400, []string{"csrf", proof, "name", "a"}},
		{400, []string{"csrf", proof, "name", strings.Repeat("x", maxField+1), "file", "x"}},
		{404, []string{"csrf", proof, "name", "b", "file", "x"}},
	} {
		if a := b.sendFile(c.fields...); a.StatusCode != c.status {
			t.Errorf("%.80q: %s, want %d", c.fields, a.Status, c.status)
		}
	}
	if len(source.keys) != 2 {
		t.Errorf("the keys are %v", source.keys)
	}
	// The page with the form shows an error in a file.
	a := b.sendFile("csrf", proof, "name", "a", "file", strings.Repeat("x\n", 1001))
	if page := text(t, a); a.StatusCode != 507 || !strings.Contains(page, "filter is full") || !strings.Contains(page, `type="file"`) {
		t.Errorf("%s %s", a.Status, page)
	}
}

// A visitor who may only look sees no buttons, and forms are refused.
func TestReaders(t *testing.T) {
	source := &fake{keys: map[string]bool{"k": true}, reader: true}
	page, _ := filterBrowser(t, source).get("/filter?name=a")
	main := page[strings.Index(page, "<main"):]
	if strings.Contains(main, "<button") || strings.Contains(main, "<form") {
		t.Errorf("there is something to press: %s", main)
	}
}

func TestDownload(t *testing.T) {
	source := &fake{keys: map[string]bool{"k": true}}
	b := filterBrowser(t, source)
	a := b.do("GET", "/filter/download?name=a&format=dump", nil)
	if got := text(t, a); a.StatusCode != 200 || got != "bytes of a" || a.Header.Get("Content-Disposition") != "attachment; filename=a.dump" {
		t.Errorf("%s %v %q", a.Status, a.Header, got)
	}
	source.keys = map[string]bool{}
	if a := b.do("GET", "/filter/download?name=a&format=dump", nil); a.StatusCode != 409 || a.Header.Get("Content-Disposition") != "" {
		t.Errorf("an empty one: %s %v", a.Status, a.Header)
	}
	if a := b.do("GET", "/filter/download?name=a&format=exe", nil); a.StatusCode != 404 {
		t.Errorf("another format: %s", a.Status)
	}
	for name, want := range map[string]string{"a b/c": "a_b_c", "..x": "x", "": "filter", "\xff\n": "__", "ä": "_"} {
		if got := fileName(name); got != want {
			t.Errorf("%q makes the file %q, want %q", name, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	b := filterBrowser(t, &fake{keys: map[string]bool{}})
	page, _ := b.get("/compare?a=a&b=b")
	for _, want := range []string{`id="union">500 ± 5<`, `id="intersection">200 ± 2<`, `id="jaccard">0.4 ± 0.004<`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if a := b.do("GET", "/compare?a=a&b=other", nil); a.StatusCode != 400 || !strings.Contains(text(t, a), "They are unlike.") {
		t.Errorf("unlike ones: %s", a.Status)
	}
	if page, _ := b.get("/compare?a=a"); strings.Contains(page, "problem") {
		t.Error("a problem before anything was asked")
	}
}

// Each chart of each span is well formed, whatever the samples are.
func TestPictures(t *testing.T) {
	sample := func(ago time.Duration, items uint64) Sample {
		return Sample{From: noon.Add(-ago), To: noon.Add(time.Minute - ago), Items: items, Capacity: 100, Fill: 0.1, Rate: 1e-4, Adds: items, Checks: 7, Hits: 3}
	}
	for name, samples := range map[string][]Sample{
		"none": nil, "one": {sample(30*time.Second, 5)}, "old": {sample(2*time.Hour, 5)},
		"some": {sample(59*time.Minute, 5), sample(30*time.Minute, 50), sample(29*time.Minute, 60)},
		"zero": {{From: noon.Add(-time.Minute), To: noon, Rate: math.NaN()}},
	} {
		b := filterBrowser(t, &fake{keys: map[string]bool{"k": true}, samples: samples})
		for _, c := range historyCharts {
			for _, s := range spans {
				a := b.do("GET", fmt.Sprintf("/filter/chart.svg?name=a&span=%s&show=%s", s.span, c.name), nil)
				if a.StatusCode != 200 || a.Header.Get("Content-Type") != "image/svg+xml" {
					t.Fatalf("%s, %s, %s: %s", name, c.name, s.span, a.Status)
				}
				curves := 0
				for d := xml.NewDecoder(a.Body); ; {
					token, err := d.Token()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatalf("%s, %s: %v", name, c.name, err)
					}
					if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
						curves++
					}
				}
				if curves < 4 {
					t.Errorf("%s, %s, %s: %d paths", name, c.name, s.span, curves)
				}
			}
		}
		a := b.do("GET", "/filter/bits.png?name=a", nil)
		if _, err := png.Decode(a.Body); err != nil {
			t.Errorf("%s: %v", a.Status, err)
		}
	}
	b := filterBrowser(t, &fake{keys: map[string]bool{}})
	for _, path := range []string{"chart.svg?name=a&show=x", "chart.svg?name=b&show=keys", "bits.png?name=b"} {
		if a := b.do("GET", "/filter/"+path, nil); a.StatusCode != 404 {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
}

// Curves keep the last value until something happens, and rates are for their steps.
func TestCurves(t *testing.T) {
	h := &history{
		detail: &Detail{Filter: Filter{Items: 30}}, now: noon, chartSpan: spans[0],
		samples: []Sample{
			{From: noon.Add(-50 * time.Minute), To: noon.Add(-49 * time.Minute), Items: 10, Adds: 600},
			{From: noon.Add(-20 * time.Minute), To: noon.Add(-19 * time.Minute), Items: 30, Adds: 1200},
		},
	}
	h.detail.Created = noon.Add(-55 * time.Minute)
	if got, want := fmt.Sprint(h.level(func(s Sample) float64 { return float64(s.Items) })), "[{-49 10} {-20 10} {-19 30} {-0 30}]"; got != want {
		t.Errorf("keys %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(h.perSecond(func(s Sample) uint64 { return s.Adds })), "[{-55 0} {-55 0} {-50 0} {-50 10} {-49 10} {-49 0} {-20 0} {-20 20} {-19 20} {-19 0} {-0 0}]"; got != want {
		t.Errorf("rates %s, want %s", got, want)
	}
}

// At a steady rate, the chart of the traffic shows that rate everywhere, at every moment
// between two samples and over every span.
func TestSteadyTraffic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(20, 1e6).Draw(t, "keys per second")
		over := rapid.SampledFrom(spans).Draw(t, "span")
		step := map[Span]time.Duration{Hour: time.Minute, Day: 15 * time.Minute, Month: 6 * time.Hour}[over.span]
		created := noon.Add(-time.Duration(rapid.Int64Range(int64(2*time.Minute), 2*int64(over.length)).Draw(t, "age")))
		record := created.Add(time.Duration(rapid.Int64Range(int64(time.Second), int64(time.Minute)).Draw(t, "phase")))
		h := &history{detail: &Detail{Created: created}, now: noon, chartSpan: over}
		for from := created; !record.After(noon); record = record.Add(time.Minute) {
			n, s := len(h.samples), Sample{From: from, To: record, Adds: uint64(rate * record.Sub(from).Seconds())}
			if n > 0 && h.samples[n-1].To.Truncate(step).Equal(record.Truncate(step)) {
				h.samples[n-1].To = record
				h.samples[n-1].Adds += s.Adds
			} else {
				h.samples = append(h.samples, s)
			}
			from = record
		}
		h.samples = h.samples[max(0, len(h.samples)-int(over.length/step)-2):]
		points := h.perSecond(func(s Sample) uint64 { return s.Adds })
		for i, p := range points[1:] { // the first is where the chart begins
			if math.Abs(p.Y/rate-1) > 0.1 {
				t.Fatalf("point %d of %d: %v, want %v", i+1, len(points), p, rate)
			}
		}
	})
}

// The page says when the filter will be full, as a range.
func TestOutlook(t *testing.T) {
	source := &fake{keys: map[string]bool{"k": true}, forecast: &forecast.Forecast{Best: 1200, Low: 1100, High: 1310}}
	page, _ := filterBrowser(t, source).get("/filter?name=a")
	if want := "Full in about 20 minutes (18 to 22 minutes)"; !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
	source.forecast = nil
	if page, _ := filterBrowser(t, source).get("/filter?name=a"); strings.Contains(page, "in about") {
		t.Error("the page says when the filter will be full, which is unknown")
	}
}

// The chart of the keys has a band where their number is an estimate.
func TestKeysHaveABand(t *testing.T) {
	h := &history{
		detail: &Detail{Filter: Filter{Type: "bloom", Items: 900, Capacity: 1000}, Created: noon.Add(-time.Hour), Keys: sizing.Estimate{Value: 950, StdErr: 10}},
		now:    noon, chartSpan: spans[0],
	}
	for _, c := range []struct{ value, want float64 }{{950, 1}, {0, 0}} {
		h.detail.Keys.Value = c.value
		b, err := chart.Picture("svg", drawKeys(h))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(b), "2 standard errors"); got != int(c.want) {
			t.Errorf("an estimate of %v has %d bands", c.value, got)
		}
	}
}
