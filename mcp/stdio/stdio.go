package stdio

import (
	"errors"
	"io"
	"os"
	"sync"
)

// Stdio returns a stream over the standard input and output of this process.
//
// Close unblocks pending calls and leaves os.Stdin and os.Stdout open. Where
// the system cannot interrupt a call (a regular file, which does not block; a
// terminal that cannot be opened again; Windows), the one that is pending is
// left to end by itself and input that it reads is lost.
//
// Use one stream at a time: each reads ahead.
func Stdio() *Stream {
	in, out := openStandard(os.Stdin, os.O_RDONLY), openStandard(os.Stdout, os.O_WRONLY)
	return NewStream(in, out, both{in, out}, nil)
}

// both closes the two ends of a stream.
type both [2]io.Closer

func (b both) Close() error {
	err := errors.Join(b[0].Close(), b[1].Close())
	for _, c := range b {
		if r, ok := c.(interface{ restore() }); ok {
			r.restore() // after both: they may be the same open file
		}
	}
	return err
}

// detached makes the calls of a file on a goroutine that Close abandons,
// together with the buffer in use. It does not close the file.
type detached struct {
	f       *os.File
	buf     []byte
	calls   chan func() (int, error)
	results chan result
	once    sync.Once
	stop    chan struct{}
}

type result struct {
	n   int
	err error
}

func detach(f *os.File) *detached {
	d := &detached{
		f: f, buf: make([]byte, bufferSize),
		calls: make(chan func() (int, error)), results: make(chan result, 1), stop: make(chan struct{}),
	}
	go d.run()
	return d
}

func (d *detached) run() {
	for {
		select {
		case call := <-d.calls:
			n, err := call()
			d.results <- result{n, err}
		case <-d.stop:
			return
		}
	}
}

func (d *detached) do(call func() (int, error)) (int, error) {
	select {
	case <-d.stop:
		return 0, os.ErrClosed
	default:
	}
	select {
	case d.calls <- call:
	case <-d.stop:
		return 0, os.ErrClosed
	}
	select {
	case r := <-d.results:
		return r.n, r.err
	case <-d.stop:
		return 0, os.ErrClosed
	}
}

func (d *detached) Read(p []byte) (int, error) {
	buf := d.buf[:min(len(p), len(d.buf))]
	n, err := d.do(func() (int, error) { return d.f.Read(buf) })
	return copy(p, buf[:n]), err
}

func (d *detached) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		buf := d.buf[:copy(d.buf, p)]
		n, err := d.do(func() (int, error) { return d.f.Write(buf) })
		total += n
		if err != nil {
			return total, err
		}
		p = p[n:]
	}
	return total, nil
}

func (d *detached) Close() error {
	d.once.Do(func() { close(d.stop) })
	return nil
}
