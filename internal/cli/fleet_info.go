package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"seen/cluster"
	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
)

// fleetInfo is what info reports of a filter in Redis; its JSON names are an
// interface to scripts, and those that files have too mean the same.
type fleetInfo struct {
	Set         string   `json:"set"`
	Filter      string   `json:"filter"`
	Capacity    uint64   `json:"capacity"`
	Layers      int      `json:"layers"`
	LayersHold  uint64   `json:"capacity_of_layers"`
	Slices      uint64   `json:"slices"`
	Bytes       uint64   `json:"bytes"`
	Written     uint64   `json:"written"`
	Cardinality *float64 `json:"cardinality"` // null if it is not known
	StdErr      float64  `json:"standard_error"`
	Fill        float64  `json:"fill"`
	Sampled     bool     `json:"sampled"` // Fill and Cardinality are from some of the slices
	ErrorRate   float64  `json:"error_rate"`
	AtCapacity  float64  `json:"error_rate_at_capacity"`
	Asked       float64  `json:"asked_error_rate"`
	Hash        string   `json:"hash"`
	Window      float64  `json:"window_seconds,omitempty"` // for how long keys are remembered; 0: for ever
	publicHash  bool
}

func newFleetInfo(f *fleet, st cluster.Stats) fleetInfo {
	return fleetInfo{
		Set: f.Label, Filter: "cluster", Capacity: st.Capacity, Layers: st.Layers, LayersHold: st.LayerCapacity,
		Slices: st.Slices, Bytes: st.Bytes, Written: st.Written, Cardinality: known(st.Cardinality), StdErr: st.Cardinality.StdErr,
		Fill: st.FillRatio, Sampled: st.Sampled, ErrorRate: st.ErrorRate, AtCapacity: st.ErrorRateAtCapacity, Asked: st.ErrorRateAsked,
		Hash: f.Fleet.Hash().String(), Window: f.Window.Seconds(), publicHash: !f.Fleet.Hash().Algorithm.HasSecret(),
	}
}

// inspectFleet describes the filter at the given place; another says that something
// was described before.
func (a *app) inspectFleet(flags *infoFlags, at fleetFlags, another bool) error {
	f, err := at.toAsk(a)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(a.ctx, f.Timeout)
	defer cancel()
	if f.Server != nil {
		i, err := f.Server.Info(ctx)
		if err != nil {
			return at.explain(err)
		}
		if err := newServerInfo(f, i).print(a, flags.json); err != nil {
			return err
		}
		return f.past(ctx)
	}
	st, err := f.Fleet.Stats(ctx)
	if err != nil {
		return at.explain(err)
	}
	r := newFleetInfo(f, st)
	if flags.json {
		err = printJSON(a.env.Stdout, r)
	} else {
		err = r.print(a, another)
	}
	if err != nil {
		return err
	}
	return f.past(ctx)
}

func (r fleetInfo) print(a *app, another bool) error {
	t := newSection(a.env.Stdout, r.Set, another)
	layers := ""
	if r.Layers > 1 {
		layers = fmt.Sprintf(", in %d layers for %s together", r.Layers, figure.Comma(r.LayersHold))
	}
	kind := "cluster"
	if r.Window != 0 {
		kind += ", window of " + flagvalue.FormatDuration(time.Duration(r.Window*float64(time.Second)))
	}
	t.row("  type", "%s, %s slices, %s%s", kind, figure.Comma(r.Slices), humanize.IBytes(r.Bytes), layers)
	keys := "not known: the filter is too full"
	if r.Cardinality != nil {
		keys = fmt.Sprintf("%s, standard error %s", figure.Comma(uint64(*r.Cardinality)), figure.Comma(uint64(r.StdErr)))
	}
	t.row("  keys", "%s; made for %s", keys, figure.Comma(r.Capacity))
	sampled := ""
	if r.Sampled {
		sampled = ", from a sample of the slices"
	}
	t.row("  fill", "%.1f %%%s", 100*r.Fill, sampled)
	t.row("  error rate", "%s now, %s at capacity, %s asked for", figure.Rate(r.ErrorRate), figure.Rate(r.AtCapacity), figure.Rate(r.Asked))
	t.row("  hash", "%s%s", r.Hash, publicHash(r.publicHash))
	return t.flush()
}

// serverInfo is what info reports of a filter in a server; its JSON names are an
// interface to scripts, and those that fleetInfo has mean the same.
type serverInfo struct {
	Set        string `json:"set"`
	Filter     string `json:"filter"`
	Layers     int    `json:"layers"`
	LayersHold uint64 `json:"capacity_of_layers"`
	Fixed      bool   `json:"fixed"`
	Bytes      uint64 `json:"bytes"`
	Added      uint64 `json:"added"`
}

func newServerInfo(f *fleet, i cluster.ServerInfo) serverInfo {
	return serverInfo{Set: f.Label, Filter: "server", Layers: i.Layers, LayersHold: i.Capacity, Fixed: i.Fixed, Bytes: i.Bytes, Added: i.Added}
}

func (r serverInfo) print(a *app, asJSON bool) error {
	if asJSON {
		return printJSON(a.env.Stdout, r)
	}
	t := newSection(a.env.Stdout, r.Set, false)
	grows := "grows"
	if r.Fixed {
		grows = "does not grow"
	}
	t.row("  type", "filter of a server, %s, %s, %s", english.Plural(r.Layers, "layer", ""), humanize.IBytes(r.Bytes), grows)
	t.row("  keys", "%s were new; its layers are for %s", figure.Comma(r.Added), figure.Comma(r.LayersHold))
	return t.flush()
}
