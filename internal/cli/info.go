package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/figure"
	"seen/internal/remote"
	"seen/internal/setfile"
	"seen/sizing"
)

// infoFlags are the flags of "seen info".
type infoFlags struct {
	hashing  hashFlags // of a filter in Redis
	fleet    fleetFlags
	noVerify bool
	json     bool
	foreign  foreignFlags
}

func (a *app) infoCommand() *cobra.Command {
	var i infoFlags
	cmd := &cobra.Command{
		Use:         "info {SET... | --redis URL --name NAME}",
		Short:       "describe filters",
		Annotations: common("no-verify redis server name json"),
		Long: `Describe filter files: type and layout, how many keys they have, how full they are, the
error rate now and at capacity, the hash, and whether the checksums are right. A filter
that is past its capacity or its error rate is marked. The secret of a filter is not
needed.

With --no-verify, only the header is read, which is quick however large the file is;
fill and estimates are left out.

Filters of other systems are described too, see "seen formats": the system, what they
contain, and, where a file has several filters, the --format that opens each.

SET may be a filter that many machines share: redis://HOST/NAME is the same as
--redis redis://HOST --name NAME. With --server, the filter is in a "seen serve".`,
		Example: `  seen info known.seen
  seen info --no-verify huge.seen
  seen info --json *.seen | jq -r 'select(.warnings) | .set'     those that are too full
  seen info redis://db1/crawl
  seen info --server db2 --name crawl`,
		Args: func(cmd *cobra.Command, names []string) error {
			switch {
			case i.fleet.isSet():
				return arguments(0, 0, "")(cmd, names)
			case cmd.Flags().Changed("name"):
				return usagef("--name needs --redis or --server")
			}
			return arguments(1, anyMore, "SET")(cmd, names)
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			if i.fleet.isSet() {
				return a.inspectFleet(&i, i.fleet, false)
			}
			return a.info(cmd, &i, names)
		},
	}
	cmd.Flags().BoolVar(&i.noVerify, "no-verify", false, "read only the header: no checksums, no fill, no estimates")
	cmd.Flags().BoolVar(&i.json, "json", false, "report as JSON, one object for each SET")
	i.fleet.register(cmd, &i.hashing, false)
	i.foreign.registerFormat(cmd)
	i.foreign.login = &i.fleet
	return cmd
}

func (a *app) info(cmd *cobra.Command, flags *infoFlags, names []string) error {
	failed, above := 0, false
	tell := func(err error) {
		var coded *exitError
		if errors.As(err, &coded) && coded.code == ExitLimit {
			above = true
		} else {
			failed++
		}
		a.sayError(cmd, err)
	}
	for i, name := range names {
		if remote.IsAddress(name) && !flags.foreign.format.isSet() {
			at := flags.fleet
			at.redis = name
			if err := a.inspectFleet(flags, at, i > 0); err != nil {
				tell(err)
			}
			continue
		}
		r, err := a.describe(name, flags)
		if err == nil {
			if flags.json {
				err = printJSON(a.env.Stdout, r)
			} else {
				err = r.print(a.env.Stdout, i > 0)
			}
			if err != nil {
				return err // from writing
			}
			err = r.problem()
		}
		if err != nil {
			tell(err)
		}
	}
	switch {
	case failed > 0:
		return &exitError{code: ExitError}
	case above:
		return &exitError{code: ExitLimit}
	}
	return nil
}

// report is what info says about a file.
type report interface {
	print(w io.Writer, another bool) error
	problem() error // damage, or an error rate past the one asked for
}

// describe describes a file of seen or of another system.
func (a *app) describe(name string, flags *infoFlags) (report, error) {
	opened, err := a.openFile(name, &flags.foreign, true)
	switch {
	case err != nil:
		return nil, err
	case opened.Kind == setfile.KindForeign:
		defer opened.Foreign.Close() // it is only read
		return inspectForeign(opened.Foreign, !flags.noVerify)
	}
	r, err := inspect(name, !flags.noVerify)
	if err != nil && opened.Kind == setfile.KindText {
		err = unknownFormat(err)
	}
	if err != nil {
		return nil, err // not a report that is nil
	}
	return r, nil
}

