package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// The history of a value is three rings of samples in the database, each with its own
// resolution, so that its size does not grow with the value's age. A ring has a place for
// each step of time, numbered by the time modulo the length of the ring; a new sample
// replaces the old one in its place. Samples are not synced: a crash may lose the last
// ones, and nothing else depends on them.

// A Span is how far a history reaches back.
type Span uint8

// The spans of a history.
const (
	Hour Span = iota
	Day
	Month // 30 days
)

// rings are the resolutions. Each reaches back a little farther than its span.
var rings = [...]struct {
	step  time.Duration
	slots int64
	span  time.Duration
}{
	Hour:  {time.Minute, 62, time.Hour},
	Day:   {15 * time.Minute, 98, 24 * time.Hour},
	Month: {6 * time.Hour, 122, 30 * 24 * time.Hour},
}

// Length returns the time that a span is.
func (s Span) Length() time.Duration { return rings[s].span }

// Step returns the time between two samples of a span.
func (s Span) Step() time.Duration { return rings[s].step }

// Sample is the state of a value at the end of a step of time, or at the last change
// in it. Steps in which nothing was changed or asked for have no sample.
type Sample struct {
	Begin    time.Time // of the step
	Items    uint64
	Capacity uint64
	Bytes    uint64
	Fill     float64 // share of ones, or of slots in use
	Rate     float64 // error rate; NaN: it has none
	Traffic          // from From to To
	// From is when the counting of the traffic began: at the record before the first one in
	// the step, or when the value was made or the server started. Between the sample before
	// and From nothing happened. To is when the sample was taken.
	From, To time.Time
}

// recordEvery is the time between two records.
const recordEvery = time.Minute

const (
	// historyLeast is the memory from which on a value always has a history.
	historyLeast = 64 << 10
	// maxHistories is the number of smaller values that have one: the first that were
	// used. A value that is not used for so many records loses its history to another.
	maxHistories  = 10_000
	idleHistories = 60
)

// recorder is what the store remembers between two records of its values.
type recorder struct {
	notes   map[uint64]*recorded // by id
	small   int                  // of notes: those of small values
	partial bool                 // some values have none, or had one that was dropped
	at      time.Time            // of the last record
	// kept are the values that have samples in the database. It is nil until that is
	// known; the database may have samples of deleted values then.
	kept map[uint64]struct{}
}

// recorded is the last record of a value.
type recorded struct {
	at      LSN
	idle    int // records since it was used
	traffic Traffic
	steps   [len(rings)]int64     // of the newest samples
	during  [len(rings)]Traffic   // of these
	from    [len(rings)]time.Time // when it began
}

// records is the goroutine that keeps histories.
func (s *Store) records() {
	s.every(recordEvery, func() {
		if err := s.Record(); err != nil && !errors.Is(err, ErrClosed) {
			s.opts.Events.Error(err)
		}
	})
}

// Record adds a sample to the history of each value that was changed or asked since the
// last record. Otherwise this happens every minute. While changes are refused it does
// nothing.
func (s *Store) Record() error {
	s.recording.Lock()
	defer s.recording.Unlock()
	if s.log.writable() != nil {
		return nil
	}
	db := s.db.Load()
	if s.recorder.notes == nil {
		s.recorder.notes = map[uint64]*recorded{}
	}
	if err := s.prune(db); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	now := s.opts.Now()
	n := noting{recorder: &s.recorder, recovered: s.recovered, present: map[uint64]*recorded{}, room: maxHistories - s.recorder.small}
	err := db.apply(func(b *pebble.Batch) error {
		for _, v := range s.Names() {
			id := v.(value).head().id
			note, used := n.note(id, v)
			if !used {
				continue
			}
			traffic := v.Traffic()
			if err := s.record(db, b, id, v, note, traffic, now); err != nil {
				return err
			}
			note.at, note.traffic = v.LSN(), traffic
		}
		return nil
	}, false)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	s.recorder.notes, s.recorder.small, s.recorder.at = n.present, n.small, now
	for id := range n.present {
		s.recorder.kept[id] = struct{}{}
	}
	return nil
}

