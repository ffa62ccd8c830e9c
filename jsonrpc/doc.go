// Package jsonrpc holds JSON-RPC 2.0 frames as bytes.
//
// A [Message] is parsed once, into spans of the frame it came in; ids stay raw
// tokens and every edit splices one span, so that a frame passed on differs
// from the one received in nothing but what was edited. A [Conn] runs calls,
// cancellation and orderly shutdown over any [Stream]. The package knows
// nothing of MCP.
package jsonrpc
