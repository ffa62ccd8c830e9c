package demo

import (
	"strings"

	"mcpv/revision"
)

// HowToHTTP tells a person how to talk to the demo on the address, in commands
// that can be pasted into a shell.
func HowToHTTP(addr string) string {
	return fill(`mcpv demo on http://ADDR

  /mcp   Streamable HTTP, REVISIONS and classic
  /sse   HTTP+SSE
  /ws    WebSocket, subprotocol "mcp"

Call a tool, in one line (classic):

  curl -s http://ADDR/mcp -H 'Content-Type: application/json' \
    -d '{"jsonrpc":"2.0","id":1,"method":"mcp/tool/execute","params":{"toolId":"add","inputs":{"a":2,"b":3}}}'

The modern era (MODERN): every request stands alone.

  curl -s http://ADDR/mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -H 'MCP-Protocol-Version: MODERN' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: echo' \
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"},"_meta":{
      "io.modelcontextprotocol/protocolVersion":"MODERN","io.modelcontextprotocol/clientCapabilities":{}}}}'

The legacy era (LEGACY and before): say hello, keep the session, call.

  SESSION=$(curl -s -o /dev/null -D - http://ADDR/mcp -H 'Content-Type: application/json' \
    -H 'Accept: application/json, text/event-stream' \
    -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"LEGACY","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}' \
    | tr -d '\r' | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')
  curl -s http://ADDR/mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -H "Mcp-Session-Id: $SESSION" -H 'MCP-Protocol-Version: LEGACY' \
    -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}'

In a client's configuration: {"mcpServers":{"demo":{"type":"http","url":"http://ADDR/mcp"}}}
`, addr)
}

// HowToStdio tells a person who started the demo in a terminal what it waits
// for.
func HowToStdio() string {
	return fill(`mcpv demo speaks MCP on standard input and output; a client starts it with

  {"mcpServers":{"demo":{"command":"mcpv","args":["demo"]}}}

By hand, paste a line and see the answer (end with Ctrl-D):

  {"jsonrpc":"2.0","id":1,"method":"mcp/tool/execute","params":{"toolId":"add","inputs":{"a":2,"b":3}}}

Or serve it over HTTP: mcpv demo --http
`, "")
}

// fill puts the address and the names of the revisions into a text.
func fill(text, addr string) string {
	var dated []string
	modern, legacy := "", ""
	for _, r := range revision.All() { // newest first
		switch {
		case r.Era == revision.Modern && modern == "":
			modern = r.Name
		case r.Rules.Streamable && r.Era == revision.Legacy && legacy == "":
			legacy = r.Name
		}
		if r.Rules.Streamable || r.Era == revision.Modern {
			dated = append(dated, r.Name)
		}
	}
	return strings.NewReplacer("ADDR", addr, "MODERN", modern, "LEGACY", legacy, "REVISIONS", strings.Join(dated, ", ")).Replace(text)
}
