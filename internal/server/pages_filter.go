package server

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"seen/internal/figure"
	"seen/internal/resp"
	"seen/internal/store"
	"seen/internal/web"
	"seen/sizing"
)

// ask runs a command as the visitor. What the command refuses is an error to be read.
func (v *visitor) ask(words ...[]byte) (resp.Value, error) {
	answer, err := v.newInside(v.user).ask(words...)
	if err == nil && answer.Kind == resp.Error {
		err = refusalOf(answer.Text)
	}
	return answer, err
}

// refusalOf returns the error of a command as one for visitors.
func refusalOf(text string) error {
	status, rest := commandFailure(text)
	return &web.Refused{Status: status, Text: rest}
}

func (v *visitor) do(words ...string) (resp.Value, error) {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	return v.ask(args...)
}

// may reports whether the visitor may run a command.
func (v *visitor) may(words ...string) bool {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	d, _ := v.user.rights.Load().check(v.table.find(args), args)
	return d == denyNothing
}

// value returns the value of a name and its kind, if the visitor may read it.
func (v *visitor) value(name string) (store.Value, *valueKind, error) {
	kind, err := v.do("TYPE", name)
	if err != nil {
		return nil, nil, err
	}
	for i := range valueKinds {
		if valueKinds[i].redis != kind.Text {
			continue
		}
		k := &valueKinds[i]
		// The command counts in statistics, and says no to who may not ask.
		if _, err := v.do(k.info, name); err != nil {
			return nil, nil, err
		}
		if value := v.store.Get([]byte(name)); value != nil && value.Type() == k.redis {
			return value, k, nil
		}
	}
	return nil, nil, &web.Refused{Status: http.StatusNotFound, Text: fmt.Sprintf("There is no filter %q.", name)}
}

// changes are the commands by which visitors change a value, by its type; "" where
// there is none.
var changes = map[string]struct{ add, clear string }{
	"bloom":    {"BF.INSERT", "BF.CLEAR"},
	"cuckoo":   {"CF.INSERTNX", ""},
	"countmin": {"CMS.INCRBY", ""},
	"topk":     {"TOPK.ADD", ""},
}

// questions are the commands by which visitors ask for keys, by the type.
var questions = map[string]string{"bloom": "BF.MEXISTS", "cuckoo": "CF.MEXISTS", "countmin": "CMS.QUERY", "topk": "TOPK.COUNT"}

// Filter returns all about a filter.
func (v *visitor) Filter(name string) (*web.Detail, error) {
	value, kind, err := v.value(name)
	if err != nil {
		return nil, err
	}
	d := &web.Detail{Filter: describe(value), Created: value.Created()}
	d.Name, d.Bytes, d.Expires, d.Hits = name, value.Bytes(), value.Expires(), math.NaN()
	rows, _, _ := v.board.show(v.store, v.config.Now())
	for _, row := range rows {
		if row.Name == name {
			d.Adds, d.Checks, d.Hits = row.Adds, row.Checks, row.Hits
		}
	}
	c := changes[kind.name]
	d.May = web.May{
		Check: v.may(questions[kind.name], name, "x"), Add: v.may(c.add, name, "x", "x"),
		Clear: c.clear != "" && v.may(c.clear, name), Expire: v.may("PEXPIRE", name, "1"), Delete: v.may("DEL", name),
	}
	if f, ok := value.(*store.Foreign); ok { // which nothing changes
		d.May.Add, d.May.Clear = false, false
		d.Facts = append(d.Facts, web.Fact{Name: "format", Value: f.Format()})
	}
	d.Facts = append(d.Facts, web.Fact{Name: "made", Value: d.Created.UTC().Format(time.DateTime) + " UTC"})
	v.explain(d, value)
	if c := counted(value); c != nil {
		d.Keys = c.Keys(d.Items)
	}
	if v.may("DUMP", name) {
		d.Formats, d.NoFormat = formats(value, name)
	}
	return d, nil
}

