package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"mcpv/internal/httpguard"
	"mcpv/mcp"
	"mcpv/mcp/sse"
	"mcpv/mcp/streamable"
	"mcpv/mcp/websocket"
)

// grace is how long open requests may take to end when the server stops.
const grace = 5 * time.Second

// ServeHTTP serves h on the listener, which it closes, until ctx ends or the
// listener fails: /mcp for every revision, /sse and /ws. hosts are the names
// under which clients reach it; empty means the loopback names. It returns when
// everything that it started has ended, with nil if ctx was the reason.
func ServeHTTP(ctx context.Context, l net.Listener, h mcp.Handler, hosts []string) error {
	main := streamable.NewHandler(h, &streamable.Options{Hosts: hosts})
	old := sse.NewHandler(h)
	old.Hosts = hosts
	ws := websocket.NewHandler(h, &websocket.AcceptOptions{Hosts: hosts})

	mux := http.NewServeMux()
	mux.Handle("/mcp", main)
	mux.Handle("/sse", old)
	mux.Handle("/ws", ws)
	guard := &httpguard.Guard{Hosts: hosts}
	mux.Handle("GET /{$}", guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, HowToHTTP(l.Addr().String())) // a browser that is gone needs no page
	})))
	server := &http.Server{
		Handler: boundBodies(mux),
		// Streams live long, so only what comes before them has a limit here:
		// the transports bound bodies and writes themselves.
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	var closing sync.WaitGroup
	closing.Go(func() { _ = main.Shutdown(bounded) }) // what did not end in time is cut off below
	closing.Go(func() { _ = old.Close() })
	closing.Go(func() { _ = ws.Close() })
	closing.Wait()
	if server.Shutdown(bounded) != nil {
		_ = server.Close()
	}
	if err == nil {
		if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
			err = e
		}
	}
	return err
}

// bodyTimeout is for bodies that no transport reads.
const bodyTimeout = 10 * time.Second

// boundBodies keeps clients from holding a connection with a body that does not
// come: net/http waits for it before it answers what nobody serves. Transports
// set their own deadline when they read.
func boundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // every writer of net/http has deadlines
		}
		next.ServeHTTP(w, r)
	})
}
