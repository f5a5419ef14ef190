package setfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"seen/bloomfile"
	"seen/internal/figure"
	"seen/internal/stream/input"
	"seen/interop"
)

// Kind says what a set is.
type Kind int

// The kinds of sets.
const (
	KindText    Kind = iota // keys, one a line
	KindOwn                 // a filter file of seen
	KindForeign             // a filter of another system
)

// Config says how a set is opened.
type Config struct {
	Format    interop.Spec // what a filter of another system is, where its content does not say
	Lines     bool         // the set is a text, whatever its bytes look like
	Inspect   bool         // the filter is described or united, and is not asked for keys
	Plain     bool         // compressed content is not unpacked
	Records   bool         // the records of a text are not lines, and may have any bytes
	Jobs      int          // cores to unpack with; 0: all
	Stdin     io.Reader    // what the name "-" stands for
	StdinName string       // what messages call Stdin, if it is something else
}

// Set is a set whose kind is known.
type Set struct {
	Kind    Kind
	Foreign *Foreign // of KindForeign
	// For content that is compressed or not a regular file, which cannot be opened again by
	// its name: the lines of a KindText, or the bytes of a KindOwn.
	Text     io.Reader
	Own      []byte
	Unpacked uint64 // bytes of memory of a filter that is not mapped
}

const (
	// unpackedHead is how much of a stream is read to tell what it is.
	unpackedHead = 16 << 20
	// unpackedMost is the size of the largest filter that is read into memory because it
	// cannot be mapped.
	unpackedMost = 1 << 30
	// layersMost is how many times a set may be compressed.
	layersMost = 3
	// textHead is how much of a text is searched for control characters.
	textHead = 4096
)

// CheckFile returns an error for a filter of seen that is compressed or came through a pipe,
// for callers that need its file.
func (s *Set) CheckFile(name string) error {
	if s.Own == nil {
		return nil
	}
	return fmt.Errorf("%s is a filter file of seen that is compressed or comes through a pipe; write it to a file first, unpacked, as with gzip -d", name)
}

// Open tells what the set name is: a filter file of seen, a filter of another system, which
// it opens, or a text. It unpacks compressed content to tell. Content that is a filter, or
// looks like one, is never read as a text unless the caller says so: its lines would say no
// to every key.
func Open(ctx context.Context, name string, c Config) (*Set, error) {
	if name != "-" {
		switch info, err := os.Stat(name); {
		case err != nil:
			return nil, err
		case info.IsDir():
			f, err := openFolder(name, c.Format, c.Inspect)
			if err != nil {
				return nil, err
			}
			return &Set{Kind: KindForeign, Foreign: f}, nil
		case info.Mode().IsRegular():
			return openFile(ctx, name, &c)
		}
	}
	return openStream(ctx, name, &c)
}

// openFile is Open for a regular file.
func openFile(ctx context.Context, name string, c *Config) (*Set, error) {
	start, err := ReadStart(name)
	if err != nil {
		return nil, err
	}
	spec, compressed := c.Format, input.Compressed(start)
	switch {
	case bloomfile.Detect(start):
		return &Set{Kind: KindOwn}, nil
	case c.Lines:
		return &Set{Kind: KindText}, nil
	case compressed && c.Plain:
		return nil, &CompressedError{name}
	case compressed && spec.Name != "" && spec.Name != "dcso":
		return openStream(ctx, name, c)
	}
	f, err := openForeign(name, spec, c.Inspect)
	switch {
	case err == nil:
		return &Set{Kind: KindForeign, Foreign: f}, nil
	case compressed && (spec.Name != "" || errors.Is(err, interop.ErrUnknown)):
		return openStream(ctx, name, c)
	case !errors.Is(err, interop.ErrUnknown):
		return nil, err
	}
	if err := checkText(name, start, c); err != nil {
		return nil, err
	}
	return &Set{Kind: KindText}, nil
}

