package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"

	"seen/interop"
)

// Foreign is a Bloom filter of another system, in that system's own bytes. It answers as
// that system would, and never changes. Questions take no lock.
//
// Keys are bytes. A filter of numbers takes them in decimal digits, and answers no for
// anything else.
type Foreign struct {
	whole
	format string // opens contents: a specification of package interop
	bytes  []byte
	filter interop.Foreign
	info   FilterInfo // without Bytes
}

// AppendForeign appends the payload for Restore that makes a [Foreign]: of the filter
// whose bytes are contents, which the specification opens. The payload is for any server,
// whatever the secret of its hash.
func AppendForeign(dst []byte, spec interop.Spec, contents []byte) []byte {
	im := &image{kind: kindForeign, meta: []byte(spec.String()), parts: []part{{state: partInline, inline: contents}}}
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(append(dst, payloadMagic...), 0)
	dst = im.append(dst)
	return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}

func (s *Store) loadForeign(im *image, contents []byte) (value, error) {
	contents = bytes.Clone(contents) // they are released, or part of an image whose memory is used again
	spec, err := interop.ParseSpec(string(im.meta))
	if err != nil {
		return nil, err
	}
	// Strings of an RDB file are laid out anew, in as much memory as a few bytes claim.
	if _, inside := spec.Params["rdb"]; inside {
		return nil, fmt.Errorf("format %s: a string is loaded by itself, without the RDB file around it", spec)
	}
	filter, err := interop.Open(contents, spec)
	if err != nil {
		return nil, err
	}
	f := &Foreign{format: string(im.meta), bytes: contents, filter: filter}
	f.start(s, kindForeign)
	f.describe()
	f.loaded(im, uint64(len(contents)))
	f.blank = false
	return f, nil
}

// describe reads all bits once, since they do not change.
func (f *Foreign) describe() {
	st := f.filter.Stats()
	f.info = FilterInfo{
		Layout: LayoutForeign, ErrorRate: st.AskedErrorRate,
		Layers: []LayerInfo{{
			Bytes: st.Bytes, Bits: st.Bits, Probes: st.Probes, Capacity: st.Capacity, Added: st.Added,
			ErrorRate: st.AskedErrorRate, Fill: st.Fill,
		}},
	}
	f.info.sum([]float64{st.ErrorRate})
}

// Format returns the specification of package interop that opens the contents.
func (f *Foreign) Format() string { return f.format }

// Filter returns the filter that Format opens, which is asked and not changed.
func (f *Foreign) Filter() interop.Foreign { return f.filter }

// Contents returns the bytes that Format opens. They may not be changed.
func (f *Foreign) Contents() []byte { return f.bytes }

// Has implements [Filter]. It takes no lock.
func (f *Foreign) Has(found []bool, keys [][]byte) LSN {
	found = found[:len(keys)]
	numbers := f.filter.KeyKind() == interop.KeyInt64
	for i, key := range keys {
		if numbers {
			n, err := strconv.ParseInt(string(key), 10, 64)
			if err != nil {
				found[i] = false
				continue
			}
			key = interop.Int64Key(n)
		}
		found[i] = f.filter.Has(key)
	}
	return f.LSN()
}

func (f *Foreign) readOnly() error { return fmt.Errorf("%w: format %s", ErrReadOnly, f.format) }

// Add implements [Filter] by ErrReadOnly.
func (f *Foreign) Add([]bool, [][]byte) (done int, at LSN, err error) {
	return 0, f.LSN(), f.readOnly()
}

// Clear implements [Filter] by ErrReadOnly.
func (f *Foreign) Clear() (LSN, error) { return f.LSN(), f.readOnly() }

// Layers implements [Filter].
func (f *Foreign) Layers() int { return 1 }

// Info implements [Filter]. It reads no bits.
func (f *Foreign) Info() FilterInfo {
	i := f.info
	i.Bytes = f.Bytes()
	return i
}

// Dump implements [Filter]: such a filter has no chunks, which is an ErrReadOnly.
func (f *Foreign) Dump(int64) (next int64, data []byte, at LSN, err error) {
	return 0, nil, f.LSN(), fmt.Errorf("%w, which has no chunks; DUMP returns all of it", f.readOnly())
}

func (f *Foreign) capture() (*capture, error) {
	return f.captureWhole([]byte(f.format), uint64(len(f.bytes)), bytes.NewReader(f.bytes), nil)
}

func (f *Foreign) renamed() value {
	c := &Foreign{format: f.format, bytes: f.bytes, filter: f.filter, info: f.info}
	f.whole.moveTo(&c.whole)
	return c
}

// replay implements value. Nothing about the contents is ever logged.
func (f *Foreign) replay(op operation, _ LSN) error {
	return fmt.Errorf("operation %d does not exist for filters of other systems", op.code)
}
