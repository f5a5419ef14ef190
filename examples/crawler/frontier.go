package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// task is a page to be fetched.
type task struct {
	URL string `json:"url"`
	// Failures counts its failed fetches.
	Failures int `json:"failures,omitempty"`
	// Again says that a worker died with this page. The worker may have added the links
	// to the filter without reporting them, so all of them count as new.
	Again bool `json:"again,omitempty"`
}

// report is a worker's request for tasks. It has the results of its last tasks, and
// the URLs that the filter reported as new.
type report struct {
	Worker int      `json:"worker"`
	Done   []string `json:"done"`
	Failed []string `json:"failed"`
	Found  []string `json:"found"`
}

// work is the answer: new tasks, or that the crawl is finished.
type work struct {
	Tasks    []task `json:"tasks"`
	Finished bool   `json:"finished"`
}

const (
	batchSize   = 64 // most tasks in one answer
	maxFailures = 3  // failed fetches after which the crawl gives up a page
)

// frontier has the known pages that are not fetched yet, and gives them to the workers.
// The filter decides which URLs are new; the frontier makes sure that no new page is
// lost before it is fetched.
type frontier struct {
	mu       sync.Mutex
	waiting  []string
	open     map[string]task // waiting, or given to a worker
	holder   map[string]int  // the worker that has the page
	changed  chan struct{}   // closed when there is something to do, and replaced
	done     int
	repeated int // repetitions of failed fetches
	givenUp  []string
}

func newFrontier(seed string) *frontier {
	f := &frontier{open: map[string]task{}, holder: map[string]int{}, changed: make(chan struct{})}
	f.add(task{URL: seed})
	return f
}

// add skips pages that are still open: after the death of a worker, links are found
// twice. The caller holds the lock.
func (f *frontier) add(t task) {
	if _, known := f.open[t.URL]; !known {
		f.open[t.URL] = t
		f.waiting = append(f.waiting, t.URL)
	}
}

// wake wakes waiting requests. The caller holds the lock.
func (f *frontier) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// ServeHTTP reads a report and answers with work. It waits a moment if there is none.
func (f *frontier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in report
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.take(in)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(f.give(r, in.Worker)) // supervise notices a worker that died
}

func (f *frontier) take(in report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, url := range in.Found {
		f.add(task{URL: url})
	}
	for _, url := range in.Done {
		if f.holder[url] == in.Worker {
			f.close(url)
			f.done++
		}
	}
	for _, url := range in.Failed {
		if f.holder[url] != in.Worker {
			continue
		}
		t := f.open[url]
		f.close(url)
		if t.Failures++; t.Failures == maxFailures {
			f.givenUp = append(f.givenUp, url)
			continue
		}
		f.repeated++
		f.add(t)
	}
	f.wake()
}

func (f *frontier) close(url string) {
	delete(f.open, url)
	delete(f.holder, url)
}

// give returns tasks for a worker. It waits for them for up to a second.
func (f *frontier) give(r *http.Request, worker int) work {
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	for {
		f.mu.Lock()
		n := min(len(f.waiting), batchSize)
		out := work{Finished: len(f.open) == 0}
		for _, url := range f.waiting[:n] {
			f.holder[url] = worker
			out.Tasks = append(out.Tasks, f.open[url])
		}
		f.waiting = f.waiting[n:]
		changed := f.changed
		f.mu.Unlock()
		if n > 0 || out.Finished {
			return out
		}
		select {
		case <-changed:
		case <-patience.C:
			return out
		case <-r.Context().Done():
			return out
		}
	}
}

// release takes back the pages of a worker that died.
func (f *frontier) release(worker int) (tasks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for url, holder := range f.holder {
		if holder == worker {
			t := f.open[url]
			f.close(url)
			t.Again = true
			f.add(t)
			tasks++
		}
	}
	f.wake()
	return tasks
}

// progress returns the number of fetched pages, and whether all pages are done.
func (f *frontier) progress() (done int, finished bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done, len(f.open) == 0
}
