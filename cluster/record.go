package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"seen/sizing"
)

// The record is the string under the filter's name: JSON with the parameters, which
// never change, and with the layers there are. It is created by SET NX and changed
// by compare-and-swap (WATCH, MULTI, EXEC on this one key), so every client sees the
// same history, and any client can finish a step that another has left half done.
type record struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	parameters
	// Live are the generations that are remembered, the oldest first; a filter has one.
	Live []generation `json:"live"`
	// Gone are those whose slices must be deleted before keys are added to the last of
	// Live.
	Gone []generation `json:"gone,omitempty"`
	// ExpireAt is when all keys of the filter expire, in Unix milliseconds; 0: never.
	ExpireAt int64 `json:"expire_at_ms,omitempty"`
	// Building says that a union is being written to the slices.
	Building bool `json:"building,omitempty"`
	// Dropped says that the slices are being deleted, and then the record.
	Dropped bool `json:"dropped,omitempty"`
}

const (
	recordFormat  = "seen cluster filter"
	recordVersion = 1
)

// generation is a chain of layers under an epoch of their own.
type generation struct {
	Number int64   `json:"number"`
	Epoch  string  `json:"epoch"`
	Ready  int     `json:"ready"` // how many of the layers are there; the others are being made
	Layers []shape `json:"layers"`
}

// parameters are what clients compare when they open a filter. They are comparable with
// ==.
type parameters struct {
	Capacity   uint64  `json:"capacity"`
	ErrorRate  float64 `json:"error_rate"`
	SliceBytes uint64  `json:"slice_bytes"`
	Fixed      bool    `json:"fixed"`
	Hash       string  `json:"hash"`
	Seed       uint64  `json:"seed,string"`
	KeyID      string  `json:"key_id,omitempty"`
	// Of windows only.
	Span        time.Duration `json:"span_ns,omitempty"`
	Generations int           `json:"generations,omitempty"`
	NoRefresh   bool          `json:"no_refresh,omitempty"`
}

// hashText describes the hash.
func (p parameters) hashText() string {
	if p.KeyID != "" {
		return p.Hash + " with key id " + p.KeyID
	}
	return fmt.Sprintf("%s with seed %d", p.Hash, p.Seed)
}

// compare returns a [ParameterError] about the first parameter in which have and want
// differ.
func (c *core) compare(have, want parameters) error {
	for _, d := range []struct {
		parameter  string
		have, want any
	}{
		{"Capacity", have.Capacity, want.Capacity},
		{"ErrorRate", have.ErrorRate, want.ErrorRate},
		{"SliceBytes", have.SliceBytes, want.SliceBytes},
		{"Fixed", have.Fixed, want.Fixed},
		{"Hash", have.hashText(), want.hashText()},
		{"Span", have.Span, want.Span},
		{"Generations", have.Generations, want.Generations},
		{"NoRefresh", have.NoRefresh, want.NoRefresh},
	} {
		if d.have != d.want {
			return &ParameterError{Filter: c.name, Parameter: d.parameter, Have: d.have, Want: d.want}
		}
	}
	return nil
}

// shapeOf returns the form of layer i of a generation.
func (p parameters) shapeOf(i int) (shape, error) {
	capacity, total := p.Capacity, p.ErrorRate
	if p.Generations > 0 {
		capacity, total = sizing.Generation(capacity, total, p.Generations)
	}
	n, rate, err := layerDemand(capacity, total, p.Fixed, i)
	if err != nil {
		return shape{}, err
	}
	yardstick := rate
	if i == 0 {
		yardstick = total
	}
	s, err := shapeFor(n, rate, yardstick, p.SliceBytes)
	if err != nil {
		return shape{}, fmt.Errorf("layer %d: %w", i+1, err)
	}
	return s, nil
}

// generations returns those that are remembered and those that are deleted.
func (r *record) generations() []generation { return slices.Concat(r.Gone, r.Live) }

// last returns the newest generation.
func (r *record) last() *generation { return &r.Live[len(r.Live)-1] }

// lives reports whether the generation of an epoch is remembered.
func (r *record) lives(epoch string) bool {
	return slices.ContainsFunc(r.Live, func(g generation) bool { return g.Epoch == epoch })
}

// unfinished reports whether a change of the record is under way.
func (r *record) unfinished() bool {
	return r.Dropped || len(r.Gone) > 0 || r.last().Ready < len(r.last().Layers)
}

// clone returns a copy that may be changed.
func (r *record) clone() *record {
	c := *r
	c.Live = slices.Clone(r.Live)
	for i := range c.Live {
		c.Live[i].Layers = slices.Clone(c.Live[i].Layers)
	}
	c.Gone = slices.Clone(r.Gone)
	return &c
}

func (r *record) encode() (string, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("record: %w", err)
	}
	return string(b), nil
}

// Bounds of a record, so that a damaged one cannot make a client use absurd sizes.
const (
	maxRecordBytes = 1 << 20
	maxLive        = 1 << 10
	maxLayers      = 64
)

// errLongRecord is about a string that is too long for a record.
var errLongRecord = errors.New("longer than a record")

