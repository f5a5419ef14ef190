package rest

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"seen/internal/fair"
)

// answerBytes is about what the answer for a key takes until it is sent.
const answerBytes = 8

// errBodyLong says that a body that was compressed is too long.
var errBodyLong = errors.New("the body is too long")

// content is the body of a request, decompressed. What is read of it is paid from the
// memory for all clients until it is settled.
type content struct {
	in     io.Reader
	budget *fair.Holder
	left   int64 // bytes that may still come
	limit  int64
	paid   int
}

// content returns the body of the request, of so many bytes at most, before and after
// it is decompressed.
func (r *request) content(limit int64) (*content, error) {
	body := http.MaxBytesReader(r.out, r.Body, limit)
	c := &content{in: body, budget: r.budget, left: limit, limit: limit}
	encodings := r.Header.Values("Content-Encoding")
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		c.in = &gunzip{in: body}
	default:
		return nil, fmt.Errorf("%w: the Content-Encoding %q is not supported; send the body uncompressed, or with gzip", errBody, encoding)
	}
	return c, nil
}

// Read fills b, unless the body ends before: the decoder of JSON looks through all that
// it has of a value again whenever more comes, which would take hours for many small
// pieces.
func (c *content) Read(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var more int
		more, err = c.read(b[n:])
		n += more
	}
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (c *content) read(b []byte) (int, error) {
	if c.left <= 0 {
		// It may end here.
		var one [1]byte
		if n, err := io.ReadFull(c.in, one[:]); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("%w: it has more than %d bytes after decompression; send it in parts", errBodyLong, c.limit)
	}
	n, err := c.in.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	c.paid += n
	if n > 0 && !c.budget.Take(n) {
		c.paid -= n
		return 0, fair.ErrBudget
	}
	return n, err
}

// settle gives back what was paid for the bytes so far, but for so many that are kept.
func (c *content) settle(keep int) {
	if keep > c.paid {
		if !c.budget.Take(keep - c.paid) {
			return // the next read says so
		}
	} else {
		c.budget.Give(c.paid - keep)
	}
	c.paid = keep
}

// gunzip decompresses from its first use on.
type gunzip struct {
	in  io.Reader
	out *gzip.Reader
}

func (g *gunzip) Read(b []byte) (n int, err error) {
	if g.out == nil {
		if g.out, err = gzip.NewReader(g.in); err != nil {
			return 0, notGzip(err)
		}
	}
	n, err = g.out.Read(b)
	return n, notGzip(err)
}

// notGzip marks what is wrong with compressed data as an error of the body.
func notGzip(err error) error {
	var damaged flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &damaged):
		return fmt.Errorf("%w: %w", errBody, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the gzip data is incomplete", errBody)
	}
	return err
}
