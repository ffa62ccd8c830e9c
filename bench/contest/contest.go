// Package contest says what a library must be able to do to take part in the
// benchmark. Every library is a [Contestant]; for each scenario it wants to
// run in, it also implements that scenario's small interface. A scenario whose
// interface is missing is left out of the table, not failed.
//
// The work is the same for everyone: the tools of [ToolSet], registered as
// typed tools in whatever way the library offers, called by the library's own
// client. Input is validated when the library does so by default.
package contest

import (
	"context"
	"io"
	"net/http"
)

// The protocol revision each era is measured in.
const (
	LegacyVersion = "2025-11-25"
	ModernVersion = "2026-07-28"
)

// Message is the argument of every echo call.
const Message = "hello from the benchmark"

// An Era is the half of the protocol's history a scenario speaks.
type Era string

const (
	Legacy Era = "legacy" // handshake, 2025-11-25
	Modern Era = "modern" // per-request metadata, 2026-07-28
)

// Version returns the protocol revision to negotiate.
func (e Era) Version() string {
	if e == Modern {
		return ModernVersion
	}
	return LegacyVersion
}

// A ToolSet names the tools a server registers.
type ToolSet string

const (
	// Few is echo(message) and measure(text): see [EchoIn] and [MeasureIn].
	Few ToolSet = "few"
	// Hundred is 100 tools named by [ToolName], tool i taking [Args] marked
	// by the i%10th marker type, so ten distinct Go types are inferred.
	Hundred ToolSet = "hundred"
)

// A Setup is what a scenario asks for. Stateless concerns HTTP servers only
// and is always set together with the Modern era.
type Setup struct {
	Era       Era
	Tools     ToolSet
	Stateless bool
}

// A Contestant is one library under test.
type Contestant interface {
	// Name is the short name in tables and flags; Version is printed once.
	Name() string
	Version() string
}

// A Client is a connected, initialized client. Its methods may be called by
// one goroutine at a time. Every method goes to the server each time: a cached
// answer is not an answer.
type Client interface {
	// Echo calls echo(message) and returns the text of the first content block.
	Echo(ctx context.Context, message string) (string, error)
	// Measure calls measure(text) and returns the length field of the
	// structured content.
	Measure(ctx context.Context, text string) (int, error)
	// ListTools fetches all pages, decodes every tool into the library's own
	// tool type and returns how many there are.
	ListTools(ctx context.Context) (int, error)
	// Close ends the session and waits for whatever the client and a server
	// started with it left running.
	io.Closer
}

// A Piper connects its client to its server over a pair of [Pipe] ends: the
// library's newline-delimited stream transport, in one process.
type Piper interface {
	DialPipe(ctx context.Context, s Setup) (Client, error)
}

// A MemoryDialer connects its client to its server by the cheapest in-process
// transport the library offers.
type MemoryDialer interface {
	DialMemory(ctx context.Context, s Setup) (Client, error)
}

// A Stdio serves on the process's own stdin and stdout until EOF, and connects
// to such a server by starting argv as a subprocess.
type Stdio interface {
	ServeStdio(ctx context.Context, s Setup) error
	DialStdio(ctx context.Context, s Setup, argv []string) (Client, error)
}

// An HTTPServer returns its Streamable HTTP handler. Handlers answer with
// application/json where the library lets them choose.
type HTTPServer interface {
	Handler(s Setup) (http.Handler, error)
}

// An HTTPDialer connects its client to a Streamable HTTP endpoint. The client
// opens no GET stream. hc is the client to use; its transport keeps
// connections alive and is closed by the caller.
type HTTPDialer interface {
	DialHTTP(ctx context.Context, s Setup, url string, hc *http.Client) (Client, error)
}

// A Builder constructs a server with the Hundred tools from scratch, schemas
// inferred from types, and returns it so that nothing is optimized away.
type Builder interface {
	Build() (any, error)
}
