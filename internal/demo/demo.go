// Package demo is a server that shows everything MCP has to a person: every
// kind of content, every question a server may ask, progress, logs, failures, a
// task, resources that change, a template and prompts with completion.
//
// It is written against the public library alone and so is an example of it.
package demo

import (
	"context"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

const instructions = `This server demonstrates the Model Context Protocol.
Start with echo or add. slow reports progress and can be cancelled; ask, ask_url, think and list_roots ask you something back;
count runs as a task where the client has tasks. Read demo://about for a tour and subscribe to demo://clock to see updates.`

// A Server is the demo: an mcp.Server whose clock runs while somebody listens
// to it. Close it after use.
type Server struct {
	*mcp.Server
	clock clock
}

// New returns a server with everything on it. version is what it tells clients.
func New(version string) *Server {
	// No icon here: modern answers carry all of this.
	s := &Server{Server: mcp.NewServer(mcp.Implementation{
		Name:        "mcpv-demo",
		Title:       "mcpv demo",
		Version:     version,
		Description: "Shows every feature of MCP to a person.",
	}, &mcp.ServerOptions{Instructions: instructions, Tasks: &mcp.TaskOptions{}})}
	s.clock.tick = func() { s.ResourceUpdated(clockURI) }
	addPlainTools(s.Server)
	addAskingTools(s.Server)
	addResources(s.Server)
	addPrompts(s.Server)
	return s
}

// Listen is that of the mcp.Server; it also keeps the clock running for those
// who want to hear it.
func (s *Server) Listen(ctx context.Context, session *mcp.Session, f mcp.Filter, deliver func(*jsonrpc.Message)) (mcp.Filter, func(), error) {
	granted, stop, err := s.Server.Listen(ctx, session, f, deliver)
	if err != nil {
		return granted, stop, err
	}
	for _, uri := range granted.URIs {
		if uri == clockURI {
			return granted, s.clock.listen(stop), nil
		}
	}
	return granted, stop, nil
}

// Close ends the tasks and the clock and waits for them.
func (s *Server) Close() error {
	s.clock.close()
	return s.Server.Close()
}
