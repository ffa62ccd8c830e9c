package jsonrpc

import (
	"io"
	"sync"
)

// Pipe returns the two ends of an in-memory stream. Frames pass as they are,
// copied once; a writer waits while the other end has 16 frames unread.
func Pipe() (Stream, Stream) {
	ab, ba := make(chan []byte, 16), make(chan []byte, 16)
	done := make(chan struct{})
	once := new(sync.Once)
	return &pipeEnd{in: ba, out: ab, done: done, once: once}, &pipeEnd{in: ab, out: ba, done: done, once: once}
}

type pipeEnd struct {
	in   <-chan []byte
	out  chan<- []byte
	done chan struct{} // closed when either end closes
	once *sync.Once
}

func (p *pipeEnd) Read() ([]byte, error) {
	select {
	case f := <-p.in:
		return f, nil
	default:
	}
	select {
	case f := <-p.in:
		return f, nil
	case <-p.done:
		select { // what was written before the end is still delivered
		case f := <-p.in:
			return f, nil
		default:
			return nil, io.EOF
		}
	}
}

func (p *pipeEnd) Write(frames ...[]byte) error {
	for _, f := range frames {
		select {
		case <-p.done:
			return io.ErrClosedPipe
		default:
		}
		select {
		case p.out <- append([]byte(nil), f...):
		case <-p.done:
			return io.ErrClosedPipe
		}
	}
	return nil
}

func (p *pipeEnd) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}
