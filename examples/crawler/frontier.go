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
	// Failures counts the fetches of it that have failed.
	Failures int `json:"failures,omitempty"`
	// Again says that a worker died with it. It may have told the filter of the
	// page's links and nobody else, so that all of them have to be taken for new.
	Again bool `json:"again,omitempty"`
}

// report is what a worker has to say, when it asks for more: what became of its
// tasks, and the URLs that the filter called new.
type report struct {
	Worker int      `json:"worker"`
	Done   []string `json:"done"`
	Failed []string `json:"failed"`
	Found  []string `json:"found"`
}

// work is the answer: tasks, or that none are left.
type work struct {
	Tasks    []task `json:"tasks"`
	Finished bool   `json:"finished"`
}

const (
	batchSize   = 64 // tasks that a worker gets at once
	maxFailures = 3  // fetches after which a page is given up
)

// frontier holds the pages that are known and not yet fetched, and hands them to
// the workers. The filter says which URLs are new; the frontier sees to it that
// what is new is not lost before it is fetched.
type frontier struct {
	mu       sync.Mutex
	waiting  []string
	open     map[string]task // waiting or handed out
	holder   map[string]int  // who has it, of those handed out
	changed  chan struct{}   // closed when there is something to do, and replaced
	done     int
	repeated int // fetches that had failed
	givenUp  []string
}

func newFrontier(seed string) *frontier {
	f := &frontier{open: map[string]task{}, holder: map[string]int{}, changed: make(chan struct{})}
	f.add(task{URL: seed})
	return f
}

// add is called with the lock held. Who dies with a page leads to links being
// found twice; those that still wait need not be.
func (f *frontier) add(t task) {
	if _, known := f.open[t.URL]; !known {
		f.open[t.URL] = t
		f.waiting = append(f.waiting, t.URL)
	}
}

// wake is called with the lock held.
func (f *frontier) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// ServeHTTP takes a report and answers with work, for which it waits a while.
func (f *frontier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in report
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.take(in)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(f.give(r, in.Worker)) // a worker that died is noticed by who has started it
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

// give hands tasks to a worker. It waits for some up to a second.
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

// release takes back what a worker had when it died.
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

// progress returns the number of pages fetched, and whether none are left.
func (f *frontier) progress() (done int, finished bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done, len(f.open) == 0
}
