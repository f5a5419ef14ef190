// Command crawler crawls a site with several processes that share one filter. Each
// page is fetched once, except the few that are missed because of the filter's error
// rate.
//
//	go run ./examples/crawler
//
// generates a site of 100,000 pages on loopback, with cycles and several spellings of
// each URL. It starts a "seen serve" for the filter, unless -filter names a server or
// a Redis. It prints the pages, duplicate fetches and missed pages.
//
// Three parts are useful for your own crawler: the keys, which are canonical URLs; one
// call of Add for all links of several pages, which reports a key as new to one process
// only; and a frontier that keeps new pages until they are fetched.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"seen/keys"
)

// settings are the flags.
type settings struct {
	pages     int
	workers   int
	errorRate float64
	filter    string
	name      string
	listen    string
	kill      int

	worker   int // the number of a worker process; 0 in the process that starts the workers
	frontier string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its arguments and streams as parameters.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("crawler", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.pages, "pages", 100_000, "pages of the site")
	flags.IntVar(&s.workers, "workers", 4, "number of processes that crawl")
	flags.Float64Var(&s.errorRate, "p", 1e-6, "error rate: the share of pages that may be missed")
	flags.StringVar(&s.filter, "filter", "", "address of the shared filter: redis://HOST:PORT[,HOST:PORT...] or seen://HOST:PORT; default: start a seen serve")
	flags.StringVar(&s.name, "name", "", "name of a filter to keep: the next run with this name and the same -listen finds no new pages; default: a new filter, deleted at the end")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "address of the site")
	flags.IntVar(&s.kill, "kill", 0, "kill a worker after this number of pages, to show that its pages are not lost")
	flags.IntVar(&s.worker, "worker", 0, "internal: the program sets it for its workers")
	flags.StringVar(&s.frontier, "frontier", "", "internal: the program sets it for its workers")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var err error
	switch {
	case flags.NArg() > 0 || s.pages < 2 || s.workers < 1 || !(s.errorRate > 0 && s.errorRate <= 0.25):
		err = errors.New("want at least 2 pages, 1 worker, an error rate above 0 and up to 0.25, and no further arguments")
	case s.worker > 0:
		err = s.work(ctx)
	default:
		err = s.crawl(ctx, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "crawler:", err)
		return 2
	}
	return 0
}

// rules say which spellings of a URL are one page on this site.
var rules = keys.URLConfig{SortQuery: true, DropTracking: true}

// work runs a worker process.
func (s *settings) work(ctx context.Context) error {
	f, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer f.close()
	form, err := keys.NewURL(rules)
	if err != nil {
		return err
	}
	w := worker{number: s.worker, frontier: s.frontier, set: f, form: form}
	w.client.Transport = &http.Transport{MaxIdleConnsPerHost: fetchers}
	w.client.Timeout = time.Minute
	return w.run(ctx)
}

func (s *settings) open(ctx context.Context) (*filter, error) {
	return openFilter(ctx, s.filter, s.name, uint64(s.pages), s.errorRate)
}

// crawl runs the main process, which has the site and the frontier and starts the
// workers.
func (s *settings) crawl(ctx context.Context, stdout, stderr io.Writer) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir, err := os.MkdirTemp("", "crawler")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // best effort: it is a temporary folder
	if s.filter == "" {
		fmt.Fprintln(stderr, "crawler: building and starting a seen serve for the filter")
		if s.filter, err = startServer(ctx, dir); err != nil {
			return err
		}
	}
	keep := s.name != ""
	if !keep {
		s.name = fmt.Sprintf("crawl-%d-%d", os.Getpid(), time.Now().UnixNano())
	}
	f, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer f.close()
	if !keep {
		defer func() { err = errors.Join(err, f.drop(context.WithoutCancel(ctx))) }()
	}

	site := newSite(s.pages)
	address, err := serve(ctx, s.listen, site)
	if err != nil {
		return err
	}
	seed, err := keys.NewURL(rules)
	if err != nil {
		return err
	}
	first, err := seed.Append(nil, []byte("http://"+address+"/item?view=full&id=0"))
	if err != nil {
		return err
	}
	// The seed is a URL like any other, so it goes into the filter.
	if _, err := f.Add(ctx, first); err != nil {
		return err
	}
	frontier := newFrontier(string(first))
	if s.frontier, err = serve(ctx, "127.0.0.1:0", frontier); err != nil {
		return err
	}
	s.frontier = "http://" + s.frontier
	_, err = fmt.Fprintf(stdout, "site        %d pages at http://%s/\nfilter      %s at %s, error rate %g\nworkers     %d processes\n",
		s.pages, address, s.name, s.filter, s.errorRate, s.workers)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.supervise(ctx, frontier, stderr); err != nil {
		return err
	}
	missed, duplicates := site.count()
	_, err = fmt.Fprintf(stdout, "pages       %d fetched in %.1f s\nrepeated    %d fetches that had failed, %d pages given up\nduplicates  %d\nmissed      %d, of which %.2g were to be expected at most\n",
		s.pages-missed, time.Since(began).Seconds(), frontier.repeated, len(frontier.givenUp), duplicates, missed, float64(s.pages)*s.errorRate)
	return err
}

// serve answers at an address, or on a free port for port 0, until ctx ends.
func serve(ctx context.Context, listen string, h http.Handler) (address string, err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }() // it returns only after Close
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return l.Addr().String(), nil
}

// maxDeaths is how many workers may die before the crawl stops: a new worker would
// then not help.
const maxDeaths = 5

// supervise keeps the workers running until the frontier is empty. It replaces a
// worker that dies, and returns the worker's pages to the frontier.
func (s *settings) supervise(ctx context.Context, f *frontier, stderr io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	numbers, deaths := s.workers, 0
	var wg sync.WaitGroup
	for i := range s.workers {
		wg.Go(func() {
			for number := i + 1; ; {
				err := s.startWorker(ctx, number, f, stderr)
				if err == nil || ctx.Err() != nil {
					return
				}
				mu.Lock()
				fmt.Fprintf(stderr, "crawler: worker %d: %v; its %d pages go to others\n", number, err, f.release(number))
				if deaths++; deaths > maxDeaths {
					stop(fmt.Errorf("%d workers have died, the last of %w", deaths, err))
				}
				numbers++
				number = numbers
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// startWorker runs a worker process until it ends.
func (s *settings) startWorker(ctx context.Context, number int, f *frontier, stderr io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the path of this program to start workers: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "-worker", strconv.Itoa(number), "-frontier", s.frontier, "-filter", s.filter, "-name", s.name,
		"-pages", strconv.Itoa(s.pages), "-p", strconv.FormatFloat(s.errorRate, 'g', -1, 64))
	cmd.Env = append(os.Environ(), workerMark+"=1")
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if number == 1 && s.kill > 0 {
		go func() {
			for ctx.Err() == nil {
				if done, finished := f.progress(); done >= s.kill || finished {
					_ = cmd.Process.Kill() // it may have ended
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	return cmd.Wait()
}

// workerMark is a variable in the environment of workers. It tells the test binary to
// run as a worker.
const workerMark = "SEEN_CRAWLER_WORKER"
