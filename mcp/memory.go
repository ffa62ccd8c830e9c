package mcp

import (
	"context"

	"mcpv/jsonrpc"
)

// InProcess is a Transport to a handler in this process: every connection is
// one more client of it. Frames cross as they would on a pipe.
func InProcess(h Handler) Transport { return &inProcess{handler: h} }

type inProcess struct{ handler Handler }

// Connect serves the handler on one end of a pipe until the link is closed.
func (p *inProcess) Connect(ctx context.Context, in Receiver) (Link, error) {
	near, far := jsonrpc.Pipe()
	served := make(chan struct{})
	// The session lives as long as the link, not as long as the connecting.
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer close(served)
		_ = ServeStream(ctx, p.handler, far, nil) // an in-memory stream only ends
	}()
	return &inProcessLink{Link: NewStreamLink(near, in), served: served}, nil
}

type inProcessLink struct {
	Link
	served chan struct{}
}

// Close also waits for the serving side.
func (l *inProcessLink) Close() error {
	err := l.Link.Close()
	<-l.served
	return err
}
