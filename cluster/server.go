package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"seen/sizing"
)

// ServerConfig describes a filter in a server. All clients of a filter must give the same.
// There is no Wait: the filter is on one machine, and "seen serve" by default answers when
// its disk has what was added.
type ServerConfig struct {
	// Capacity is the expected number of distinct keys, at least 1. More can be added,
	// unless Fixed is set: the filter then grows.
	Capacity uint64
	// ErrorRate bounds the probability that a key which was never added is treated as
	// seen; above 0 and at most 0.25, the limit of servers.
	ErrorRate float64
	// Fixed says that the filter does not grow: keys beyond its capacity are an error,
	// [ErrFull].
	Fixed bool
}

// ServerFilter is a Bloom filter inside one server that has the BF commands: "seen
// serve", or Redis with RedisBloom. The server hashes and probes, so that a key costs
// little on the wire; all clients share the one server's memory and speed. It is safe
// for concurrent use by any number of goroutines and processes.
type ServerFilter struct {
	client rueidis.Client
	name   string
}

// OpenServer opens the filter of the given name, or creates it. One that exists is
// compared with c and must not differ: [ParameterError]. If Capacity and
// ErrorRate are both 0 the filter must exist, [ErrNotFound], and is opened as it is. The
// caller closes client.
func OpenServer(ctx context.Context, client rueidis.Client, name string, c ServerConfig) (*ServerFilter, error) {
	switch existing := c.Capacity == 0 && c.ErrorRate == 0; {
	case name == "":
		return nil, errors.New("a filter needs a name")
	case !existing && (c.Capacity == 0 || c.Capacity > math.MaxInt64):
		return nil, fmt.Errorf("capacity is %d; give 1 to %d keys", c.Capacity, int64(math.MaxInt64))
	case !existing && !(c.ErrorRate > 0 && c.ErrorRate <= maxServerRate):
		return nil, fmt.Errorf("error rate is %v; a server has above 0 and at most %v", c.ErrorRate, maxServerRate)
	}
	f := &ServerFilter{client: client, name: name}
	if c.Capacity != 0 {
		made, err := f.reserve(ctx, c)
		if made || err != nil {
			return f, err
		}
	}
	return f, f.compare(ctx, c)
}

// maxServerRate is the highest error rate that servers use.
const maxServerRate = 0.25

// reserve creates the filter and reports whether it was not there.
func (f *ServerFilter) reserve(ctx context.Context, c ServerConfig) (made bool, err error) {
	cmd := f.client.B().Arbitrary("BF.RESERVE").Keys(f.name).
		Args(strconv.FormatFloat(c.ErrorRate, 'g', -1, 64), strconv.FormatUint(c.Capacity, 10))
	if c.Fixed {
		cmd = cmd.Args("NONSCALING")
	}
	err = f.client.Do(ctx, cmd.Build()).Error()
	if exists(err) {
		return false, nil
	}
	if err != nil {
		return false, serverError(f.name, err)
	}
	return true, nil
}

// compare compares the existing filter with c. BF.INFO tells whether it grows; only
// BF.DEBUG tells the error rate and capacity of each layer.
func (f *ServerFilter) compare(ctx context.Context, c ServerConfig) error {
	results := f.client.DoMulti(ctx, f.info(),
		f.client.B().Arbitrary("BF.DEBUG").Keys(f.name).ReadOnly())
	info, err := results[0].AsMap()
	if err != nil {
		return serverError(f.name, err)
	}
	if c.Capacity == 0 {
		return nil
	}
	expansion := info["Expansion rate"]
	fixed := expansion.IsNil()
	layers, err := results[1].AsStrSlice()
	if err != nil {
		return serverError(f.name, err)
	}
	if len(layers) < 2 {
		return fmt.Errorf("BF.DEBUG of %q tells of no layer: %q", f.name, layers)
	}
	var capacity uint64
	var rate float64
	for field := range strings.FieldsSeq(layers[1]) {
		var err error
		switch name, value, _ := strings.Cut(field, ":"); name {
		case "capacity":
			capacity, err = strconv.ParseUint(value, 10, 64)
		case "ratio":
			rate, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return fmt.Errorf("BF.DEBUG of %q: %w", f.name, err)
		}
	}
	differs := func(parameter string, have, want any) error {
		return &ParameterError{Filter: f.name, Parameter: parameter, Have: have, Want: want}
	}
	asked := slices.ContainsFunc(firstShares(fixed), func(share float64) bool {
		// It comes with six digits.
		return math.Abs(rate-share*c.ErrorRate) <= 1e-5*rate
	})
	switch {
	case fixed != c.Fixed:
		return differs("Fixed", fixed, c.Fixed)
	case capacity != c.Capacity:
		return differs("Capacity", capacity, c.Capacity)
	case !asked:
		return differs("ErrorRate", fmt.Sprintf("%v in the first layer", rate), c.ErrorRate)
	}
	return nil
}

// firstShares returns what part of a filter's error rate its first layer has: all, or
// if it grows half in RedisBloom, where each layer has half of the one before, and here
// what the rule of growth gives it.
func firstShares(fixed bool) []float64 {
	if fixed {
		return []float64{1}
	}
	return []float64{0.5, sizing.Growth{ErrorRate: 1}.Rate(0)}
}

