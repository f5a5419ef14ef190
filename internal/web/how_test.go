package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func played(t interface{ Fatal(...any) }, q url.Values) *howPage {
	p, err := newHowPage(newToy(q))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// For every toy, added words are found, their places are marked, and the page tells the
// truth about the bits.
func TestHow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 1, 40, rapid.ID).Draw(t, "words")
		q := url.Values{
			"type": {rapid.SampledFrom(toyTypes).Draw(t, "type")}, "hash": {rapid.SampledFrom(toyHashes).Draw(t, "hash")},
			"m": {fmt.Sprint(rapid.IntRange(-5, 600).Draw(t, "m"))}, "k": {fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "k"))},
			"words": {strings.Join(words, ",")}, "ask": {rapid.SampledFrom(words).Draw(t, "ask")}, "remove": {rapid.SampledFrom(words).Draw(t, "remove")},
		}
		p := played(t, q)
		if !slices.Equal(p.Words, words) {
			t.Fatal(p.Words)
		}
		if !p.Answer.Found || !p.Answer.Added {
			t.Fatal("a word that is in is not found", p.Answer)
		}
		ones, probes := 0, 0
		for _, b := range p.Bits {
			if b.Value > 0 {
				ones++
			}
			if b.Probe {
				probes++
				if b.Value == 0 {
					t.Fatal("a place of a word that is in is 0")
				}
			}
		}
		if ones != p.Ones || probes < 1 || probes > p.K {
			t.Fatal(ones, p.Ones, probes)
		}
		for _, probe := range p.Answer.Probes {
			if !probe.Set || !slices.Contains(strings.Split(probe.By, ", "), p.Ask) {
				t.Fatal(probe)
			}
		}
		r := p.Removal
		if len(r.Kept) != len(words)-1 || slices.Contains(r.Lost, r.Word) || r.Cleared < 1 {
			t.Fatalf("%+v", r)
		}
		in := uint64(0)
		for _, l := range p.Layers {
			in += l.Added
		}
		if in > uint64(len(words)) || !slices.ContainsFunc(p.Layers, func(l toyLayer) bool { return l.Found }) {
			t.Fatalf("%+v", p.Layers)
		}
	})
}

// The example shows an error: a word that was not added, with the answer maybe.
func TestHowError(t *testing.T) {
	b := planBrowser(t)
	p := played(t, url.Values{"m": {"24"}, "words": {"apple, pear, plum, fig"}})
	if p.Wrong == "" {
		t.Fatal("24 bits with four words never err")
	}
	page, _ := b.get(p.Example)
	if !strings.Contains(page, "This is a false positive.") {
		t.Error("the example does not show an error")
	}
	u, err := url.Parse(p.Example)
	if err != nil {
		t.Fatal(err)
	}
	if a := played(t, u.Query()).Answer; !a.Found || a.Added || slices.ContainsFunc(a.Probes, func(p toyProbe) bool { return p.By == "" }) {
		t.Errorf("%+v", a)
	}
	if page, _ := b.get("/how?m=512&words=a&ask=b"); !strings.Contains(page, "No, certainly not.") {
		t.Error("a word that is not in is not denied")
	}
	if page, _ := b.get("/how?words=" + url.QueryEscape("<b>,&") + "&ask=" + url.QueryEscape("<b>")); strings.Contains(page, "<b>") {
		t.Error("a word is not escaped")
	}
	if a := b.do("GET", "/how/fill.svg?type=blocked", nil); a.StatusCode != 200 || strings.Count(text(t, a), "<path") < fillSteps {
		t.Errorf("the picture: %s", a.Status)
	}
}

// A cascade is right about every word that it was made with, and its second level corrects
// the mistakes of the first.
func TestHowCascade(t *testing.T) {
	var in, out []string
	for i := range mostWords {
		in, out = append(in, fmt.Sprint("in ", i)), append(out, fmt.Sprint("out ", i))
	}
	for n := 1; n <= mostWords; n += 3 {
		for i, word := range slices.Concat(in[:n], out) {
			c, err := newCascade(in[:n], out, word)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Known || c.In != (i < n) || len(c.Path) == 0 || len(c.Levels) == mostLevels {
				t.Fatalf("with %d words in, the cascade of %d levels says of %q: in is %v", n, len(c.Levels), word, c.In)
			}
		}
	}
	b := newBrowser(t, New(Config{}))
	caught := played(t, url.Values{}).Cascade.Caught
	if len(caught) == 0 {
		t.Fatal("the words that the page begins with show no mistake")
	}
	page, _ := b.get("/how?ask=" + url.QueryEscape(caught[0]))
	for _, want := range []string{`id="caught"`, caught[0] + ` is <strong>out</strong>`, `maybe: check the next level`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	for _, query := range []string{"words=&out=", "words=a&out=a", "out=", "words=&out=a&ask=a"} {
		b.get("/how?" + query)
	}
}
