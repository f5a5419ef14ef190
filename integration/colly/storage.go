// Package colly lets collectors of gocolly/colly remember what they have visited
// in any once.Memory: a filter in memory, one in a "seen serve", or one on a fleet
// of Redis or Valkey. It is for crawls of more pages than a map holds, and for
// several processes that share one crawl.
//
// Two ways lead there. [Storage] takes the place of colly's own storage and keeps
// colly's idea of what a request is, a 64-bit hash of its URL and body. [New] is a
// callback for requests whose keys are canonical URLs, the same as those of package
// keys and of seen uniq --url, and only for them. Neither is a queue: what is still
// to be fetched stays with colly.
//
// All of it is safe for concurrent use.
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

// Storage is a storage.Storage of colly on a Memory.
//
// Colly asks IsVisited and then calls Visited, two steps between which another
// goroutine or process can come. Storage makes them exact: Visited adds to the
// Memory, and who is not the first there gets an error, upon which colly does not
// make the request. So of all collectors that share a Memory one fetches a page,
// and a page is missed with the error rate of the filter. As in colly, a request
// counts as visited before it is made: a fetch that fails has to be repeated by
// Request.Retry, which does not ask.
//
// Errors of the Memory become errors of Visit, and the request is not made.
type Storage struct {
	ctx     context.Context
	visited once.Memory
	jar     *cookiejar.Jar

	mu sync.Mutex
	// asked counts, for each request of which IsVisited said no, the calls of
	// Visited that follow. One that was not asked for so is a redirect which colly
	// makes although the page was visited, in a Retry.
	asked map[uint64]int
}

var _ storage.Storage = (*Storage)(nil)

// NewStorage returns a Storage for Collector.SetStorage. The context is that of all
// questions, since colly gives none with them. Cookies are kept in memory, by each
// process for itself.
func NewStorage(ctx context.Context, visited once.Memory) *Storage {
	return &Storage{ctx: ctx, visited: visited}
}

// Init makes the Storage ready; colly calls it in SetStorage.
func (s *Storage) Init() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[uint64]int{}
		s.jar, _ = cookiejar.New(nil) // without options it has no error
	}
	return nil
}

// VisitedError is the error of a request that another goroutine or process came to
// make first. It is a [colly.AlreadyVisitedError] to errors.As.
type VisitedError struct {
	// ID is colly's hash of the request.
	ID uint64
}

// Error names the request.
func (e *VisitedError) Error() string {
	return fmt.Sprintf("request %016x was made by another collector", e.ID)
}

// Unwrap returns what colly itself says of visited pages. It names no page, of
// which a storage knows the hash alone.
func (e *VisitedError) Unwrap() error {
	return &colly.AlreadyVisitedError{Destination: new(url.URL)}
}

// IsVisited reports whether the request may have been made, and costs a question.
// Collector.HasVisited, when it says no and no visit follows, leaves 16 bytes here.
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

// Visited records that the request is being made. The error is a [VisitedError] if
// it was made meanwhile.
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

// Cookies returns the cookies for a URL, in colly's form.
func (s *Storage) Cookies(u *url.URL) string {
	return storage.StringifyCookies(s.jar.Cookies(u))
}

// SetCookies keeps cookies, in colly's form.
func (s *Storage) SetCookies(u *url.URL, cookies string) {
	s.jar.SetCookies(u, storage.UnstringifyCookies(cookies))
}

func key(requestID uint64) []byte { return binary.BigEndian.AppendUint64(nil, requestID) }
