package jsonrpc

import (
	"bytes"
	"errors"

	"mcpv/internal/rawjson"
)

// A Kind says what a message is.
type Kind uint8

// The kinds of messages.
const (
	Request      Kind = iota + 1 // has a method and an id
	Notification                 // has a method and no id
	Response                     // has a result or an error
)

// A Message is one frame and the spans of its members. It is immutable: the
// With methods return new messages that share the bytes they did not change.
type Message struct {
	raw    []byte // the whole frame, strict JSON
	id     ID
	method string
	kind   Kind
	failed bool // a Response with an error member

	idAt, methodAt, bodyAt span // in raw; bodyAt is params, result or error
}

type span struct{ start, end int }

func (s span) of(b []byte) []byte { return b[s.start:s.end:s.end] }

// Kind returns what the message is.
func (m *Message) Kind() Kind { return m.kind }

// ID returns the id; zero for notifications and for error responses to
// requests whose id could not be read.
func (m *Message) ID() ID { return m.id }

// Method returns the method; "" for responses.
func (m *Message) Method() string { return m.method }

// Bytes returns the frame. It must not be changed.
func (m *Message) Bytes() []byte { return m.raw }

// Params returns the raw params of a request or notification, nil when absent.
func (m *Message) Params() []byte {
	if m.kind == Response || m.bodyAt.end == 0 {
		return nil
	}
	return m.bodyAt.of(m.raw)
}

// Result returns the raw result of a successful response, else nil.
func (m *Message) Result() []byte {
	if m.kind != Response || m.failed {
		return nil
	}
	return m.bodyAt.of(m.raw)
}

// RawError returns the raw error object of a failed response, else nil.
func (m *Message) RawError() []byte {
	if !m.failed {
		return nil
	}
	return m.bodyAt.of(m.raw)
}

// Err returns the error of a failed response, else nil.
func (m *Message) Err() *Error {
	if !m.failed {
		return nil
	}
	return ParseErrorObject(m.RawError())
}

// Parse reads one message. The message keeps frame; the caller must not change
// it any more. Failures are *FrameError: -32700 for what is not strict JSON
// (duplicate members and invalid UTF-8 included), -32600 for JSON that is no
// message, with the id where one could be read.
func Parse(frame []byte) (*Message, error) { return ParseLimited(frame, rawjson.Limits{}) }

// Limits bound what ParseLimited accepts: Depth is how far containers may nest
// (0 means 256), Members how many object members a frame may have in all (0
// means 100 000).
type Limits = rawjson.Limits

// ParseLimited is Parse with limits of depth and members.
func ParseLimited(frame []byte, l Limits) (*Message, error) {
	var room [8]rawjson.Member
	members, err := l.Split(frame, room[:0])
	if err != nil {
		return nil, parseError(frame, err)
	}
	m := &Message{raw: frame}
	var version, hasID, hasMethod, hasParams, hasResult, hasError bool
	for i := range members {
		at := span{members[i].Start, members[i].End}
		switch string(members[i].Key) {
		case "jsonrpc":
			version = string(at.of(frame)) == `"2.0"`
		case "id":
			hasID, m.idAt = true, at
		case "method":
			hasMethod, m.methodAt = true, at
		case "params":
			hasParams, m.bodyAt = true, at
		case "result":
			hasResult, m.bodyAt = true, at
		case "error":
			hasError, m.bodyAt = true, at
		}
	}
	if hasID {
		m.id, _ = ParseID(m.idAt.of(frame))
	}
	bad := func(reason string) error {
		e := &FrameError{ID: m.id, Err: NewError(CodeInvalidRequest, reason)}
		if !hasMethod && (hasResult || hasError) {
			e.To, e.ID = m.id, ID{} // it names a request of ours; the answer must not look like that of one of theirs
		}
		return e
	}
	switch {
	case !version:
		return nil, bad(`jsonrpc must be "2.0"`)
	case hasResult && hasError:
		return nil, bad("a response has a result or an error, not both")
	case hasMethod && (hasResult || hasError):
		return nil, bad("a message has a method or a result, not both")
	case hasMethod:
		return m.asCall(hasID, hasParams, bad)
	case hasResult || hasError:
		return m.asResponse(hasID, hasParams, hasError, bad)
	}
	return nil, bad("neither method, result nor error")
}

