package mcp_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/mcp/stdio"
	"mcpv/revision"
)

type echoIn struct {
	Message string `json:"message" jsonschema:"the text to send back"`
}

type measureOut struct {
	Message string `json:"message"`
	Length  int    `json:"length"`
}

// searchIn has ten properties, as the tools of a busy server do.
type searchIn struct {
	Query    string   `json:"query" jsonschema:"what to look for"`
	Limit    int      `json:"limit" jsonschema:"the largest number of answers"`
	Offset   int      `json:"offset,omitempty" jsonschema:"how many answers to skip"`
	Language string   `json:"language,omitempty" jsonschema:"the language of the answers"`
	Exact    bool     `json:"exact,omitempty" jsonschema:"whether every word has to match"`
	Score    float64  `json:"score,omitempty" jsonschema:"the lowest score of an answer"`
	Tags     []string `json:"tags,omitempty" jsonschema:"labels an answer carries"`
	Owner    string   `json:"owner,omitempty" jsonschema:"who wrote it"`
	Since    string   `json:"since,omitempty" jsonschema:"the earliest date"`
	Until    string   `json:"until,omitempty" jsonschema:"the latest date"`
}

// benchServer has echo, measure and as many search tools as asked for.
func benchServer(searches int) *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "send the message back"},
		func(_ context.Context, _ *mcp.ToolRequest, in echoIn) (string, error) { return in.Message, nil })
	mcp.AddTool(s, &mcp.Tool{Name: "measure", Description: "measure a message"},
		func(_ context.Context, _ *mcp.ToolRequest, in echoIn) (measureOut, error) {
			return measureOut{in.Message, len(in.Message)}, nil
		})
	for i := range searches {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("search_%d", i), Description: "Search the collection and return the best answers."},
			func(context.Context, *mcp.ToolRequest, searchIn) (string, error) { return "", nil })
	}
	return s
}

var benchEras = []*revision.Revision{revision.LatestLegacy(), revision.Latest()}

// benchPipe connects a client to a server over a pair of pipes and lines.
func benchPipe(b *testing.B, s *mcp.Server, r *revision.Revision) *mcp.Client {
	b.Helper()
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- mcp.ServeStream(context.Background(), s, stdio.NewStream(sr, sw, ends{sr, sw}, nil), nil)
	}()
	c, err := mcp.Connect(b.Context(), mcp.StreamTransport(func(context.Context) (jsonrpc.Stream, error) {
		return stdio.NewStream(cr, cw, ends{cr, cw}, nil), nil
	}), &mcp.ClientOptions{Revision: r})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return c
}

type ends struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func (e ends) Close() error {
	e.w.Close()
	return e.r.Close()
}

// BenchmarkPipe is a call from the client to the server and back over io.Pipe.
func BenchmarkPipe(b *testing.B) {
	for _, r := range benchEras {
		b.Run("echo/"+r.Era.String(), func(b *testing.B) {
			c := benchPipe(b, benchServer(0), r)
			b.ReportAllocs()
			for b.Loop() {
				got, err := c.CallTool(b.Context(), &mcp.ToolCall{Name: "echo", Arguments: echoIn{"hello"}})
				if err != nil || got.Text() != "hello" {
					b.Fatal(got, err)
				}
			}
		})
		b.Run("measure/"+r.Era.String(), func(b *testing.B) {
			c := benchPipe(b, benchServer(0), r)
			b.ReportAllocs()
			for b.Loop() {
				got, err := mcp.CallTool[measureOut](b.Context(), c, "measure", echoIn{"hello"})
				if err != nil || got.Length != 5 {
					b.Fatal(got, err)
				}
			}
		})
		b.Run("list100/"+r.Era.String(), func(b *testing.B) {
			c := benchPipe(b, benchServer(98), r)
			b.ReportAllocs()
			for b.Loop() {
				if got, err := mcp.Collect(c.Tools(b.Context())); err != nil || len(got) != 100 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// noPeer is the way back for benchmarks that never take it.
type noPeer struct{ mcp.Peer }

// BenchmarkEndpoint is what a server does for a request between the transport's
// parsing and its writing.
func BenchmarkEndpoint(b *testing.B) {
	const call = `{"name":"echo","arguments":{"message":"hello"}`
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`
	e := mcp.NewEndpoint(benchServer(98), nil)
	answer := func(b *testing.B, m *jsonrpc.Message, s *mcp.Session) {
		if a := e.Answer(b.Context(), &mcp.Exchange{Request: m, Session: s, Peer: noPeer{}}); a.Result() == nil {
			b.Fatalf("%s", a.Bytes())
		}
	}
	b.Run("call/legacy", func(b *testing.B) {
		m := jsonrpc.NewRequest(jsonrpc.IntID(1), "tools/call", []byte(call+"}"))
		s := mcp.LegacySession(revision.LatestLegacy(), nil)
		b.ReportAllocs()
		for b.Loop() {
			answer(b, m, s)
		}
	})
	b.Run("call/modern", func(b *testing.B) {
		m := jsonrpc.NewRequest(jsonrpc.IntID(1), "tools/call", []byte(call+meta+"}"))
		b.ReportAllocs()
		for b.Loop() {
			s, err := mcp.ModernSession(m, nil, e.Revisions())
			if err != nil {
				b.Fatal(err)
			}
			answer(b, m, s)
		}
	})
	b.Run("list100/legacy", func(b *testing.B) {
		m := jsonrpc.NewRequest(jsonrpc.IntID(1), "tools/list", nil)
		s := mcp.LegacySession(revision.LatestLegacy(), nil)
		b.ReportAllocs()
		for b.Loop() {
			answer(b, m, s)
		}
	})
}

// BenchmarkAddTool is what a typed tool costs when the server starts.
func BenchmarkAddTool(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		benchServer(1)
	}
}
