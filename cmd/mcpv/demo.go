package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"mcpv/internal/demo"
	"mcpv/mcp/stdio"
)

// defaultPort is where --http begins to look for a free one.
const defaultPort = 7717

type demoFlags struct {
	stdio  bool
	http   bool
	addr   string
	remote []string
}

func newDemo() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo [flags]",
		Short: "A server that shows every feature of MCP",
		Example: `  mcpv demo                           on standard input and output
  mcpv demo --http                    on 127.0.0.1:7717 or the next free port
  mcpv demo --addr 127.0.0.1:9000     on this address and no other`,
		Args: noVerb,
		RunE: func(c *cobra.Command, _ []string) error {
			// The second signal ends the process at once: after the first one
			// they have their usual effect again.
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop)
			return f.run(ctx, c)
		},
	}
	c.Flags().SortFlags = false
	c.Flags().BoolVar(&f.stdio, "stdio", false, "serve on standard input and output (the default)")
	c.Flags().BoolVar(&f.http, "http", false, "serve on loopback, on port 7717 or the next free one")
	c.Flags().StringVar(&f.addr, "addr", "", "serve on this `HOST:PORT`")
	c.Flags().StringSliceVar(&f.remote, "insecure-allow-remote", nil,
		"let other machines in, who reach this one under these host `NAMES`;\nanybody there may then use the demo: it asks for no credentials")
	return c
}

func (f *demoFlags) run(ctx context.Context, c *cobra.Command) error {
	if f.stdio && f.http || f.stdio && f.addr != "" || f.http && f.addr != "" {
		return usage("mcpv demo --help", "--stdio, --http and --addr exclude each other")
	}
	if len(f.remote) > 0 && f.addr == "" {
		return usage("mcpv demo --addr 0.0.0.0:7717 --insecure-allow-remote NAME", "--insecure-allow-remote needs --addr")
	}
	server := demo.New(version())
	defer server.Close() //nolint:errcheck // it waits for the tasks and always returns nil
	if !f.http && f.addr == "" {
		if isTerminal(os.Stdin) {
			fmt.Fprint(c.ErrOrStderr(), demo.HowToStdio())
		}
		return stdio.Serve(ctx, server, nil)
	}
	l, err := f.listen(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s\nEnd it with Ctrl-C.\n", demo.HowToHTTP(l.Addr().String()))
	return demo.ServeHTTP(ctx, l, server, f.remote)
}

// listen opens the port, which is one of this machine unless the user insists.
func (f *demoFlags) listen(ctx context.Context) (net.Listener, error) {
	if f.http {
		return listenFrom(ctx, defaultPort)
	}
	addr, err := net.ResolveTCPAddr("tcp", f.addr)
	if err != nil {
		return nil, usage("mcpv demo --addr 127.0.0.1:7717", "--addr %s: %w", f.addr, err)
	}
	if !addr.IP.IsLoopback() && len(f.remote) == 0 {
		return nil, usage("mcpv demo --addr 127.0.0.1:"+fmt.Sprint(addr.Port),
			"--addr %s would let other machines in, and the demo asks for no credentials (see --insecure-allow-remote)", f.addr)
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, &failure{err: err, try: "mcpv demo --http", code: exitUnexpected}
	}
	return l, nil
}

// listenFrom opens the first free port on loopback from the one given.
func listenFrom(ctx context.Context, port int) (net.Listener, error) {
	var config net.ListenConfig
	var last error
	for p := port; p < port+100; p++ {
		l, err := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", p))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free port from %d on: %w", port, last)
}

// isTerminal reports whether a person may be at the other end.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
