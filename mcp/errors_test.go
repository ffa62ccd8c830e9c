package mcp_test

import (
	"errors"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

func TestHTTPError(t *testing.T) {
	e := &mcp.HTTPError{Status: 401, Header: map[string][]string{"Www-Authenticate": {"Bearer", "Basic"}}, Body: []byte("no")}
	if got := e.Get("WWW-authenticate"); got != "Bearer" {
		t.Errorf("header %q", got)
	}
	if got := e.Get("Retry-After"); got != "" {
		t.Errorf("missing header %q", got)
	}
	if got := e.Error(); got != `HTTP 401: "no"` {
		t.Errorf("text %q", got)
	}
	var rpc *jsonrpc.Error
	if errors.As(e, &rpc) {
		t.Errorf("unwraps to %v", rpc)
	}
	e.Message = jsonrpc.NewErrorResponse(jsonrpc.ID{}, jsonrpc.NewError(-32001, "who are you?"))
	if !errors.As(e, &rpc) || rpc.Code != -32001 {
		t.Errorf("unwraps to %v", rpc)
	}
}
