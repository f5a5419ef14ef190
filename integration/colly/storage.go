// Package colly lets collectors of gocolly/colly store the visited pages in a
// once.Memory: a filter in memory, in a "seen serve", or in Redis or Valkey. It is for
// crawls with more pages than fit in a map, and for several processes that share one
// crawl.
//
// There are two ways to use it. [Storage] replaces colly's own storage. It identifies a
// request as colly does, by a 64-bit hash of its URL and body. [New] returns a callback
// whose keys are canonical URLs, as in package keys and seen uniq --url. Neither is a
// queue: colly keeps the pages that are still to be fetched.
//
// Everything in this package is safe for concurrent use.
package colly

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http/cookiejar"
	"net/url"
	"sync"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"

	"seen/once"
)

// Storage is a storage.Storage of colly that uses a Memory.
//
// Colly calls IsVisited and then Visited. Between the calls another goroutine or process
// can make the same request. Storage makes the decision exact: Visited adds the request
// to the Memory. If another collector added it first, Visited returns an error and colly
// does not make the request. So the collectors that share a Memory fetch each page once,
// and miss a page with the error rate of the filter. As in colly, a request counts as
// visited before it is made. To repeat a failed fetch, use Request.Retry, which does not
// call IsVisited.
//
// An error of the Memory becomes an error of Visit, and the request is not made.
type Storage struct {
	ctx     context.Context
	visited once.Memory
	jar     *cookiejar.Jar

	mu sync.Mutex
	// asked counts, for each request, the negative answers of IsVisited for which
	// Visited was not called yet. Visited for a request without such an answer comes
	// from a Retry: colly follows its redirect although the page was visited.
	asked map[uint64]int
}

var _ storage.Storage = (*Storage)(nil)

// NewStorage returns a Storage for Collector.SetStorage. All calls to the Memory use
// ctx, because colly passes no context. Each process keeps its own cookies in memory.
func NewStorage(ctx context.Context, visited once.Memory) *Storage {
	return &Storage{ctx: ctx, visited: visited}
}

// Init prepares the Storage. Colly calls it in SetStorage.
func (s *Storage) Init() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[uint64]int{}
		s.jar, _ = cookiejar.New(nil) // without options it has no error
	}
	return nil
}

// VisitedError is the error for a request that another goroutine or process made first.
// errors.As finds a [colly.AlreadyVisitedError] in it.
type VisitedError struct {
	// ID is colly's hash of the request.
	ID uint64
}

// Error names the request.
func (e *VisitedError) Error() string {
	return fmt.Sprintf("request %016x was made by another collector", e.ID)
}

// Unwrap returns colly's own error for visited pages. It does not name the page, because
// a storage knows only the hash.
func (e *VisitedError) Unwrap() error {
	return &colly.AlreadyVisitedError{Destination: new(url.URL)}
}

// IsVisited reports whether the request may have been made, with one look-up in the
// Memory. If Collector.HasVisited returns false and no visit follows, 16 bytes of memory
// remain in use.
func (s *Storage) IsVisited(requestID uint64) (bool, error) {
	answers, err := s.visited.Has(s.ctx, key(requestID))
	if err != nil || answers[0] {
		return err == nil, err
	}
	s.mu.Lock()
	s.asked[requestID]++
	s.mu.Unlock()
	return false, nil
}

// Visited records that the request is being made. It returns a [VisitedError] if another
// collector has made it since the call of IsVisited.
func (s *Storage) Visited(requestID uint64) error {
	s.mu.Lock()
	n := s.asked[requestID]
	if n > 1 {
		s.asked[requestID] = n - 1
	} else {
		delete(s.asked, requestID)
	}
	s.mu.Unlock()
	answers, err := s.visited.Add(s.ctx, key(requestID))
	switch {
	case err != nil:
		return err
	case !answers[0] && n > 0:
		return &VisitedError{ID: requestID}
	}
	return nil
}

// Cookies returns the cookies for a URL in colly's format.
func (s *Storage) Cookies(u *url.URL) string {
	return storage.StringifyCookies(s.jar.Cookies(u))
}

// SetCookies stores cookies in colly's format.
func (s *Storage) SetCookies(u *url.URL, cookies string) {
	s.jar.SetCookies(u, storage.UnstringifyCookies(cookies))
}

func key(requestID uint64) []byte { return binary.BigEndian.AppendUint64(nil, requestID) }
