package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"mcpv/bench/contest"
)

// modes are the three ways an HTTP server is measured.
var modes = []struct {
	name  string
	setup contest.Setup
}{
	{"stateful-legacy", contest.Setup{Era: contest.Legacy, Tools: contest.Few}},
	{"stateless-legacy", contest.Setup{Era: contest.Legacy, Tools: contest.Few, Stateless: true}},
	{"stateless-modern", contest.Setup{Era: contest.Modern, Tools: contest.Few, Stateless: true}},
}

type mode = struct {
	name  string
	setup contest.Setup
}

// rawHTTP sends everyone the same bytes: only the server differs.
func rawHTTP(m mode, clients int) Scenario {
	return Scenario{
		Name:   fmt.Sprintf("http/%s/%d", m.name, clients),
		Note:   fmt.Sprintf("%s; Streamable HTTP on loopback, %d keep-alive net/http generators in the server's process sending identical requests", echo.note, clients),
		Offers: offers[contest.HTTPServer],
		Run: func(ctx context.Context, c contest.Contestant, o Options) (Sample, error) {
			return withServer(c, m.setup, func(url string) (Sample, error) {
				hc := newHTTPClient(clients)
				defer hc.CloseIdleConnections()
				gens := make([]*generator, clients)
				for i := range gens {
					gens[i] = &generator{hc: hc, url: url, setup: m.setup}
					if err := gens[i].open(ctx); err != nil {
						return Sample{}, err
					}
				}
				return measure(o.For, load{clients: clients, call: func(i int) error { return gens[i].echo(ctx) }})
			})
		},
	}
}

// ownHTTP measures the contestant's client against its server.
func ownHTTP(m mode, clients int) Scenario {
	return Scenario{
		Name:   fmt.Sprintf("ownhttp/%s/%d", m.name, clients),
		Note:   fmt.Sprintf("%s; own client, own server, Streamable HTTP on loopback, one process, %d client sessions", echo.note, clients),
		Offers: func(c contest.Contestant) bool { return offers[contest.HTTPServer](c) && offers[contest.HTTPDialer](c) },
		Run: func(ctx context.Context, c contest.Contestant, o Options) (Sample, error) {
			return withServer(c, m.setup, func(url string) (s Sample, err error) {
				hc := newHTTPClient(clients)
				defer hc.CloseIdleConnections()
				cls := make([]contest.Client, 0, clients)
				defer func() {
					for _, cl := range cls {
						err = errors.Join(err, cl.Close())
					}
				}()
				for range clients {
					cl, err := c.(contest.HTTPDialer).DialHTTP(ctx, m.setup, url, hc)
					if err != nil {
						return Sample{}, err
					}
					cls = append(cls, cl)
				}
				return measure(o.For, load{clients: clients, call: func(i int) error { return echo.do(ctx, cls[i]) }})
			})
		},
	}
}

func newHTTPClient(conns int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: conns, MaxIdleConnsPerHost: conns}, Timeout: 30 * time.Second}
}

// withServer runs f against the contestant's handler on a loopback port.
func withServer(c contest.Contestant, s contest.Setup, f func(url string) (Sample, error)) (Sample, error) {
	url, stop, err := listen(c, s)
	if err != nil {
		return Sample{}, err
	}
	sample, err := f(url)
	return sample, errors.Join(err, stop())
}

// listen serves the contestant's handler until stop is called.
func listen(c contest.Contestant, s contest.Setup) (url string, stop func() error, err error) {
	h, err := c.(contest.HTTPServer).Handler(s)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	stop = func() error { err := srv.Close(); <-done; return err }
	return "http://" + l.Addr().String() + "/mcp", stop, nil
}

// A generator is a client that knows only the bytes of the benchmark.
type generator struct {
	hc      *http.Client
	url     string
	setup   contest.Setup
	session string
	id      int64
	req     []byte
	res     bytes.Buffer
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + contest.LegacyVersion +
	`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// open makes a session where the setup has one.
func (g *generator) open(ctx context.Context) error {
	if g.setup.Stateless {
		return nil
	}
	if err := g.post(ctx, []byte(initialize), http.StatusOK); err != nil {
		return err
	}
	if g.session == "" {
		return errors.New("no session id in the answer to initialize")
	}
	return g.post(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), http.StatusAccepted)
}

var (
	wantText = []byte(`"` + contest.Message + `"`)
	isError  = []byte(`"isError":true`)
)

func (g *generator) echo(ctx context.Context) error {
	g.id++
	g.req = append(g.req[:0], `{"jsonrpc":"2.0","id":`...)
	g.req = strconv.AppendInt(g.req, g.id, 10)
	g.req = append(g.req, `,"method":"tools/call","params":{`...)
	if g.setup.Era == contest.Modern {
		g.req = append(g.req, `"_meta":{"io.modelcontextprotocol/protocolVersion":"`+contest.ModernVersion+
			`","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}},`...)
	}
	g.req = append(g.req, `"name":"echo","arguments":{"message":"`+contest.Message+`"}}}`...)
	if err := g.post(ctx, g.req, http.StatusOK); err != nil {
		return err
	}
	if b := g.res.Bytes(); !bytes.Contains(b, wantText) || bytes.Contains(b, isError) {
		return fmt.Errorf("unexpected answer: %.200q", b)
	}
	return nil
}

func (g *generator) post(ctx context.Context, body []byte, status int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	h := req.Header
	h["Content-Type"] = contentType
	h["Accept"] = accept
	h["Mcp-Protocol-Version"] = version[g.setup.Era]
	if g.setup.Era == contest.Modern {
		h["Mcp-Method"], h["Mcp-Name"] = method, name
	}
	if g.session != "" {
		h["Mcp-Session-Id"] = []string{g.session}
	}
	res, err := g.hc.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	g.res.Reset()
	if _, err := io.Copy(&g.res, res.Body); err != nil {
		return err
	}
	if res.StatusCode != status {
		return fmt.Errorf("status %s: %.200q", res.Status, g.res.Bytes())
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" && g.session == "" {
		g.session = id
	}
	return nil
}

// Header values shared by all requests; net/http only reads them.
var (
	contentType = []string{"application/json"}
	accept      = []string{"application/json, text/event-stream"}
	version     = map[contest.Era][]string{contest.Legacy: {contest.LegacyVersion}, contest.Modern: {contest.ModernVersion}}
	method      = []string{"tools/call"}
	name        = []string{"echo"}
)