// noting is one pass over all values for a record.
type noting struct {
	*recorder
	recovered   LSN                  // changes up to it are those of an earlier process
	present     map[uint64]*recorded // of the values that have a history
	small, room int                  // of present, and still to be had, for small values
}

// note returns what is remembered of a value that has a history, and whether the value
// was used since.
func (n *noting) note(id uint64, v Value) (note *recorded, used bool) {
	at, traffic, large := v.LSN(), v.Traffic(), v.Bytes() >= historyLeast
	if note = n.notes[id]; note != nil {
		if used = at != note.at || traffic != note.traffic; used {
			note.idle = 0
		} else if note.idle++; note.idle > idleHistories && !large {
			n.partial = true
			return nil, false
		}
	} else {
		if at <= n.recovered && traffic == (Traffic{}) {
			return nil, false
		}
		if !large {
			if n.room <= 0 {
				n.partial = true
				return nil, false
			}
			n.room--
		}
		note, used = new(recorded), true
		if n.partial && !v.Created().After(n.at) {
			note.traffic = traffic // when it came is unknown
		}
	}
	if n.present[id] = note; !large {
		n.small++
	}
	return note, used
}

// record puts the samples of a value into a batch.
func (s *Store) record(db *database, b *pebble.Batch, id uint64, v Value, note *recorded, traffic Traffic, now time.Time) error {
	sample := sampleOf(v)
	since := slices.MaxFunc([]time.Time{s.recorder.at, v.Created(), s.Opened()}, time.Time.Compare)
	for span, ring := range rings {
		step := now.UnixNano() / int64(ring.step)
		key := historyKey(id, Span(span), step%ring.slots)
		if note.steps[span] != step {
			// After a restart, a part of the step may be there already.
			former, err := db.sample(key, Span(span))
			if err != nil {
				return err
			}
			note.steps[span], note.during[span], note.from[span] = step, Traffic{}, since
			if former != nil && former.Begin.UnixNano() == step*int64(ring.step) {
				note.during[span], note.from[span] = former.Traffic, former.From
			}
		}
		d := &note.during[span]
		d.Adds += traffic.Adds - note.traffic.Adds
		d.Checks += traffic.Checks - note.traffic.Checks
		d.Hits += traffic.Hits - note.traffic.Hits
		sample.Begin, sample.Traffic = time.Unix(0, step*int64(ring.step)), *d
		sample.From, sample.To = note.from[span], now
		if err := b.Set(key, sample.encode(), nil); err != nil {
			return err
		}
	}
	return nil
}

func sampleOf(v Value) Sample {
	p := Sample{Bytes: v.Bytes(), Rate: math.NaN()}
	switch v := v.(type) {
	case Filter:
		i := v.Info()
		p.Items, p.Capacity, p.Fill, p.Rate = i.Added, i.Capacity, i.Fill, i.ErrorRateNow
	case *Cuckoo:
		i := v.Info()
		p.Items, p.Capacity, p.Rate = i.Added, i.Slots, i.ErrorRate()
		p.Fill = float64(i.Added) / float64(max(i.Slots, 1))
	case *CountMin:
		p.Items = v.Total()
	case *TopK:
		best, _ := v.List()
		p.Items, p.Capacity = uint64(len(best)), uint64(v.Config().K)
	}
	return p
}

func (p Sample) encode() []byte {
	b := binary.AppendVarint(nil, p.Begin.Unix())
	for _, n := range []uint64{p.Items, p.Capacity, p.Bytes, p.Adds, p.Checks, p.Hits} {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(p.Fill)))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(p.Rate)))
	// Of the times only milliseconds are kept, so that the end of a sample is the beginning
	// of the next one.
	b = binary.AppendVarint(b, p.From.UnixMilli()-p.Begin.UnixMilli())
	return binary.AppendVarint(b, p.To.UnixMilli()-p.Begin.UnixMilli())
}

