package main

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// site is a generated web site: its pages have many links and cycles, and eight
// spellings of each URL. It counts how often each page is fetched.
type site struct {
	pages   int
	fetched []atomic.Uint32
	refused []atomic.Bool // whether a page has already failed once
}

func newSite(pages int) *site {
	return &site{pages: pages, fetched: make([]atomic.Uint32, pages), refused: make([]atomic.Bool, pages)}
}

// spellings are ways to write the URL of a page, with its number, the host and the
// number of the page that links to it. In a browser all lead to the same page.
var spellings = []string{
	"/item?id=%[1]d&view=full",
	"http://%[2]s/item?id=%[1]d&view=full",
	"HTTP://%[2]s/item?view=full&id=%[1]d",
	"/shop/../item?view=full&id=%[1]d#reviews",
	"./%%69tem?id=%[1]d&view=full",
	"item?id=%[1]d&view=full&utm_source=page-%[3]d",
	"http:\\\\%[2]s\\item?view=full&id=%[1]d",
	"//%[2]s/./item?view=full&fbclid=%[3]d&id=%[1]d",
}

// linksOf returns the pages that a page links to: two below it in a tree that
// reaches every page, its parent, the page before it, and eight others.
func (s *site) linksOf(page int) []int {
	links := []int{(2*page + 1) % s.pages, (2*page + 2) % s.pages, page / 2, (page + s.pages - 1) % s.pages}
	for i := range 8 {
		links = append(links, (page*(i+3)+i*i*7919)%s.pages)
	}
	return links
}

// ServeHTTP answers with a page. One page of 50 fails the first time.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, err := strconv.Atoi(r.URL.Query().Get("id"))
	if r.URL.Path != "/item" || err != nil || page < 0 || page >= s.pages {
		http.NotFound(w, r)
		return
	}
	if page%50 == 7 && s.refused[page].CompareAndSwap(false, true) {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	s.fetched[page].Add(1)
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><title>Item %d</title>\n", page)
	for i, link := range s.linksOf(page) {
		href := fmt.Sprintf(spellings[(page+i)%len(spellings)], link, r.Host, page)
		fmt.Fprintf(&b, "<a href=\"%s\">Item %d</a>\n", html.EscapeString(href), link)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // a client that disconnects fetches the page again
}

// count returns how many pages were never fetched, and the number of fetches beyond
// the first of each page.
func (s *site) count() (missed, duplicates int) {
	for i := range s.fetched {
		switch n := int(s.fetched[i].Load()); n {
		case 0:
			missed++
		default:
			duplicates += n - 1
		}
	}
	return missed, duplicates
}
