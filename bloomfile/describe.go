package bloomfile

import (
	"seen/bloom"
	"seen/internal/frame"
	"seen/sizing"
)

// Info is what a file's header says.
type Info struct {
	Type      string  // such as "blocked"
	Format    int     // version of the file format
	Size      int64   // of the file in bytes
	Capacity  uint64  // distinct keys it was made for; 0 with explicit parameters
	ErrorRate float64 // rate it was made for; 0 likewise
	Added     uint64  // calls to Add that returned true, in all parts; sketches do not count them
	Hash      bloom.Hash
	KeyID     uint64 // identifies the secret of the hash; 0 if it has none
	Rules     string // what was done to keys before they were hashed; see package keys
	Writable  bool
	Sketch    bool // the file has a sketch of package sketch, not a filter

	Parts int           // number of arrays
	Bytes uint64        // of all parts
	Cells uint64        // bits, counters, slots or registers of all parts; Unit says which
	Unit  string        // what Cells counts, such as "bits" or "registers"
	Last  sizing.Params // layout of the last part, as far as its kind has one
	Exact bool          // the hashes of all keys are there

	// What a filter consists of; zero for sketches.
	bloom.Description
	Window *bloom.WindowConfig // of a window
}

// units names the cells of a part.
var units = map[frame.Kind]string{
	frame.KindClassic: "bits", frame.KindBlocked: "bits", frame.KindPartitioned: "bits", frame.KindCounters: "counters",
	frame.KindFuse: "slots", frame.KindFingerprints: "fingerprints of 64 bits", frame.KindRegisters: "registers",
	frame.KindBytes: "buckets", frame.KindBuckets: "slots",
}

// Info describes the file. It reads nothing but the header, unlike Stats.
// Info.Hash is without its secret unless that was given to Open.
func (f *File) Info() Info {
	h := f.header
	i := Info{
		Type: h.Type.String(), Format: int(h.Version), Size: int64(f.layout.Total), Parts: len(h.Parts),
		Capacity: h.Capacity, ErrorRate: h.ErrorRate, Rules: h.Rules,
		Hash:  bloom.Hash{Algorithm: bloom.Algorithm(h.HashAlgorithm), Seed: h.HashSeed, Secret: h.HashSecret},
		KeyID: h.HashKeyID, Writable: f.writer != nil, Sketch: h.Type.Sketch(),
	}
	for _, p := range h.Parts {
		i.Added += p.Added
		i.Cells += p.M
		i.Bytes += p.Length
		i.Unit = units[p.Kind]
		i.Last = sizing.Params{M: p.M, K: int(p.K), Lines: int(p.Lines), Lanes: int(p.Lanes), CounterBits: int(p.CounterBits)}
		i.Exact = p.Kind == frame.KindFingerprints && !i.Sketch
		if layout, ok := p.Params(); ok {
			i.Last = layout
		}
	}
	if f.view == nil {
		return i
	}
	i.Hash, i.Added, i.Description = f.view.Hash(), f.view.Added(), bloom.Describe(f.view)
	if w, ok := f.view.(*bloom.Window); ok {
		c := w.Config()
		i.Window = &c
	}
	return i
}
