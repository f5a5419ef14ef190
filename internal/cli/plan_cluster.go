package cli

import (
	"github.com/dustin/go-humanize"

	"seen/cluster"
	"seen/internal/figure"
	"seen/internal/planner"
)

// checkCluster refuses flags that have no meaning with --cluster; keys says that the
// number of keys is given.
func (p *planFlags) checkCluster(set func(name string) bool, keys bool) error {
	if !set("cluster") {
		if set("slice") {
			return usagef("--slice needs --cluster")
		}
		return nil
	}
	for _, name := range []string{"memory", "type", "table", "plot", "clickhouse"} {
		if set(name) {
			return usagef("--%s cannot be combined with --cluster", name)
		}
	}
	switch {
	case p.nodes < 1:
		return usagef("--cluster %d: give at least 1", p.nodes)
	case !keys:
		return usagef("--cluster needs the number of keys (-n N or --sample FILE)")
	}
	return nil
}

// clusterPlan is what plan --cluster reports; its JSON names are an interface to
// scripts.
type clusterPlan struct {
	N             uint64        `json:"n"`
	Asked         float64       `json:"asked_error_rate"`
	Sample        *sampleReport `json:"sample,omitempty"`
	Nodes         int           `json:"nodes"`
	Slices        uint64        `json:"slices"`
	SlicesPerNode float64       `json:"slices_per_node"`
	SliceBytes    uint64        `json:"slice_bytes"`
	Bytes         uint64        `json:"bytes"`
	BytesPerNode  uint64        `json:"bytes_per_node"`
	BitsPerKey    float64       `json:"bits_per_key"`
	ClassicBits   float64       `json:"classic_bits_per_key"`
	ErrorRate     float64       `json:"error_rate"`
	Probes        int           `json:"probes"`
	CommandsNew   int           `json:"commands_per_new_key"`
	CommandsSeen  int           `json:"commands_per_seen_key"`
	TripsNew      int           `json:"round_trips_with_new_keys"`
	TripsSeen     int           `json:"round_trips_of_seen_keys"`
}

// planCluster computes what a filter in Redis costs. The memory is that of the
// primaries.
func (a *app) planCluster(p *planFlags, sample *sampleReport, w planner.Wish) error {
	c, err := cluster.PlanFor(cluster.Config{Capacity: w.N, ErrorRate: w.Rate, SliceBytes: uint64(p.slice)}, p.nodes)
	if err != nil {
		return err
	}
	r := clusterPlan{
		N: w.N, Asked: w.Rate, Sample: sample, Nodes: p.nodes, Slices: c.Slices, SlicesPerNode: c.SlicesPerNode, SliceBytes: c.SliceBytes,
		Bytes: c.Bytes, BytesPerNode: c.BytesPerNode, BitsPerKey: c.BitsPerKey, ClassicBits: c.ClassicBits, ErrorRate: c.ErrorRate, Probes: c.Probes,
		CommandsNew: c.CommandsPerNew, CommandsSeen: c.CommandsPerSeen, TripsNew: c.RoundTripsNew, TripsSeen: c.RoundTripsSeen,
	}
	if p.json {
		return printJSON(a.env.Stdout, r)
	}
	t := newTable(a.env.Stdout)
	if sample != nil {
		t.row("sample", "%s", sample.describe())
	}
	t.row("keys", "%s at an error rate of %s", figure.Comma(r.N), figure.Rate(r.Asked))
	t.row("slices", "%s of %s bytes", figure.Comma(r.Slices), figure.Comma(r.SliceBytes))
	t.row("memory", "%s, %.2f bits a key (a classic filter: %.2f)", humanize.IBytes(r.Bytes), r.BitsPerKey, r.ClassicBits)
	switch {
	case r.Slices == 1 && r.Nodes > 1:
		t.row("per node", "%s on one of %d; a replica needs the same again", humanize.IBytes(r.Bytes), r.Nodes)
	case r.Slices < uint64(r.Nodes):
		t.row("per node", "%s in one slice, on up to %d of %d; a replica needs the same again", humanize.IBytes(r.Bytes/r.Slices), r.Slices, r.Nodes)
	default:
		t.row("per node", "%s in %.1f slices, the mean of %d; a replica needs the same again", humanize.IBytes(r.BytesPerNode), r.SlicesPerNode, r.Nodes)
	}
	t.row("error rate", "%s at capacity, %d probes", figure.Rate(r.ErrorRate), r.Probes)
	t.row("add", "%d commands for a new key, %d for a seen one; a batch shares one of them per slice", r.CommandsNew, r.CommandsSeen)
	t.row("round trips", "%d for a batch with new keys, %d for one without", r.TripsNew, r.TripsSeen)
	return t.flush()
}
