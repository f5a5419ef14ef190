package input

import (
	"bufio"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// readSize is the size of one read of a compressed file.
const readSize = 256 << 10

// maxZstdWindow admits every window the zstd tool can write (--long=31).
const maxZstdWindow = 1 << 31

// decompress returns the content of r, which is stored as f. It reads to the
// end of r: concatenated members, frames and streams follow each other, and
// anything else behind the last one is an error. jobs bounds the goroutines of
// decoders that can use several. The result is closed when it is an io.Closer.
func decompress(f Format, r io.Reader, jobs int) (io.Reader, error) {
	switch f {
	case Gzip:
		return &members{src: bufio.NewReaderSize(r, readSize)}, nil
	case Zstd:
		d, err := zstd.NewReader(bufio.NewReaderSize(r, readSize),
			zstd.WithDecoderConcurrency(max(jobs, 1)),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case XZ:
		t := &tail{r: r}
		d, err := xz.ReaderConfig{DictCap: lzma.MinDictCap}.NewReader(bufio.NewReaderSize(t, readSize))
		if err != nil {
			return nil, err
		}
		return &footed{r: d, tail: t}, nil
	case Bzip2:
		return bzip2.NewReader(bufio.NewReaderSize(r, readSize)), nil
	case LZ4:
		d := lz4.NewReader(bufio.NewReaderSize(r, readSize))
		if err := d.Apply(lz4.ConcurrencyOption(max(jobs, 1))); err != nil {
			return nil, err
		}
		return d, nil
	}
	return r, nil
}

// members reads the members of a gzip file one after the other. The reader of
// the library can do that too, but it takes a file cut inside the header of a
// later member for one that ends there.
type members struct {
	src  *bufio.Reader
	gzip *gzip.Reader
	err  error
}

func (m *members) Read(p []byte) (int, error) {
	for m.err == nil {
		if m.gzip == nil {
			if m.gzip, m.err = gzip.NewReader(m.src); m.err != nil {
				m.err = unexpected(m.err)
				return 0, m.err
			}
			m.gzip.Multistream(false)
		}
		n, err := m.gzip.Read(p)
		if err == io.EOF {
			err = m.next()
		}
		m.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, m.err
}

// next goes to the following member; io.EOF when there is none. Zero bytes up
// to the end of the file are padding, as gzip itself takes them.
func (m *members) next() error {
	for {
		b, err := m.src.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			break
		}
	}
	if err := m.src.UnreadByte(); err != nil {
		return err
	}
	if err := m.gzip.Reset(m.src); err != nil {
		if errors.Is(err, gzip.ErrHeader) {
			return errors.New("bytes that are not gzip follow the last member")
		}
		return unexpected(err)
	}
	m.gzip.Multistream(false)
	return nil
}

// unexpected is for places where a file must not end.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// footed checks that an xz file ends with the footer of a stream. The library
// reports a clean end for a file that was cut between two blocks.
type footed struct {
	r    io.Reader
	tail *tail
}

func (f *footed) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF && !f.tail.isFooter() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// footerSize is the size of an xz stream footer: the CRC-32 of the next six
// bytes, four bytes of index size, two of flags, and the magic "YZ" (The .xz
// File Format 1.1, 2.1.2). Zero bytes, four at a time, may follow it.
const footerSize = 12

// tail remembers the last footerSize bytes read up to the last one that is not zero.
type tail struct {
	r    io.Reader
	last [footerSize]byte
	zero int64 // zero bytes seen since
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.note(p[:n])
	return n, err
}

func (t *tail) note(p []byte) {
	end := len(p)
	for end > 0 && p[end-1] == 0 {
		end--
	}
	if end == 0 {
		t.zero += int64(len(p))
		return
	}
	if end >= footerSize {
		copy(t.last[:], p[end-footerSize:end])
	} else {
		// The window now ends inside p: behind it lie the zeros seen so far,
		// and behind those the previous window.
		keep := footerSize - end
		zeros := int(min(t.zero, int64(keep)))
		copy(t.last[:], t.last[footerSize-keep+zeros:])
		clear(t.last[keep-zeros : keep])
		copy(t.last[keep:], p[:end])
	}
	t.zero = int64(len(p) - end)
}

func (t *tail) isFooter() bool {
	return t.zero%4 == 0 && string(t.last[10:]) == "YZ" &&
		binary.LittleEndian.Uint32(t.last[:]) == crc32.ChecksumIEEE(t.last[4:10])
}
