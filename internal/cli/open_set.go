package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"seen/internal/frame"
	"seen/internal/remote"
	"seen/internal/stream/input"
	"seen/interop"
)

// kind says what a set is.
type kind int

const (
	textSet kind = iota
	ownSet
	foreignSet
)

// openedSet is a set whose kind is known.
type openedSet struct {
	kind    kind
	foreign *foreignFile // of a foreignSet
	// Of what is compressed or not a regular file, and so is not opened by its name
	// again: the lines of a textSet, or the bytes of an ownSet.
	text     io.Reader
	own      []byte
	unpacked uint64 // bytes of memory of a filter that is not mapped
}

const (
	// unpackedHead is how much of a stream is looked at to tell what it is.
	unpackedHead = 16 << 20
	// unpackedMost is the largest filter that is held in memory since it cannot be mapped.
	unpackedMost = 1 << 30
	// layersMost is how often a set may be compressed.
	layersMost = 3
	// textHead is how much of a text is searched for bytes that no text has.
	textHead = 4096
)

// kindOf is openSet for commands that want the file of a filter of ours: one that is
// compressed, or in a pipe, is an error.
func (a *app) kindOf(name string, flags *foreignFlags, inspect bool) (kind, *foreignFile, error) {
	s, err := a.openSet(name, flags, new(recordFlags), inspect)
	if err != nil {
		return textSet, nil, err
	}
	if s.own != nil {
		return ownSet, nil, fmt.Errorf("%s is a filter file of seen that is compressed or comes through a pipe; write it to a file first, unpacked, as with gzip -d", name)
	}
	return s.kind, s.foreign, nil
}

// openSet tells what the set name is: a filter file of ours, one of another system, which
// then is open, or a text. What is compressed is told by what is in it. Content that is a
// filter, or looks like one, is never taken for a text unless the flags say so: its lines
// would say no to every key.
func (a *app) openSet(name string, flags *foreignFlags, r *recordFlags, inspect bool) (*openedSet, error) {
	if remote.IsAddress(name) {
		f, err := a.openLive(name, flags, inspect)
		return &openedSet{kind: foreignSet, foreign: f}, err
	}
	if name != "-" {
		switch info, err := os.Stat(name); {
		case err != nil:
			return nil, err
		case info.IsDir():
			f, err := openFolder(name, flags.format.spec, inspect)
			return &openedSet{kind: foreignSet, foreign: f}, err
		case info.Mode().IsRegular():
			return a.openFile(name, flags, r, inspect)
		}
	}
	return a.openStream(name, flags, r, inspect)
}

// openFile is openSet for a regular file.
func (a *app) openFile(name string, flags *foreignFlags, r *recordFlags, inspect bool) (*openedSet, error) {
	start, err := readStart(name)
	if err != nil {
		return nil, err
	}
	spec, compressed := flags.format.spec, input.Compressed(start)
	switch {
	case isOwn(start):
		return &openedSet{kind: ownSet}, nil
	case flags.format.lines:
		return &openedSet{kind: textSet}, nil
	case compressed && r.plain:
		return nil, fmt.Errorf("%s is compressed, and --no-decompress takes files as they are; leave it out, or unpack the file first", name)
	case compressed && spec.Name != "" && spec.Name != "dcso":
		return a.openStream(name, flags, r, inspect)
	}
	f, err := openForeign(name, spec, inspect)
	switch {
	case err == nil:
		return &openedSet{kind: foreignSet, foreign: f}, nil
	case compressed && (spec.Name != "" || errors.Is(err, interop.ErrUnknown)):
		return a.openStream(name, flags, r, inspect)
	case !errors.Is(err, interop.ErrUnknown):
		return nil, err
	}
	return &openedSet{kind: textSet}, checkText(name, start, r)
}

// openStream is openSet for what is compressed or can be read only once. A text goes on
// being read as it is asked for; a filter is read into memory.
func (a *app) openStream(name string, flags *foreignFlags, r *recordFlags, inspect bool) (*openedSet, error) {
	content, err := a.unpack(name, r)
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	if _, err := buffer.ReadFrom(io.LimitReader(content, unpackedHead)); err != nil {
		return nil, err
	}
	head := buffer.Bytes()
	whole := len(head) < unpackedHead
	text := func() *openedSet {
		return &openedSet{kind: textSet, text: io.MultiReader(bytes.NewReader(head), content)}
	}
	if flags.format.lines {
		return text(), nil
	}
	filter := isOwn(head) || flags.format.isSet()
	if !whole && (filter || controlByte(head) >= 0 || interop.NeedsRest(head)) {
		if head, err = readRest(name, head, content); err != nil {
			return nil, err
		}
	}
	switch {
	case isOwn(head):
		return &openedSet{kind: ownSet, own: head, unpacked: uint64(len(head))}, nil
	case filter || mayBeFilter(head):
		f := &foreignFile{name: name, size: int64(len(head))}
		if err := f.open(head, flags.format.spec, inspect); err != nil {
			return nil, err
		}
		return &openedSet{kind: foreignSet, foreign: f, unpacked: uint64(len(head))}, nil
	}
	if err := checkResembles(name, head); err != nil {
		return nil, err
	}
	return text(), checkText(name, head[:min(len(head), textHead)], r)
}

