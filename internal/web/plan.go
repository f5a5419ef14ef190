package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"seen/cluster"
	"seen/internal/figure"
	"seen/internal/planner"
)

// planPage is what the planner shows. All its state is in the address.
type planPage struct {
	N, P, Memory, Shape string // as the user wrote them
	wantCopy, wantFor   string // of the block to copy
	Shapes              []string
	Problem             string
	Wish                planner.Wish
	Rows                []planner.Row
	Loads               []string
	Charts              []chartLink
	Growth              []growthRow
	CopyTypes, CopyFor  []spanLink // links to the other blocks to copy
	Copy                copyLine   // the block that is shown
	CanCreate           bool       // the visitor may create filters
	Fleet               []fleetRow
	NoFleet             string // why no fleet can hold it
}

// growthRow is what a filter costs that holds more keys than planned.
type growthRow struct {
	Times int
	N     uint64
	Cells []growthCell // a scalable filter and a blocked one
}

type growthCell struct {
	Bytes uint64
	Rate  float64
}

// copyLine is a command or a piece of code to copy.
type copyLine struct{ Name, For, Text string }

// copyLines returns what can be copied for a type.
func copyLines(r *planner.Row) (all []copyLine) {
	for _, l := range []copyLine{{"command", "Command", r.Command}, {"go", "Go", r.Go}, {"redis", "Redis with a Bloom module, or seen serve", r.Redis}} {
		if l.Text != "" {
			all = append(all, l)
		}
	}
	return all
}

// CreateURL returns the address of the form that creates the filter of a row on this server,
// "" if the visitor may not, or the server has no such type.
func (p *planPage) CreateURL(r *planner.Row) string {
	kind := map[string]string{"blocked": NewFixed, "scalable": NewBloom}[r.Type]
	if !p.CanCreate || kind == "" || r.Variant != "" || r.N > mostCreated {
		return ""
	}
	return "/create?" + url.Values{"n": {strconv.FormatUint(r.N, 10)}, "p": {r.Asked()}, "type": {kind}}.Encode()
}

// mostCreated is the largest capacity that the server takes.
const mostCreated = 1 << 30

// fleetRow is the memory of a filter in a fleet of engines.
type fleetRow struct {
	Nodes int
	cluster.Plan
}

// fleetNodes are the numbers of nodes that the page shows.
var fleetNodes = []int{1, 3, 6, 12, 24, 48}

// wish reads the wish from the fields of the form.
func (p *planPage) wish() error {
	var err error
	if p.N != "" {
		if p.Wish.N, err = figure.ParseCount(p.N); err != nil {
			return err
		} else if p.Wish.N == 0 {
			return errors.New("the number of keys is 0; it must be at least 1")
		}
	}
	if p.Memory != "" {
		if p.Wish.Memory, err = figure.ParseSize(p.Memory); err != nil {
			return fmt.Errorf("memory: %w", err)
		} else if p.Wish.Memory == 0 {
			return errors.New("the memory is 0; a filter needs at least 1 byte")
		}
	}
	if p.P != "" {
		if p.Wish.Rate, err = figure.ParseRate(p.P); err != nil {
			return fmt.Errorf("error rate: %w", err)
		}
	}
	switch w := p.Wish; {
	case w.N != 0 && w.Memory != 0 && w.Rate != 0:
		return errors.New("keys, error rate and memory are all given; leave one empty, and it is computed")
	case w.N == 0 && w.Memory == 0:
		return errors.New("give the number of keys or the memory")
	case w.Rate == 0 && (w.N == 0 || w.Memory == 0):
		p.Wish.Rate = planner.DefaultRate
	}
	return nil
}

// newPlanPage plans the filters that an address asks for.
func newPlanPage(q url.Values) *planPage {
	p := &planPage{
		N: strings.TrimSpace(q.Get("n")), P: strings.TrimSpace(q.Get("p")), Memory: strings.TrimSpace(q.Get("memory")),
		Shape: q.Get("shape"), Shapes: planner.Types, wantCopy: q.Get("copy"), wantFor: q.Get("for"),
	}
	if !q.Has("n") && !q.Has("p") && !q.Has("memory") {
		p.N, p.P = "10M", "1e-4"
	}
	if !slices.Contains(planner.Types, p.Shape) {
		p.Shape = ""
	}
	if err := p.wish(); err != nil {
		p.Problem = err.Error()
		return p
	}
	types := planner.Types
	if p.Shape != "" {
		types = []string{p.Shape}
	}
	p.Rows = planner.Rows(p.Wish, types)
	return p
}