// explain fills in what depends on the type.
func (v *visitor) explain(d *web.Detail, value store.Value) {
	fact := func(name, value string) { d.Facts = append(d.Facts, web.Fact{Name: name, Value: value}) }
	whole := func(name string, n uint64) { fact(name, figure.Comma(n)) }
	switch value := value.(type) {
	case store.Filter:
		i := value.Info()
		d.Fill, d.Window = i.Fill, i.Span
		fact("layout", i.Layout.String())
		fact("error rate asked for", figure.Rate(i.ErrorRate))
		if i.Span != 0 {
			fact("window", i.Span.String())
		} else if i.Expansion == 0 {
			fact("growth", "none: it is full at its capacity")
		} else {
			fact("growth", fmt.Sprintf("by %d", i.Expansion))
		}
		for _, l := range i.Layers {
			d.Layers = append(d.Layers, web.Layer{
				Bits: l.Bits, Probes: l.Probes, Capacity: l.Capacity, Added: l.Added, Bytes: l.Bytes, Asked: l.ErrorRate, Fill: l.Fill, Begin: l.Begin,
			})
		}
		if n := len(i.Layers); n > 0 {
			last := i.Layers[n-1]
			whole("bits, m", last.Bits)
			whole("probes, k", uint64(last.Probes))
			fact("bits per key of its capacity", strconv.FormatFloat(float64(last.Bits)/float64(max(last.Capacity, 1)), 'f', 1, 64))
		}
	case *store.Cuckoo:
		i := value.Info()
		d.Fill = float64(i.Added) / float64(max(i.Slots, 1))
		fact("layout", i.Layout.String())
		whole("sub-filters", uint64(i.Filters))
		whole("slots", i.Slots)
		whole("slots of a bucket", uint64(i.BucketSize))
		whole("iterations to make room", uint64(i.MaxIterations))
		whole("growth by", uint64(i.Expansion))
		whole("removed since the last compaction", i.Removed)
	case *store.CountMin:
		whole("counters of a row", value.Width())
		whole("rows", uint64(value.Depth()))
		stuck, of := value.StuckCounters(sampledCounters)
		d.Stuck = &web.Stuck{Stuck: stuck, Of: of}
	case *store.TopK:
		c := value.Config()
		whole("keys that are kept, k", uint64(c.K))
		whole("counters of a row", uint64(c.Width))
		whole("rows", uint64(c.Depth))
		fact("decay", strconv.FormatFloat(c.Decay, 'g', -1, 64))
		if v.may("TOPK.LIST", d.Name) {
			best, _ := value.List()
			for _, e := range best[:min(len(best), shownBest)] {
				d.Best = append(d.Best, web.Counted{Key: string(e.Key), Count: uint64(e.Count)})
			}
		}
	}
}

const (
	sampledLines    = 1024    // of each layer, in a picture
	sampledCounters = 1 << 16 // to find those that are stuck
	shownBest       = 100     // keys of a top-k sketch
	// mostComparedBytes bounds what a page reads to compare two filters, of each.
	mostComparedBytes = 1 << 30
)

// spans are those of the store by those of the pages.
var spans = map[web.Span]store.Span{web.Hour: store.Hour, web.Day: store.Day, web.Month: store.Month}

// History returns the samples of a filter.
func (v *visitor) History(name string, span web.Span) ([]web.Sample, error) {
	value, _, err := v.value(name)
	if err != nil {
		return nil, err
	}
	of := spans[span]
	stored, err := v.store.History(value, of)
	keys := counted(value)
	samples := make([]web.Sample, len(stored))
	for i, s := range stored {
		samples[i] = web.Sample{
			Begin: s.Begin, Step: of.Step(), Items: s.Items, Capacity: s.Capacity, Fill: s.Fill, Rate: s.Rate,
			Adds: s.Adds, Checks: s.Checks, Hits: s.Hits,
		}
		if keys != nil {
			samples[i].Keys = keys.Keys(s.Items)
		}
	}
	return samples, err
}

// counted returns what the count of a Bloom filter tells of its keys; nil for others and
// for windows, which forget.
func counted(value store.Value) *sizing.Counted {
	f, ok := value.(store.Filter)
	if !ok {
		return nil
	}
	i := f.Info()
	shares, layers := make([]uint64, len(i.Layers)), make([]sizing.Params, len(i.Layers))
	for n, l := range i.Layers {
		if shares[n], layers[n] = l.Added, l.Params; l.Params.Validate() != nil {
			return nil
		}
	}
	if i.Span != 0 {
		return nil
	}
	return sizing.NewCounted(shares, layers)
}

// Bits returns shares of ones.
func (v *visitor) Bits(name string) ([][]float64, error) {
	value, _, err := v.value(name)
	if err != nil {
		return nil, err
	}
	all := store.SampleBits(value, sampledLines)
	return all[max(0, len(all)-shownLayers):], nil
}

// shownLayers bounds a picture to the newest layers.
const shownLayers = 8

// Compare estimates what two filters have in common.
func (v *visitor) Compare(a, b string) (*web.Comparison, error) {
	var filters []store.Filter
	for _, name := range []string{a, b} {
		value, _, err := v.value(name)
		if err != nil {
			return nil, err
		}
		f, ok := value.(store.Filter)
		if !ok {
			return nil, &web.Refused{Status: http.StatusBadRequest, Text: fmt.Sprintf("%q is no Bloom filter.", name)}
		}
		if f.Bytes() > mostComparedBytes {
			return nil, &web.Refused{Status: http.StatusBadRequest, Text: fmt.Sprintf("%q is larger than the %s that a page reads; ask with BF.INTERCARD.", name, figure.Bytes(mostComparedBytes))}
		}
		filters = append(filters, f)
	}
	if !v.may("BF.UNIONCARD", a, b) || !v.may("BF.INTERCARD", a, b) {
		return nil, &web.Refused{Status: http.StatusForbidden, Text: "The user " + v.user.name + " may not compare filters."}
	}
	c := &web.Comparison{A: a, B: b}
	overlap, err := v.store.Overlap(nil, filters[0], filters[1])
	if err != nil {
		return nil, &web.Refused{Status: http.StatusBadRequest, Text: "They cannot be compared: " + err.Error() + "."}
	}
	c.KeysA, c.KeysB = overlap.A, overlap.B
	c.Union, c.Intersection, c.Jaccard = overlap.Union, overlap.Intersection, overlap.Jaccard
	return c, nil
}