// readRest returns head and all that follows it. It keeps the pieces until it knows their
// length: a buffer that doubles takes four times the memory of what is in it.
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
			name, formatBytes(unpackedMost))
	}
	all := make([]byte, 0, length)
	for _, piece := range pieces {
		all = append(all, piece...)
	}
	return all, nil
}

// unpack returns what is in a file or stream that is compressed up to layersMost times, or
// not at all.
func (a *app) unpack(name string, r *recordFlags) (io.Reader, error) {
	names, from, as := []string{name}, a.env.Stdin, a.stdinName
	for range layersMost {
		in, err := input.Open(names, input.Options{Stdin: from, StdinName: as, Plain: r.plain, Jobs: cmp.Or(r.jobs, runtime.GOMAXPROCS(0))})
		if err != nil {
			return nil, err
		}
		file, _ := in.Next()
		content := &fileReader{ctx: a.ctx, file: file}
		start := make([]byte, textHead)
		n, err := fill(start, content)
		if err != nil {
			return nil, err
		}
		all := io.MultiReader(bytes.NewReader(start[:n]), content)
		if !input.Compressed(start[:n]) {
			return all, nil
		}
		if r.plain {
			return nil, fmt.Errorf("%s is compressed, and --no-decompress takes files as they are; leave it out, or unpack it first", name)
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

// readStart returns the first bytes of a file.
func readStart(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	start := make([]byte, textHead)
	n, err := fill(start, f)
	return start[:n], err
}

// unpackedStart returns the first bytes of what is in a compressed file.
func (a *app) unpackedStart(name string) ([]byte, error) {
	in, err := input.Open([]string{name}, input.Options{})
	if err != nil {
		return nil, err
	}
	file, _ := in.Next()
	defer file.Close() // it is only read
	start := make([]byte, textHead)
	n, err := fill(start, &fileReader{ctx: a.ctx, file: file})
	return start[:n], err
}

// fill reads into b until it is full or r ends, which is no error. An end that comes too
// early for the format of r is one, and wraps the same errors as io.ReadFull returns.
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

// isOwn tells a filter file of ours by its first bytes, also one that was cut short within
// them. Their end shows damage by transfers of text, about which the reader knows more.
func isOwn(start []byte) bool {
	magic := frame.Magic()[:len("\x89SEEN")]
	return len(start) > 0 && bytes.HasPrefix(start, magic[:min(len(start), len(magic))])
}

// controlByte returns where b has a byte that no text has, in whatever encoding of one
// byte a letter or more; -1: nowhere.
func controlByte(b []byte) int {
	control := func(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b' }
	return slices.IndexFunc(b[:min(len(b), textHead)], control)
}

// checkText refuses to read a set as a text that begins as none does: a filter that is
// damaged, or of a format that content does not tell, would say no to every key.
func checkText(name string, start []byte, r *recordFlags) error {
	if r.zero || r.delimiter != "" {
		return nil
	}
	at := controlByte(start)
	if at < 0 {
		return nil
	}
	return fmt.Errorf("%s is neither a text nor a known filter: byte %d is 0x%02x; it may be a filter that is truncated, damaged or in a format that cannot be detected "+
		"(give --format, see \"seen formats\"); to read it as lines, give --format %s", name, at, start[at], formatLines)
}

// wideMarks are the byte order marks of encodings with several bytes a letter. The longer
// come before those that they begin with.
var wideMarks = []struct{ mark, name, order string }{
	{"\xff\xfe\x00\x00", "UTF-32", "little-endian"}, {"\x00\x00\xfe\xff", "UTF-32", "big-endian"},
	{"\xff\xfe", "UTF-16", "little-endian"}, {"\xfe\xff", "UTF-16", "big-endian"},
}

// checkEncoding refuses a text in UTF-16 or UTF-32, of which the lines are not between
// newline bytes.
func checkEncoding(name string, start []byte) error {
	for _, m := range wideMarks {
		if bytes.HasPrefix(start, []byte(m.mark)) {
			return fmt.Errorf("%s begins with the byte order mark of %s (%s) and cannot be split into lines; convert it to UTF-8, as with iconv -f %[2]s -t UTF-8", name, m.name, m.order)
		}
	}
	return nil
}

// checkResembles refuses to read a set as a text that interop.Resembles refuses, or that
// is in UTF-16.
func checkResembles(name string, b []byte) error {
	err := checkEncoding(name, b)
	if err == nil {
		if err = interop.Resembles(b); err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%w; check and filter read it as lines with --format %s", err, formatLines)
}

// unknownFormat adds the way out to the error of a file that is not a filter of ours.
func unknownFormat(err error) error {
	return fmt.Errorf("%w; if it is a filter of another system, give --format, see \"seen formats\"", err)
}

// compressedFile adds to the error of a file that is not a filter of ours that it is
// compressed, if it is.
func compressedFile(name string, err error) error {
	if start, readErr := readStart(name); readErr == nil && input.Compressed(start) {
		return fmt.Errorf("%w: the file is compressed; unpack it first, as with gzip -d", err)
	}
	return err
}
