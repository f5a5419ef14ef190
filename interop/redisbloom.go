package interop

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"seen/bloom"
	"seen/internal/redisbloom"
	"seen/sizing"
)

// A file of RedisBloom is the payload of DUMP, or the chunks of BF.SCANDUMP one after
// another, which is header and body as in internal/redisbloom.
const (
	redisPayload = "payload"
	redisChunks  = "chunks"
)

var redisBloomFormat = format{
	name:   "redisbloom",
	system: "RedisBloom (BF.* of Redis)",
	params: []param{{
		name: "form", meaning: "the form to write: the payload of DUMP and RESTORE, or the chunks of BF.SCANDUMP in order",
		values: []string{redisPayload, redisChunks}, preset: redisPayload, forWrite: true, form: true,
	}, {
		name: "expansion", meaning: "the factor by which each further sub-filter is larger; 0: the filter does not grow", preset: "2", forWrite: true,
	}},
	verified: "chunks, payloads and answers of RedisBloom on Redis 7.4, byte for byte; a server loads what seen writes",
	sign:     "the module's name and a checksum (payload), or a header whose sub-filters give the exact length (chunks)",
	detect:   detectRedisBloom,
	open:     func(b []byte, _ Spec) (Foreign, error) { return foreign(parseRedisDump(b)) },
	create:   createRedisBloom,
	clone:    cloneOf[*redisFile],
	rewrap:   rewrapRedisBloom,
}

func detectRedisBloom(b []byte) (Confidence, Spec, bool) {
	switch s := (Spec{Name: "redisbloom"}); {
	case redisbloom.IsPayload(b):
		return Certain, s, true
	case redisbloom.IsChunks(b): // without the arrays, too, which is worth saying
		return Likely, s, true
	}
	return 0, Spec{}, false
}

// redisDump is a filter of RedisBloom that is asked in the bytes of a dump. It cannot be
// changed; see its Clone. Any number of goroutines may ask.
type redisDump struct {
	*redisbloom.Dump
	form   string
	raw    []byte // nil for a filter in an RDB file
	fields []Field
}

// parseRedisDump returns the filter of a payload of DUMP or of the chunks of BF.SCANDUMP
// one after another. It refers to b. Only a payload, which has a checksum, is read as a
// whole.
func parseRedisDump(b []byte) (*redisDump, error) {
	if redisbloom.IsPayload(b) {
		d, version, err := redisbloom.OpenPayload(b)
		if err != nil {
			return nil, err
		}
		return &redisDump{d, redisPayload, b, []Field{{"file", fmt.Sprintf("payload of DUMP, RDB version %d", version)}}}, nil
	}
	d, err := redisbloom.OpenChunks(b)
	if err != nil {
		return nil, err
	}
	return &redisDump{d, redisChunks, b, []Field{{"file", "chunks of BF.SCANDUMP"}}}, nil
}

// Stats describes the filter; it reads all arrays.
func (d *redisDump) Stats() bloom.Stats { return redisStats(d.Dump) }

// Describe says what the header says.
func (d *redisDump) Describe() Description { return describeRedis(d.Info(), d.fields) }

// KeyKind is KeyBytes.
func (d *redisDump) KeyKind() KeyKind { return KeyBytes }

// WriteTo writes the bytes that the filter was parsed from. Of a filter in an RDB file
// it writes a payload.
func (d *redisDump) WriteTo(w io.Writer) (int64, error) {
	if d.raw == nil {
		return (&redisWriter{d.Dump, redisPayload}).WriteTo(w)
	}
	return bytes.NewReader(d.raw).WriteTo(w)
}

// Clone returns a copy with memory of its own, to which keys can be added.
func (d *redisDump) Clone() (*redisFile, error) {
	f, err := d.Filter(nil)
	if err != nil {
		return nil, err
	}
	return &redisFile{f, d.form}, nil
}

// redisFile is a filter of RedisBloom that is to become a file. One goroutine may change it
// while any number ask.
type redisFile struct {
	*redisbloom.Filter
	form string
}

