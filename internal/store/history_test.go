package store

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// handClock is a clock that a test moves.
type handClock struct{ nanos atomic.Int64 }

func newHandClock() *handClock {
	c := new(handClock)
	c.nanos.Store(time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *handClock) Now() time.Time          { return time.Unix(0, c.nanos.Load()) }
func (c *handClock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

func historyOf(t *testing.T, s *Store, name string, span Span) []Sample {
	t.Helper()
	samples, err := s.History(s.Get([]byte(name)), span)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// A history says what was in the value and what it was asked, step by step, also
// after a restart, and takes no more place with time.
func TestHistory(t *testing.T) {
	clock, fsys := newHandClock(), vfs.NewMem()
	open := func() *Store {
		s, err := Open("/d", Options{FS: fsys, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if _, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: 1e-6, Capacity: 1000}); err != nil {
		t.Fatal(err)
	}
	found := make([]bool, 10)
	use := func(i int) {
		t.Helper()
		keys := testKeys(string(rune('a'+i)), 10)
		f := s.Get([]byte("a")).(Filter)
		if _, _, err := f.Add(found, keys); err != nil {
			t.Fatal(err)
		}
		f.Has(found[:5], keys[:5])
		if err := s.Record(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		use(i)
		clock.advance(time.Minute)
	}
	check := func(when string) {
		t.Helper()
		got := historyOf(t, s, "a", Hour)
		if len(got) != 5 {
			t.Fatalf("%s: %d samples", when, len(got))
		}
		for i, p := range got {
			want := Traffic{Adds: 10, Checks: 5, Hits: 5}
			if p.Items != uint64(10*(i+1)) || p.Traffic != want || p.Capacity != 1000 || !(p.Fill > 0 && p.Rate > 0) || p.Bytes == 0 {
				t.Errorf("%s: sample %d: %+v", when, i, p)
			}
			at := time.Date(2024, 5, 17, 12, i, 0, 0, time.UTC)
			from := at.Add(-time.Minute)
			if i == 0 {
				from = at // when the value was made
			}
			if !p.Begin.Equal(at) || !p.To.Equal(at) || !p.From.Equal(from) {
				t.Errorf("%s: sample %d is of %v, from %v to %v", when, i, p.Begin, p.From, p.To)
			}
		}
	}
	check("before")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	check("after a restart")
	// The rest of a long step is added to what was there of it.
	use(5)
	if day := historyOf(t, s, "a", Day); len(day) != 1 || day[0].Adds != 60 || day[0].Hits != 30 || day[0].Items != 60 {
		t.Errorf("the day: %+v", day)
	} else if p := day[0]; !p.From.Equal(p.Begin) || p.To.Sub(p.From) != 5*time.Minute {
		t.Errorf("the day's traffic is from %v to %v", p.From, p.To)
	}
	// Nothing happens, nothing is written.
	clock.advance(2 * time.Minute)
	if err := s.Record(); err != nil {
		t.Fatal(err)
	}
	if hour := historyOf(t, s, "a", Hour); len(hour) != 6 {
		t.Errorf("%d samples", len(hour))
	}
	// For 40 days: rings turn, and show no more than their span.
	for range 40 * 4 {
		clock.advance(6 * time.Hour)
		s.Get([]byte("a")).(Filter).Has(found, testKeys("x", 10))
		if err := s.Record(); err != nil {
			t.Fatal(err)
		}
	}
	for span, most := range map[Span]int{Hour: 1, Day: 5, Month: 122} {
		if got := historyOf(t, s, "a", span); len(got) > most || len(got) < most-2 {
			t.Errorf("span %d: %d samples, want %d", span, len(got), most)
		}
	}
	places := 0
	if err := s.db.Load().scan([]byte{prefixHistory}, []byte{prefixHistory + 1}, func([]byte, []byte) error { places++; return nil }); err != nil {
		t.Fatal(err)
	}
	if places > 62+98+122 {
		t.Errorf("%d places", places)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// The history of a deleted value is deleted, by the next checkpoint or, if that
// came first, after the next start.
func TestHistoryGoes(t *testing.T) {
	clock, fsys := newHandClock(), vfs.NewMem()
	s, err := Open("/d", Options{FS: fsys, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	samples := func() (n int) {
		if err := s.db.Load().scan([]byte{prefixHistory}, []byte{prefixHistory + 1}, func([]byte, []byte) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, name := range []string{"a", "b"} {
		if _, _, err := s.CreateBloom([]byte(name), BloomConfig{ErrorRate: 0.01, Capacity: 10}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Record(); err != nil || samples() != 6 {
		t.Fatalf("%d samples, %v", samples(), err)
	}
	late := s.Get([]byte("b"))
	for _, name := range []string{"a", "b"} {
		if _, _, err := s.Delete([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Checkpoint(t.Context()); err != nil || samples() != 0 {
		t.Fatalf("%d samples after the checkpoint, %v", samples(), err)
	}
	// What a crash may have left behind.
	err = s.db.Load().apply(func(b *pebble.Batch) error {
		return b.Set(historyKey(4711, Hour, 3), sampleOf(late).encode(), nil)
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open("/d", Options{FS: fsys, Now: clock.Now}); err != nil {
		t.Fatal(err)
	}
	if samples() != 1 {
		t.Fatalf("%d samples after the start", samples())
	}
	if err := s.Record(); err != nil || samples() != 0 {
		t.Errorf("%d samples after the first record, %v", samples(), err)
	}
}

// While a value is in use, each sample of its history begins where the one before ends.
func TestSamplesJoin(t *testing.T) {
	clock := newHandClock()
	s, err := Open("/d", Options{FS: vfs.NewMem(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // it is in memory
	f, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: 1e-6, Capacity: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		clock.advance(time.Minute + 1_234_567)
		f.Has(make([]bool, 1), testKeys("k", 1))
		if err := s.Record(); err != nil {
			t.Fatal(err)
		}
	}
	for _, span := range []Span{Hour, Day} {
		samples := historyOf(t, s, "a", span)
		for i := range samples[1:] {
			if !samples[i].To.Equal(samples[i+1].From) {
				t.Errorf("a sample ends at %v, the next begins at %v", samples[i].To, samples[i+1].From)
			}
		}
	}
}

// A sample without times, of an older version, is of all of its step.
func TestSampleWithoutTimes(t *testing.T) {
	begin := time.Unix(1715947200, 0)
	old := Sample{Begin: begin, Items: 7, From: begin, To: begin}.encode()
	p, err := parseSample(old[:len(old)-2], Day)
	if err != nil || p.Items != 7 || !p.From.Equal(begin) || p.To.Sub(begin) != 15*time.Minute {
		t.Errorf("%+v, %v", p, err)
	}
}

// A sample is read as it was written; other bytes are refused.
func FuzzSample(f *testing.F) {
	f.Add(Sample{Begin: time.Unix(1715947200, 0), Items: 7, Capacity: 100, Bytes: 4711, Fill: 0.25, Rate: math.NaN(), Traffic: Traffic{1, 2, 3}}.encode())
	f.Add(Sample{Begin: time.Unix(1715947200, 0), From: time.Unix(1715947140, 5e6), To: time.Unix(1715947201, 0)}.encode())
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseSample(b, Hour)
		if (p == nil) != (err != nil) {
			t.Fatal(p, err)
		}
		if err != nil {
			return
		}
		again, err := parseSample(p.encode(), Hour)
		if err != nil || again.Items != p.Items || again.Traffic != p.Traffic || !again.Begin.Equal(p.Begin) ||
			math.Float64bits(again.Fill) != math.Float64bits(p.Fill) && !math.IsNaN(p.Fill) {
			t.Fatalf("%+v, %+v, %v", p, again, err)
		}
	})
}
