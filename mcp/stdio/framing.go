package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"mcpv/jsonrpc"
)

// Framing is how frames are told apart on a byte stream.
type Framing uint32

const (
	// Lines is one frame a line, as every dated revision has it.
	Lines Framing = iota
	// ContentLength is a header block, a blank line and as many bytes as the
	// header says: the classic dialect.
	ContentLength
)

func (f Framing) String() string {
	if f == ContentLength {
		return "content-length"
	}
	return "lines"
}

// DefaultMaxFrame is the size in bytes above which a frame is refused.
const DefaultMaxFrame = 16 << 20

// ErrTooLarge is wrapped, beside jsonrpc.ErrSkipped, by the error of a Read
// that met a frame above the limit.
var ErrTooLarge = errors.New("frame too large")

const (
	bufferSize = 64 << 10 // a pipe's capacity on Linux: one read empties it
	maxHeader  = 8 << 10  // of one Content-Length header block
)

// StreamOptions tune a Stream. The zero value works.
type StreamOptions struct {
	// Framing is what Write uses until the peer has shown its own.
	Framing Framing
	// MaxFrame bounds one incoming frame in bytes; DefaultMaxFrame if <= 0.
	MaxFrame int
}

// A Stream is a jsonrpc.Stream over a reader and a writer.
type Stream struct {
	w      io.Writer
	closer io.Closer
	max    int

	framing atomic.Uint32 // set by the reader, read by the writer

	closed   atomic.Bool
	once     sync.Once
	closeErr error

	in      input
	decided bool  // the peer has shown its framing
	midLine bool  // the rest of an oversized line is still to be discarded
	skip    int64 // bytes of an oversized body still to be discarded
	readErr error // fatal: the stream ended or lost step

	out      []byte
	writeErr error // fatal: part of a frame may be on the wire
}

var _ jsonrpc.Stream = (*Stream)(nil)

// NewStream returns a stream that reads frames from r and writes them to w.
// Close calls c once; that has to unblock pending calls of r and w. A nil c
// closes nothing, and nil options are the zero value.
func NewStream(r io.Reader, w io.Writer, c io.Closer, o *StreamOptions) *Stream {
	if o == nil {
		o = &StreamOptions{}
	}
	s := &Stream{w: w, closer: c, max: o.MaxFrame, in: input{r: r}}
	if s.max <= 0 {
		s.max = DefaultMaxFrame
	}
	s.framing.Store(uint32(o.Framing))
	return s
}

// Framing is the framing that Write uses now: the peer's once it is known, the
// one of the options before. Any goroutine may ask.
func (s *Stream) Framing() Framing { return Framing(s.framing.Load()) }

// Close implements jsonrpc.Stream.
func (s *Stream) Close() error {
	s.once.Do(func() {
		s.closed.Store(true)
		if s.closer != nil {
			s.closeErr = s.closer.Close()
		}
	})
	return s.closeErr
}

// Read implements jsonrpc.Stream. A frame above the limit is reported as soon
// as it is known to be too large, so that a peer that never ends it can be
// dropped; its rest is discarded by the next Read. Empty frames are passed
// over, and a last line without its newline is a frame.
func (s *Stream) Read() ([]byte, error) {
	if s.closed.Load() {
		return nil, closedError("read")
	}
	if s.readErr != nil {
		return nil, s.readErr
	}
	frame, err := s.next()
	if err == nil || errors.Is(err, jsonrpc.ErrSkipped) {
		return frame, err
	}
	if s.closed.Load() {
		err = closedError("read")
	}
	s.readErr = err
	s.in.release()
	return nil, err
}

func closedError(op string) error {
	return fmt.Errorf("stdio: %s: %w", op, os.ErrClosed)
}

func (s *Stream) next() ([]byte, error) {
	for {
		if err := s.resync(); err != nil {
			return nil, err
		}
		if !s.decided {
			if err := s.detect(); err != nil {
				return nil, err
			}
		}
		read := s.readLine
		if s.decided && s.Framing() == ContentLength {
			read = s.readBlock
		}
		if frame, err := read(); err != nil || len(frame) > 0 {
			return frame, err
		}
	}
}

