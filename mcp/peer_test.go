package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// A peer is a server written by hand: it reads and writes frames.
type peer struct {
	t *testing.T
	s jsonrpc.Stream
}

// next returns the next frame of the client, nil when it has gone.
func (p *peer) next() *jsonrpc.Message {
	frame, err := p.s.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		p.t.Error(err)
		return nil
	}
	m, err := jsonrpc.Parse(frame)
	if err != nil {
		p.t.Errorf("the client sent %s: %v", frame, err)
		return nil
	}
	return m
}

// want returns the next frame, which has to be of the method. It ends the script
// when it is not.
func (p *peer) want(method string) *jsonrpc.Message {
	p.t.Helper()
	m := p.next()
	if m == nil || m.Method() != method {
		got := "nothing"
		if m != nil {
			got = string(m.Bytes())
		}
		p.t.Errorf("the client sent %s, want %s", got, method)
		panic(errScript)
	}
	return m
}

var errScript = errors.New("the script does not fit")

func (p *peer) send(frames ...string) {
	for _, f := range frames {
		_ = p.s.Write([]byte(f)) // a client that has gone is seen by next
	}
}

func (p *peer) result(m *jsonrpc.Message, result string) {
	p.send(string(jsonrpc.NewResult(m.ID(), []byte(result)).Bytes()))
}

func (p *peer) fail(m *jsonrpc.Message, code int, data string) {
	e := jsonrpc.NewError(code, "no")
	if data != "" {
		e = e.WithData([]byte(data))
	}
	p.send(string(jsonrpc.NewErrorResponse(m.ID(), e).Bytes()))
}

// discover answers server/discover.
func (p *peer) discover() {
	p.result(p.want("server/discover"), `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
}

// initialize answers initialize and takes notifications/initialized.
func (p *peer) initialize(version string) {
	m := p.want("initialize")
	p.result(m, `{"protocolVersion":"`+version+`","capabilities":{},"serverInfo":{"name":"peer","version":"1"}}`)
	p.want("notifications/initialized")
}

// dialer connects to one peer after the other, each following its script.
type dialer struct {
	t       *testing.T
	scripts []func(p *peer)
	running sync.WaitGroup
	dialled int
}

func (d *dialer) open(context.Context) (jsonrpc.Stream, error) {
	if d.dialled == len(d.scripts) {
		return nil, errors.New("nobody there")
	}
	script := d.scripts[d.dialled]
	d.dialled++
	near, far := jsonrpc.Pipe()
	d.running.Go(func() {
		defer func() {
			if p := recover(); p != nil && p != errScript {
				panic(p)
			}
			for { // what is said after the script goes unheard
				if _, err := far.Read(); err != nil {
					return
				}
			}
		}()
		script(&peer{d.t, far})
	})
	return near, nil
}

// withPeers runs body in a bubble, with a client that is connected to scripted
// peers.
func withPeers(t *testing.T, o *mcp.ClientOptions, body func(t *testing.T, c *mcp.Client), scripts ...func(p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{t: t, scripts: scripts}
		c, err := mcp.Connect(t.Context(), mcp.StreamTransport(d.open), o)
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		body(t, c)
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		d.running.Wait()
	})
}

// connectTo runs body in a bubble with the outcome of a Connect.
func connectTo(t *testing.T, o *mcp.ClientOptions, script func(p *peer), body func(t *testing.T, c *mcp.Client, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{t: t, scripts: []func(p *peer){script}}
		c, err := mcp.Connect(t.Context(), mcp.StreamTransport(d.open), o)
		body(t, c, err)
		if c != nil {
			c.Close()
		}
		d.running.Wait()
	})
}

// calls returns the methods that a peer hears until the client goes.
func (p *peer) calls() string {
	var all []string
	for m := p.next(); m != nil; m = p.next() {
		all = append(all, m.Method())
	}
	return strings.Join(all, " ")
}

func progress(token, n string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s}}`, token, n)
}

// contextWithStop returns a context for a server and what ends it.
func contextWithStop(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	return ctx, stop
}

func asError(err error, into **jsonrpc.Error) bool { return errors.As(err, into) }
