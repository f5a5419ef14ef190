package input

import (
	"bufio"
	"io"
	"os"
	"sync/atomic"
)

// sniffSize is how much of a file the search for magic numbers may look at.
// Reads as large as a block then pass the sniffing buffer by.
const sniffSize = 4096

// open opens the source, recognises its format and sets content. Like every
// read of a live source it may wait.
func (f *File) open() error {
	raw := f.list.opts.Stdin
	if !f.source.std {
		file, err := os.Open(f.source.name)
		if err != nil {
			return wrap(f.source.name, err)
		}
		f.os.Store(file)
		raw = file
	}
	if file, ok := raw.(*os.File); ok && f.source.live {
		widen(file)
	}
	raw, err := f.traced(raw)
	if err != nil {
		return wrap(f.source.name, err)
	}
	counted := &counter{r: raw, n: &f.list.read, trace: f.trace}
	if f.list.opts.Plain {
		f.content = counted
		return nil
	}
	buffered := bufio.NewReaderSize(counted, sniffSize)
	f.format = sniff(buffered)
	if f.format == Plain {
		f.content = buffered
		return nil
	}
	content, err := decompress(f.format, buffered, f.list.opts.Jobs)
	if err != nil {
		return f.explain(unexpected(err))
	}
	f.content = content
	return nil
}

// counter counts the bytes of a file as they are read.
type counter struct {
	r     io.Reader
	n     *atomic.Int64
	trace *trace // or nil
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	if c.trace != nil {
		c.trace.add(p[:n])
	}
	return n, err
}
