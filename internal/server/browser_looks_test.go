package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"seen/internal/store"
)

// dark turns the dark mode on or off.
func (p *pageTest) dark(on bool) {
	p.t.Helper()
	value := "light"
	if on {
		value = "dark"
	}
	get(p, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}},
		})
		return chromedp.Void{}, err
	})
}

// looks goes to a page at the widths of a desk and of a phone, in light and in dark colours,
// calls check at each, and takes pictures if the flag is set.
func (p *pageTest) looks(name, path string, check func(where string)) {
	p.t.Helper()
	for _, wide := range []int64{1280, 390} {
		p.do(chromedp.EmulateViewport(wide, 800))
		for _, dark := range []bool{false, true} {
			p.dark(dark)
			p.at(path)
			js[int](p, `[...document.images].map(i => i.loading = "eager").length`)
			p.until(`[...document.images].every(i => i.complete && i.naturalWidth > 0)`)
			where := fmt.Sprintf("%s at %d, dark %v", path, wide, dark)
			if width := js[int64](p, `document.documentElement.scrollWidth`); width > wide {
				p.t.Errorf("%s: the page is %d pixels wide", where, width)
			}
			check(where)
			mode := "light"
			if dark {
				mode = "dark"
			}
			if *allLooks != "" {
				b := get(p, chromedp.FullScreenshot(100))
				if err := os.WriteFile(filepath.Join(*allLooks, fmt.Sprintf("%s-%d-%s.png", name, wide, mode)), b, 0o644); err != nil {
					p.t.Fatal(err)
				}
			}
		}
	}
	p.dark(false)
	p.do(chromedp.EmulateViewport(1280, 800))
}

// corner returns the colour of the first pixel of a picture: red, green, blue and opacity.
func (p *pageTest) corner(selector string) []int {
	p.t.Helper()
	return js[[]int](p, fmt.Sprintf(`(() => {
		const picture = document.querySelector(%q), canvas = document.createElement("canvas").getContext("2d");
		canvas.drawImage(picture, 0, 0);
		return [...canvas.getImageData(0, 0, 1, 1).data];
	})()`, selector))
}

// login logs in over the pages.
func (p *pageTest) login(user, password string) {
	p.t.Helper()
	p.at("/login")
	p.do(chromedp.SendKeys(chromedp.CSS("input[name=user]"), user), chromedp.SendKeys(chromedp.CSS("input[name=password]"), password+"\n"), chromedp.WaitVisible(chromedp.CSS(".who button")))
}

// capacity returns the capacity of a Bloom filter, 0 if there is none.
func (p *pageTest) capacity(name string) uint64 {
	if f, ok := p.store.Get([]byte(name)).(store.Filter); ok {
		return f.Info().Capacity
	}
	return 0
}

