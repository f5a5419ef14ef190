package web

import (
	"io"
	"net/http"
	"time"
)

// transfer is a file on its way, in or out. The time that a server gives to a request is
// for pages; a file may take as long as it needs while it goes on.
type transfer struct {
	control *http.ResponseController
	in      io.Reader
	out     io.Writer
}

func (r *request) transfer(in io.Reader, out io.Writer) *transfer {
	return &transfer{http.NewResponseController(r.out), in, out}
}

// alive gives the next step time. A recorder in a test has no deadlines.
func (p *transfer) alive() {
	next := time.Now().Add(patience)
	_ = p.control.SetReadDeadline(next)                // as above
	_ = p.control.SetWriteDeadline(next.Add(patience)) // also for the answer behind the last step
}

func (p *transfer) Read(b []byte) (int, error) {
	p.alive()
	return p.in.Read(b)
}

func (p *transfer) Write(b []byte) (int, error) {
	// One step is never too much for a slow line.
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

// stepBytes is what a line has to take in the time of a step.
const stepBytes = 64 << 10