func createRedisBloom(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	expansion, err := s.number("expansion", 0, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	f, err := redisbloom.New(redisbloom.Config{Capacity: capacity, ErrorRate: errorRate, Expansion: uint32(expansion)})
	if err != nil {
		return nil, err
	}
	return &redisFile{f, s.Params["form"]}, nil
}

// Stats describes the filter; it reads all arrays.
func (f *redisFile) Stats() bloom.Stats { return redisStats(f.Dump()) }

// Describe says what the header will say.
func (f *redisFile) Describe() Description { return describeRedis(f.Info(), nil) }

// KeyKind is KeyBytes.
func (f *redisFile) KeyKind() KeyKind { return KeyBytes }

// Clone returns a copy that shares nothing with f.
func (f *redisFile) Clone() (*redisFile, error) {
	c, err := f.Filter.Clone()
	if err != nil {
		return nil, err
	}
	return &redisFile{c, f.form}, nil
}

// WriteTo writes the filter as a payload of DUMP, or as chunks.
func (f *redisFile) WriteTo(w io.Writer) (int64, error) {
	if f.form == redisChunks {
		return f.Filter.WriteTo(w)
	}
	return bytes.NewReader(f.AppendDump(nil)).WriteTo(w)
}

// Union adds the keys of other, a filter of RedisBloom whose sub-filters have the same
// sizes. A sub-filter then counts as many keys as its bits tell, since what the two have in
// common is not known.
func (f *redisFile) Union(other Reader) error {
	var d *redisbloom.Dump
	switch g := other.(type) {
	case *redisDump:
		d = g.Dump
	case *rdbFilter:
		d = g.Dump
	case *redisFile:
		d = g.Dump()
	default:
		return errUnlike(f.Describe().System, other)
	}
	if err := f.Filter.Union(d); err != nil {
		return fmt.Errorf("%w: %w", bloom.ErrIncompatible, err)
	}
	return nil
}

// redisWriter writes a dump in a form other than its own.
type redisWriter struct {
	*redisbloom.Dump
	form string
}

func (w *redisWriter) WriteTo(to io.Writer) (int64, error) {
	f, err := w.Filter(nil)
	if err != nil {
		return 0, err
	}
	defer f.Release()
	return (&redisFile{f, w.form}).WriteTo(to)
}

// Chunker writes a filter in the pieces that BF.SCANDUMP gives.
type Chunker interface {
	// Chunks yields the pieces in order, the header first. A piece is valid until the
	// next. An error ends them.
	Chunks() iter.Seq2[[]byte, error]
}

// Chunks yields the pieces of a dump.
func (f *redisFile) Chunks() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var b []byte
		iterator := int64(0)
		for {
			iterator, b = f.ScanDump(b[:0], iterator)
			if iterator == 0 || !yield(b, nil) {
				return
			}
		}
	}
}

// Chunks yields the pieces of a dump.
func (w *redisWriter) Chunks() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := w.Filter(nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Release()
		(&redisFile{f, redisChunks}).Chunks()(yield)
	}
}

// rewrapRedisBloom writes a filter of a payload, of chunks or of an RDB file as either
// of the first two.
func rewrapRedisBloom(f Foreign, s Spec) (io.WriterTo, error) {
	form := s.Params["form"]
	if form == "" {
		form = redisPayload
	}
	switch f := f.(type) {
	case *redisDump:
		return &redisWriter{f.Dump, form}, nil
	case *rdbFilter:
		return &redisWriter{f.Dump, form}, nil
	case *redisFile:
		return &redisFile{f.Filter, form}, nil
	}
	return nil, errConvert(f, "redisbloom")
}

// redisStats adds up what the sub-filters are like. A key is in one of them, and one that
// was never added is found if any of them has it.
func redisStats(d *redisbloom.Dump) bloom.Stats {
	info, ones := d.Info(), d.Ones()
	s := bloom.Stats{Type: "redisbloom", Layers: len(info.Filters), Capacity: info.Capacity, Added: info.Added}
	right, rightAtCapacity := 0.0, 0.0
	layers := make([]sizing.Layer, len(info.Filters))
	for i, sub := range info.Filters {
		p := sub.Params()
		s.Bits += p.M
		s.Probes = p.K
		s.Bytes += sub.Bytes
		s.Ones += ones[i]
		rate := math.Pow(float64(ones[i])/float64(p.M), float64(p.K))
		right += math.Log1p(-rate)
		rightAtCapacity += math.Log1p(-p.ErrorRate(sub.Capacity))
		layers[i] = sizing.Layer{Index: i, Keys: p.Cardinality(min(ones[i], p.M)), Rate: rate, Fill: float64(ones[i]) / float64(p.M), Probes: p.K}
		for j, older := range layers[:i] {
			if info.Filters[j].PowerOfTwo != 0 && sub.PowerOfTwo != 0 { // a position in one is that in the other, cut short
				layers[i].Uneven += older.SameBits()
			}
		}
	}
	s.Cardinality = sizing.Layered(layers)
	s.Fill = float64(s.Ones) / float64(s.Bits)
	s.ErrorRate, s.ErrorRateAtCapacity = -math.Expm1(right), -math.Expm1(rightAtCapacity)
	if len(info.Filters) == 1 {
		s.Params = info.Filters[0].Params()
		s.AskedErrorRate = info.Filters[0].ErrorRate
	}
	return s
}

func describeRedis(info redisbloom.Info, fields []Field) Description {
	d := Description{Format: "redisbloom", System: "RedisBloom", Hash: "two MurmurHash64A", Fields: slices.Clone(fields)}
	if info.Hash32 {
		d.Hash = "two MurmurHash2 of 32 bits"
	}
	growth := "does not grow"
	if info.Scaling {
		growth = fmt.Sprintf("grows, expansion %d", info.Expansion)
	}
	d.Fields = append(d.Fields, Field{"growth", growth})
	for i, s := range info.Filters {
		d.Fields = append(d.Fields, Field{fmt.Sprintf("sub-filter %d", i), fmt.Sprintf("%d of %d keys, %d bits, %d probes, error rate %.3g",
			s.Added, s.Capacity, s.Bits, s.Hashes, s.ErrorRate)})
	}
	return d
}
