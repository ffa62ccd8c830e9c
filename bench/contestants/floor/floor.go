// Package floor is what a plain implementation of the benchmark's calls costs:
// one JSON decode and one append per frame on each side, on the same
// transports. It knows the benchmark's tools by name, validates nothing,
// negotiates nothing and serves one call at a time per connection; it is a
// yardstick, not a library.
package floor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpv/bench/contest"
)

// Contestant is the floor.
type Contestant struct{}

func (Contestant) Name() string    { return "floor" }
func (Contestant) Version() string { return "one decode, append encode" }

type request struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Message string `json:"message"`
			Text    string `json:"text"`
		} `json:"arguments"`
	} `json:"params"`
}

// answer appends the response to frame and returns it, without a newline. A
// notification appends nothing.
func answer(dst, frame []byte) ([]byte, error) {
	var r request
	if err := jsonv2.Unmarshal(frame, &r); err != nil {
		return nil, err
	}
	if len(r.ID) == 0 {
		return dst, nil
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, r.ID...)
	switch {
	case r.Method == "initialize":
		dst = append(dst, `,"result":{"protocolVersion":"`+contest.LegacyVersion+
			`","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}}`...)
		return dst, nil
	case r.Method == "tools/list":
		dst = append(dst, `,"result":`...)
		dst = append(dst, toolList...)
		return append(dst, '}'), nil
	case r.Params.Name == "echo":
		dst = append(dst, `,"result":{"content":[{"type":"text","text":`...)
		dst = quote(dst, r.Params.Arguments.Message)
		return append(dst, `}],"resultType":"complete"}}`...), nil
	case r.Params.Name == "measure":
		dst = append(dst, `,"result":{"content":[],"structuredContent":{"text":`...)
		dst = quote(dst, r.Params.Arguments.Text)
		dst = append(dst, `,"length":`...)
		dst = strconv.AppendInt(dst, int64(len(r.Params.Arguments.Text)), 10)
		return append(dst, `},"resultType":"complete"}}`...), nil
	}
	return nil, errors.New("floor: unknown method " + r.Method)
}

// quote appends s as a JSON string; invalid UTF-8 was refused on the way in.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// toolList is the encoded result of tools/list for the Hundred set, made once
// as a server that precomputes its pages would.
var toolList = func() []byte {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	var list struct {
		Tools      []tool `json:"tools"`
		ResultType string `json:"resultType"`
	}
	for i := range contest.Tools {
		list.Tools = append(list.Tools, tool{contest.ToolName(i), contest.ToolDescription, json.RawMessage(contest.HundredSchema)})
	}
	list.ResultType = "complete"
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // constants above
	}
	return b
}()

// serveLines answers newline-delimited frames until EOF.
func serveLines(r io.Reader, w io.Writer) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var out []byte
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
				return nil
			}
			return err
		}
		if out, err = answer(out[:0], line); err != nil {
			return err
		}
		if len(out) == 0 {
			continue
		}
		if _, err := w.Write(append(out, '\n')); err != nil {
			return err
		}
	}
}

// DialPipe implements [contest.Piper].
func (Contestant) DialPipe(_ context.Context, s contest.Setup) (contest.Client, error) {
	se, ce := contest.Pipe()
	done := make(chan error, 1)
	go func() { done <- serveLines(se.R, se.W) }()
	c := lineClient(s, ce.R, ce.W)
	c.close = func() error { ce.Close(); return <-done }
	return c, nil
}

// DialMemory implements [contest.MemoryDialer]: the client calls the server as
// a function.
func (Contestant) DialMemory(_ context.Context, s contest.Setup) (contest.Client, error) {
	var out []byte
	return &client{setup: s, do: func(_ context.Context, _, _ string, frame []byte) (_ []byte, err error) {
		out, err = answer(out[:0], frame)
		return out, err
	}}, nil
}

// ServeStdio implements [contest.Stdio].
func (Contestant) ServeStdio(context.Context, contest.Setup) error {
	return serveLines(os.Stdin, os.Stdout)
}

// DialStdio implements [contest.Stdio].
func (Contestant) DialStdio(ctx context.Context, s contest.Setup, argv []string) (contest.Client, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	w, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := lineClient(s, r, w)
	c.close = func() error { w.Close(); return cmd.Wait() }
	return c, nil
}

// Handler implements [contest.HTTPServer]. With a GET it holds an empty event
// stream open, which is what the idle-session scenario compares with.
func (Contestant) Handler(s contest.Setup) (http.Handler, error) {
	var sessions atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := answer(make([]byte, 0, 512), body)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		case len(out) == 0:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if !s.Stateless && r.Header.Get("Mcp-Session-Id") == "" {
			w.Header().Set("Mcp-Session-Id", strconv.FormatInt(sessions.Add(1), 10))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out) // the client is gone when this fails
	}), nil
}

// DialHTTP implements [contest.HTTPDialer].
func (Contestant) DialHTTP(_ context.Context, s contest.Setup, url string, hc *http.Client) (contest.Client, error) {
	var buf bytes.Buffer
	return &client{setup: s, do: func(ctx context.Context, method, name string, frame []byte) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(frame))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Protocol-Version", s.Era.Version())
		if s.Era == contest.Modern {
			req.Header.Set("Mcp-Method", method)
			req.Header.Set("Mcp-Name", name)
		}
		res, err := hc.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		buf.Reset()
		_, err = buf.ReadFrom(res.Body)
		return buf.Bytes(), err
	}}, nil
}
