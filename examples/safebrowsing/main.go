// Command safebrowsing checks whether URLs are known to be bad, as browsers do. A
// small filter on the user's machine answers for almost all URLs. Only a "maybe" is
// looked up in the exact list, which is large and on a remote server.
//
//	go run ./examples/safebrowsing
//
// makes a list of a million bad URLs, serves it on loopback, and checks 200,000 URLs,
// one in a thousand of them bad. It prints how many look-ups the filter saved. The
// program fetches the filter from the server once, in the file format of this module.
//
// URLs are compared in canonical form. Otherwise a bad page would pass the check if one
// letter of its host is a capital.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"

	"seen/bloom"
	"seen/keys"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its arguments and streams as parameters.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("safebrowsing", flag.ContinueOnError)
	flags.SetOutput(stderr)
	bad := flags.Int("bad", 1_000_000, "URLs in the list")
	asked := flags.Int("asked", 200_000, "URLs to check")
	rate := flags.Float64("p", 0.001, "error rate of the filter: the share of good URLs that are looked up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := demonstrate(*bad, *asked, *rate, stdout); err != nil {
		fmt.Fprintln(stderr, "safebrowsing:", err)
		return 2
	}
	return 0
}

func demonstrate(bad, asked int, rate float64, stdout io.Writer) error {
	list, err := newList(bad, rate)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: list.handler()}
	go func() { _ = server.Serve(l) }() // it returns only after Close
	defer server.Close()

	checker, err := newChecker("http://" + l.Addr().String())
	if err != nil {
		return err
	}
	wrong, found := 0, 0
	for i := range asked {
		page, isBad := fmt.Sprintf("https://good.example/page/%d", i), i%1000 == 0
		if isBad {
			page = fmt.Sprintf("HTTPS://BAD.example:443/x/../page/%d#top", i%bad)
		}
		answer, err := checker.bad(page)
		if err != nil {
			return err
		}
		if answer != isBad {
			wrong++
		}
		if answer {
			found++
		}
	}
	_, err = fmt.Fprintf(stdout, "list       %d bad URLs, in a filter of %d bytes\nasked      %d URLs, %d of them bad, %d answers wrong\nlooked up  %d, of which %d were good: %.3g %% of the good ones\n",
		bad, checker.size, asked, found, wrong, list.lookups.Load(), list.lookups.Load()-int64(found), 100*float64(list.lookups.Load()-int64(found))/float64(asked-found))
	return err
}

// list is the exact list, with a filter of its URLs.
type list struct {
	urls    map[string]bool
	filter  *bloom.Filter
	lookups atomic.Int64
}

func newList(bad int, rate float64) (*list, error) {
	f, err := bloom.New(bloom.Config{Capacity: uint64(max(bad, 1)), ErrorRate: rate})
	if err != nil {
		return nil, err
	}
	l := &list{urls: make(map[string]bool, bad), filter: f}
	for i := range bad {
		key, err := keys.URL(fmt.Sprintf("https://bad.example/page/%d", i))
		if err != nil {
			return nil, err
		}
		l.urls[key] = true
		f.AddString(key)
	}
	return l, nil
}

// handler serves the filter at /filter. /lookup?url=... answers 200 if the URL is in
// the list, 404 if not.
func (l *list) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /filter", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = l.filter.WriteTo(w) // the checksum shows a client that it did not get all of it
	})
	mux.HandleFunc("GET /lookup", func(w http.ResponseWriter, r *http.Request) {
		l.lookups.Add(1)
		if !l.urls[r.URL.Query().Get("url")] {
			http.NotFound(w, r)
		}
	})
	return mux
}

// checker is the part on the user's machine.
type checker struct {
	service string
	filter  *bloom.Filter
	size    int
}

// maxFilter limits the size of the filter, so that the service cannot take all of the
// user's memory.
const maxFilter = 64 << 20

// newChecker fetches the filter.
func newChecker(service string) (*checker, error) {
	resp, err := http.Get(service + "/filter")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // it is only read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the filter: %s", resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxFilter))
	if err != nil {
		return nil, err
	}
	c := &checker{service: service, filter: new(bloom.Filter), size: len(b)}
	return c, c.filter.UnmarshalBinary(b)
}

// bad reports whether a URL is in the list. The service sees only the URLs for which
// the filter says "maybe".
func (c *checker) bad(raw string) (bool, error) {
	key, err := keys.URL(raw)
	if err != nil {
		return false, err
	}
	if !c.filter.HasString(key) {
		return false, nil
	}
	resp, err := http.Get(c.service + "/lookup?url=" + url.QueryEscape(key))
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() // it is only read
	switch resp.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, fmt.Errorf("looking up %s: %s", key, resp.Status)
}