// Check returns the answers for keys.
func (v *visitor) Check(name string, keys [][]byte) ([]web.Answer, error) {
	_, kind, err := v.value(name)
	if err != nil {
		return nil, err
	}
	reply, err := v.ask(append([][]byte{[]byte(questions[kind.name]), []byte(name)}, keys...)...)
	if err != nil {
		return nil, err
	}
	if len(reply.Elems) != len(keys) {
		return nil, fmt.Errorf("%d answers for %d keys", len(reply.Elems), len(keys))
	}
	answers := make([]web.Answer, len(keys))
	for i, e := range reply.Elems {
		answers[i] = web.Answer{Key: string(keys[i]), Found: e.Int > 0}
		if kind.check == "" {
			answers[i].Count = uint64(max(e.Int, 0))
		}
	}
	return answers, nil
}

// Add adds the keys of lines.
func (v *visitor) Add(name string, lines io.Reader) (added, all int, err error) {
	_, kind, err := v.value(name)
	if err != nil {
		return 0, 0, err
	}
	keys, err := newKeyReader("text/plain", lines)
	if err != nil {
		return 0, 0, err
	}
	if changes[kind.name].clear == "" && kind.check == "" {
		return v.addCounted(name, kind, keys)
	}
	command := []string{changes[kind.name].add, name, "NOCREATE", "ITEMS"}
	for b, more := (&batch{}), true; more; {
		b.reset(command)
		if more, err = b.fill(keys, math.MaxInt); err != nil {
			return added, all, unreadable(err)
		}
		n := len(b.args) - len(command)
		if n == 0 {
			break
		}
		reply, err := v.ask(b.args...)
		if err != nil {
			return added, all, err
		}
		for _, e := range reply.Elems {
			switch {
			case e.Kind == resp.Error:
				return added, all, refusalOf(e.Text)
			case e.Int < 0:
				return added, all, &web.Refused{Status: http.StatusInsufficientStorage, Text: "The filter is full."}
			case e.Int == 1:
				added++
			}
			all++
		}
	}
	return added, all, nil
}

// addCounted adds keys to a value that counts them; none of them is new.
func (v *visitor) addCounted(name string, kind *valueKind, keys keyReader) (added, all int, err error) {
	for b, more := (&batch{}), true; more; {
		b.reset(nil)
		if more, err = b.fill(keys, math.MaxInt); err != nil {
			return 0, all, unreadable(err)
		}
		if len(b.args) == 0 {
			break
		}
		words := [][]byte{[]byte(changes[kind.name].add), []byte(name)}
		for _, key := range b.args {
			words = append(words, key)
			if kind.name == "countmin" {
				words = append(words, []byte("1"))
			}
		}
		if _, err := v.ask(words...); err != nil {
			return 0, all, err
		}
		all += len(b.args)
	}
	return 0, all, nil
}

// unreadable is the error of keys that cannot be read.
func unreadable(err error) error {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return &web.Refused{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("The text has more than %d bytes.", long.Limit)}
	}
	return &web.Refused{Status: http.StatusBadRequest, Text: "The text cannot be read: " + err.Error() + "."}
}

// Clear forgets all keys.
func (v *visitor) Clear(name string) error {
	_, err := v.do("BF.CLEAR", name)
	return err
}

// Expire sets or takes back when a filter is deleted.
func (v *visitor) Expire(name string, after time.Duration) error {
	words := []string{"PERSIST", name}
	if after > 0 {
		words = []string{"PEXPIRE", name, strconv.FormatInt(after.Milliseconds(), 10)}
	}
	return v.changed(name, words)
}

// Delete deletes a filter.
func (v *visitor) Delete(name string) error { return v.changed(name, []string{"DEL", name}) }

// changed runs a command that answers 0 where there is nothing to change.
func (v *visitor) changed(name string, words []string) error {
	reply, err := v.do(words...)
	if err == nil && reply.Int == 0 && v.store.Get([]byte(name)) == nil {
		err = &web.Refused{Status: http.StatusNotFound, Text: fmt.Sprintf("There is no filter %q.", name)}
	}
	return err
}