// On an empty server, an administrator creates the first filter, from the first page and from
// the planner; a reader is told whom to ask.
func TestBrowserFirstRun(t *testing.T) {
	p := browse(t, func(c *Config) { c.Password = "sesame" })
	p.run(t, "ACL", "SETUSER", "reader", "on", ">look", "~*", "+@read", "+info")
	p.login("reader", "look")
	p.looks("empty-reader", "/", func(where string) {
		if text := p.says("main"); !strings.Contains(text, "There are no filters that you may read") || !strings.Contains(text, "Ask the administrator") || strings.Contains(text, "BF.ADD") {
			t.Errorf("%s: a reader is told %q", where, text)
		}
	})
	p.at("/")
	p.do(chromedp.Click(chromedp.CSS(".who button")), chromedp.WaitVisible(chromedp.CSS("input[name=password]")))
	p.login("", "sesame")
	p.looks("empty", "/", func(where string) {
		if text := p.says("main"); !strings.Contains(text, "There are no filters yet") || strings.Contains(text, "you may read") {
			t.Errorf("%s: an administrator is told %q", where, text)
		}
	})
	p.at("/")
	p.do(chromedp.SendKeys(chromedp.CSS("#create input[name=name]"), "crawl"), chromedp.Submit(chromedp.CSS("#create input[name=name]")), chromedp.WaitVisible(chromedp.CSS("#state")))
	if text := p.says(".done"); !strings.Contains(text, "was created") || p.capacity("crawl") != 1_000_000 {
		t.Errorf("it says %q of a filter for %d keys", text, p.capacity("crawl"))
	}
	p.at("/plan?n=20k&p=0.01")
	p.do(chromedp.Click(chromedp.CSS(`a[href*="type=fixed"]`)), chromedp.WaitVisible(chromedp.CSS("#create")))
	p.looks("create", "/create?n=20000&p=0.01&type=fixed", func(string) {})
	p.do(chromedp.SendKeys(chromedp.CSS("#create input[name=name]"), "crawl\n"), chromedp.WaitVisible(chromedp.CSS("#problem")))
	if text := p.says("#problem"); text != `There is already a filter "crawl". Choose another name.` {
		t.Errorf("it says %q", text)
	}
	p.do(chromedp.SetValue(chromedp.CSS("#create input[name=name]"), "planned"), chromedp.Submit(chromedp.CSS("#create input[name=name]")), chromedp.WaitVisible(chromedp.CSS("#state")))
	if n := p.capacity("planned"); n != 20000 {
		t.Errorf("the planned filter is for %d keys", n)
	}
	// A row that comes while the page of an empty server is open takes the place of the text.
	p.run(t, "DEL", "crawl", "planned")
	p.clock.advance(5 * time.Second)
	p.at("/")
	p.do(chromedp.WaitVisible(chromedp.CSS("#create")), chromedp.SendKeys(chromedp.CSS("#create input[name=name]"), "half"))
	p.run(t, "BF.ADD", "by a program", "x")
	p.clock.advance(5 * time.Second)
	p.until(`document.querySelector("#rows tr") !== null && document.getElementById("none").textContent.trim() === ""`)
	if typed := js[string](p, `document.querySelector("#create input[name=name]").value`); typed != "half" {
		t.Errorf("what was typed has become %q", typed)
	}
}

// With filters, each page fits on a desk and on a phone, where tables keep their alerts, and
// charts have the colour of their panel.
func TestBrowserLooks(t *testing.T) {
	p := browse(t)
	p.fill()
	for i := range 50 {
		p.clock.advance(time.Minute)
		p.run(t, append([]string{"BF.MADD", "mail:forbidden"}, keysOf("", 12000+200*i, 200)...)...)
		if err := p.store.Record(); err != nil {
			t.Fatal(err)
		}
	}
	p.looks("overview", "/", func(where string) {
		hidden := js[[]string](p, `[...document.querySelectorAll("#rows .mark")].filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)`)
		if len(hidden) > 0 || js[int](p, `document.querySelectorAll("#rows .mark").length`) < 2 {
			t.Errorf("%s: the alerts %q are outside of the screen, or are missing", where, hidden)
		}
		if strings.Contains(p.says("header"), "Log in") {
			t.Errorf("%s: there is a log-in although nobody needs one", where)
		}
	})
	p.at("/")
	p.do(chromedp.Click(chromedp.CSS(`#totals a[href*="marked=full"]`)), chromedp.WaitVisible(chromedp.CSS(`#rows tr`)))
	p.until(`location.search === "?marked=full" && document.querySelectorAll("#rows tr").length === 1`)
	p.looks("filter", "/filter?name=mail%3Aforbidden", func(where string) {
		for _, heading := range []string{"History", "Expire", "Delete"} {
			if !js[bool](p, fmt.Sprintf(`[...document.querySelectorAll("h2, h3")].some(e => e.textContent === %q)`, heading)) {
				t.Errorf("%s: no heading %s", where, heading)
			}
		}
		// The chart has no background, so that of its panel shows.
		if c := p.corner("img.chart"); c[3] != 0 {
			t.Errorf("%s: the background of a chart is %v", where, c)
		}
	})
	p.looks("plan", "/plan?n=20M&p=1e-4", func(where string) {
		if n := js[int](p, `document.querySelectorAll("main pre").length`); n != 1 {
			t.Errorf("%s: %d blocks to copy", where, n)
		}
	})
	p.looks("compare", "/compare?a=mail%3Aforbidden", func(where string) {
		if n := js[int](p, `document.querySelectorAll("#offers option").length`); n != 4 {
			t.Errorf("%s: %d filters are offered", where, n)
		}
	})
	p.looks("how", "/how?m=40&ask=plum", func(string) {})
}
