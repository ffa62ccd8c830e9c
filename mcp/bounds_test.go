package mcp_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// A server that asks without end and reads nothing costs a bounded number of
// goroutines, whether the questions are answered or refused.
func TestServerThatAsksAndDoesNotRead(t *testing.T) {
	const flood = 20_000
	flooded := make(chan int, 1)
	c, err := mcp.Connect(t.Context(), mcp.StreamTransport(func(context.Context) (jsonrpc.Stream, error) {
		near, far := jsonrpc.Pipe()
		go func() {
			frame, err := far.Read()
			for ; err == nil; frame, err = far.Read() {
				m, _ := jsonrpc.Parse(frame)
				if m.Method() == "notifications/initialized" {
					break
				}
				answer := jsonrpc.NewErrorResponse(m.ID(), jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "no"))
				if m.Method() == "initialize" {
					answer = jsonrpc.NewResult(m.ID(), []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`))
				}
				_ = far.Write(answer.Bytes())
			}
			for i := range flood {
				_ = far.Write([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)))
			}
			_ = far.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/flooded"}`))
		}()
		return near, nil
	}), &mcp.ClientOptions{OnNotification: func(*jsonrpc.Message) { flooded <- runtime.NumGoroutine() }})
	if err != nil {
		t.Fatal(err)
	}
	if n := <-flooded; n > 1500 {
		t.Errorf("%d goroutines after %d requests", n, flood)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// initializeWith returns the error that answers initialize.
func initializeWith(t *testing.T, s *mcp.Server, capabilities, info string) *jsonrpc.Error {
	t.Helper()
	ch := mcp.NewEndpoint(s, nil).NewChannel(mcp.ChannelOptions{})
	defer ch.Close()
	params := `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":` + info + `}`
	return ch.Serve(t.Context(), jsonrpc.NewRequest(jsonrpc.IntID(1), "initialize", []byte(params)), nil, nil).Err()
}

// What a session remembers of its client is bounded: clients may make many.
func TestIntroductionIsBounded(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "x", Version: "1"}, nil)
	long := strings.Repeat("x", 64<<10)
	if e := initializeWith(t, s, `{}`, `{"name":"c","version":"1"}`); e != nil {
		t.Error(e)
	}
	for _, tt := range [][2]string{{`{}`, `{"name":"` + long + `","version":"1"}`}, {`{"experimental":{"` + long + `":{}}}`, `{"name":"c","version":"1"}`}} {
		if e := initializeWith(t, s, tt[0], tt[1]); e == nil || e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("got %v", e)
		}
	}
}

// mute is a peer that takes everything.
type mute struct{}

func (mute) Notify(context.Context, *jsonrpc.Message) error { return nil }
func (mute) Call(context.Context, string, []byte) (*jsonrpc.Message, error) {
	return nil, mcp.ErrNoRequests
}

// Subscriptions are bounded in number and in bytes, in both eras.
func TestSubscriptionsAreBounded(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "x", Version: "1"}, nil)
	part := strings.Repeat("y", 30_000)
	for i := range 100 {
		s.AddResource(&mcp.Resource{URI: fmt.Sprintf("x://%s%d", part, i), Name: "x"}, nil)
	}
	e := mcp.NewEndpoint(s, nil)
	ch := e.NewChannel(mcp.ChannelOptions{})
	defer ch.Close()
	serve := func(method, params string) *jsonrpc.Error {
		return ch.Serve(t.Context(), jsonrpc.NewRequest(jsonrpc.IntID(1), method, []byte(params)), mute{}, nil).Err()
	}
	if e := serve("initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`); e != nil {
		t.Fatal(e)
	}
	taken := 0
	for i := range 100 {
		if e := serve("resources/subscribe", fmt.Sprintf(`{"uri":"x://%s%d"}`, part, i)); e != nil {
			if e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "too long") {
				t.Error(e)
			}
			break
		}
		taken++
	}
	if taken == 0 || taken > 40 {
		t.Errorf("%d subscriptions of %d bytes were taken", taken, len(part))
	}
	uris := strings.Repeat(`"x://a",`, 10_000) + `"x://b"`
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	if e := serve("subscriptions/listen", `{"notifications":{"resourceSubscriptions":[`+uris+`]},`+meta+`}`); e == nil || e.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("listen: %v", e)
	}
}

// A panic in a callback of the server's user leaves no lock behind.
func TestListenSurvivesPanickingFilter(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "x", Version: "1"}, &mcp.ServerOptions{
		Visible: func(_ context.Context, _ *mcp.Session, kind, name string) bool {
			if name == "x://a" {
				panic("as asked")
			}
			return true
		},
	})
	s.AddResource(&mcp.Resource{URI: "x://a", Name: "a"}, nil)
	ch := mcp.NewEndpoint(s, nil).NewChannel(mcp.ChannelOptions{})
	defer ch.Close()
	serve := func(method, params string) *jsonrpc.Message {
		return ch.Serve(t.Context(), jsonrpc.NewRequest(jsonrpc.IntID(1), method, []byte(params)), mute{}, nil)
	}
	if e := serve("initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`).Err(); e != nil {
		t.Fatal(e)
	}
	if e := serve("resources/subscribe", `{"uri":"x://a"}`).Err(); e == nil || e.Code != jsonrpc.CodeInternal {
		t.Errorf("subscribe: %v", e)
	}
	s.AddResource(&mcp.Resource{URI: "x://b", Name: "b"}, nil) // needs the lock
	if got := rawjson.Get(serve("resources/subscribe", `{"uri":"x://b"}`).Bytes(), "result"); got == nil {
		t.Error("the server does not work any more")
	}
}
