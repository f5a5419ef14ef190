package dashboard

import (
	"net/http"
	"slices"

	"seen/internal/server/rest"
	"seen/internal/web"
)

// Overview returns the filters that the user may read.
func (v *visitor) Overview() (o web.Overview, err error) {
	if !v.user.May("SCAN", "0") {
		return o, &web.Refused{Status: http.StatusForbidden, Text: "The user " + v.user.Name() + " may not list filters: it has no right to run SCAN."}
	}
	o.Filters, o.Others, o.At = v.filters.show(v.Now())
	o.Partial = o.Others > 0
	if !v.user.MayAll() {
		o.Filters = slices.DeleteFunc(slices.Clone(o.Filters), func(f *web.Filter) bool {
			kind := rest.KindNamed(f.Type)
			return kind == nil || !v.user.May(kind.Info, f.Name)
		})
		o.Others = 0 // how many of them the user may read is unknown
	}
	if v.user.May("INFO") {
		stats := v.Store.Stats()
		o.Memory, o.MaxMemory, o.DiskFree = stats.Memory, v.Store.MaxMemory(), stats.DiskFree
		o.Lag = uint64(max(stats.Last, stats.Durable) - stats.Durable) // the two are not read at the same moment
		if err := v.Store.Failed(); err != nil {
			o.Trouble = err.Error()
		}
	}
	return o, nil
}
