package colly

import (
	"context"
	"fmt"

	"github.com/gocolly/colly/v2"

	"seen/keys"
	"seen/once"
)

// New returns a callback for Collector.OnRequest that aborts each request whose URL
// is in the set already, and adds it otherwise, in one exact step. The keys are URLs
// in the given form, so that spellings of one URL are one page, more of them than
// colly knows: it counts fragments and the order of parameters. AllowURLRevisit has
// to be on; colly would keep a map of its own besides.
//
// A redirect, which colly follows within one request, is not asked for, nor is the
// body of a request. Request.Retry asks again and is aborted: to repeat a fetch that
// failed, use a collector without the callback.
//
// Where there is no answer, because a URL has no canonical form or the set has
// failed, the request is aborted and the error passed to failed, which may be called
// by several goroutines at once.
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
			failed(r, fmt.Errorf("colly: %s: %w", key, err))
			return
		}
		if !isNew[0] {
			r.Abort()
		}
	}
}
