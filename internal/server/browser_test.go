package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// This file looks at the pages with a real browser, Debian's chromium, which
// scripts/deps installs.

// pageTest is a server and a tab of a browser at it.
type pageTest struct {
	*testServer
	t   *testing.T
	ctx context.Context
	url string
}

// browse starts a server with some filters, and a browser.
func browse(t *testing.T, change ...func(*Config)) *pageTest {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("there is no chromium to look at the pages with; scripts/deps test installs it: %v", err)
	}
	s := start(t, change...)
	site := httptest.NewServer(s.HTTP(HTTPConfig{}))
	t.Cleanup(site.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 800))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // chromium has none for root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(tab); err != nil {
			t.Error(err)
		}
		cancel()
	})
	if err := chromedp.Do(tab); err != nil { // the browser lives as long as this context
		t.Fatal(err)
	}
	ctx, late := context.WithTimeout(tab, 5*patience)
	t.Cleanup(late)
	p := &pageTest{s, t, ctx, site.URL}
	t.Cleanup(func() { // ends the streams of pages before the server waits for them
		p.do(chromedp.Navigate("about:blank"))
	})
	return p
}

// do does things in the browser.
func (p *pageTest) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// get returns what an action does.
func get[T any](p *pageTest, action chromedp.Action[T]) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// at goes to a page.
func (p *pageTest) at(path string) { p.t.Helper(); p.do(chromedp.Navigate(p.url + path)) }

// says returns the text of an element.
func (p *pageTest) says(selector string) string {
	p.t.Helper()
	return get(p, chromedp.Text(chromedp.CSS(selector)))
}

// js returns what a script says.
func js[T any](p *pageTest, script string) T {
	p.t.Helper()
	return get(p, chromedp.Evaluate[T](script))
}