// decodeRecord parses and checks the record under a key. An error is a [NotFilterError].
func decodeRecord(key, raw string) (*record, error) {
	r := new(record)
	err := errLongRecord
	if len(raw) <= maxRecordBytes {
		err = json.NewDecoder(strings.NewReader(raw)).Decode(r)
	}
	if err != nil || r.Format != recordFormat {
		return nil, &NotFilterError{Key: key, Holds: fmt.Sprintf("a string of %d bytes that is not the record of one", len(raw))}
	}
	if r.Version != recordVersion {
		return nil, &NotFilterError{Key: key, Record: true, Newer: r.Version > recordVersion, Holds: fmt.Sprintf("a record of version %d, and this program knows version %d", r.Version, recordVersion)}
	}
	if err := r.check(); err != nil {
		return nil, &NotFilterError{Key: key, Record: true, Holds: "a damaged record: " + err.Error()}
	}
	return r, nil
}

func (r *record) check() error {
	if len(r.Live) == 0 || len(r.Live) > maxLive || len(r.Gone) > maxLive {
		return fmt.Errorf("%d live and %d former generations; at least 1 is live, and at most %d", len(r.Live), len(r.Gone), maxLive)
	}
	if !(r.ErrorRate > 0 && r.ErrorRate < 1) || r.Capacity == 0 {
		return fmt.Errorf("capacity %d and error rate %v", r.Capacity, r.ErrorRate)
	}
	if r.Generations != 0 && (r.Generations < 2 || r.Generations > maxGenerations || r.Span <= 0) {
		return fmt.Errorf("a window of %d generations and %v", r.Generations, r.Span)
	}
	for _, g := range r.generations() {
		if err := g.check(); err != nil {
			return fmt.Errorf("generation %d: %w", g.Number, err)
		}
	}
	for i := 1; i < len(r.Live); i++ {
		if r.Live[i].Number <= r.Live[i-1].Number {
			return fmt.Errorf("generation %d follows generation %d", r.Live[i].Number, r.Live[i-1].Number)
		}
	}
	for _, g := range r.Live[:len(r.Live)-1] {
		if g.Ready < len(g.Layers) {
			return fmt.Errorf("generation %d is not ready and not the last", g.Number)
		}
	}
	return nil
}

func (g *generation) check() error {
	if len(g.Epoch) != epochChars || strings.Trim(g.Epoch, epochLetters) != "" {
		return fmt.Errorf("epoch %q is not %d of the letters %s", g.Epoch, epochChars, epochLetters)
	}
	if g.Number < 0 || g.Number >= 1<<maxGenerationBits {
		return fmt.Errorf("number %d is outside 0 to 2^%d", g.Number, maxGenerationBits)
	}
	if len(g.Layers) == 0 || len(g.Layers) > maxLayers || g.Ready < 0 || g.Ready > len(g.Layers) {
		return fmt.Errorf("%d of %d layers are ready; a generation has 1 to %d", g.Ready, len(g.Layers), maxLayers)
	}
	for i, s := range g.Layers {
		if s.Slices == 0 || s.Slices > maxSlices || s.RegionLines == 0 || s.RegionLines > MaxSliceBytes/lineBytes {
			return fmt.Errorf("layer %d: %d slices with regions of %d lines", i+1, s.Slices, s.RegionLines)
		}
		if err := s.params().Validate(); err != nil {
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
		if s.sliceBytes() > MaxSliceBytes || s.Capacity == 0 || s.Capacity > sizing.MaxBits || !(s.ErrorRate > 0 && s.ErrorRate < 1) {
			return fmt.Errorf("layer %d: slices of %d bytes for %d keys at error rate %v", i+1, s.sliceBytes(), s.Capacity, s.ErrorRate)
		}
	}
	return nil
}

// get reads the record. If there is none, raw is empty.
func (c *core) get(ctx context.Context) (raw string, r *record, err error) {
	raw, err = c.client.Do(ctx, c.client.B().Get().Key(c.name).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, explain(c.name, err)
	}
	if r, err = decodeRecord(c.name, raw); err != nil {
		return "", nil, err
	}
	return raw, r, nil
}

// swap replaces the record old by next, or deletes it if next is nil, and reports whether
// it was still old. After an error it may be done or not; the record tells.
func (c *core) swap(ctx context.Context, old string, next *record) (done bool, err error) {
	var value string
	if next != nil {
		if value, err = next.encode(); err != nil {
			return false, err
		}
	}
	err = c.dedicated(func(d connection) (err error) {
		defer func() {
			if err != nil {
				d.Close() // it may have an open transaction, which the next call must not enter
			}
		}()
		results := d.multi(ctx, d.B().Watch().Key(c.name).Build(), d.B().Get().Key(c.name).Build())
		if err := results[0].Error(); err != nil {
			return err // without it two clients could change the record at once
		}
		now, err := results[1].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		if now != old {
			return d.Do(ctx, d.B().Unwatch().Build()).Error()
		}
		change := d.B().Del().Key(c.name).Build()
		if next != nil {
			change = d.B().Set().Key(c.name).Value(value).Keepttl().Build()
		}
		// If MULTI is refused, the change must not follow: it would be made at once,
		// although the record may be another by now.
		if err := d.multi(ctx, d.B().Multi().Build())[0].Error(); err != nil {
			return err
		}
		results = d.DoMulti(ctx, change, d.B().Exec().Build())
		if err := results[0].Error(); err != nil {
			return err
		}
		answers, err := results[1].ToArray()
		switch {
		case rueidis.IsRedisNil(err):
			return nil
		case err != nil:
			return err
		}
		for i := range answers {
			if err := answers[i].Error(); err != nil {
				return err
			}
		}
		done = true
		return c.waitForOne(ctx, d)
	})
	if err != nil {
		return false, fmt.Errorf("record %q: %w", c.name, err)
	}
	return done, nil
}