// possible returns the rows without an error.
func (p *planPage) possible() []planner.Row {
	return slices.DeleteFunc(slices.Clone(p.Rows), func(r planner.Row) bool { return r.Error != "" })
}

// complete adds the charts, the growth, the code and the fleet.
func (p *planPage) complete() {
	rows := p.possible()
	if p.Problem != "" || len(rows) == 0 {
		return
	}
	for _, load := range planner.Loads {
		p.Loads = append(p.Loads, fmt.Sprintf("%.0f %%", 100*load))
	}
	q := url.Values{"n": {p.N}, "p": {p.P}, "memory": {p.Memory}, "shape": {p.Shape}}.Encode()
	p.Charts = append(p.Charts, chartLink{"Error rate against the number of keys", "/plan/chart.svg?show=n&" + q})
	if slices.ContainsFunc(rows, func(r planner.Row) bool {
		return slices.Contains([]string{"blocked", "classic", "partitioned", "counting"}, r.Type)
	}) {
		p.Charts = append(p.Charts, chartLink{"Error rate against the number of probes", "/plan/chart.svg?show=k&" + q})
	}
	p.grow(rows)
	p.choose(rows)
	rate := p.Wish.Rate
	if rate == 0 {
		rate = rows[0].ErrorRate
	}
	for _, nodes := range fleetNodes {
		plan, err := cluster.PlanFor(cluster.Config{Capacity: rows[0].N, ErrorRate: rate}, nodes)
		if err != nil {
			p.NoFleet = err.Error()
			return
		}
		p.Fleet = append(p.Fleet, fleetRow{nodes, plan})
	}
}

// choose chooses the block to copy, and makes the links to the others. One is shown at a
// time.
func (p *planPage) choose(rows []planner.Row) {
	link := func(name, what string) string {
		q := url.Values{"n": {p.N}, "p": {p.P}, "memory": {p.Memory}, "shape": {p.Shape}, "copy": {name}, "for": {what}}
		return "/plan?" + q.Encode() + "#copy"
	}
	chosen := max(slices.IndexFunc(rows, func(r planner.Row) bool { return r.Name() == p.wantCopy }), 0)
	lines := copyLines(&rows[chosen])
	at := max(slices.IndexFunc(lines, func(l copyLine) bool { return l.Name == p.wantFor }), 0)
	p.Copy = lines[at]
	for i := range rows {
		p.CopyTypes = append(p.CopyTypes, spanLink{rows[i].Name(), link(rows[i].Name(), p.Copy.Name), i == chosen})
	}
	for i, l := range lines {
		p.CopyFor = append(p.CopyFor, spanLink{l.For, link(rows[chosen].Name(), l.Name), i == at})
	}
}

// grow compares a filter that grows beyond the planned keys with one that does not.
func (p *planPage) grow(rows []planner.Row) {
	find := func(kind string) *planner.Row {
		i := slices.IndexFunc(rows, func(r planner.Row) bool { return r.Type == kind && r.Variant == "" })
		if i < 0 {
			return nil
		}
		return &rows[i]
	}
	scalable, blocked := find("scalable"), find("blocked")
	if scalable == nil || blocked == nil {
		return
	}
	for _, times := range []int{1, 2, 4, 8, 16} {
		n := scalable.N * uint64(times)
		if n/uint64(times) != scalable.N {
			break // beyond 64 bits
		}
		g := growthRow{Times: times, N: n}
		for _, r := range []*planner.Row{scalable, blocked} {
			g.Cells = append(g.Cells, growthCell{r.BytesWith(n), r.ErrorRateWith(n)})
		}
		if math.IsNaN(g.Cells[0].Rate) {
			break // it cannot grow that far
		}
		p.Growth = append(p.Growth, g)
	}
}

func plan(r *request) error {
	p := newPlanPage(r.URL.Query())
	p.CanCreate = r.Source != nil && r.visitor.MayCreate()
	p.complete()
	status := http.StatusOK
	if p.Problem != "" {
		status = http.StatusBadRequest
	}
	return r.render(status, "plan", "Planner", p)
}

func planChart(r *request) error {
	q := r.URL.Query()
	p := newPlanPage(q)
	if p.Problem != "" {
		return &Refused{http.StatusBadRequest, p.Problem}
	}
	rows := p.possible()
	if len(rows) == 0 {
		return &Refused{http.StatusNotFound, "No type of filter can do this."}
	}
	panels := planner.Panels(p.Wish, rows)
	switch show := q.Get("show"); {
	case show == "n":
		return r.picture("svg", panels[0])
	case show == "k" && len(panels) > 1:
		return r.picture("svg", panels[1])
	}
	return &Refused{http.StatusNotFound, "There is no such chart."}
}
