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

// readBody returns the body in a buffer of its own, for frames are kept. The
// deadline of boundBody is lifted with success only: after a failure net/http
// goes on reading what is left of the body.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := h.readAll(w, r)
	if err == nil && r.ContentLength != 0 {
		setReadDeadline(w, time.Time{})
	}
	return body, err
}

func (h *Handler) readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Up to here a declared length is worth an allocation; beyond it the bytes
	// have to come first.
	const trusted = 64 << 10
	n := r.ContentLength
	if n > h.opts.MaxBody {
		return nil, &http.MaxBytesError{Limit: h.opts.MaxBody}
	}
	p := paced{from: r.Body, w: w}
	if n < 0 || n > trusted {
		p.start = time.Now()
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
	p.start, p.got = time.Now(), got
	_, err := io.ReadFull(&p, body[got:])
	return body, err
}

// boundBody gives a body that has not come yet the time of grace. It is for all
// requests, those included that are refused without a look at their body:
// net/http reads what is left of it before it answers.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		setReadDeadline(w, time.Now().Add(bodyGrace))
	}
}

func setReadDeadline(w http.ResponseWriter, at time.Time) {
	if d, ok := w.(interface{ SetReadDeadline(time.Time) error }); ok { // saves an allocation
		_ = d.SetReadDeadline(at)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(at) // not every ResponseWriter has deadlines
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
	w     http.ResponseWriter
	start time.Time
	got   int
}

const (
	bodyGrace = 10 * time.Second
	bodySpeed = 1 << 10 // bytes per second
)

func (p *paced) Read(b []byte) (int, error) {
	allowed := bodyGrace + time.Duration(p.got)*time.Second/bodySpeed
	setReadDeadline(p.w, p.start.Add(allowed))
	n, err := p.from.Read(b)
	p.got += n
	return n, err
}

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