func (f *ServerFilter) info() rueidis.Completed {
	return f.client.B().Arbitrary("BF.INFO").Keys(f.name).ReadOnly()
}

// Add adds keys and reports for each whether it was certainly not there before. If several
// clients add one new key at the same time, exactly one is told true, and of equal keys in
// one call only one. False means that the key was there, or, with the error rate, that it
// was not.
//
// If the error is an [UndecidedError], it names the keys without an answer; the answers of
// the others are valid. A write whose answer is lost is never repeated. A filter that was
// deleted is not created again, [ErrNotFound]. A call costs a round trip for each 16384
// keys.
func (f *ServerFilter) Add(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return f.ask(ctx, keys, true)
}

// Has reports for each key whether it may have been added. False is certain; true is
// wrong with the filter's error rate. Errors are those of [ServerFilter.Add]; nothing is
// changed.
func (f *ServerFilter) Has(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return f.ask(ctx, keys, false)
}

const (
	// serverKeys is the most keys of one command.
	serverKeys = 1024
	// serverCommands is the most commands that are under way for one call.
	serverCommands = 16
)

func (f *ServerFilter) ask(ctx context.Context, keys [][]byte, write bool) ([]bool, error) {
	answers := make([]bool, len(keys))
	var failures failures
	for from := 0; from < len(keys); {
		var parts []*part
		for ; from < len(keys) && len(parts) < serverCommands; from += serverKeys {
			parts = append(parts, f.part(keys, from, min(from+serverKeys, len(keys)), write, answers))
		}
		exchange(ctx, f.client, parts, write, serverError, &failures)
	}
	return answers, failures.err()
}

// part asks for keys[from:to].
func (f *ServerFilter) part(keys [][]byte, from, to int, write bool, answers []bool) *part {
	p := &part{key: f.name}
	// A copy: after a deadline the client may still be sending the keys while the caller
	// reuses their memory.
	var all strings.Builder
	n := 0
	for _, key := range keys[from:to] {
		n += len(key)
	}
	all.Grow(n)
	for i := from; i < to; i++ {
		p.keys = append(p.keys, i)
		all.Write(keys[i])
	}
	p.commands = func() []rueidis.Completed {
		// If the filter is gone, BF.MADD would create another, so BF.INSERT NOCREATE is
		// used; and BF.MEXISTS would answer no, so BF.INFO is sent with it.
		cmd := f.client.B().Arbitrary("BF.MEXISTS").Keys(f.name)
		if write {
			cmd = f.client.B().Arbitrary("BF.INSERT").Keys(f.name).Args("NOCREATE", "ITEMS")
		}
		rest := all.String()
		for _, key := range keys[from:to] {
			cmd = cmd.Args(rest[:len(key)])
			rest = rest[len(key):]
		}
		if write {
			return []rueidis.Completed{cmd.Build()}
		}
		return []rueidis.Completed{cmd.ReadOnly(), f.info()}
	}
	p.decide = func(results []rueidis.RedisResult) error {
		if !write {
			if err := results[1].Error(); err != nil {
				return err
			}
		}
		values, err := results[0].ToArray()
		if err != nil {
			return err
		}
		// A filter that is full ends the answers with the error.
		for i, v := range values[:min(len(values), to-from)] {
			yes, err := v.AsBool()
			if err != nil {
				p.keys = p.keys[i:]
				return err
			}
			answers[from+i] = yes
		}
		if len(values) != to-from {
			return fmt.Errorf("%d answers for %d keys", len(values), to-from)
		}
		return nil
	}
	return p
}

// ServerInfo is what a server says about a filter.
type ServerInfo struct {
	// Capacity is the capacity of all layers together, Added the number of keys that were
	// new.
	Capacity, Added uint64
	// Bytes is the memory of the filter.
	Bytes  uint64
	Layers int
	// Fixed says that the filter does not grow.
	Fixed bool
}

// Info asks the server about the filter.
func (f *ServerFilter) Info(ctx context.Context) (ServerInfo, error) {
	info, err := f.client.Do(ctx, f.info()).AsMap()
	if err != nil {
		return ServerInfo{}, serverError(f.name, err)
	}
	var i ServerInfo
	var layers uint64
	for field, to := range map[string]*uint64{
		"Capacity": &i.Capacity, "Size": &i.Bytes, "Number of filters": &layers, "Number of items inserted": &i.Added,
	} {
		value := info[field]
		if *to, err = value.AsUint64(); err != nil {
			return ServerInfo{}, fmt.Errorf("BF.INFO of %q: %s: %w", f.name, field, err)
		}
	}
	expansion := info["Expansion rate"]
	i.Layers, i.Fixed = int(layers), expansion.IsNil()
	return i, nil
}

// Drop deletes the filter. If it is gone already, that is not an error.
func (f *ServerFilter) Drop(ctx context.Context) error {
	// A value of another type that is there by now must not be deleted.
	err := f.client.Do(ctx, f.info()).Error()
	if err == nil {
		err = f.client.Do(ctx, f.client.B().Del().Key(f.name).Build()).Error()
	}
	if err = serverError(f.name, err); err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