// parseSample reads a sample of a span. Older versions wrote no From and To: such a sample is
// taken to be of all of its step.
func parseSample(b []byte, span Span) (*Sample, error) {
	r := reader{b: b}
	p := &Sample{Begin: time.Unix(r.varint(), 0)}
	p.From, p.To = p.Begin, p.Begin.Add(span.Step())
	for _, n := range []*uint64{&p.Items, &p.Capacity, &p.Bytes, &p.Adds, &p.Checks, &p.Hits} {
		*n = r.uvarint()
	}
	if r.err == nil && len(r.b) < 8 {
		return nil, fmt.Errorf("a sample of a history with %d bytes for its rates", len(r.b))
	}
	if r.err != nil {
		return nil, fmt.Errorf("a sample of a history: %w", r.err)
	}
	p.Fill = float64(math.Float32frombits(binary.LittleEndian.Uint32(r.b)))
	p.Rate = float64(math.Float32frombits(binary.LittleEndian.Uint32(r.b[4:])))
	if r.b = r.b[8:]; len(r.b) > 0 {
		for _, t := range []*time.Time{&p.From, &p.To} {
			*t = p.Begin.Add(time.Duration(r.varint()) * time.Millisecond)
		}
		if r.err != nil || len(r.b) > 0 {
			return nil, fmt.Errorf("a sample of a history with %d bytes after its times", len(r.b))
		}
	}
	return p, nil
}

// sample returns the sample of a place of a span, nil if there is none.
func (d *database) sample(key []byte, span Span) (*Sample, error) {
	b, closer, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close() // it was only read
	return parseSample(b, span)
}

// History returns the samples of a value over a span until now, the oldest first.
func (s *Store) History(v Value, span Span) (samples []Sample, err error) {
	if int(span) >= len(rings) {
		return nil, fmt.Errorf("a history over the span %d; it is Hour, Day or Month", span)
	}
	// Close waits for it.
	s.Begin()
	defer s.End()
	if err := s.log.stopped(); err != nil {
		return nil, err
	}
	oldest := s.opts.Now().Add(-span.Length() - span.Step())
	id := v.(value).head().id
	err = s.db.Load().scan(historyKey(id, span, 0), historyKey(id, span+1, 0), func(_, b []byte) error {
		p, err := parseSample(b, span)
		if err == nil && !p.Begin.Before(oldest) {
			samples = append(samples, *p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	slices.SortFunc(samples, func(a, b Sample) int { return a.Begin.Compare(b.Begin) })
	return samples, nil
}

// prune finds out, once, which values have histories, and deletes the histories of values
// that no longer exist.
func (s *Store) prune(db *database) error {
	if s.recorder.kept != nil {
		return nil
	}
	it, err := db.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefixHistory}, UpperBound: []byte{prefixHistory + 1}})
	if err != nil {
		return err
	}
	kept := map[uint64]struct{}{}
	var gone []uint64
	for ok := it.First(); ok; {
		id := binary.BigEndian.Uint64(it.Key()[1:])
		s.space.Lock()
		if s.values[id] == nil {
			gone = append(gone, id)
		} else {
			kept[id] = struct{}{}
		}
		s.space.Unlock()
		ok = it.SeekGE(historyKey(id+1, 0, 0))
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	err = db.apply(func(b *pebble.Batch) error {
		for _, id := range gone {
			if err := forget(b, id); err != nil {
				return err
			}
		}
		return nil
	}, false)
	if err == nil {
		s.recorder.kept = kept
	}
	return err
}

// forgetHistories deletes the histories of values that no longer exist, if it is known
// which values have one; prune finds the others.
func (s *Store) forgetHistories(b *pebble.Batch, gone []uint64) error {
	s.recording.Lock()
	defer s.recording.Unlock()
	for _, id := range gone {
		if _, ok := s.recorder.kept[id]; !ok {
			continue
		}
		delete(s.recorder.kept, id)
		if err := forget(b, id); err != nil {
			return err
		}
	}
	return nil
}

func forget(b *pebble.Batch, id uint64) error {
	return b.DeleteRange(historyKey(id, 0, 0), historyKey(id+1, 0, 0), nil)
}

func historyKey(id uint64, span Span, slot int64) []byte {
	return binary.BigEndian.AppendUint16(append(numbered(prefixHistory, id), byte(span)), uint16(slot))
}