// openStream is Open for content that is compressed or can be read only once. It reads a
// filter into memory, and of a text only the start; the rest is read on demand.
func openStream(ctx context.Context, name string, c *Config) (*Set, error) {
	content, err := Unpack(ctx, name, *c)
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	if _, err := buffer.ReadFrom(io.LimitReader(content, unpackedHead)); err != nil {
		return nil, err
	}
	head := buffer.Bytes()
	whole := len(head) < unpackedHead
	text := func() *Set {
		return &Set{Kind: KindText, Text: io.MultiReader(bytes.NewReader(head), content)}
	}
	if c.Lines {
		return text(), nil
	}
	filter := bloomfile.Detect(head) || c.Format.Name != ""
	if !whole && (filter || controlByte(head) >= 0 || interop.NeedsRest(head)) {
		if head, err = readRest(name, head, content); err != nil {
			return nil, err
		}
	}
	switch {
	case bloomfile.Detect(head):
		return &Set{Kind: KindOwn, Own: head, Unpacked: uint64(len(head))}, nil
	case filter || mayBeFilter(head):
		f := &Foreign{Name: name, Size: int64(len(head))}
		if err := f.open(head, c.Format, c.Inspect); err != nil {
			return nil, err
		}
		return &Set{Kind: KindForeign, Foreign: f, Unpacked: uint64(len(head))}, nil
	}
	if err := checkResembles(name, head); err != nil {
		return nil, err
	}
	if err := checkText(name, head[:min(len(head), textHead)], c); err != nil {
		return nil, err
	}
	return text(), nil
}

// readRest returns head and all that follows it. It collects pieces until it knows their
// length: a buffer that doubles would take up to four times the memory of its content.
func readRest(name string, head []byte, content io.Reader) ([]byte, error) {
	pieces, length := [][]byte{head}, len(head)
	for n := unpackedHead; n == unpackedHead && length <= unpackedMost; length += n {
		piece := make([]byte, unpackedHead)
		var err error
		if n, err = fill(piece, content); err != nil {
			return nil, err
		}
		pieces = append(pieces, piece[:n])
	}
	if length > unpackedMost {
		return nil, fmt.Errorf("%s may be a filter and unpacks to more than %s, the limit for sets that are compressed or come through a pipe; write it to a file first, as with gzip -d",
			name, figure.Bytes(unpackedMost))
	}
	all := make([]byte, 0, length)
	for _, piece := range pieces {
		all = append(all, piece...)
	}
	return all, nil
}

// Unpack returns the content of a file or stream, which may be compressed up to layersMost
// times.
func Unpack(ctx context.Context, name string, c Config) (io.Reader, error) {
	names, from, as := []string{name}, c.Stdin, c.StdinName
	for range layersMost {
		in, err := input.Open(names, input.Options{Stdin: from, StdinName: as, Plain: c.Plain, Jobs: cmp.Or(c.Jobs, runtime.GOMAXPROCS(0))})
		if err != nil {
			return nil, err
		}
		file, _ := in.Next()
		content := &fileReader{ctx: ctx, file: file}
		start := make([]byte, textHead)
		n, err := fill(start, content)
		if err != nil {
			return nil, err
		}
		all := io.MultiReader(bytes.NewReader(start[:n]), content)
		if !input.Compressed(start[:n]) {
			return all, nil
		}
		if c.Plain {
			return nil, &CompressedError{name}
		}
		names, from, as = nil, all, name
	}
	return nil, fmt.Errorf("%s is compressed more than %d times; unpack it first", name, layersMost)
}

// fileReader is a file of package input as an io.Reader; its end or an error closes it.
type fileReader struct {
	ctx  context.Context
	file *input.File
	err  error
}

func (r *fileReader) Read(p []byte) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	if n, r.err = r.file.ReadContext(r.ctx, p); r.err != nil {
		r.file.Close() // it is only read
	}
	return n, r.err
}

// ReadStart returns the first bytes of a file.
func ReadStart(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	start := make([]byte, textHead)
	n, err := fill(start, f)
	return start[:n], err
}

// UnpackedStart returns the first bytes of what is in a compressed file.
func UnpackedStart(ctx context.Context, name string) ([]byte, error) {
	in, err := input.Open([]string{name}, input.Options{})
	if err != nil {
		return nil, err
	}
	file, _ := in.Next()
	defer file.Close() // it is only read
	start := make([]byte, textHead)
	n, err := fill(start, &fileReader{ctx: ctx, file: file})
	return start[:n], err
}

// fill reads into b until it is full or r ends. It differs from io.ReadFull in that the end
// of r is not an error, but an end in the middle of a compressed block is.
func fill(b []byte, r io.Reader) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// CompressedError says that a set is compressed and [Config.Plain] forbids to unpack it.
type CompressedError struct{ Name string }

func (e *CompressedError) Error() string {
	return e.Name + " is compressed, and is to be read as it is; unpack it first"
}

// ExplainCompressed adds to the error of a file that cannot be opened as a filter of seen
// that it is compressed, if it is.
func ExplainCompressed(name string, err error) error {
	if start, readErr := ReadStart(name); readErr == nil && input.Compressed(start) {
		return fmt.Errorf("%w: the file is compressed; unpack it first, as with gzip -d", err)
	}
	return err
}