// inspect describes the file name. With verify it reads all of it. Of a damaged file it
// describes the header, and sets Problem.
func inspect(name string, verify bool) (*infoReport, error) {
	f, err := bloomfile.Open(name, bloomfile.Options{})
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	i := f.Info()
	r := newInfoReport(name, i)
	if !verify {
		r.Checksums = "not verified"
		return r, nil
	}
	for err := range f.Check() {
		r.Checksums, r.Problem = "damaged", err.Error()
		return r, nil
	}
	r.Checksums = "ok"
	if i.Sketch {
		return r, nil
	}
	st, err := f.Stats()
	if err != nil {
		return nil, err
	}
	r.setState = stateOf(st)
	r.OrFewer = i.Overlap
	r.Warnings, r.past = warningsOf(st, true), past(name, st)
	return r, nil
}

// setState is the state of a filter in the reports of info and merge; its JSON names are an
// interface to scripts.
type setState struct {
	Type        string          `json:"type"`
	M           uint64          `json:"m"`
	K           int             `json:"k"`
	Lines       int             `json:"lines,omitempty"`
	Lanes       int             `json:"lanes,omitempty"`
	CounterBits int             `json:"counter_bits,omitempty"`
	Bytes       uint64          `json:"bytes"`
	Capacity    uint64          `json:"capacity"`
	Added       uint64          `json:"added"`
	Asked       float64         `json:"asked_error_rate"`
	Exact       bool            `json:"exact,omitempty"`
	Full        bool            `json:"full,omitempty"`
	Fill        *float64        `json:"fill,omitempty"`
	Cardinality *estimateReport `json:"cardinality,omitempty"`
	OrFewer     bool            `json:"or_fewer,omitempty"` // a key in several layers is counted in each
	Rate        *float64        `json:"error_rate,omitempty"`
	RateAtCap   *float64        `json:"error_rate_at_capacity,omitempty"`
	Collisions  *float64        `json:"expected_collisions,omitempty"`
	Stuck       *uint64         `json:"stuck_counters,omitempty"`
	estimated   bool            // Added is an estimate
	uncounted   bool            // the file does not say how many keys were added
	unit        string          // what m counts in a sketch
}

// estimateReport is an estimate with its standard error.
type estimateReport struct {
	Value  float64 `json:"value"`
	StdErr float64 `json:"standard_error"`
}

// reportOf returns nil for an unknown estimate, because JSON has no infinity.
func reportOf(e sizing.Estimate) *estimateReport {
	if !e.Known() {
		return nil
	}
	return &estimateReport{figure.SixDigits(e.Value), figure.SixDigits(e.StdErr)}
}

func stateOf(st bloom.Stats) setState {
	number := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		v = figure.SixDigits(v)
		return &v
	}
	s := setState{
		Type: st.Type, M: st.Bits, K: st.Probes,
		Lines: st.Params.Lines, Lanes: st.Params.Lanes, CounterBits: st.Params.CounterBits,
		Bytes: st.Bytes, Capacity: st.Capacity, Added: st.Added, Asked: st.AskedErrorRate,
		Exact: st.Exact, Full: math.IsInf(st.Cardinality.Value, 1),
		Rate: number(st.ErrorRate),
	}
	if st.Exact {
		s.Collisions = number(st.ExpectedCollisions)
		return s
	}
	s.Cardinality = reportOf(st.Cardinality)
	if st.Capacity > 0 && st.Type != "static" {
		s.RateAtCap = number(st.ErrorRateAtCapacity)
	}
	if st.Type != "static" { // whose slots are neither ones nor zeros
		s.Fill = number(st.Fill)
	}
	if st.Params.Shape == sizing.Counting {
		s.Stuck = &st.Stuck
	}
	return s
}

// keysLeeway is how far a number of keys, which may be an estimate, can be above the capacity
// without a warning.
const keysLeeway = 1.01

// warningsOf says what is wrong with the state of a filter; with rate, also that it is past
// its error rate, which is the error of the command too.
func warningsOf(st bloom.Stats, rate bool) []string {
	var w []string
	if math.IsInf(st.Cardinality.Value, 1) {
		w = append(w, "full: it says yes to every key")
	}
	w = append(w, pastCapacity(st.Added, st.Capacity)...)
	if rate && pastRate(st) {
		w = append(w, fmt.Sprintf("past its error rate: %s now, %s asked for", figure.Rate(figure.ThreeDigits(st.ErrorRate)), figure.Rate(st.AskedErrorRate)))
	}
	return append(w, stuckCounters(st.Stuck)...)
}

