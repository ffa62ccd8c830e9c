package eventstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

const (
	// MaxEvent is the default limit of one event's data, in bytes.
	MaxEvent = 16 << 20
	// MaxField is the limit of every line that is neither data nor a comment,
	// in bytes.
	MaxField = 64 << 10

	minBuffer = 4 << 10
	maxBuffer = 64 << 10

	// maxKept is the size above which an event's data are handed over in the
	// buffer they were collected in, not copied.
	maxKept = 32 << 10

	// lineHead is how much of a line has to be known to tell what it is: a byte
	// order mark, "data:" and the space.
	lineHead = 9
)

// A LimitError says that an event was dropped because a part of it was too
// long. The reader is still in step: the next call of Next returns the event
// after it.
type LimitError struct {
	Part  string // "data" or "field"
	Limit int    // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("event stream: %s longer than %d bytes", e.Part, e.Limit)
}

// A Reader reads the events of a stream. It is for one goroutine.
type Reader struct {
	src      io.Reader
	srcErr   error
	maxEvent int

	// buf[pos:end] is read and not consumed; lf is the place of the first LF at
	// or after pos, end if there is none, and less than pos if unknown.
	buf          []byte
	pos, end, lf int
	skipLF       bool // the last line ended with CR, which LF may follow
	inLine       bool // the current line is not consumed to its end
	started      bool // the byte order mark, if any, is behind us
	skipEvent    bool // the event under way is to be dropped

	field []byte // scratch of a field longer than the buffer
	data  []byte // data of the event under way, each line followed by LF
}

// NewReader returns a Reader of src whose events may have up to maxEvent bytes
// of data; 0 means MaxEvent.
func NewReader(src io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		maxEvent = MaxEvent
	}
	return &Reader{src: src, maxEvent: maxEvent, buf: make([]byte, minBuffer), lf: -1}
}

// Next returns the next event that has data, an id or a retry time; blocks that
// have none of these, and comments, are passed over. An event with an id and no
// data is returned although a browser would only note its id. The caller owns
// the data.
//
// The error is io.EOF at an orderly end, io.ErrUnexpectedEOF when the stream
// ends within an event (which is discarded), a *LimitError for an event that
// was too long, and otherwise the source's.
func (r *Reader) Next() (Event, error) {
	if r.skipEvent {
		if err := r.dropEvent(); err != nil {
			return Event{}, err
		}
	}
	var e Event
	r.data = r.data[:0]
	hasData, open := false, false // open: a field of an event was seen
	for {
		p, whole, err := r.piece(lineHead)
		if err != nil {
			return Event{}, r.ended(err, open)
		}
		p = r.trimBOM(p)
		switch {
		case whole && len(p) == 0:
			if hasData {
				e.Data = r.takeData()
			}
			if hasData || e.HasID || e.HasRetry {
				return e, nil
			}
			e, open = Event{}, false
			continue
		case len(p) > 0 && p[0] == ':':
			err = r.dropLine()
		case bytes.HasPrefix(p, []byte("data:")):
			open, hasData = true, true
			err = r.readData(trimSpace(p[len("data:"):]), whole)
		case whole && string(p) == "data":
			open, hasData = true, true
			err = r.readData(nil, true)
		default:
			open = true
			if p, err = r.readField(p, whole); err == nil {
				e.set(p)
			}
		}
		if err != nil {
			if limit := (*LimitError)(nil); errors.As(err, &limit) {
				r.skipEvent = true
			}
			return Event{}, r.ended(err, open)
		}
	}
}

// piece returns bytes of the current line: up to its end (whole), else at least
// least bytes of it. They are valid until the next call. It never waits for
// more than it needs: a CR ends a line whatever follows.
func (r *Reader) piece(least int) (p []byte, whole bool, err error) {
	for {
		if r.skipLF && r.pos < r.end {
			if r.buf[r.pos] == '\n' {
				r.pos++
			}
			r.skipLF = false
		}
		if end := r.lineEnd(); end >= 0 {
			p = r.buf[r.pos:end]
			r.skipLF = r.buf[end] == '\r'
			r.pos = end + 1
			r.inLine = false
			return p, true, nil
		}
		if n := r.end - r.pos; n >= least {
			p = r.buf[r.pos:r.end]
			r.pos = r.end
			r.inLine = true
			return p, false, nil
		}
		if err := r.fill(); err != nil {
			return nil, false, err
		}
	}
}

