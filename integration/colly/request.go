package colly

import (
	"context"
	"fmt"

	"github.com/gocolly/colly/v2"

	"seen/keys"
	"seen/once"
)

// New returns a callback for Collector.OnRequest that aborts a request whose URL is
// already in the set, and otherwise adds the URL, in one exact step. The keys are URLs in
// the given form, so that all spellings of a URL are one page. For colly, fragments and
// the order of parameters make different pages. Set AllowURLRevisit, or colly also keeps
// its own map.
//
// The callback does not see redirects, which colly follows within one request, and does
// not use the body of a request. Request.Retry calls it again and is aborted: to repeat a
// failed fetch, use a collector without the callback.
//
// If a URL has no canonical form or the set fails, the callback aborts the request and
// calls failed with the error. Several goroutines may call failed at once.
func New(ctx context.Context, set once.Set, form *keys.URLForm, failed func(*colly.Request, error)) colly.RequestCallback {
	return func(r *colly.Request) {
		key, err := form.Append(nil, []byte(r.URL.String()))
		if err != nil {
			r.Abort()
			failed(r, err)
			return
		}
		isNew, err := set.Add(ctx, key)
		if err != nil {
			r.Abort()
			failed(r, fmt.Errorf("adding %s to the set: %w", key, err))
			return
		}
		if !isNew[0] {
			r.Abort()
		}
	}
}