func (m *Message) asCall(hasID, hasParams bool, bad func(string) error) (*Message, error) {
	method, ok := rawjson.String(m.methodAt.of(m.raw))
	if !ok || method == "" {
		return nil, bad("method must be a string")
	}
	m.method, m.kind = method, Notification
	if hasID {
		if m.id.IsZero() {
			return nil, bad("id must be a string or an integer")
		}
		m.kind = Request
	}
	if hasParams {
		switch rawjson.KindOf(m.bodyAt.of(m.raw)) {
		case '{':
		case 'n': // tolerated as absent: the seed dialect writes null
			m.bodyAt = span{}
		default:
			return nil, &FrameError{ID: m.id, Err: NewError(CodeInvalidParams, "params must be an object")}
		}
	}
	return m, nil
}

func (m *Message) asResponse(hasID, hasParams, hasError bool, bad func(string) error) (*Message, error) {
	m.kind, m.failed = Response, hasError
	switch {
	case hasParams:
		return nil, bad("a response has no params")
	case hasID && m.id.IsZero() && !(hasError && string(m.idAt.of(m.raw)) == "null"):
		return nil, bad("id must be a string or an integer")
	case !hasID && !hasError:
		return nil, bad("a result needs an id")
	case hasError && rawjson.KindOf(m.bodyAt.of(m.raw)) != '{':
		return nil, bad("error must be an object")
	}
	return m, nil
}

func parseError(frame []byte, err error) error {
	switch {
	case errors.Is(err, rawjson.ErrNotObject) && IsBatch(frame):
		return &FrameError{Err: NewError(CodeInvalidRequest, "batches are not accepted here")}
	case errors.Is(err, rawjson.ErrNotArray):
		return &FrameError{Err: NewError(CodeInvalidRequest, "a batch is a JSON array")}
	case errors.Is(err, rawjson.ErrNotObject):
		return &FrameError{Err: NewError(CodeInvalidRequest, "a message is a JSON object")}
	}
	return &FrameError{Err: NewError(CodeParse, "parse error: "+err.Error())}
}

// IsBatch reports whether the frame's first byte opens an array.
func IsBatch(frame []byte) bool { return rawjson.KindOf(frame) == '[' }

// SplitBatch returns the elements of a batch, each to be given to Parse. An
// empty batch is -32600.
func SplitBatch(frame []byte) ([][]byte, error) {
	spans, err := rawjson.SplitArray(frame, nil)
	if err != nil {
		return nil, parseError(frame, err)
	}
	if len(spans) == 0 {
		return nil, &FrameError{Err: NewError(CodeInvalidRequest, "empty batch")}
	}
	elements := make([][]byte, len(spans))
	for i, s := range spans {
		elements[i] = frame[s.Start:s.End:s.End]
	}
	return elements, nil
}

// JoinBatch returns the messages as one batch.
func JoinBatch(messages []*Message) []byte {
	b := []byte{'['}
	for i, m := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.raw...)
	}
	return append(b, ']')
}

// NewRequest builds a request. params is raw JSON or nil; it must be valid.
func NewRequest(id ID, method string, params []byte) *Message {
	return newCall(id, method, params)
}

// NewNotification builds a notification. params is raw JSON or nil.
func NewNotification(method string, params []byte) *Message {
	return newCall(ID{}, method, params)
}

