package store

import (
	"encoding/binary"
	"fmt"
	"io"
)

// image is all of a value at one position of the log, as the catalogue keeps it and
// as an operation creates it.
type image struct {
	kind    kind
	id      uint64
	at      LSN // operations up to it are in the image
	name    string
	created int64
	expire  int64
	meta    []byte // what describes the value, except for its arrays
	parts   []part
}

// part is an array of a value.
type part struct {
	state  partState // where the contents are
	inline []byte    // partInline: the contents
	file   fileRef   // partFile
}

// fileRef refers to the file of an array. The sum is the last four bytes of the file, a
// checksum that covers all others, directly or through a table of checksums. It tells the
// file from every other, even one of the same shape.
type fileRef struct {
	number uint64 // 0: there is no file
	sum    uint32
	summed bool // sum is known; references of version 1 of the directory have none
}

type partState uint8

const (
	partEmpty  partState = 0 // all zero
	partInline partState = 1
	partFile   partState = 2
	partSummed partState = 3 // on disk only: partFile with the sum
)

// append appends the image, without its id and position, to b.
func (im *image) append(b []byte) []byte {
	b = append(b, byte(im.kind))
	b = appendBytes(b, []byte(im.name))
	b = binary.AppendVarint(b, im.created)
	b = binary.AppendVarint(b, im.expire)
	b = appendBytes(b, im.meta)
	b = binary.AppendUvarint(b, uint64(len(im.parts)))
	for _, p := range im.parts {
		switch {
		case p.state == partFile && p.file.summed:
			b = binary.AppendUvarint(append(b, byte(partSummed)), p.file.number)
			b = binary.LittleEndian.AppendUint32(b, p.file.sum)
		case p.state == partFile:
			b = binary.AppendUvarint(append(b, byte(partFile)), p.file.number)
		case p.state == partInline:
			b = appendBytes(append(b, byte(partInline)), p.inline)
		default:
			b = append(b, byte(p.state))
		}
	}
	return b
}

// files returns the files that the image refers to.
func (im *image) files() []storedFile {
	var files []storedFile
	for _, p := range im.parts {
		if p.state == partFile {
			files = append(files, storedFile{p.file, im.at})
		}
	}
	return files
}

// encode returns the image as the catalogue has it.
func (im *image) encode() []byte { return im.append(binary.AppendUvarint(nil, uint64(im.at))) }

// parseCatalogued takes apart what encode returns. The image refers to b.
func parseCatalogued(id uint64, b []byte) (*image, error) {
	r := reader{b: b}
	at := LSN(r.uvarint())
	if r.err != nil {
		return nil, r.err
	}
	im, err := parseImage(r.b)
	if err != nil {
		return nil, err
	}
	im.id, im.at = id, at
	return im, nil
}

// maxInline is the length up to which the contents of an array are in the image instead of
// in a file of their own.
const maxInline = 64 << 10

// maxParts bounds the arrays of a value.
const maxParts = maxLayers

// parseImage takes an image apart. It refers to b.
func parseImage(b []byte) (*image, error) {
	r := reader{b: b}
	im := &image{kind: kind(r.byte()), name: string(r.bytes()), created: r.varint(), expire: r.varint(), meta: r.bytes()}
	n := r.uvarint()
	if r.err == nil && (n > maxParts || n > uint64(len(r.b))) {
		return nil, fmt.Errorf("an image with %d arrays", n)
	}
	for range n {
		p := part{state: partState(r.byte())}
		switch p.state {
		case partEmpty:
		case partInline:
			p.inline = r.bytes()
		case partFile:
			p.file.number = r.uvarint()
		case partSummed:
			p.state = partFile
			p.file = fileRef{number: r.uvarint(), sum: r.uint32(), summed: true}
		default:
			return nil, fmt.Errorf("an array in state %d", p.state)
		}
		im.parts = append(im.parts, p)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return im, nil
}

// capture is an image whose arrays may have to be written to files first.
type capture struct {
	*image
	// write writes the contents of part i, of those for which there is one.
	write []func(io.Writer) error
	// inPlace says that write reads the value itself: it may only be used while the mutex
	// of the value is held.
	inPlace bool
	// release, unless it is nil, gives back the memory of the copy that write reads.
	release func()
	// saved, unless it is nil, is called with the mutex held when the catalogue or
	// the log has the image; at is its position.
	saved func(im *image, at LSN)
}

// drop releases what was to be written.
func (c *capture) drop() {
	c.write = nil
	if c.release != nil {
		c.release()
		c.release = nil
	}
}
