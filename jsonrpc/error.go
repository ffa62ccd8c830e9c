package jsonrpc

import (
	"errors"
	"fmt"
	"strconv"

	"mcpv/internal/rawjson"
)

// The codes JSON-RPC 2.0 defines.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// An Error is the error member of a response: a peer's "no", or ours.
type Error struct {
	Code    int
	Message string
	Data    []byte // raw JSON, or nil
}

// NewError returns an error without data.
func NewError(code int, message string) *Error { return &Error{Code: code, Message: message} }

// Errorf formats an error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithData returns a copy that carries raw JSON data.
func (e *Error) WithData(raw []byte) *Error {
	c := *e
	c.Data = raw
	return &c
}

func (e *Error) Error() string { return e.Message + " (" + strconv.Itoa(e.Code) + ")" }

// Is makes errors.Is match two Errors by code.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code
}

// Append writes the error object.
func (e *Error) Append(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// ParseErrorObject reads an error object. Members that are missing or of the
// wrong type become zero: a peer's malformed error is still an error.
func ParseErrorObject(raw []byte) *Error {
	e := &Error{Code: CodeInternal}
	for c := rawjson.Object(raw); c.Next(); {
		switch {
		case c.KeyIs("code"):
			if n, ok := rawjson.Int(c.Value()); ok {
				e.Code = int(n)
			}
		case c.KeyIs("message"):
			e.Message, _ = rawjson.String(c.Value())
		case c.KeyIs("data"):
			e.Data = c.Value()
		}
	}
	return e
}

// A FrameError says why bytes are no message. ID is the id of the offending
// request as far as it could be read, so that the answer can carry it; To is
// that of our request which an offending response was meant for.
type FrameError struct {
	ID  ID
	To  ID
	Err *Error
}

func (e *FrameError) Error() string { return "bad frame: " + e.Err.Error() }

// Unwrap returns the error to answer with.
func (e *FrameError) Unwrap() error { return e.Err }

// Answer returns the error response to send back.
func (e *FrameError) Answer() *Message { return NewErrorResponse(e.ID, e.Err) }