// until waits for a script to return true. Scripts fail while a page is being loaded.
func (p *pageTest) until(script string) {
	p.t.Helper()
	for {
		ok, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](script))
		if ok && err == nil {
			return
		}
		if p.ctx.Err() != nil {
			p.t.Fatalf("%s: %v, %v", script, ok, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// fill makes typical filters.
func (p *pageTest) fill() {
	p.t.Helper()
	s := p.testServer
	for name, c := range map[string]struct {
		make       string
		have, asks int
	}{
		"crawler:urls":   {"BF.RESERVE crawler:urls 0.001 20000 NONSCALING", 17100, 5000},
		"mail:forbidden": {"BF.RESERVE mail:forbidden 1e-6 50000", 12000, 900},
		"orders:monday":  {"BF.RESERVE orders:monday 0.01 1000 NONSCALING", 1100, 10},
		"recent":         {"BF.WINDOW recent 0.01 5000 1h", 3000, 100},
		"from redis":     {"", 4000, 1000},
	} {
		if c.make != "" {
			s.run(p.t, strings.Fields(c.make)...)
		}
		for at := 0; at < c.have; at += 1000 {
			s.run(p.t, append([]string{"BF.MADD", name}, keysOf("", at, min(1000, c.have-at))...)...)
		}
		s.run(p.t, append([]string{"BF.MEXISTS", name}, keysOf("", c.have-c.asks/2, c.asks)...)...)
	}
	s.run(p.t, "CF.RESERVE", "sessions", "4000")
	s.run(p.t, keysOf("CF.INSERT sessions ITEMS", 0, 2500)...)
	s.run(p.t, "TOPK.RESERVE", "best", "5")
	s.run(p.t, "TOPK.ADD", "best", "a", "b", "a")
	s.clock.advance(10 * time.Second)
}

// The overview has the numbers of the API, and follows them without a reload.
func TestBrowserOverview(t *testing.T) {
	p := browse(t)
	p.fill()
	p.at("/")
	p.do(chromedp.WaitVisible(chromedp.CSS("#rows tr")))
	rows := js[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("#rows tr")].map(r => [r.dataset.key, r.children[3].title]))`)
	if len(rows) != 7 {
		t.Errorf("rows %v", rows)
	}
	for name, shown := range rows {
		items, ok := p.info(name)["number_of_items_inserted"]
		if !ok {
			items = 2 // not in the information on a top-k sketch
		}
		if want := fmt.Sprintf("%.0f", items); strings.ReplaceAll(shown, ",", "") != want {
			t.Errorf("%s has %s keys on the page, and %s by the API", name, shown, want)
		}
	}
	if marked := js[int](p, `document.querySelectorAll("#rows tr.marked").length`); marked != 2 {
		t.Errorf("%d rows are marked", marked)
	}
	p.shot("overview")
	p.until(`document.getElementById("live").textContent === "live"`)
	p.do(chromedp.Focus(chromedp.CSS(`tr[data-key="best"] a`)))
	p.run(t, "BF.MADD", "new one", "a", "b", "c")
	p.run(t, "DEL", "recent")
	p.clock.advance(5 * time.Second)
	p.until(`document.querySelector('tr[data-key="new one"] td[title="3"]') !== null && document.querySelector('tr[data-key="recent"]') === null`)
	if focus := js[string](p, `document.activeElement.textContent`); focus != "best" {
		t.Errorf("the focus went to %q", focus)
	}
	p.run(t, "BF.ADD", "<script>alert(1)</script>", "x")
	p.clock.advance(5 * time.Second)
	// With the keyboard only: go to the first filter and open it.
	p.at("/?q=script")
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	if id := js[string](p, `document.activeElement.id || location.hash`); !strings.HasSuffix(id, "main") {
		t.Errorf("the first tab leads to %q", id)
	}
	p.do(chromedp.Focus(chromedp.CSS("#rows a")), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#state")))
	if title := p.says("h1"); title != "Filter <script>alert(1)</script>" {
		t.Errorf("the title is %q", title)
	}
}

// The forms on a filter's page do what they say, show errors, and are refused if they are
// not from the server.
func TestBrowserFilter(t *testing.T) {
	p := browse(t)
	p.fill()
	for i := range 50 { // an hour of history
		p.clock.advance(time.Minute)
		p.run(t, append([]string{"BF.MADD", "mail:forbidden"}, keysOf("", 12000+200*i, 200)...)...)
		if err := p.store.Record(); err != nil {
			t.Fatal(err)
		}
	}
	p.at("/filter?name=mail%3Aforbidden")
	p.until(`[...document.images].every(i => i.loading === "lazy" || i.complete && i.naturalWidth > 0)`)
	if items := p.says("#items"); items != "22,000" {
		t.Errorf("%s keys", items)
	}
	if state := p.says("#state"); !strings.Contains(state, "Grows in about 2 hours (2 to 3 hours)") {
		t.Errorf("no outlook in %q", state)
	}
	p.likeAPI("mail:forbidden")
	js[int](p, `[...document.images].map(i => i.loading = "eager").length`)
	p.until(`[...document.images].every(i => i.complete && i.naturalWidth > 0)`)
	p.shot("filter")
	ask := func(keys, button string) {
		p.do(chromedp.SetValue(chromedp.CSS("#check textarea"), keys), chromedp.Click(chromedp.CSS(button)), chromedp.WaitVisible(chromedp.CSS("#check")))
	}
	ask("key 1\nabsent", "#check button:not([formaction])")
	p.do(chromedp.WaitVisible(chromedp.CSS("#check table")))
	if text := p.says("#check table"); !strings.Contains(text, "maybe") || !strings.Contains(text, "certainly not") {
		t.Errorf("the answers are %q", text)
	}
	ask("key 1\none more", "#check button[formaction]")
	p.do(chromedp.WaitVisible(chromedp.CSS(".done")))
	if text := p.says(".done"); text != "1 of 2 keys were new." {
		t.Errorf("it says %q", text)
	}
	// An error of a form.
	p.do(chromedp.SetValue(chromedp.CSS(`input[name="number"]`), "soon"), chromedp.Submit(chromedp.CSS(`input[name="number"]`)), chromedp.WaitVisible(chromedp.CSS("#problem")))
	if text := p.says("#problem"); !strings.Contains(text, "Write a number") {
		t.Errorf("it says %q", text)
	}
	// A form with another proof changes nothing.
	js[int](p, `document.querySelector('#delete input[name="csrf"]').value = "x"; document.querySelector('#delete input[name="sure"]').checked = true; 0`)
	p.do(
		chromedp.Submit(chromedp.CSS(`#delete input[name="sure"]`)), chromedp.WaitVisible(chromedp.CSS(".problem")),
	)
	if text := p.says(".problem"); !strings.Contains(text, "Nothing was changed") || p.store.Get([]byte("mail:forbidden")) == nil {
		t.Errorf("it says %q", text)
	}
	// The browser does not send what is not confirmed, and sends what is.
	p.at("/filter?name=mail%3Aforbidden")
	p.do(chromedp.Click(chromedp.CSS("#delete button")))
	if p.store.Get([]byte("mail:forbidden")) == nil {
		t.Error("it was deleted without a confirmation")
	}
	p.do(chromedp.Click(chromedp.CSS(`#delete input[name="sure"]`)), chromedp.Click(chromedp.CSS("#delete button")), chromedp.WaitVisible(chromedp.CSS("#rows")))
	if p.store.Get([]byte("mail:forbidden")) != nil || p.says(".done") != "The filter was deleted." {
		t.Error("it was not deleted")
	}
}

