package jsonrpc_test

import (
	"testing"

	"mcpv/jsonrpc"
)

func BenchmarkParse(b *testing.B) {
	for name, frame := range map[string]string{
		"request": `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`,
		"modern": `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"result": `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello"}]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			in := []byte(frame)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.Parse(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall is one request and its response over the in-memory stream:
// what Conn itself costs.
func BenchmarkCall(b *testing.B) {
	near, far := jsonrpc.Pipe()
	result := []byte(`{}`)
	server := jsonrpc.NewConn(far, &jsonrpc.Options{
		OnCall: func(c *jsonrpc.Conn, m *jsonrpc.Message) { c.TrySend(jsonrpc.NewResult(m.ID(), result)) },
	})
	client := jsonrpc.NewConn(near, nil)
	b.ReportAllocs()
	for b.Loop() {
		m, err := client.Call(b.Context(), jsonrpc.NewRequest(client.NextID(), "ping", nil))
		if err != nil || m.Result() == nil {
			b.Fatal(m, err)
		}
	}
	client.Close()
	server.Close()
}
