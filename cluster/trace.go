package cluster

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"seen/bloom"
	"seen/internal/kernel"
	"seen/sizing"
)

// Trace shows the bits of a key in one layer. They are in one slice, which is the string
// under the given key of Redis. Positions are those of GETBIT, and lines count from the
// beginning of the string.
type Trace struct {
	Slice string
	bloom.Trace
}

// Trace shows where the bits of the key with hash h are, in each layer, the oldest first.
// The error rate of a layer follows from the number of keys in the slice. It takes two
// round trips, and reads each layer at one moment. Of a window it shows the generations
// that are still remembered.
func (c *core) Trace(ctx context.Context, h uint64) ([]Trace, error) {
	forgotten, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.refresh(ctx)
	if err != nil {
		return nil, err
	}
	var commands rueidis.Commands
	var names []string
	layers := slices.DeleteFunc(slices.Clone(s.layers), func(l *layer) bool { return l.order <= forgotten })
	for _, l := range layers {
		names = append(names, l.prefix+strconv.FormatUint(uint64(l.sliceOf(h)), 10))
		line := h
		key := names[len(names)-1]
		get := func(from, to uint64) {
			commands = append(commands, c.client.B().Getrange().Key(key).Start(int64(from)).End(int64(to)).Build())
		}
		get(0, headerRead-1)
		for j := range l.Lines {
			at := lineAt(l.layout(), j, line)
			get(at, at+lineBytes-1)
			line = kernel.Next(line)
		}
	}
	results := c.client.DoMulti(ctx, commands...)
	var all []Trace
	for i, l := range layers {
		t, err := l.trace(names[i], h, results[:1+l.Lines])
		if err != nil {
			return nil, err
		}
		t.Part = i
		all = append(all, t)
		results = results[1+l.Lines:]
	}
	return all, nil
}

// trace reads the answers of one slice: its header, and its lines for h.
func (l *layer) trace(slice string, h uint64, results []rueidis.RedisResult) (Trace, error) {
	t := Trace{slice, bloom.Trace{Array: "blocked", Positions: l.sliceBytes() * 8, Found: true}}
	header, err := results[0].AsBytes()
	if err != nil {
		return t, explain(slice, err)
	}
	if len(header) != headerRead || !l.owns(int64(binary.BigEndian.Uint64(header))) {
		return t, missingSlice(slice)
	}
	t.ErrorRate = l.paramsOf(1).ErrorRate(binary.BigEndian.Uint64(header[8:]))
	for j, r := range results[1:] {
		line, err := r.AsBytes()
		if err != nil {
			return t, explain(slice, err)
		}
		if len(line) != lineBytes {
			return t, missingSlice(slice)
		}
		at := lineAt(l.layout(), j, h)
		for i, word := range l.layout().LaneBits(h) {
			have := binary.LittleEndian.Uint64(line[i*8:])
			for ; word != 0; word &= word - 1 {
				b := bits.TrailingZeros64(word)
				p := bloom.TraceProbe{Line: at * 8 / sizing.LineBits, Position: bitAt(at, i, b), Set: have>>b&1 == 1, Value: have >> b & 1}
				t.Probes = append(t.Probes, p)
				t.Found = t.Found && p.Set
			}
		}
		h = kernel.Next(h)
	}
	return t, nil
}
