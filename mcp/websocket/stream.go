// Package websocket carries MCP over WebSocket: one JSON-RPC message a text
// frame, subprotocol "mcp". The specification leaves this transport open
// (basic/transports, custom transports); the messages and their order are those
// of stdio.
package websocket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"mcpv/jsonrpc"
)

// Subprotocol is the name both sides have to agree on in the handshake.
const Subprotocol = "mcp"

const (
	// The default limits of one message, in bytes.
	serverReadLimit = 4 << 20
	clientReadLimit = 16 << 20

	defaultWriteTimeout = 10 * time.Second
	defaultPingInterval = 30 * time.Second

	// closeTimeout bounds the close handshake with a peer that does not answer.
	closeTimeout = 2 * time.Second

	// maxKept is the size above which a message is handed over in the buffer it
	// was read into, not copied.
	maxKept = 32 << 10
)

// ErrBinary is the error of Read when the peer sends a binary frame, which also
// ends the connection (status 1003).
var ErrBinary = errors.New("websocket: binary frame")

var errDead = errors.New("websocket: peer does not answer pings")

// settings are what both sides of a connection have.
type settings struct {
	readLimit    int64
	writeTimeout time.Duration
	pingInterval time.Duration
}

func (s settings) withDefaults(readLimit int64) settings {
	if s.readLimit <= 0 {
		s.readLimit = readLimit
	}
	if s.writeTimeout <= 0 {
		s.writeTimeout = defaultWriteTimeout
	}
	if s.pingInterval == 0 {
		s.pingInterval = defaultPingInterval
	}
	return s
}

// A Stream is one WebSocket connection. It implements jsonrpc.Stream.
type Stream struct {
	conn *websocket.Conn
	set  settings

	// wire is what conn runs on. Closing it is the only way to cut a close
	// handshake short.
	wire io.Closer

	ctx    context.Context
	cancel context.CancelCauseFunc

	waiting   atomic.Bool // a call of Read is under way
	message   bytes.Buffer
	closeOnce sync.Once
	running   sync.WaitGroup
}

var _ jsonrpc.Stream = (*Stream)(nil)

// newStream takes over conn, and wire under it. The stream outlives ctx's cancellation and keeps
// its values.
func newStream(ctx context.Context, conn *websocket.Conn, wire io.Closer, set settings) *Stream {
	s := &Stream{conn: conn, wire: wire, set: set}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	conn.SetReadLimit(set.readLimit)
	if set.pingInterval > 0 {
		s.running.Go(s.ping)
	}
	return s
}

// Read returns the next message. A message over the limit ends the connection
// (status 1009), as a binary frame does: the peer does not keep to the rules.
func (s *Stream) Read() ([]byte, error) {
	b, err := s.read()
	if err == ErrBinary {
		s.closeWith(websocket.StatusUnsupportedData, "text frames only")
	}
	return b, err
}

func (s *Stream) read() ([]byte, error) {
	s.waiting.Store(true)
	defer s.waiting.Store(false)
	typ, r, err := s.conn.Reader(s.ctx)
	if err != nil {
		return nil, s.readError(err)
	}
	if typ != websocket.MessageText {
		return nil, ErrBinary
	}
	s.message.Reset()
	if _, err := s.message.ReadFrom(r); err != nil {
		return nil, s.readError(err)
	}
	if s.message.Len() <= maxKept {
		return bytes.Clone(s.message.Bytes()), nil
	}
	b := s.message.Bytes()
	s.message = bytes.Buffer{}
	return b, nil
}

// readError tells an orderly end from a broken connection.
func (s *Stream) readError(err error) error {
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return io.EOF
	}
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("websocket: connection lost: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("websocket: read: %w", err)
}

// Write sends each frame as a message. A peer that takes longer than the write
// timeout for one loses its connection.
func (s *Stream) Write(frames ...[]byte) error {
	for _, f := range frames {
		if err := s.write(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) write(frame []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.set.writeTimeout)
	defer cancel()
	err := s.conn.Write(ctx, websocket.MessageText, frame)
	switch {
	case err == nil:
		return nil
	case context.Cause(s.ctx) != nil:
		return context.Cause(s.ctx)
	case ctx.Err() != nil:
		return fmt.Errorf("websocket: peer reads too slowly: %w", ctx.Err())
	}
	return fmt.Errorf("websocket: write: %w", err)
}

// Close says goodbye to the peer, waits two seconds at most for its answer, and
// ends the connection. It always returns nil.
func (s *Stream) Close() error {
	s.closeWith(websocket.StatusNormalClosure, "")
	return nil
}

// closeWith is Close with a reason. A second call waits for the first.
func (s *Stream) closeWith(code websocket.StatusCode, reason string) {
	s.closeOnce.Do(func() {
		timer := time.AfterFunc(closeTimeout, func() { _ = s.wire.Close() })
		// The error says no more than that the peer was gone or silent.
		_ = s.conn.Close(code, reason)
		timer.Stop()
		s.cancel(net.ErrClosed)
		s.running.Wait()
	})
}

// ping ends the connection when the peer is silent for a whole interval. Pongs
// are seen only while Read waits, so there is none when nobody reads.
func (s *Stream) ping() {
	tick := time.NewTicker(s.set.pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if !s.waiting.Load() {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.set.pingInterval)
		err := s.conn.Ping(ctx)
		cancel()
		if err != nil && s.waiting.Load() {
			s.cancel(errDead)
			return
		}
	}
}