// stuckCounters warns of counters that have lost their count.
func stuckCounters(n uint64) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s counters are stuck; keys that use them cannot be removed any more", figure.Comma(n))}
}

// pastRate reports whether a filter has a higher error rate than was asked for because it
// has too many keys. The rate depends on how many bits are set, which varies by chance: a
// small filter at its capacity can be a tenth above the rate asked for, and is not past it.
func pastRate(st bloom.Stats) bool {
	if !sizing.PastRate(st.ErrorRate, st.AskedErrorRate) {
		return false
	}
	n := st.Cardinality
	surely := n.Value - 3*n.StdErr // NaN if the filter is full
	return st.Capacity == 0 || st.Added > st.Capacity || !(surely <= float64(st.Capacity))
}

func pastCapacity(added, capacity uint64) []string {
	if capacity == 0 || float64(added) <= keysLeeway*float64(capacity) {
		return nil
	}
	return []string{fmt.Sprintf("past its capacity: %s keys are in a filter for %s", figure.Comma(added), figure.Comma(capacity))}
}

// rows writes the state as rows of a table, with indented names.
func (s *setState) rows(t table, indent string) {
	unit := "bits"
	switch {
	case s.CounterBits > 0:
		unit = fmt.Sprintf("counters of %d bits", s.CounterBits)
	case s.Type == "static" && s.M > 0:
		unit = fmt.Sprintf("slots of %d bits", 8*s.Bytes/s.M)
	case s.Exact:
		unit = "fingerprints of 64 bits"
	case s.unit != "":
		unit = s.unit
	}
	if s.M > 0 {
		t.row(indent+"m", "%s %s, %s", figure.Comma(s.M), unit, figure.Bytes(s.Bytes))
	}
	switch {
	case s.Exact, s.K == 0:
	case s.Lines == 1:
		t.row(indent+"k", "%d in one line", s.K)
	case s.Lines > 0:
		t.row(indent+"k", "%d: %d in each of %d lines", s.K, s.Lanes, s.Lines)
	default:
		t.row(indent+"k", "%d", s.K)
	}
	added := figure.Comma(s.Added)
	if s.estimated {
		added = "about " + added
	}
	switch {
	case s.uncounted:
		added = "the file does not say"
	case s.Capacity > 0 && !s.Exact && s.Type != "static":
		added += fmt.Sprintf(", capacity %s (%s)", figure.Comma(s.Capacity), figure.Percent(float64(s.Added)/float64(s.Capacity)))
	}
	t.row(indent+"added", "%s", added)
	if s.Fill != nil {
		t.row(indent+"fill", "%s", figure.Percent(*s.Fill))
	}
	switch {
	case s.Exact:
		t.row(indent+"cardinality", "%s, exact except for %s expected collisions", figure.Comma(s.Added), figure.Rate(figure.ThreeDigits(*s.Collisions)))
	case s.Full:
		t.row(indent+"cardinality", "unknown: the filter is full")
	case s.Cardinality != nil:
		text := figure.Estimate(sizing.Estimate{Value: s.Cardinality.Value, StdErr: s.Cardinality.StdErr})
		if s.OrFewer {
			text += ", or fewer: a key in several layers is counted in each"
		}
		t.row(indent+"cardinality", "%s", text)
	}
	var rates []string
	if s.Rate != nil {
		rates = append(rates, figure.Rate(figure.ThreeDigits(*s.Rate))+" now")
	}
	if s.RateAtCap != nil {
		rates = append(rates, figure.Rate(figure.ThreeDigits(*s.RateAtCap))+" at capacity")
	}
	if s.Asked > 0 {
		rates = append(rates, figure.Rate(s.Asked)+" asked for")
	}
	if len(rates) > 0 {
		t.row(indent+"error rate", "%s", strings.Join(rates, ", "))
	}
	if s.Stuck != nil {
		t.row(indent+"stuck", "%s counters", figure.Comma(*s.Stuck))
	}
}
