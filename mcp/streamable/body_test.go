package streamable_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
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
