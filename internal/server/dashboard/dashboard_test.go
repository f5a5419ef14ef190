package dashboard

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seen/internal/resp"
	"seen/internal/store"
)

// fakeUser may read the filters of some names, or all if there are none.
type fakeUser struct {
	store *store.Store
	names map[string]bool
}

func (u *fakeUser) Name() string { return "ann" }
func (u *fakeUser) Valid() bool  { return true }
func (u *fakeUser) MayAll() bool { return u.names == nil }

func (u *fakeUser) May(words ...string) bool {
	return u.names == nil || words[0] == "SCAN" || len(words) > 1 && u.names[words[1]]
}

func (u *fakeUser) MaySome(string) bool { return u.names == nil }

// Ask answers the commands that a page runs before it reads a filter.
func (u *fakeUser) Ask(words ...[]byte) (resp.Value, error) {
	switch string(words[0]) {
	case "TYPE":
		if v := u.store.Get(words[1]); v != nil {
			return resp.Value{Kind: resp.Simple, Text: v.Type()}, nil
		}
		return resp.Value{Kind: resp.Simple, Text: "none"}, nil
	case "BF.INFO":
		return resp.Value{Kind: resp.Array}, nil
	}
	return resp.Value{Kind: resp.Error, Text: "ERR unknown command"}, nil
}

// fakeUsers lets in one user.
type fakeUsers struct{ user User }

func (u *fakeUsers) Enter(*http.Request, string, string) (User, error) { return u.user, nil }
func (u *fakeUsers) Anybody(*http.Request) (User, error)               { return u.user, nil }

// testDashboard returns a dashboard of n filters, each larger than the one before, whose
// clock shows *now.
func testDashboard(t testing.TB, n, listed int) (d *Dashboard, users *fakeUsers, now *time.Time) {
	t.Helper()
	s, err := store.Open(t.TempDir(), store.Options{Fsync: store.Never})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range n {
		c := store.BloomConfig{Capacity: uint64(1000 * (i + 1)), ErrorRate: 0.01, Expansion: 2}
		if _, _, err := s.CreateBloom(fmt.Append(nil, "filter ", i), c); err != nil {
			t.Fatal(err)
		}
	}
	users, now = &fakeUsers{&fakeUser{store: s}}, new(time.Time)
	*now = time.Now()
	return New(Config{
		Store: s, Users: users, Warn: func(string, ...any) {}, Now: func() time.Time { return *now }, Listed: listed,
	}), users, now
}

// With very many filters the overview lists the largest, and the others still have pages.
func TestOverviewOfTheLargest(t *testing.T) {
	d, users, _ := testDashboard(t, 5, 2)
	for _, c := range []struct {
		names           map[string]bool
		listed, unknown int
	}{{nil, 2, 3}, {map[string]bool{"filter 4": true}, 1, 0}} {
		users.user = &fakeUser{d.Store, c.names}
		v, err := d.Enter(nil, "ann", "one")
		if err != nil {
			t.Fatal(err)
		}
		o, err := v.Overview()
		if err != nil || len(o.Filters) != c.listed || o.Others != c.unknown || !o.Partial {
			t.Errorf("%v: %d filters and %d others, %v", c.names, len(o.Filters), o.Others, err)
		}
		for _, f := range o.Filters {
			if f.Name != "filter 3" && f.Name != "filter 4" {
				t.Errorf("%s is listed", f.Name)
			}
		}
		if d, err := v.Filter("filter 0"); c.names == nil && (err != nil || d.Capacity != 1000) {
			t.Errorf("the page of a filter that is not listed: %v, %v", d, err)
		}
	}
}

// A look at all filters is computed once for all visitors.
func BenchmarkFilterList(b *testing.B) {
	d, _, now := testDashboard(b, 10_000, 0)
	for b.Loop() {
		*now = now.Add(lookEvery)
		d.filters.show(*now)
	}
}
