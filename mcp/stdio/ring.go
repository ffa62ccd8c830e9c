package stdio

import (
	"io"
	"strings"
	"sync"
	"unicode"
)

// ringSize is how much of a child's standard error is remembered.
const ringSize = 256 << 10

// A ring remembers the last ringSize bytes written to it. Writing never waits
// for a reader; a reader that falls behind loses the oldest bytes.
type ring struct {
	mu    sync.Mutex
	more  *sync.Cond // on mu: bytes came in, or the end
	buf   []byte     // grows up to ringSize, then wraps
	total int64      // bytes ever written
	ended bool
}

func newRing() *ring {
	r := &ring{}
	r.more = sync.NewCond(&r.mu)
	return r
}

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		k := 0
		if free := ringSize - len(r.buf); free > 0 {
			k = min(free, len(p))
			r.buf = append(r.buf, p[:k]...)
		} else {
			k = copy(r.buf[r.total%ringSize:], p)
		}
		r.total += int64(k)
		p = p[k:]
	}
	r.more.Broadcast()
	return n, nil
}

// end tells followers that nothing more comes.
func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.more.Broadcast()
}

// bytes returns a copy of what is remembered.
func (r *ring) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since(0)
}

// since copies what is remembered from offset off of the whole output on.
func (r *ring) since(off int64) []byte {
	off = max(off, r.total-int64(len(r.buf)))
	b := make([]byte, 0, r.total-off)
	for off < r.total {
		stop := min(r.total-off+off%ringSize, int64(len(r.buf)))
		part := r.buf[off%ringSize : stop]
		b = append(b, part...)
		off += int64(len(part))
	}
	return b
}

// follow copies the output to w, as it comes, up to its end or the first
// error. Bytes overwritten while w was busy are left out.
func (r *ring) follow(w io.Writer) {
	var off int64
	for {
		r.mu.Lock()
		for off == r.total && !r.ended {
			r.more.Wait()
		}
		b := r.since(off)
		off = r.total
		r.mu.Unlock()
		if len(b) == 0 {
			return
		}
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

// tail returns the last few lines as one line that is safe to print.
func tail(b []byte) string {
	const maxLines, maxBytes = 5, 600
	b = b[max(0, len(b)-maxBytes):]
	var lines []string
	for l := range strings.Lines(strings.ToValidUTF8(string(b), "")) {
		l = strings.Map(func(c rune) rune {
			if unicode.IsControl(c) {
				return -1
			}
			return c
		}, strings.TrimSpace(l))
		if l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines[max(0, len(lines)-maxLines):], " | ")
}
