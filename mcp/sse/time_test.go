package sse_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp/sse"
)

// one is a listener with one connection in memory, so that a test's clock can
// be virtual.
type one struct {
	conn chan net.Conn
	done chan struct{}
}

func (l *one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *one) Close() error   { close(l.done); return nil }
func (l *one) Addr() net.Addr { return &net.IPAddr{} }

// openPipe opens a stream by hand on a server with timeouts and reads up to the
// first event.
func openPipe(t *testing.T, h *sse.Handler) (*bufio.Reader, func()) {
	t.Helper()
	l := &one{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	client, server := net.Pipe()
	l.conn <- server
	srv := &http.Server{Handler: h, ReadTimeout: time.Second, WriteTimeout: time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(l)
	}()
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(client, 16)
	for line := ""; !strings.HasPrefix(line, "data: "); {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return r, func() {
		client.Close()
		h.Close()
		srv.Close()
		<-served
	}
}

func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, stop := openPipe(t, &sse.Handler{Serve: echo})
		start := time.Now()
		for n := 0; n < 100; {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, ":") {
				n++
			}
		}
		if d := time.Since(start); d != 100*15*time.Second {
			t.Errorf("100 comments in %v", d)
		}
		stop()
	})
}

func TestSlowReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		_, stop := openPipe(t, &sse.Handler{KeepAlive: -1, Serve: func(ctx context.Context, s jsonrpc.Stream, _ *http.Request) error {
			start := time.Now()
			ended <- s.Write(bytes.Repeat([]byte("x"), 1<<20))
			if d := time.Since(start); d != 10*time.Second {
				t.Errorf("cut after %v", d)
			}
			<-ctx.Done()
			return nil
		}})
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		stop()
	})
}

func TestCloseUnblocksWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := make(chan jsonrpc.Stream, 1)
		ended := make(chan error, 1)
		_, stop := openPipe(t, &sse.Handler{KeepAlive: -1, Serve: func(_ context.Context, s jsonrpc.Stream, _ *http.Request) error {
			streams <- s
			ended <- s.Write(bytes.Repeat([]byte("x"), 1<<20))
			return nil
		}})
		s := <-streams
		synctest.Wait()
		start := time.Now()
		s.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("after %v", d)
		}
		stop()
	})
}

// A body that does not come holds neither the connection nor Close: net/http
// waits for it before it sends the headers of an answer.
func TestBodyThatNeverComes(t *testing.T) {
	for _, head := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n",
		"POST /?session=none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 5\r\n\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &sse.Handler{Serve: echo}
			l := &one{conn: make(chan net.Conn, 1), done: make(chan struct{})}
			client, server := net.Pipe()
			l.conn <- server
			srv := &http.Server{Handler: h}
			served := make(chan struct{})
			go func() {
				defer close(served)
				srv.Serve(l)
			}()
			if _, err := io.WriteString(client, head); err != nil {
				t.Fatal(err)
			}
			client.SetReadDeadline(time.Now().Add(time.Minute))
			if got, err := io.ReadAll(client); err != nil {
				t.Errorf("%q: the connection was held: %v, got %q", head, err, got)
			}
			h.Close()
			client.Close()
			srv.Close()
			<-served
		})
	}
}