// resync discards what is left of an oversized frame.
func (s *Stream) resync() error {
	for s.midLine {
		b := s.in.bytes()
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			s.in.consume(i + 1)
			s.midLine = false
			break
		}
		s.in.consume(len(b))
		if err := s.in.fill(); err != nil {
			return err
		}
	}
	for s.skip > 0 {
		n := min(s.skip, int64(len(s.in.bytes())))
		s.in.consume(int(n))
		if s.skip -= n; s.skip == 0 {
			break
		}
		if err := s.in.fill(); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// detect looks at the first bytes of a frame for the peer's framing. JSON
// means lines and a header name means header blocks. Anything else is stray
// output, which decides nothing: a server may print a banner first, and
// "Connecting…" begins with a C too.
func (s *Stream) detect() error {
	const name = "content-"
	for {
		b := bytes.TrimLeft(s.in.bytes(), " \t\r\n")
		s.in.consume(len(s.in.bytes()) - len(b))
		n := min(len(b), len(name))
		switch {
		case n > 0 && (b[0] == '{' || b[0] == '['):
			s.decide(Lines)
			return nil
		case !bytes.EqualFold(b[:n], []byte(name[:n])):
			return nil
		case n == len(name):
			s.decide(ContentLength)
			return nil
		}
		if err := s.in.fill(); err != nil {
			if n > 0 {
				return nil
			}
			return err
		}
	}
}

func (s *Stream) decide(f Framing) {
	s.decided = true
	s.framing.Store(uint32(f))
}

func (s *Stream) tooLarge(what string) error {
	return fmt.Errorf("stdio: %s of more than %d bytes: %w: %w", what, s.max, ErrTooLarge, jsonrpc.ErrSkipped)
}

// readLine returns the next line without its end, nil if it is blank.
func (s *Stream) readLine() ([]byte, error) {
	defer s.in.dropParts()
	scanned := 0
	for {
		b := s.in.bytes()
		if i := bytes.IndexByte(b[scanned:], '\n'); i >= 0 {
			return s.takeLine(scanned+i, 1)
		}
		scanned = len(b)
		if s.in.parted+len(b) > s.max+1 { // one more: the line may end in CR
			s.in.consume(len(b))
			s.midLine = true
			return nil, s.tooLarge("line")
		}
		if len(b) == bufferSize {
			s.in.part()
			scanned = 0
		}
		if err := s.in.fill(); err == io.EOF && s.in.parted+len(s.in.bytes()) > 0 {
			return s.takeLine(len(s.in.bytes()), 0)
		} else if err != nil {
			return nil, err
		}
	}
}

// takeLine copies the parts and n bytes of the buffer into a frame and
// consumes them and end bytes more.
func (s *Stream) takeLine(n, end int) ([]byte, error) {
	line := s.in.bytes()[:n]
	defer s.in.consume(n + end)
	if s.in.parted > 0 {
		whole := make([]byte, 0, s.in.parted+n)
		for _, p := range s.in.parts {
			whole = append(whole, p[:]...)
		}
		line = append(whole, line...)
	}
	line = bytes.TrimSuffix(line, []byte{'\r'})
	switch {
	case len(line) > s.max:
		return nil, s.tooLarge("line")
	case len(bytes.TrimLeft(line, " \t\r")) == 0:
		return nil, nil
	case s.in.parted > 0:
		return line, nil
	}
	return append(make([]byte, 0, len(line)), line...), nil
}

// readBlock returns the body of the next header block, nil if it is empty.
func (s *Stream) readBlock() ([]byte, error) {
	size, err := s.readHeader()
	switch {
	case err != nil:
		return nil, err
	case size > int64(s.max):
		s.skip = size
		return nil, s.tooLarge("body")
	case size == 0:
		return nil, nil
	}
	frame := make([]byte, size)
	n := copy(frame, s.in.bytes())
	s.in.consume(n)
	if err := s.in.readFull(frame[n:]); err != nil {
		return nil, unexpected(err)
	}
	return frame, nil
}

// readHeader reads a header block, with LF or CR LF, and returns its
// Content-Length. Blank lines before the block are passed over: some peers
// end their bodies with one.
func (s *Stream) readHeader() (int64, error) {
	size, total, begun := int64(-1), 0, false
	for {
		line, err := s.headerLine()
		if err != nil {
			if begun {
				err = unexpected(err)
			}
			return 0, err
		}
		if len(line) == 0 {
			if !begun {
				continue
			}
			if size < 0 {
				return 0, errors.New("stdio: header block without Content-Length")
			}
			return size, nil
		}
		begun = true
		if total += len(line); total > maxHeader {
			return 0, errHeaderSize
		}
		if err := parseHeader(line, &size); err != nil {
			return 0, err
		}
	}
}

var errHeaderSize = fmt.Errorf("stdio: header block of more than %d bytes", maxHeader)

// headerLine returns the next line without its end. It is valid until the
// input moves on.
func (s *Stream) headerLine() ([]byte, error) {
	for {
		b := s.in.bytes()
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			s.in.consume(i + 1)
			return bytes.TrimRight(b[:i], "\r"), nil
		}
		if len(b) > maxHeader {
			return nil, errHeaderSize
		}
		if err := s.in.fill(); err != nil {
			if len(b) > 0 {
				err = unexpected(err)
			}
			return nil, err
		}
	}
}

