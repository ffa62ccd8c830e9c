// Command ourserver is our server as a process of its own: the tools, resources and prompts of interop/README.md in
// every revision, on stdio, or on one Streamable HTTP endpoint for both eras with --http, where the first line of
// stdout is the URL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"

	"mcpv/mcp"
	"mcpv/mcp/stdio"
	"mcpv/mcp/streamable"
)

func main() {
	useHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of localhost")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := newServer()
	serve := serveStdio
	if *useHTTP {
		serve = serveHTTP
	}
	if err := errors.Join(serve(ctx, server), server.Close()); err != nil {
		log.Fatal(err)
	}
}

func serveStdio(ctx context.Context, server *mcp.Server) error { return stdio.Serve(ctx, server, nil) }

func serveHTTP(ctx context.Context, server *mcp.Server) error {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	handler := streamable.NewHandler(server, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	web := &http.Server{Handler: mux}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err = <-ended:
		return errors.Join(err, handler.Close())
	case <-ctx.Done():
		err = errors.Join(handler.Close(), web.Close())
		<-ended // http.ErrServerClosed
		return err
	}
}