// lineEnd returns the place of the terminator of the current line in the
// buffer, or -1.
func (r *Reader) lineEnd() int {
	if r.lf < r.pos {
		r.lf = r.end
		if i := bytes.IndexByte(r.buf[r.pos:r.end], '\n'); i >= 0 {
			r.lf = r.pos + i
		}
	}
	if i := bytes.IndexByte(r.buf[r.pos:r.lf], '\r'); i >= 0 {
		return r.pos + i
	}
	if r.lf < r.end {
		return r.lf
	}
	return -1
}

// fill reads more into the buffer, which grows while reads fill it.
func (r *Reader) fill() error {
	if r.srcErr != nil {
		return r.srcErr
	}
	rest := r.buf[r.pos:r.end]
	if r.end == len(r.buf) && len(r.buf) < maxBuffer {
		r.buf = make([]byte, 2*len(r.buf))
	}
	r.end = copy(r.buf, rest)
	r.pos, r.lf = 0, -1
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.srcErr = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.srcErr = io.ErrNoProgress
	return r.srcErr
}

func (r *Reader) readData(p []byte, whole bool) error {
	for {
		if len(r.data)+len(p) > r.maxEvent {
			return &LimitError{Part: "data", Limit: r.maxEvent}
		}
		r.data = append(r.data, p...)
		if whole {
			r.data = append(r.data, '\n')
			return nil
		}
		var err error
		if p, whole, err = r.piece(1); err != nil {
			return err
		}
	}
}

// takeData returns the data of the event without the last LF, in memory of its
// own.
func (r *Reader) takeData() []byte {
	d := r.data[:len(r.data)-1]
	if len(d) > maxKept {
		r.data = nil
		return d[:len(d):len(d)]
	}
	own := make([]byte, len(d))
	copy(own, d)
	return own
}

func (r *Reader) readField(p []byte, whole bool) ([]byte, error) {
	if whole && len(p) <= MaxField {
		return p, nil
	}
	r.field = r.field[:0]
	for {
		if len(r.field)+len(p) > MaxField {
			return nil, &LimitError{Part: "field", Limit: MaxField}
		}
		r.field = append(r.field, p...)
		if whole {
			return r.field, nil
		}
		var err error
		if p, whole, err = r.piece(1); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) dropLine() error {
	for r.inLine {
		if _, _, err := r.piece(1); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) dropEvent() error {
	r.data = nil
	if err := r.dropLine(); err != nil {
		return r.ended(err, true)
	}
	for {
		p, whole, err := r.piece(1)
		if err != nil {
			return r.ended(err, true)
		}
		if whole && len(p) == 0 {
			r.skipEvent = false
			return nil
		}
		if err := r.dropLine(); err != nil {
			return r.ended(err, true)
		}
	}
}

// ended turns the end of the source within an event, or within a line that may
// have begun one, into io.ErrUnexpectedEOF.
func (r *Reader) ended(err error, open bool) error {
	partial := r.pos < r.end && r.buf[r.pos] != ':'
	if errors.Is(err, io.EOF) && (open || partial) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *Reader) trimBOM(p []byte) []byte {
	if r.started {
		return p
	}
	r.started = true
	return bytes.TrimPrefix(p, []byte("\xEF\xBB\xBF"))
}

// set interprets a line that is not data.
func (e *Event) set(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = trimSpace(value)
	switch string(name) {
	case "event":
		e.Name = eventName(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID, e.HasID = string(value), true
		}
	case "retry":
		if ms, ok := milliseconds(value); ok {
			e.Retry, e.HasRetry = ms, true
		}
	}
}

// eventName saves the allocation for the names that MCP uses.
func eventName(b []byte) string {
	switch string(b) {
	case "message":
		return "message"
	case "endpoint":
		return "endpoint"
	}
	return string(b)
}

// milliseconds reads ASCII digits; times beyond the range of Duration are cut
// to it.
func milliseconds(b []byte) (time.Duration, bool) {
	const most = math.MaxInt64 / int64(time.Millisecond)
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int64(c-'0'); n > most {
			n = most
		}
	}
	return time.Duration(n) * time.Millisecond, len(b) > 0
}

// trimSpace removes the one space that may follow the colon.
func trimSpace(b []byte) []byte {
	if len(b) > 0 && b[0] == ' ' {
		return b[1:]
	}
	return b
}