// parseHeader stores the value of a Content-Length line in size, which is
// negative as long as there was none.
func parseHeader(line []byte, size *int64) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("stdio: malformed header line %.80q", line)
	}
	if !bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Length")) {
		return nil
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
	if err != nil {
		return fmt.Errorf("stdio: malformed Content-Length %.80q", bytes.TrimSpace(value))
	}
	if *size >= 0 && *size != int64(n) {
		return fmt.Errorf("stdio: Content-Length is both %d and %d", *size, n)
	}
	*size = int64(n)
	return nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return fmt.Errorf("stdio: stream ended inside a frame: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// Write implements jsonrpc.Stream. Frames that fit in 64 KiB together are one
// write. Empty frames are not sent. With Lines, CR and LF are taken out, as
// JSON has them between tokens only, where they mean nothing.
func (s *Stream) Write(frames ...[]byte) error {
	if s.closed.Load() {
		return closedError("write")
	}
	if s.writeErr != nil {
		return s.writeErr
	}
	err := s.putFrames(frames)
	if err == nil {
		err = s.flush()
	}
	if err != nil {
		s.out = nil
		if s.closed.Load() {
			err = closedError("write")
		}
		s.writeErr = err
	}
	return err
}

func (s *Stream) putFrames(frames [][]byte) error {
	framing := s.Framing()
	for _, f := range frames {
		var err error
		switch {
		case len(f) == 0:
		case framing == ContentLength:
			err = s.putBlock(f)
		default:
			err = s.putLine(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) putBlock(f []byte) error {
	const room = 48 // for any header
	if len(s.out)+room > bufferSize {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.out = append(s.out, "Content-Length: "...)
	s.out = strconv.AppendInt(s.out, int64(len(f)), 10)
	s.out = append(s.out, "\r\n\r\n"...)
	return s.put(f)
}

func (s *Stream) putLine(f []byte) error {
	for len(f) > 0 {
		n := lineBreak(f)
		if err := s.put(f[:n]); err != nil {
			return err
		}
		if f = f[n:]; len(f) > 0 {
			f = f[1:]
		}
	}
	return s.put(newline)
}

var newline = []byte{'\n'}

// lineBreak is the index of the first CR or LF in f, or its length.
func lineBreak(f []byte) int {
	if i := bytes.IndexByte(f, '\n'); i >= 0 {
		f = f[:i]
	}
	if i := bytes.IndexByte(f, '\r'); i >= 0 {
		return i
	}
	return len(f)
}

// put appends p to the pending output, which never exceeds bufferSize. The
// bulk of a long p goes out as it is; its tail stays behind, so that what ends
// the frame does not need a write of its own.
func (s *Stream) put(p []byte) error {
	if len(s.out)+len(p) > bufferSize {
		if err := s.flush(); err != nil {
			return err
		}
		if direct := len(p) - bufferSize/2; len(p) > bufferSize {
			if err := s.write(p[:direct]); err != nil {
				return err
			}
			p = p[direct:]
		}
	}
	s.out = append(s.out, p...)
	return nil
}

func (s *Stream) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	err := s.write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *Stream) write(p []byte) error {
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("stdio: write: %w", err)
	}
	return nil
}
