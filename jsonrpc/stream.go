package jsonrpc

import "errors"

// A Stream carries whole frames in both directions: pipes, a WebSocket, an
// in-memory pair. It knows framing and nothing of JSON.
//
// One goroutine reads and one writes at any time; Close may be called from
// anywhere, more than once, and unblocks both.
type Stream interface {
	// Read returns the next frame. The caller owns the bytes. It returns
	// io.EOF when the peer ended the stream in an orderly way. An error that
	// wraps ErrSkipped lost one frame only: Read may be called again.
	Read() ([]byte, error)

	// Write sends the frames in order, as one write where the medium allows it.
	// The bytes are the caller's again when it returns.
	Write(frames ...[]byte) error

	// Close ends the stream and releases what it holds.
	Close() error
}

// ErrSkipped is wrapped by the errors of Stream.Read after which the stream is
// still in step: an oversized line was discarded, say.
var ErrSkipped = errors.New("frame skipped")