func newCall(id ID, method string, params []byte) *Message {
	m := &Message{id: id, method: method, kind: Notification}
	b := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"method":,"params":}`)+len(id.token)+len(method)+2+len(params))
	b = append(b, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
		m.kind = Request
		b = append(b, `,"id":`...)
		m.idAt.start = len(b)
		b = append(b, id.token...)
		m.idAt.end = len(b)
	}
	b = append(b, `,"method":`...)
	m.methodAt.start = len(b)
	b = rawjson.AppendString(b, method)
	m.methodAt.end = len(b)
	if params != nil {
		b = append(b, `,"params":`...)
		m.bodyAt.start = len(b)
		b = append(b, params...)
		m.bodyAt.end = len(b)
	}
	m.raw = append(b, '}')
	return m
}

// NewResult builds a successful response. result is raw JSON.
func NewResult(id ID, result []byte) *Message { return newResponse(id, "result", result, false) }

// NewErrorResponse builds a failed response. A zero id is left out.
func NewErrorResponse(id ID, e *Error) *Message {
	return newResponse(id, "error", e.Append(nil), true)
}

// NewRawErrorResponse builds a failed response around a raw error object.
func NewRawErrorResponse(id ID, raw []byte) *Message { return newResponse(id, "error", raw, true) }

func newResponse(id ID, member string, body []byte, failed bool) *Message {
	m := &Message{id: id, kind: Response, failed: failed}
	b := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"result":}`)+len(id.token)+len(body))
	b = append(b, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
		b = append(b, `,"id":`...)
		m.idAt.start = len(b)
		b = append(b, id.token...)
		m.idAt.end = len(b)
	}
	b = append(b, ',', '"')
	b = append(b, member...)
	b = append(b, '"', ':')
	m.bodyAt.start = len(b)
	b = append(b, body...)
	m.bodyAt.end = len(b)
	m.raw = append(b, '}')
	return m
}

// WithID returns the message under another id; all other bytes stay. The
// message must have an id and so must the new one.
func (m *Message) WithID(id ID) *Message {
	if m.id == id || m.idAt.end == 0 {
		return m
	}
	c := *m
	c.id = id
	c.raw = m.splice(&c, m.idAt, id.token)
	return &c
}

// WithMethod returns the call under another method; all other bytes stay.
func (m *Message) WithMethod(method string) *Message {
	if m.kind == Response || m.method == method {
		return m
	}
	c := *m
	c.method = method
	c.raw = m.splice(&c, m.methodAt, string(rawjson.AppendString(nil, method)))
	return &c
}

// WithBody returns the message with other params, result or error object: the
// member it has keeps its place, all other bytes stay. A call without params
// gets them as its last member, and nil takes them away; a response needs a
// body.
func (m *Message) WithBody(body []byte) *Message {
	switch {
	case m.kind != Response && (body == nil || m.bodyAt.end == 0):
		return m.setParams(body)
	case bytes.Equal(m.bodyAt.of(m.raw), body):
		return m
	}
	c := *m
	c.raw = m.splice(&c, m.bodyAt, string(body))
	return &c
}

// setParams adds or removes the member itself, and finds the spans again.
func (m *Message) setParams(body []byte) *Message {
	if body == nil && m.bodyAt.end == 0 {
		return m
	}
	c := *m
	if body == nil {
		c.raw = rawjson.Delete(m.raw, "params")
	} else {
		c.raw = rawjson.Set(m.raw, body, "params")
	}
	c.bodyAt = span{}
	for k := rawjson.Object(c.raw); k.Next(); {
		at := span{k.Span().Start, k.Span().End}
		switch {
		case k.KeyIs("id"):
			c.idAt = at
		case k.KeyIs("method"):
			c.methodAt = at
		case k.KeyIs("params"):
			c.bodyAt = at
		}
	}
	return &c
}

// splice replaces one span and moves c's spans behind it.
func (m *Message) splice(c *Message, at span, with string) []byte {
	out := make([]byte, 0, len(m.raw)-(at.end-at.start)+len(with))
	out = append(out, m.raw[:at.start]...)
	out = append(out, with...)
	out = append(out, m.raw[at.end:]...)
	shift := len(with) - (at.end - at.start)
	for _, s := range []*span{&c.idAt, &c.methodAt, &c.bodyAt} {
		switch {
		case s.end == 0:
		case *s == at:
			s.end += shift
		case s.start >= at.end:
			s.start += shift
			s.end += shift
		}
	}
	return out
}
