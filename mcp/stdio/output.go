package stdio

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxLeft bounds what is read after the child's exit, when only processes
// that escaped its group can still write: the largest pipe Linux allows.
const maxLeft = 1 << 20

// output is the read end of a child's stdout. It ends when the child has
// exited and the pipe is empty, even if another process keeps it open.
type output struct {
	f       *os.File
	mu      sync.Mutex // held while reading
	left    int        // bytes read since the exit
	exited  atomic.Bool
	closing atomic.Bool
}

func (o *output) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing.Load() {
		return 0, os.ErrClosed
	}
	if !o.exited.Load() {
		n, err := o.f.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return o.readLeft(p)
}

// readLeft reads what is in the pipe already. It tries twice, as the deadline
// that exit sets may replace one of its own.
func (o *output) readLeft(p []byte) (int, error) {
	for range 2 {
		if o.closing.Load() {
			return 0, os.ErrClosed
		}
		if o.left >= maxLeft {
			break
		}
		o.f.SetReadDeadline(time.Now().Add(settleTime))
		n, err := o.f.Read(p)
		o.left += n
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, io.EOF
}

// exit tells that the child has exited.
func (o *output) exit() {
	o.exited.Store(true)
	o.f.SetReadDeadline(time.Now())
}

// interrupt ends reading for good.
func (o *output) interrupt() {
	o.closing.Store(true)
	o.f.SetReadDeadline(time.Now())
}

// drain discards the output up to its end, the exit or the close of the file.
// Where pipes have no deadlines it begins when the pending Read returns.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.exited.Load() {
		return
	}
	o.f.SetReadDeadline(time.Time{})
	io.Copy(io.Discard, struct{ io.Reader }{o.f})
}
