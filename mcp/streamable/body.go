package streamable

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"mcpv/jsonrpc"
)

// readBody returns the body in a buffer of its own, for frames are kept.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Up to here a declared length is worth an allocation; beyond it the bytes
	// have to come first.
	const trusted = 64 << 10
	n := r.ContentLength
	if n > h.opts.MaxBody {
		return nil, &http.MaxBytesError{Limit: h.opts.MaxBody}
	}
	if n < 0 || n > trusted {
		p := paced{from: r.Body, ctl: http.NewResponseController(w), start: time.Now()}
		defer p.end()
		return h.readLong(&p)
	}
	body := make([]byte, n)
	got := 0
	if n > 0 { // most bodies have come with the headers
		var err error
		if got, err = r.Body.Read(body); err != nil && err != io.EOF {
			return nil, err
		}
	}
	if got == len(body) {
		return body, nil
	}
	p := paced{from: r.Body, ctl: http.NewResponseController(w), start: time.Now(), got: got}
	defer p.end()
	_, err := io.ReadFull(&p, body[got:])
	return body, err
}

var longBodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest buffer kept for the next body.
const maxPooled = 1 << 20

func (h *Handler) readLong(from io.Reader) ([]byte, error) {
	buf := longBodies.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxPooled {
			buf.Reset()
			longBodies.Put(buf)
		}
	}()
	n, err := buf.ReadFrom(io.LimitReader(from, h.opts.MaxBody+1))
	if err == nil && n > h.opts.MaxBody {
		err = &http.MaxBytesError{Limit: h.opts.MaxBody}
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(buf.Bytes()), nil
}

// A paced reads a body that has to come at a certain speed after a time of
// grace, so that nobody can hold a connection by sending slowly.
type paced struct {
	from  io.Reader
	ctl   *http.ResponseController
	start time.Time
	got   int
}

const (
	bodyGrace = 10 * time.Second
	bodySpeed = 1 << 10 // bytes per second
)

func (p *paced) Read(b []byte) (int, error) {
	allowed := bodyGrace + time.Duration(p.got)*time.Second/bodySpeed
	_ = p.ctl.SetReadDeadline(p.start.Add(allowed)) // not every ResponseWriter has deadlines
	n, err := p.from.Read(b)
	p.got += n
	return n, err
}

// end lifts the deadline: what comes next is the business of net/http.
func (p *paced) end() { _ = p.ctl.SetReadDeadline(time.Time{}) }

// refuseBody answers what readBody refused. The rest of the body is not worth
// reading.
func refuseBody(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooLarge):
		refuseText(w, http.StatusRequestEntityTooLarge, "the body is too large")
	case errors.Is(err, os.ErrDeadlineExceeded):
		refuseText(w, http.StatusRequestTimeout, "the body came too slowly")
	default:
		refuse(w, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeParse, "the body ended early"))
	}
}
