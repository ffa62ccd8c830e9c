package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"

	"mcpv/bench/contest"
)

// Stats is what a server process says about itself after a collection.
type Stats struct {
	Held       int64 `json:"held"` // live heap and stacks, bytes
	RSS        int64 `json:"rss"`
	Goroutines int64 `json:"goroutines"`
}

// idle measures what a server holds per legacy session that does nothing. The
// server is a process of its own, so the client's side is not counted.
func idle(name string, stream bool) Scenario {
	note := "sessions that did the handshake and nothing since; server in its own process; heap and stacks after a collection"
	if stream {
		note += "; each with an open GET stream, its connection included"
	}
	return Scenario{
		Name: name, Note: note, Once: true,
		Offers: offers[contest.HTTPServer],
		Run: func(ctx context.Context, c contest.Contestant, o Options) (Sample, error) {
			srv, err := startServer(ctx, o.Self, c.Name())
			if err != nil {
				return Sample{}, err
			}
			s, err := hold(ctx, srv, o.Sessions, stream)
			return s, errors.Join(err, srv.close())
		},
	}
}

func hold(ctx context.Context, srv *serverProcess, n int, stream bool) (Sample, error) {
	hc := newHTTPClient(1)
	defer hc.CloseIdleConnections()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	open := func() error {
		g := generator{hc: hc, url: srv.url, setup: contest.Setup{Era: contest.Legacy}}
		if err := g.open(ctx); err != nil || !stream {
			return err
		}
		c, err := openStream(srv.url, g.session)
		if err == nil {
			conns = append(conns, c)
		}
		return err
	}
	// The first session pays for what a server makes once.
	if err := open(); err != nil {
		return Sample{}, err
	}
	before, err := srv.stats()
	if err != nil {
		return Sample{}, err
	}
	for range n {
		if err := open(); err != nil {
			return Sample{}, err
		}
	}
	after, err := srv.stats()
	if err != nil {
		return Sample{}, err
	}
	per := func(a, b int64) float64 { return float64(b-a) / float64(n) }
	return Sample{
		Calls: n, Bytes: per(before.Held, after.Held),
		Goroutines: per(before.Goroutines, after.Goroutines), RSS: per(before.RSS, after.RSS),
	}, nil
}

// openStream opens the GET stream of a session on a connection of its own and
// returns when the server has answered with its headers.
func openStream(endpoint, session string) (net.Conn, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	c, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n\r\n",
		u.Path, u.Host, contest.LegacyVersion, session)
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 1024), nil)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET stream: status %s", res.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, c.SetDeadline(time.Time{})
}

// A serverProcess is this program serving a contestant's stateful HTTP handler.
type serverProcess struct {
	url string
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startServer(ctx context.Context, self, contestant string) (*serverProcess, error) {
	cmd := exec.CommandContext(ctx, self, "serve-http", contestant)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &serverProcess{cmd: cmd, in: in, out: bufio.NewReader(out)}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server did not start: %w", err), p.close())
	}
	p.url = line[:len(line)-1]
	return p, nil
}

func (p *serverProcess) stats() (s Stats, err error) {
	if _, err = io.WriteString(p.in, "stats\n"); err != nil {
		return s, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(line, &s)
}

// close ends the server by closing its stdin.
func (p *serverProcess) close() error {
	p.in.Close()
	return p.cmd.Wait()
}

// ServeHTTP is the other side: it prints the URL, answers each line of in with
// its Stats and returns at EOF.
func ServeHTTP(c contest.Contestant, in io.Reader, out io.Writer) error {
	u, stop, err := listen(c, contest.Setup{Era: contest.Legacy, Tools: contest.Few})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, u)
	for sc := bufio.NewScanner(in); sc.Scan(); {
		runtime.GC()
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b, err := json.Marshal(Stats{int64(m.HeapAlloc + m.StackInuse), rss(), int64(runtime.NumGoroutine())})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", b)
	}
	return stop()
}
