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

// answerBytes is about how much memory the answer for a key takes until it is sent.
const answerBytes = 8

// errBodyLong is the error of a compressed body that is too long.
var errBodyLong = errors.New("the body is too long")

// content is the decompressed body of a request. The bytes read from it are paid from the
// budget of all clients until settle gives them back.
type content struct {
	in     io.Reader
	budget *fair.Holder
	left   int64 // bytes that may still come
	limit  int64
	paid   int
}

// content returns the body of the request. limit bounds its bytes before and after
// decompression.
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

// Read fills b unless the body ends before: the JSON decoder scans its whole buffer again
// after every read, which would take hours if a body came in many small pieces.
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
		// The body may end exactly at the limit.
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

// settle gives back what was paid for the bytes so far, except for keep bytes.
func (c *content) settle(keep int) {
	if keep > c.paid {
		if !c.budget.Take(keep - c.paid) {
			return // the next read fails
		}
	} else {
		c.budget.Give(c.paid - keep)
	}
	c.paid = keep
}

// gunzip is a gzip reader that reads the header at its first use.
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

// notGzip turns an error in compressed data into an error of the body.
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