// info returns what the API says of a filter.
func (p *pageTest) info(name string) map[string]float64 {
	p.t.Helper()
	answer, err := http.Get(p.url + "/v1/filters/" + url.PathEscape(name))
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	var state struct{ Info map[string]float64 }
	if err := json.NewDecoder(answer.Body).Decode(&state); err != nil {
		p.t.Fatal(err)
	}
	return state.Info
}

// metric returns what /metrics says of a filter.
func (p *pageTest) metric(metric, name string) float64 {
	p.t.Helper()
	answer, err := http.Get(p.url + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, fmt.Sprintf("%s{filter=%q} ", metric, name)); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return v
		}
	}
	p.t.Fatalf("there is no %s of %s", metric, name)
	return 0
}

// likeAPI holds the numbers of a filter's page against those of the API and of /metrics.
func (p *pageTest) likeAPI(name string) {
	p.t.Helper()
	info := p.info(name)
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			p.t.Error(err)
		}
		return v
	}
	layers := js[[][]string](p, `[...document.querySelectorAll("#layers tbody tr")].map(r => [...r.cells].map(c => c.textContent))`)
	capacity, items := 0.0, 0.0
	for _, l := range layers {
		capacity, items = capacity+number(l[3]), items+number(l[4])
	}
	if float64(len(layers)) != info["number_of_filters"] || capacity != info["capacity"] || items != info["number_of_items_inserted"] {
		p.t.Errorf("%s has %d layers, room for %v and %v keys on its page; the API says %v", name, len(layers), capacity, items, info)
	}
	if shown := number(p.says("#items")); shown != items {
		p.t.Errorf("%s has %v keys, and %v in its layers", name, shown, items)
	}
	rate := number(strings.Fields(p.says("#rate"))[0])
	if told := p.metric("seen_filter_error_rate", name); math.Abs(rate-told) > 0.006*told {
		p.t.Errorf("%s has the error rate %v on its page; the metrics say %v", name, rate, told)
	}
}

