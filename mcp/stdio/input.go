package stdio

import (
	"io"
	"sync"
)

// chunks holds read buffers between uses: a long line is gathered in several
// and none of them outlives it.
var chunks = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// input buffers a reader. Long lines set full buffers aside as parts, so the
// memory held between frames is one buffer whatever their size was.
type input struct {
	r          io.Reader
	buf        *[bufferSize]byte // nil before the first fill and after release
	start, end int
	err        error // of r, to be returned when the buffer is used up

	parts  []*[bufferSize]byte // full buffers of the current line
	parted int                 // their bytes
}

func (in *input) bytes() []byte {
	if in.buf == nil {
		return nil
	}
	return in.buf[in.start:in.end]
}

func (in *input) consume(n int) { in.start += n }

// fill reads once into the buffer, which must not be full. It returns nil if
// and only if bytes came in.
func (in *input) fill() error {
	if in.err != nil {
		return in.err
	}
	if in.buf == nil {
		in.buf = chunks.Get().(*[bufferSize]byte)
	}
	if in.start == in.end {
		in.start, in.end = 0, 0
	}
	if in.end == bufferSize {
		in.end = copy(in.buf[:], in.buf[in.start:])
		in.start = 0
	}
	for range 100 {
		n, err := in.r.Read(in.buf[in.end:])
		in.end += n
		in.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// readFull reads into p past the buffer, which is empty unless p is.
func (in *input) readFull(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if in.err != nil {
		return in.err
	}
	n, err := io.ReadFull(in.r, p)
	if n < len(p) && err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return err
}

// part sets the buffer, which must be full, aside.
func (in *input) part() {
	in.parts = append(in.parts, in.buf)
	in.parted += bufferSize
	in.buf, in.start, in.end = nil, 0, 0
}

func (in *input) dropParts() {
	if in.parted == 0 {
		return
	}
	for i, p := range in.parts {
		chunks.Put(p)
		in.parts[i] = nil
	}
	in.parts, in.parted = in.parts[:0], 0
}

// release gives the buffers back when nothing will be read any more.
func (in *input) release() {
	in.dropParts()
	if in.buf != nil {
		chunks.Put(in.buf)
	}
	in.buf, in.start, in.end = nil, 0, 0
}
