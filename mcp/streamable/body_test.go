package streamable_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/mcp/streamable"
)

// A pipeListener hands out one connection.
type pipeListener struct {
	conn chan net.Conn
	done chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, io.EOF
	}
}

func (l *pipeListener) Close() error   { return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// A body that trickles is given up; one that is merely slow is not.
func TestSlowBody(t *testing.T) {
	body, h := modernCall("echo", `{"a":"0123456789"}`)
	for _, tt := range []struct {
		pause  time.Duration // after every tenth byte
		status int
	}{{time.Second / 10, 200}, {5 * time.Second, 408}} {
		synctest.Test(t, func(t *testing.T) {
			handler := streamable.NewHandler(newFixture(), nil)
			l := &pipeListener{make(chan net.Conn, 1), make(chan struct{})}
			hs := &http.Server{Handler: handler}
			var running sync.WaitGroup
			running.Go(func() { hs.Serve(l) })
			client, conn := net.Pipe()
			l.conn <- conn
			running.Go(func() {
				fmt.Fprintf(client, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", len(body))
				for k, v := range h {
					fmt.Fprintf(client, "%s: %s\r\n", k, v)
				}
				fmt.Fprint(client, "\r\n")
				for i := 0; i < len(body); i += 10 {
					time.Sleep(tt.pause)
					if _, err := io.WriteString(client, body[i:min(i+10, len(body))]); err != nil {
						return
					}
				}
			})
			resp, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status {
				t.Errorf("pauses of %v: %s", tt.pause, resp.Status)
			}
			client.Close()
			close(l.done)
			hs.Close()
			handler.Close()
			running.Wait()
		})
	}
}

// One connection to a handler, over a pipe in fake time. f speaks for the
// client; when it returns, everything is taken down.
func overPipe(t *testing.T, f func(t *testing.T, client net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		handler := streamable.NewHandler(newFixture(), nil)
		l := &pipeListener{make(chan net.Conn, 1), make(chan struct{})}
		hs := &http.Server{Handler: handler}
		var running sync.WaitGroup
		running.Go(func() { hs.Serve(l) })
		client, conn := net.Pipe()
		l.conn <- conn
		f(t, client)
		client.Close()
		close(l.done)
		hs.Close()
		handler.Close()
		running.Wait()
	})
}

// A client that declares a body and sends none, or only a part, loses its
// connection, whatever the answer to its headers would be.
func TestBodyThatNeverComes(t *testing.T) {
	for name, head := range map[string]string{
		"none":          "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n",
		"a part":        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
		"chunked":       "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
		"bad type":      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n",
		"bad host":      "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n",
		"get":           "GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n",
		"bad method":    "PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n",
		"large, a part": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			overPipe(t, func(t *testing.T, client net.Conn) {
				if _, err := io.WriteString(client, head); err != nil {
					t.Fatal(err)
				}
				client.SetReadDeadline(time.Now().Add(30 * time.Second))
				answer, err := io.ReadAll(client)
				if err != nil {
					t.Errorf("the connection was held: %v, got %q", err, answer)
				}
			})
		})
	}
}

// A client that takes no large answer loses its connection.
func TestAnswerThatIsNotRead(t *testing.T) {
	overPipe(t, func(t *testing.T, client net.Conn) {
		body, h := modernCall("echo", `{"a":"`+strings.Repeat("x", 100_000)+`"}`)
		fmt.Fprintf(client, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", len(body))
		for k, v := range h {
			fmt.Fprintf(client, "%s: %s\r\n", k, v)
		}
		if _, err := io.WriteString(client, "\r\n"+body); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // in fake time
		rest, err := io.ReadAll(client)
		if err != nil || len(rest) >= len(body) {
			t.Errorf("the answer waited for its reader: %d bytes, %v", len(rest), err)
		}
	})
}

// A client that does not read its stream holds up neither the end of its
// session nor Shutdown.
func TestStuckStreamDoesNotHoldShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := streamable.NewHandler(newFixture(), nil)
		l := &pipeListener{make(chan net.Conn, 1), make(chan struct{})}
		hs := &http.Server{Handler: handler}
		var running sync.WaitGroup
		running.Go(func() { hs.Serve(l) })
		client, conn := net.Pipe()
		l.conn <- conn
		r := bufio.NewReader(client)
		post := func(body, session string) {
			fmt.Fprintf(client, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", session, len(body), body)
		}
		post(initialize("2025-06-18"), "")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		post(legacyCall(2, "say", `{"count":3}`), "Mcp-Session-Id: "+resp.Header.Get("Mcp-Session-Id")+"\r\n")
		synctest.Wait() // it is writing the first event
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := handler.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v", err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("shutdown took %v", d)
		}
		client.Close()
		close(l.done)
		hs.Close()
		running.Wait()
	})
}
