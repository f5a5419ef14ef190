//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/figure"
	"seen/internal/filtertest"
	"seen/sizing"
)

const (
	grownFrom = 200
	grownTo   = 6000
	grownRate = 0.1
)

func grown(t *testing.T, name string, hs []uint64) (*bloom.Scalable, string) {
	t.Helper()
	f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: grownFrom, ErrorRate: grownRate})
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hs)
	path := filepath.Join(t.TempDir(), name)
	if err := bloomfile.Write(path, f); err != nil {
		t.Fatal(err)
	}
	return f, path
}

// estimatesOf returns an estimate of the JSON that a command prints, by its path.
func estimatesOf(t *testing.T, args ...string) func(name string) sizing.Estimate {
	t.Helper()
	text, code := seenOutput(t, args...)
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("seen %s: exit code %d: %v\n%s", args, code, err, text)
	}
	return func(name string) sizing.Estimate {
		var e estimateReport
		if err := json.Unmarshal(all[name], &e); err != nil {
			t.Fatalf("seen %s: %q: %v\n%s", args, name, err, text)
		}
		return sizing.Estimate{Value: e.Value, StdErr: e.StdErr}
	}
}

// The library and all commands tell the same number of keys of a filter that grew, and the
// same standard error, and both are right: those that an older layer took for seen by
// mistake are in.
func TestGrownFilterHasOneNumberOfKeys(t *testing.T) {
	hs := filtertest.RandomHashes(7, grownTo)
	right := func(what string, e sizing.Estimate, truth float64) {
		t.Helper()
		if !(math.Abs(e.Value-truth) < sigmas*e.StdErr && e.StdErr < truth/25) {
			t.Errorf("%s: %v; %v were added", what, e, truth)
		}
	}
	f, path := grown(t, "all.seen", hs)
	st := f.Stats()
	if st.Layers < 4 || float64(st.Added) > 0.97*grownTo {
		t.Fatalf("%d of %d keys were new, in %d layers: this tests too little", st.Added, grownTo, st.Layers)
	}
	want := st.Cardinality
	right("the library", want, grownTo)
	want = sizing.Estimate{Value: figure.SixDigits(want.Value), StdErr: figure.SixDigits(want.StdErr)}
	same := func(what string, e sizing.Estimate) {
		t.Helper()
		if e != want {
			t.Errorf("%s: %v, by the library %v", what, e, want)
		}
	}
	dir := t.TempDir()
	same("seen info", estimatesOf(t, "info", "--json", path)("cardinality"))
	same("seen merge of one", estimatesOf(t, "merge", "--json", "-o", filepath.Join(dir, "one.seen"), path)("cardinality"))

	exact, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
	if err != nil {
		t.Fatal(err)
	}
	const common = grownTo / 3
	exact.AddHashes(nil, hs[:common])
	part := filepath.Join(dir, "part.seen")
	if err := bloomfile.Write(part, exact); err != nil {
		t.Fatal(err)
	}
	compared := estimatesOf(t, "compare", "--json", part, path)
	same("seen compare", compared("b"))
	right("seen compare: the union", compared("union"), grownTo)
	if a := compared("a"); a != (sizing.Estimate{Value: common}) {
		t.Errorf("seen compare: %v keys of an exact set, want %d", a, common)
	}

	a, pathA := grown(t, "a.seen", hs[:grownTo/2])
	b, pathB := grown(t, "b.seen", hs[grownTo/2:])
	merged := estimatesOf(t, "merge", "--json", "-o", filepath.Join(dir, "both.seen"), pathA, pathB)("cardinality")
	right("seen merge", merged, grownTo)
	if err := a.Union(b); err != nil {
		t.Fatal(err)
	}
	if e := a.Stats().Cardinality; merged != (sizing.Estimate{Value: figure.SixDigits(e.Value), StdErr: figure.SixDigits(e.StdErr)}) {
		t.Errorf("seen merge: %v, by the library %v", merged, e)
	}
}

// The server tells the exact number of keys that were new to a filter that grew, by
// commands, HTTP, metrics and the page; and the page estimates those that an older layer
// took for seen by mistake, so that both together are the keys that were added.
func TestGrownServedFilterHasOneNumberOfKeys(t *testing.T) {
	s := startServed(t, t.TempDir())
	s.Must("BF.RESERVE", "f", fmt.Sprint(grownRate), fmt.Sprint(grownFrom))
	isNew := int64(0)
	for from := 0; from < grownTo; from += 20 { // the keys of one call are looked up before the first is in
		args := []string{"BF.MADD", "f"}
		for i := range 20 {
			args = append(args, "key "+strconv.Itoa(from+i))
		}
		for _, e := range s.Must(args...).Elems {
			isNew += e.Int
		}
	}
	if isNew > 0.97*grownTo {
		t.Fatalf("%d of %d keys were new: this tests too little", isNew, grownTo)
	}
	s.Expect(fmt.Sprintf(":%d", isNew), "BF.CARD", "f")
	s.Expect(fmt.Sprintf("[:%d]", isNew), "BF.INFO", "f", "ITEMS")
	get := func(path string) string {
		t.Helper()
		answer, err := http.Get("http://" + s.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, answer.Status, err)
		}
		return string(text)
	}
	for path, want := range map[string]string{
		"/v1/filters/f":  fmt.Sprintf(`"number_of_items_inserted":%d,`, isNew),
		"/metrics":       fmt.Sprintf("seen_filter_added{filter=\"f\"} %d\n", isNew),
		"/filter?name=f": fmt.Sprintf(`<dd id="items">%s</dd>`, figure.Comma(uint64(isNew))),
	} {
		if text := get(path); !strings.Contains(text, want) {
			t.Errorf("%s does not say %s:\n%.3000s", path, want, text)
		}
	}
	missed := regexp.MustCompile(`id="missed">The filter also holds about (\d+) ± (\d+) keys that are not counted`).FindStringSubmatch(get("/filter?name=f"))
	if missed == nil {
		t.Fatal("the page does not say how many keys were taken for seen")
	}
	n, _ := strconv.ParseFloat(missed[1], 64) // digits
	stdErr, _ := strconv.ParseFloat(missed[2], 64)
	if math.Abs(float64(isNew)+n-grownTo) > sigmas*stdErr || stdErr > grownTo/50 {
		t.Errorf("the page says %d keys, and %v ± %v that were taken for seen; %d were added", isNew, n, stdErr, grownTo)
	}
}
