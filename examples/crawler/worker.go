package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"sync"

	"seen/cluster"
	"seen/keys"
	"seen/once"
)

// worker fetches pages and adds their links to the filter. Each process has one.
type worker struct {
	number   int
	frontier string // its URL
	set      once.Set
	form     *keys.URLForm
	client   http.Client
}

// fetchers is how many pages a worker fetches at a time.
const fetchers = 8

// maxPage is how much of a page is read.
const maxPage = 1 << 20

// page is a task with its result.
type page struct {
	task
	links [][]byte // canonical URLs, in the order of the page
	err   error
}

// run works until no pages are left.
func (w *worker) run(ctx context.Context) error {
	r := report{Worker: w.number}
	for {
		todo, err := w.ask(ctx, r)
		if err != nil || todo.Finished {
			return err
		}
		pages := w.fetchAll(ctx, todo.Tasks)
		if r, err = w.sift(ctx, pages); err != nil {
			return err
		}
	}
}

// ask reports to the frontier and gets new tasks.
func (w *worker) ask(ctx context.Context, r report) (todo work, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return todo, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.frontier, bytes.NewReader(body))
	if err != nil {
		return todo, err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return todo, err
	}
	defer resp.Body.Close() // it is only read
	if resp.StatusCode != http.StatusOK {
		return todo, fmt.Errorf("the frontier answers %s", resp.Status)
	}
	return todo, json.NewDecoder(resp.Body).Decode(&todo)
}

func (w *worker) fetchAll(ctx context.Context, tasks []task) []page {
	pages := make([]page, len(tasks))
	next := make(chan int)
	var wg sync.WaitGroup
	for range fetchers {
		wg.Go(func() {
			for i := range next {
				pages[i].task = tasks[i]
				pages[i].links, pages[i].err = w.fetch(ctx, tasks[i].URL)
			}
		})
	}
	for i := range tasks {
		next <- i
	}
	close(next)
	wg.Wait()
	return pages
}

// href finds links; it is enough HTML for the pages of this site.
var href = regexp.MustCompile(`<a href="([^"]*)"`)

// fetch returns the links of a page to its own host. It skips invalid URLs.
func (w *worker) fetch(ctx context.Context, url string) (links [][]byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // it is only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	own := []byte(resp.Request.URL.Scheme + "://" + resp.Request.URL.Host + "/")
	for _, m := range href.FindAllSubmatch(text, -1) {
		key, err := w.form.AppendReference(nil, []byte(url), []byte(html.UnescapeString(string(m[1]))))
		if err == nil && bytes.HasPrefix(key, own) {
			links = append(links, key)
		}
	}
	return links, nil
}

// sift adds all links of the pages to the filter at once, and makes a report.
func (w *worker) sift(ctx context.Context, pages []page) (report, error) {
	r := report{Worker: w.number}
	var ask [][]byte
	for _, p := range pages {
		switch {
		case p.err != nil:
			r.Failed = append(r.Failed, p.URL)
			continue
		case p.Again:
			for _, link := range p.links {
				r.Found = append(r.Found, string(link))
			}
		}
		r.Done = append(r.Done, p.URL)
		ask = append(ask, p.links...)
	}
	isNew, err := w.set.Add(ctx, ask...)
	var undecided *cluster.UndecidedError
	if errors.As(err, &undecided) {
		// The filter may have recorded these keys although the answer was lost. To fetch
		// a page twice is better than to miss it.
		for _, i := range undecided.Keys {
			isNew[i] = true
		}
	} else if err != nil {
		return r, err
	}
	for i, link := range ask {
		if isNew[i] {
			r.Found = append(r.Found, string(link))
		}
	}
	return r, nil
}
