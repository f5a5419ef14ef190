package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"seen/bloom"
	"seen/cluster"
	"seen/internal/filtertest"
	"seen/internal/redistest"
	"seen/keys"
	"seen/once"
)

var lab redistest.Lab

func TestMain(m *testing.M) {
	if os.Getenv(workerMark) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(lab.Run(m, os.Stderr))
}

const pages = 2000

// crawl runs the program and returns the numbers that it prints.
func crawl(t *testing.T, args ...string) map[string]int {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"-pages", strconv.Itoa(pages)}, args...)
	if code := run(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, &stdout, &stderr)
	}
	t.Logf("%v\n%s%s", args, &stdout, &stderr)
	numbers := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+) +(\d+)|(\d+) pages (given up)`).FindAllStringSubmatch(stdout.String(), -1) {
		n, err := strconv.Atoi(m[2] + m[3])
		if err != nil {
			t.Fatal(err)
		}
		numbers[m[1]+m[4]] = n
	}
	return numbers
}

// Every page is fetched once, with every kind of engine, and pages that fail at
// first are fetched again.
func TestEveryPageOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, filter := range map[string]string{
		"seen":  "seen://" + lab.Seen(t).Addr(),
		"redis": "redis://" + lab.Server(t).Addr(),
	} {
		t.Run(name, func(t *testing.T) {
			got := crawl(t, "-workers", "3", "-filter", filter, "-p", "1e-9")
			want := map[string]int{"site": pages, "workers": 3, "pages": pages, "repeated": pages / 50, "given up": 0, "duplicates": 0, "missed": 0}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// With a large error rate pages are missed, but not more than it allows. The program
// starts the server. A second crawl with the same name finds nothing new.
func TestMissedPages(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	const p = 0.02
	got := crawl(t, "-p", strconv.FormatFloat(p, 'g', -1, 64))
	if _, hi := filtertest.Limits(pages, p, 0, 1); got["missed"] > hi || got["pages"]+got["missed"] != pages || got["duplicates"] > 0 {
		t.Errorf("%v; want at most %d missed and no duplicates", got, hi)
	}
	filter := "redis://" + lab.Server(t).Addr()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	again := []string{"-filter", filter, "-name", t.Name(), "-p", "1e-9", "-listen", l.Addr().String()}
	l.Close()
	crawl(t, again...)
	if got := crawl(t, again...); got["pages"] != 1 {
		t.Errorf("a second crawl fetched %d pages, want the first one alone", got["pages"])
	}
}

// The pages of a killed worker are not lost: some pages are fetched twice.
func TestKilledWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	got := crawl(t, "-filter", "seen://"+lab.Seen(t).Addr(), "-p", "1e-9", "-workers", "2", "-kill", "300")
	// The worker may have fetched its pages, and other workers their links.
	if most := batchSize + batchSize*12; got["missed"] > 0 || got["duplicates"] > most {
		t.Errorf("%v; want no page missed, at most %d duplicates", got, most)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{
		{"x"}, {"-pages", "1"}, {"-workers", "0"}, {"-p", "1"}, {"-nosuch"}, {"-filter", "localhost:6379"}, {"-filter", "http://localhost"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, &stderr)
		}
	}
}

// Each spelling is a URL of the intended page.
func TestSpellings(t *testing.T) {
	form, err := keys.NewURL(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, spelling := range spellings {
		got, err := form.AppendReference(nil, []byte("http://127.0.0.1:99/item?id=7&view=full"), fmt.Appendf(nil, spelling, 12, "127.0.0.1:99", 7))
		if err != nil || string(got) != "http://127.0.0.1:99/item?id=12&view=full" {
			t.Errorf("%s: %q, %v", spelling, got, err)
		}
	}
}

// A frontier gives a page to one worker. If the worker fails or dies, it gives the
// page to another one, and gives up after some failures.
func TestFrontier(t *testing.T) {
	f := newFrontier("a")
	give := func(worker int) string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // do not wait for tasks
		var out []string
		got := f.give(httptest.NewRequest("POST", "/", nil).WithContext(ctx), worker)
		for _, task := range got.Tasks {
			out = append(out, fmt.Sprintf("%s%d%t", task.URL, task.Failures, task.Again))
		}
		return fmt.Sprint(strings.Join(out, " "), got.Finished)
	}
	for i, step := range []struct {
		do   func()
		ask  int
		want string
	}{
		{func() {}, 1, "a0falsefalse"},
		{func() {}, 2, "false"},
		{func() { f.take(report{Worker: 1, Done: []string{"a"}, Found: []string{"b", "c", "b"}}) }, 2, "b0false c0falsefalse"},
		{func() { f.take(report{Worker: 2, Failed: []string{"b"}, Done: []string{"c"}}) }, 1, "b1falsefalse"},
		{func() { f.take(report{Worker: 2, Done: []string{"b"}}) }, 3, "false"}, // the worker no longer has this page
		{func() { f.release(1) }, 3, "b1truefalse"},
		{func() { f.take(report{Worker: 3, Failed: []string{"b"}}) }, 3, "b2truefalse"},
		{func() { f.take(report{Worker: 3, Failed: []string{"b"}}) }, 3, "true"},
	} {
		step.do()
		if got := give(step.ask); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	if done, finished := f.progress(); done != 2 || !finished || fmt.Sprint(f.givenUp) != "[b]" || f.repeated != 2 {
		t.Errorf("%d done, finished: %v, given up: %v, repeated: %d", done, finished, f.givenUp, f.repeated)
	}
}

// undecided is a filter that has no answer for the second key.
type undecided struct{}

func (undecided) Add(_ context.Context, keys ...[]byte) ([]bool, error) {
	return make([]bool, len(keys)), &cluster.UndecidedError{Keys: []int{1}, Reasons: []error{context.DeadlineExceeded}}
}

// The worker reports as new what no worker may have reported: the links of a page
// whose worker died, and URLs for which the filter gave no answer.
func TestSift(t *testing.T) {
	shared, err := bloom.NewShared(bloom.Config{Capacity: 100, ErrorRate: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	link := func(urls ...string) (links [][]byte) {
		for _, url := range urls {
			links = append(links, []byte(url))
		}
		return links
	}
	set := once.Local(shared)
	if _, err := set.Add(t.Context(), link("b", "c")...); err != nil {
		t.Fatal(err)
	}
	pages := []page{
		{task: task{URL: "1"}, links: link("a", "b", "a")},
		{task: task{URL: "2", Again: true}, links: link("c")},
		{task: task{URL: "3"}, err: context.DeadlineExceeded},
	}
	for _, c := range []struct {
		set  once.Set
		want string
	}{
		{set, "{7 [1 2] [3] [c a]}"},
		{set, "{7 [1 2] [3] [c]}"},
		{undecided{}, "{7 [1 2] [3] [c b]}"},
	} {
		w := worker{number: 7, set: c.set}
		got, err := w.sift(t.Context(), pages)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%v, %v; want %s", got, err, c.want)
		}
	}
}
