package stdio

import (
	"context"
	"time"

	"mcpv/mcp"
)

// linger is how long requests may run on after the client has closed our
// standard input: `printf … | server` wants its answers.
const linger = 5 * time.Second

// Serve serves h on standard input and output until the client closes them or
// ctx ends. Nothing else may write to standard output meanwhile. Nil options
// are fine.
func Serve(ctx context.Context, h mcp.Handler, o *mcp.StreamOptions) error {
	var opts mcp.StreamOptions
	if o != nil {
		opts = *o
	}
	if opts.Linger == 0 {
		opts.Linger = linger
	}
	return mcp.ServeStream(ctx, h, Stdio(), &opts)
}

// Connect starts the command and speaks to it: a Command is an mcp.Transport.
func (c *Command) Connect(ctx context.Context, in mcp.Receiver) (mcp.Link, error) {
	p, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	return mcp.NewStreamLink(p, in), nil
}

var _ mcp.Transport = (*Command)(nil)
