package interop_test

import (
	"testing"

	"mcpv/interop"
)

// Reasons why a peer client cannot do something with our server.
const (
	noPing        = "2026-07-28 has no ping"
	mcpgoNoCancel = "the mcp-go client never sends notifications/cancelled over HTTP, and a legacy server must ignore a closed request"
)

// TestServer runs the clients of the SDKs against our server, each against a process of its own.
func TestServer(t *testing.T) {
	for _, tc := range []struct {
		client, protocol, agreed string // protocol "" is the client's own choice
		stdio, http              except
	}{
		{interop.TSv1, "", legacy, nil, nil},
		{interop.TSv2, "", modern, except{"ping": noPing}, except{"ping": noPing}},
		{interop.TSv2, "legacy", legacy, nil, nil},
		{interop.GoSDK, "", modern, except{"ping": noPing}, except{"ping": noPing}},
		{interop.GoSDK, legacy, legacy, nil, nil},
		{interop.MCPGo, "", modern, except{"ping": noPing}, except{"ping": noPing}},
		{interop.MCPGo, legacy, legacy, nil, except{"cancellation": mcpgoNoCancel}},
	} {
		client := peers.Client(tc.client, tc.protocol)
		pipe := pairing{"server", tc.client, "stdio", tc.agreed}
		t.Run(pipe.String(), func(t *testing.T) {
			t.Parallel()
			serve(t, pipe, client, peers.Server(interop.Ours), tc.stdio)
		})
		web := pairing{"server", tc.client, "http", tc.agreed}
		t.Run(web.String(), func(t *testing.T) {
			t.Parallel()
			url, stop, err := interop.Start(t.Context(), peers.Server(interop.Ours, "--http"))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			serve(t, web, client, []string{url}, tc.http)
		})
	}
}

// serve runs a client against a command or URL and records what it says.
func serve(t *testing.T, p pairing, client, target []string, except except) {
	t.Helper()
	results, err := peers.Run(t.Context(), client, target...)
	if err != nil {
		t.Fatal(err)
	}
	table.judge(t, p, results, except)
}
