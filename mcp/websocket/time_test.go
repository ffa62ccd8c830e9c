package websocket_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp/websocket"
)

// pipes is a listener whose connections are in memory, so that a test's clock
// can be virtual.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	c, s := net.Pipe()
	p.conns <- s
	return c, nil
}

// servePipes runs h until the returned function is called.
func servePipes(h *websocket.Handler) (*pipes, func()) {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(p)
	}()
	return p, func() {
		h.Close()
		srv.Close()
		<-served
	}
}

// silent makes a WebSocket by hand, and then neither reads nor writes.
func silent(t *testing.T, p *pipes) net.Conn {
	t.Helper()
	c, _ := p.dial(t.Context(), "", "")
	go io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: mcp\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Sec-WebSocket-Protocol") != "mcp" {
		t.Fatalf("handshake: %v, %v", resp, err)
	}
	return c
}

func TestSlowReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		p, stop := servePipes(&websocket.Handler{
			Options: websocket.AcceptOptions{PingInterval: -1},
			Serve: func(_ context.Context, s jsonrpc.Stream) error {
				start := time.Now()
				err := s.Write(bytes.Repeat([]byte("x"), 1<<20))
				if d := time.Since(start); d != 10*time.Second {
					t.Errorf("cut after %v", d)
				}
				ended <- err
				return err
			},
		})
		c := silent(t, p)
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		c.Close()
		stop()
	})
}

func TestCloseIsBounded(t *testing.T) {
	for name, reading := range map[string]bool{"while reading": true, "while idle": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				streams := make(chan jsonrpc.Stream)
				p, stop := servePipes(&websocket.Handler{Serve: func(ctx context.Context, s jsonrpc.Stream) error {
					streams <- s
					if reading {
						s.Read()
					}
					<-ctx.Done()
					return nil
				}})
				c := silent(t, p)
				s := <-streams
				synctest.Wait()
				start := time.Now()
				s.Close()
				if d := time.Since(start); d > 2*time.Second {
					t.Errorf("took %v", d)
				}
				c.Close()
				stop()
			})
		})
	}
}

func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		p, stop := servePipes(&websocket.Handler{Serve: func(ctx context.Context, s jsonrpc.Stream) error {
			err := echo(ctx, s)
			ended <- err
			return err
		}})
		client := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
		s := dial(t, "http://localhost/", &websocket.DialOptions{HTTPClient: client, PingInterval: -1})
		got := make(chan []byte, 1)
		go func() {
			defer close(got)
			for {
				b, err := s.Read()
				if err != nil {
					return
				}
				got <- b
			}
		}()
		// Virtual time: 120 pings are answered. The pipe has no buffer, so the
		// message must not meet a ping.
		time.Sleep(time.Hour + time.Second)
		if err := s.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if string(<-got) != "x" {
			t.Error("connection with a live peer was lost")
		}
		s.Close()
		<-got
		if err := <-ended; err != nil {
			t.Errorf("server: %v", err)
		}

		c := silent(t, p)
		go io.Copy(io.Discard, c)
		start := time.Now()
		if err := <-ended; err == nil {
			t.Error("a dead peer ended in order")
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("noticed after %v", d)
		}
		c.Close()
		stop()
	})
}