// A comparison has the numbers of the commands.
func TestBrowserCompare(t *testing.T) {
	p := browse(t)
	for i, name := range []string{"a", "b"} {
		p.run(t, "BF.RESERVE", name, "0.001", "5000", "NONSCALING")
		p.run(t, append([]string{"BF.MADD", name}, keysOf("", 1000*i, 3000)...)...)
	}
	p.at("/filter?name=a")
	p.likeAPI("a")
	p.at("/compare?a=a")
	p.do(chromedp.SendKeys(chromedp.CSS(`input[name="b"]`), "b\n"), chromedp.WaitVisible(chromedp.CSS("#union")))
	for id, command := range map[string]string{"#union": "BF.UNIONCARD", "#intersection": "BF.INTERCARD"} {
		v, err := p.newLocalClient(p.acl.Default).Ask([]byte(command), []byte("a"), []byte("b"))
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(p.says(id), " ")
		// The page shows only the digits that are certain.
		if shown, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64); err != nil || math.Abs(shown-float64(v.Int)) > 10 {
			t.Errorf("%s is %s on the page, %v; the command says %d", id, p.says(id), err, v.Int)
		}
	}
	for i, want := range []string{"a", "b"} {
		text := js[string](p, fmt.Sprintf(`document.querySelectorAll("main table tr")[%d].cells[1].textContent`, i))
		shown, err := strconv.ParseFloat(strings.ReplaceAll(strings.Fields(text)[0], ",", ""), 64)
		if items := p.info(want)["number_of_items_inserted"]; err != nil || math.Abs(shown-items) > items/50 {
			t.Errorf("%s has %s keys on the page, and %v by the API", want, text, items)
		}
	}
}

// The other pages work, narrow and dark too, and nothing breaks the policy.
func TestBrowserPages(t *testing.T) {
	p := browse(t, func(c *Config) { c.Password = "sesame" })
	p.at("/")
	p.do(chromedp.WaitVisible(chromedp.CSS("input[name=password]")), chromedp.SendKeys(chromedp.CSS("input[name=password]"), "wrong\n"), chromedp.WaitVisible(chromedp.CSS("#problem")))
	p.do(chromedp.SendKeys(chromedp.CSS("input[name=password]"), "sesame\n"), chromedp.WaitVisible(chromedp.CSS("#totals")))
	p.fill()
	p.at("/plan?n=20M&p=1e-4")
	p.until(`[...document.images].every(i => i.complete && i.naturalWidth > 0)`)
	if text := p.says("#plan"); !strings.Contains(text, "20,000,000") {
		t.Errorf("the plan is %q", text)
	}
	p.shot("planner")
	p.at("/how?m=40")
	p.do(chromedp.SendKeys(chromedp.CSS(`input[name="ask"]`), "plum"), chromedp.WaitVisible(chromedp.CSS("#verdict")))
	if lit := js[int](p, `document.querySelectorAll("#bits .hit").length`); lit != 3 || !strings.Contains(js[string](p, "location.search"), "ask=plum") {
		t.Errorf("%d places light up", lit)
	}
	p.do(chromedp.Click(chromedp.CSS("#error")))
	p.until(`document.querySelector("#verdict")?.textContent.includes("false positive")`)
	p.shot("how")
	p.at("/compare?a=recent&b=sessions")
	p.do(chromedp.WaitVisible(chromedp.CSS("#problem")))

	bright := js[string](p, `getComputedStyle(document.body).backgroundColor`)
	get(p, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		return chromedp.Void{}, err
	})
	if dark := js[string](p, `getComputedStyle(document.body).backgroundColor`); dark == bright {
		t.Errorf("the dark page is as bright as the other, %s", dark)
	}
	p.at("/")
	p.do(chromedp.WaitVisible(chromedp.CSS("#rows tr")))
	p.do(chromedp.EmulateViewport(360, 700, chromedp.EmulateMobile))
	for _, path := range []string{"/", "/filter?name=crawler%3Aurls", "/plan", "/how", "/how?type=blocked&ask=x", "/compare"} {
		p.at(path)
		p.do(chromedp.WaitReady(chromedp.CSS("main")))
		if wide := js[int](p, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide on a screen of 360", path, wide)
		}
		torn := js[[]string](p, `[...document.querySelectorAll(".wide table:not(.filters) tbody th")].filter(e => {
			const text = document.createRange();
			text.selectNodeContents(e);
			return text.getClientRects().length > 1;
		}).map(e => e.textContent)`)
		if len(torn) > 0 {
			t.Errorf("%s: the first column of a table that scrolls is broken into lines: %q", path, torn)
		}
		unnamed := js[[]string](p, `[...document.querySelectorAll("input:not([type=hidden]), select, textarea")].filter(e => !e.labels.length).map(e => e.outerHTML)
			.concat([...document.images].filter(i => !i.hasAttribute("alt")).map(i => i.outerHTML))
			.concat([...document.querySelectorAll("button, a, meter")].filter(e => !e.textContent.trim() && !e.ariaLabel).map(e => e.outerHTML))
			.concat([...document.querySelectorAll("[tabindex]")].filter(e => e.tabIndex > 0 || e.tabIndex === 0 && !e.ariaLabel).map(e => e.outerHTML))`)
		if len(unnamed) > 0 {
			t.Errorf("%s: a screen reader has no name for %q", path, unnamed)
		}
	}
	// The keyboard goes through a page from top to bottom, with a visible focus.
	p.at("/filter?name=crawler%3Aurls")
	js[int](p, `globalThis.passed = []; document.addEventListener("focusin", (e) => passed.push(e.target)); 0`)
	for range 24 {
		p.do(chromedp.KeyEvent(kb.Tab))
	}
	if wrong := js[[]string](p, `passed.filter((e, i) => i && !(passed[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)).map(e => e.outerHTML)`); len(wrong) > 0 {
		t.Errorf("the keyboard jumps back to %q", wrong)
	}
	if n := js[int](p, `passed.length`); n < 20 || js[string](p, `getComputedStyle(document.activeElement).outlineStyle`) != "solid" {
		t.Errorf("%d places for the keyboard, and the last is not to be seen", n)
	}
	p.do(chromedp.Click(chromedp.CSS(".who button")), chromedp.WaitVisible(chromedp.CSS("input[name=password]")))
}

