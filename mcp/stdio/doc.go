// Package stdio carries JSON-RPC frames over pipes: the standard streams of
// this process ([Stdio]), those of a subprocess ([Command], [Process]), or any
// reader and writer ([NewStream]).
//
// Two framings exist. The specification's is one JSON text a line; the classic
// dialect puts a Content-Length header block before each. A stream recognises
// its peer's framing and answers in kind.
//
// The package moves bytes and knows nothing of JSON or MCP: a line that is not
// JSON is a frame like any other, and its reader decides what to make of it.
package stdio
