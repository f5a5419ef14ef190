package web

import (
	"io"
	"net/http"
	"time"
)

// transfer is an upload or a download of a file. The server's time limit for a request is
// meant for pages; a file may take longer as long as it makes progress.
type transfer struct {
	control *http.ResponseController
	in      io.Reader
	out     io.Writer
}

func (r *request) transfer(in io.Reader, out io.Writer) *transfer {
	return &transfer{http.NewResponseController(r.out), in, out}
}

// alive extends the deadlines for the next step. A recorder in a test has no deadlines.
func (p *transfer) alive() {
	next := time.Now().Add(patience)
	_ = p.control.SetReadDeadline(next)                // see the comment of alive
	_ = p.control.SetWriteDeadline(next.Add(patience)) // also for the answer after the last step
}

func (p *transfer) Read(b []byte) (int, error) {
	p.alive()
	return p.in.Read(b)
}

func (p *transfer) Write(b []byte) (int, error) {
	// A slow line can take one step in time.
	done := 0
	for done < len(b) {
		p.alive()
		n, err := p.out.Write(b[done:min(len(b), done+stepBytes)])
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// stepBytes is how much a line must take within patience.
const stepBytes = 64 << 10