// Ten thousand filters are shown, sorted and searched as a few are.
func TestBrowserManyFilters(t *testing.T) {
	p := browse(t)
	for i := range 10_000 {
		p.run(t, append([]string{"BF.MADD", fmt.Sprintf("filter:%05d", i)}, keysOf("", 0, 1+i%9)...)...)
	}
	p.at("/")
	p.do(chromedp.WaitVisible(chromedp.CSS("#rows tr")))
	if text := p.says("#totals"); !strings.Contains(text, "10000") {
		t.Errorf("the totals are %q", text)
	}
	if n := js[int](p, `document.querySelectorAll("#rows tr").length`); n != 100 {
		t.Errorf("%d rows", n)
	}
	p.do(chromedp.Click(chromedp.CSS(`a[rel="next"]`)), chromedp.WaitVisible(chromedp.CSS(`tr[data-key="filter:00100"]`)))
	p.do(chromedp.Click(chromedp.CSS(`th a[href*="sort=items"]`)), chromedp.WaitVisible(chromedp.CSS(`th[aria-sort="descending"]`)))
	if first := js[string](p, `document.querySelector("#rows tr").dataset.key`); first != "filter:00008" {
		t.Errorf("the filter with the most keys is %s", first)
	}
	p.do(chromedp.SendKeys(chromedp.CSS(`input[name="q"]`), "09999\n"), chromedp.WaitVisible(chromedp.CSS(`tr[data-key="filter:09999"]`)))
	if n := js[int](p, `document.querySelectorAll("#rows tr").length`); n != 1 {
		t.Errorf("%d rows are found", n)
	}
}
