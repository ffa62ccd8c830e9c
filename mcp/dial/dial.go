// Package dial reaches MCP servers without being told how: a URL, a command, a
// server in this process or an entry of an mcpServers file each name their
// transport well enough.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"mcpv/mcp"
	"mcpv/mcp/sse"
	"mcpv/mcp/stdio"
	"mcpv/mcp/streamable"
	"mcpv/mcp/websocket"
	"mcpv/revision"
)

// An Entry is one server as configuration files describe it. Command or URL is
// set.
type Entry struct {
	Type    string            `json:"type,omitzero"` // stdio, http, sse, ws or classic; inferred when empty
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitzero"`
	URL     string            `json:"url,omitzero"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Server connects to a server. target is one of
//
//   - a URL: http and https speak Streamable HTTP and fall back to HTTP+SSE,
//     ws and wss speak WebSocket;
//   - a []string, a program and its arguments, run as a subprocess;
//   - an Entry or *Entry;
//   - an mcp.Handler, such as *mcp.Server, in this process;
//   - an mcp.Transport.
//
// Nil options are fine.
func Server(ctx context.Context, target any, o *mcp.ClientOptions) (*mcp.Client, error) {
	t, err := Transport(target)
	if err != nil {
		return nil, err
	}
	o = preferring(target, o)
	c, err := mcp.Connect(ctx, t, o)
	if f, ok := t.(interface{ fallback() mcp.Transport }); ok && notStreamable(err) {
		older, olderErr := mcp.Connect(ctx, f.fallback(), o)
		if olderErr == nil {
			return older, nil
		}
		return nil, fmt.Errorf("%w (and not by HTTP+SSE either: %w)", err, olderErr)
	}
	return c, err
}

// preferring has the dialect that an entry names tried first.
func preferring(target any, o *mcp.ClientOptions) *mcp.ClientOptions {
	e, ok := target.(*Entry)
	if v, isValue := target.(Entry); isValue {
		e, ok = &v, true
	}
	if !ok || e.Type != "classic" || o != nil && (o.Revision != nil || o.Prefer != nil) {
		return o
	}
	var c mcp.ClientOptions
	if o != nil {
		c = *o
	}
	c.Prefer = revision.Classic
	return &c
}

// Transport returns the transport to a target of Server.
func Transport(target any) (mcp.Transport, error) {
	switch t := target.(type) {
	case string:
		return byURL(t, nil)
	case *url.URL:
		return byURL(t.String(), nil)
	case []string:
		if len(t) == 0 {
			return nil, errors.New("dial: the command is empty")
		}
		return byCommand(&Entry{Command: t[0], Args: t[1:]})
	case Entry:
		return byEntry(&t)
	case *Entry:
		return byEntry(t)
	case mcp.Transport:
		return t, nil
	case mcp.Handler:
		return mcp.InProcess(t), nil
	}
	return nil, fmt.Errorf("dial: a %T is no server: give a URL, a command as []string, an Entry, an mcp.Handler or an mcp.Transport", target)
}

func byEntry(e *Entry) (mcp.Transport, error) {
	switch {
	case e.Command != "" && e.URL != "":
		return nil, errors.New("dial: an entry has a command or a URL, not both")
	case e.Command != "" && e.Type != "" && e.Type != "stdio" && e.Type != "classic":
		return nil, fmt.Errorf("dial: an entry with a command has the type stdio or classic, not %q", e.Type)
	case e.Command != "":
		return byCommand(e)
	case e.Type == "stdio":
		return nil, errors.New("dial: an entry of the type stdio needs a command")
	case e.URL == "":
		return nil, errors.New("dial: an entry needs a command or a URL")
	}
	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	switch e.Type {
	case "sse":
		return &sse.Transport{URL: e.URL, Options: sse.DialOptions{Header: header}}, nil
	case "ws", "websocket":
		return &websocket.Transport{URL: e.URL, Options: websocket.DialOptions{Header: header}}, nil
	case "", "http", "https", "streamable-http", "streamable_http", "streamableHttp", "classic":
		return byURL(e.URL, header)
	}
	return nil, fmt.Errorf("dial: unknown type %q: use stdio, http, sse, ws or classic", e.Type)
}

func byCommand(e *Entry) (mcp.Transport, error) {
	if strings.ContainsAny(e.Command, " \t") && len(e.Args) == 0 && filepath.Base(e.Command) == e.Command {
		return nil, fmt.Errorf("dial: the command %q looks like a whole command line; no shell is used, so put its words into args", e.Command)
	}
	c := &stdio.Command{Path: e.Command, Args: e.Args, Env: e.Env, Dir: e.Dir}
	if e.Type == "classic" {
		c.Framing = stdio.ContentLength
	}
	return c, nil
}

func byURL(raw string, header http.Header) (mcp.Transport, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	switch u.Scheme {
	case "http", "https":
		return &overHTTP{Transport: &streamable.Transport{URL: raw, Header: header}, url: raw, header: header}, nil
	case "ws", "wss":
		return &websocket.Transport{URL: raw, Options: websocket.DialOptions{Header: header}}, nil
	case "":
		return nil, fmt.Errorf("dial: %q is no URL; a command is given as []string{%q}", raw, raw)
	}
	return nil, fmt.Errorf("dial: the scheme %q is not one of http, https, ws, wss", u.Scheme)
}

// overHTTP is Streamable HTTP that knows what came before it.
type overHTTP struct {
	*streamable.Transport
	url    string
	header http.Header
}

func (t *overHTTP) fallback() mcp.Transport {
	return &sse.Transport{URL: t.url, Options: sse.DialOptions{Header: t.header}}
}

// notStreamable reports whether an endpoint refuses to be posted to, as one of
// HTTP+SSE does.
func notStreamable(err error) bool {
	var h *mcp.HTTPError
	if !errors.As(err, &h) {
		return false
	}
	switch h.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}
