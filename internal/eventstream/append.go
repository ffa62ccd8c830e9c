// Package eventstream reads and writes text/event-stream, the format of
// server-sent events (WHATWG HTML, section 9.2), as MCP uses it: every byte of
// a payload survives except line ends, which become LF, and no payload can
// forge a field or an event.
package eventstream

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// ContentType is the media type of an event stream.
const ContentType = "text/event-stream"

// An Event is one block of fields of a stream.
type Event struct {
	// Name is the event's type; empty means "message".
	Name string

	// ID is the event's id when HasID is set. An empty id is legal: it makes the
	// receiver forget the last one.
	ID    string
	HasID bool

	// Retry is the time to wait before reconnecting when HasRetry is set, in
	// whole milliseconds on the wire.
	Retry    time.Duration
	HasRetry bool

	// Data is the payload. nil means that the event has no data field; empty
	// and not nil means that it has one without content, as the priming event
	// of a resumable stream does.
	Data []byte
}

// Append appends the wire form of e to dst and returns the longer slice. A CR,
// LF or CRLF in the data starts another data line; CR, LF and NUL in the name
// and in the id are left out, because no encoding of them exists. Append
// allocates only to grow dst.
func Append(dst []byte, e Event) []byte {
	if e.Name != "" {
		dst = appendField(dst, "event: ", e.Name)
	}
	if e.HasID {
		dst = appendField(dst, "id: ", e.ID)
	}
	if e.HasRetry {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, max(0, e.Retry.Milliseconds()), 10)
		dst = append(dst, '\n')
	}
	if e.Data != nil {
		dst = appendLines(dst, "data: ", e.Data)
	}
	return append(dst, '\n')
}

// AppendComment appends text as a comment, which receivers ignore: it keeps
// idle connections open. It must not be used in the middle of an event, since
// it ends with a blank line.
func AppendComment(dst []byte, text string) []byte {
	for {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			break
		}
		dst = appendField(dst, ": ", text[:i])
		text = text[i+1:]
	}
	dst = appendField(dst, ": ", text)
	return append(dst, '\n')
}

func appendField(dst []byte, prefix, value string) []byte {
	dst = append(dst, prefix...)
	if !strings.ContainsAny(value, "\r\n\x00") {
		dst = append(dst, value...)
		return append(dst, '\n')
	}
	for i := range len(value) {
		if c := value[i]; c != '\r' && c != '\n' && c != 0 {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// appendLines keeps the place of the next LF, so that data full of CR costs no
// more than other data.
func appendLines(dst []byte, prefix string, data []byte) []byte {
	lf := -1
	for pos := 0; ; {
		if lf < pos {
			if lf = bytes.IndexByte(data[pos:], '\n'); lf < 0 {
				lf = len(data)
			} else {
				lf += pos
			}
		}
		end := lf
		if i := bytes.IndexByte(data[pos:lf], '\r'); i >= 0 {
			end = pos + i
		}
		dst = append(dst, prefix...)
		dst = append(dst, data[pos:end]...)
		dst = append(dst, '\n')
		if end == len(data) {
			return dst
		}
		pos = end + 1
		if data[end] == '\r' && pos == lf && lf < len(data) {
			pos++
		}
	}
}
