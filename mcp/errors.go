package mcp

import (
	"context"
	"errors"
	"fmt"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

// The codes MCP adds to those of JSON-RPC.
const (
	CodeResourceNotFound    = -32002 // until 2025-11-25; later -32602
	CodeURLElicitation      = -32042 // 2025-11-25 only
	CodeHeaderMismatch      = -32020 // from 2026-07-28: a header and the body disagree
	CodeMissingCapability   = -32021 // from 2026-07-28: the client did not declare what the request needs
	CodeUnsupportedRevision = -32022 // from 2026-07-28: data.supported lists what the server speaks
)

var (
	// ErrNoRequests says that the revision in use lets a server send no requests.
	ErrNoRequests = errors.New("this revision of MCP has no requests from server to client")

	// ErrUnsupported says that the other side did not declare a capability.
	ErrUnsupported = errors.New("not supported by the other side")

	// ErrIncompatible says that no revision is spoken by both sides.
	ErrIncompatible = errors.New("no common revision of MCP")

	// ErrClosed says that a client, server or session has been closed.
	ErrClosed = jsonrpc.ErrClosed

	// ErrSessionGone says that the server does not know the session any more.
	ErrSessionGone = errors.New("session is gone")

	// ErrCancelled is the cause of a context whose request the other side cancelled.
	ErrCancelled = fmt.Errorf("cancelled by the other side: %w", context.Canceled)
)

// An HTTPError is an answer by HTTP status where a message was expected.
type HTTPError struct {
	Status  int
	Header  map[string][]string // by canonical name
	Body    []byte              // the beginning of it
	Message *jsonrpc.Message    // the JSON-RPC error in the body, or nil
}

func (e *HTTPError) Error() string {
	if e.Message != nil && e.Message.Err() != nil {
		return fmt.Sprintf("HTTP %d: %s", e.Status, e.Message.Err())
	}
	body := e.Body
	if len(body) > 200 {
		body = body[:200]
	}
	return fmt.Sprintf("HTTP %d: %q", e.Status, body)
}

// Get returns the first value of a header, "" when it is not there. The case of
// the name does not matter.
func (e *HTTPError) Get(name string) string {
	if values := e.Header[canonicalHeader(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Unwrap returns the JSON-RPC error in the body, if any.
func (e *HTTPError) Unwrap() error {
	if e.Message == nil {
		return nil
	}
	if err := e.Message.Err(); err != nil {
		return err
	}
	return nil
}

// methodNotFound is the answer to a method that this revision or server lacks.
func methodNotFound(method string) *jsonrpc.Error {
	return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "method not found: "+method)
}

func invalidParams(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

// missingCapability is -32021; required is a ClientCapabilities object.
func missingCapability(what, required string) *jsonrpc.Error {
	return jsonrpc.NewError(CodeMissingCapability, "the client did not declare "+what).
		WithData([]byte(`{"requiredCapabilities":` + required + `}`))
}

// undeclared is missingCapability for handlers, who ask errors.Is about
// ErrUnsupported in either era.
func undeclared(what, required string) error {
	return fmt.Errorf("%w: %w", ErrUnsupported, missingCapability(what, required))
}

// answerError turns what a handler returned into the frame to answer with.
func answerError(id jsonrpc.ID, err error) *jsonrpc.Message {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = jsonrpc.NewError(jsonrpc.CodeInternal, err.Error())
	}
	return jsonrpc.NewErrorResponse(id, e)
}

// quote returns s as a JSON string.
func quote(s string) []byte { return rawjson.AppendString(nil, s) }
