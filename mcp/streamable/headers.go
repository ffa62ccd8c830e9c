package streamable

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"mcpv/internal/mcpheader"
	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// The headers of the transport, as net/http spells them.
const (
	headerVersion   = "Mcp-Protocol-Version"
	headerSession   = "Mcp-Session-Id"
	headerMethod    = "Mcp-Method"
	headerName      = "Mcp-Name"
	headerLastEvent = "Last-Event-Id"
)

const (
	jsonType   = "application/json"
	eventsType = "text/event-stream"
)

// isJSON reports whether the body is declared to be JSON; parameters are let
// pass, for the only charset JSON has is UTF-8 and the body is checked to be it.
func isJSON(h http.Header) bool {
	v := h["Content-Type"]
	if len(v) != 1 {
		return false
	}
	if v[0] == jsonType {
		return true
	}
	t, _, err := mime.ParseMediaType(v[0])
	return err == nil && t == jsonType
}

// isEncoded reports whether the body is compressed or the like.
func isEncoded(h http.Header) bool {
	v := h["Content-Encoding"]
	return len(v) > 1 || len(v) == 1 && v[0] != "" && !strings.EqualFold(v[0], "identity")
}

// An acceptance says which forms of an answer a client takes.
type acceptance uint8

const (
	takesJSON acceptance = 1 << iota
	takesEvents
	takesBoth = takesJSON | takesEvents
)

// accepted reads the Accept headers. Dated revisions demand that a client lists
// both forms, since the server chooses; a range that covers both, as */* does,
// is as good, and so is no header at all (RFC 9110, section 12.5.1).
func accepted(h http.Header) acceptance {
	lines := h["Accept"]
	if len(lines) == 0 {
		return takesBoth
	}
	var yes, no acceptance
	for _, line := range lines {
		if line == "application/json, text/event-stream" || line == "*/*" {
			return takesBoth
		}
		for entry := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(entry, ";")
			if forms := formsOf(strings.TrimSpace(name)); refused(params) {
				no |= forms
			} else {
				yes |= forms
			}
		}
	}
	return yes &^ no
}

func formsOf(name string) acceptance {
	switch strings.ToLower(name) {
	case "*/*":
		return takesBoth
	case jsonType, "application/*":
		return takesJSON
	case eventsType, "text/*":
		return takesEvents
	}
	return 0
}

// refused reports whether the parameters of a range give it the weight 0.
func refused(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q == 0
		}
	}
	return false
}

// speaksModern reports whether the version header is one of the modern era. A
// version nobody knows is taken for a newer one, unless the request names a
// session: then it is a legacy client's mistake.
func speaksModern(h http.Header) bool {
	v := h[headerVersion]
	if len(v) == 0 {
		return false
	}
	if r, known := revision.Lookup(v[0]); known {
		return r.Era == revision.Modern
	}
	return len(h[headerSession]) == 0
}

// checkVersionHeader checks a legacy request's header, which may be missing.
func checkVersionHeader(h http.Header, r *revision.Revision) *jsonrpc.Error {
	v := h[headerVersion]
	if len(v) == 0 || len(v) == 1 && v[0] == r.Name {
		return nil
	}
	return jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "MCP-Protocol-Version is "+strings.Join(v, ", ")+", the session speaks "+r.Name)
}

// checkStandardHeaders compares the headers of a modern request with its body.
// The body decides; that they agree is what lets others decide by the headers
// (basic/transports/streamable-http: server validation).
func checkStandardHeaders(h http.Header, m *jsonrpc.Message, version string) *jsonrpc.Error {
	if v := h[headerVersion]; len(v) != 1 || v[0] != version {
		return mismatch("MCP-Protocol-Version", v)
	}
	if v := h[headerMethod]; len(v) != 1 || v[0] != m.Method() {
		return mismatch(headerMethod, v)
	}
	var want []byte
	if param := namedBy(m.Method()); param != "" {
		want = rawjson.Get(m.Params(), param)
	}
	v := h[headerName]
	if want == nil && len(v) == 0 {
		return nil
	}
	if want == nil || len(v) != 1 || !sameName(v[0], want) {
		return mismatch(headerName, v)
	}
	return nil
}

// namedBy returns the param that Mcp-Name mirrors, "" if none.
func namedBy(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

// sameName compares without decoding where nothing needs to be.
func sameName(header string, raw []byte) bool {
	if len(raw) != len(header)+2 || strings.HasPrefix(header, "=?") {
		return mcpheader.Compare(header, raw)
	}
	for i := range len(header) {
		if c := header[i]; c != raw[i+1] || c <= ' ' || c > '~' || c == '\\' {
			return mcpheader.Compare(header, raw)
		}
	}
	return raw[0] == '"'
}

func mismatch(name string, got []string) *jsonrpc.Error {
	switch len(got) {
	case 0:
		return jsonrpc.NewError(mcp.CodeHeaderMismatch, "header mismatch: "+name+" is missing")
	case 1:
		return jsonrpc.NewError(mcp.CodeHeaderMismatch, "header mismatch: "+name+" does not agree with the body")
	}
	return jsonrpc.NewError(mcp.CodeHeaderMismatch, "header mismatch: "+name+" is repeated")
}
