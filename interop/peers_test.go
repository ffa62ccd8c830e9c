package interop_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"mcpv/interop"
)

// expect fails the test for every feature that failed and is not in except, and for every one in except that did not.
func expect(t *testing.T, client, target []string, except ...string) {
	t.Helper()
	results, err := peers.Run(t.Context(), client, target...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		known := slices.Contains(except, r.Feature)
		switch {
		case r.OK && known:
			t.Errorf("%s works now: take it off the list of exceptions", r.Feature)
		case !r.OK && !r.Skip && !known:
			t.Errorf("%s: %s", r.Feature, r.Detail)
		}
	}
	if last := results[len(results)-1]; last.Feature != "close" {
		t.Errorf("the client stopped after %s: %s", last.Feature, last.Detail)
	}
}

// TestPeersKnowEachOther holds that the peers themselves are in order, so that a failure against us is ours.
// The exceptions are faults of the libraries, described in README.md.
func TestPeersKnowEachOther(t *testing.T) {
	if testing.Short() {
		t.Skip("only checks the peers")
	}
	for _, tc := range []struct {
		client, protocol, server string
		except                   []string
	}{
		{interop.TSv1, "", interop.GoSDK, nil},
		{interop.TSv2, modern, interop.TSv2, nil},
		{interop.TSv2, "legacy", interop.TSv1, nil},
		{interop.GoSDK, legacy, interop.MCPGo, nil},
		{interop.GoSDK, modern, interop.MCPGo, []string{"roots"}},
		{interop.MCPGo, modern, interop.TSv2, nil},
	} {
		t.Run(tc.client+" "+tc.protocol+" "+tc.server+" stdio", func(t *testing.T) {
			expect(t, peers.Client(tc.client, tc.protocol), peers.Server(tc.server), tc.except...)
		})
	}
	for _, tc := range []struct {
		client, protocol, server string
		args, except             []string
	}{
		{interop.TSv1, "", interop.TSv1, []string{"--http"}, nil},
		{interop.TSv1, "", interop.MCPGo, []string{"--http"}, nil},
		{interop.TSv2, modern, interop.GoSDK, []string{"--http", "--modern"}, nil},
		{interop.GoSDK, modern, interop.TSv2, []string{"--http"}, []string{"roots"}},
		{interop.GoSDK, legacy, interop.GoSDK, []string{"--http"}, nil},
		{interop.MCPGo, legacy, interop.MCPGo, []string{"--http"}, nil},
	} {
		t.Run(tc.client+" "+tc.protocol+" "+tc.server+" http", func(t *testing.T) {
			url, stop, err := interop.Start(t.Context(), peers.Server(tc.server, tc.args...))
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			expect(t, peers.Client(tc.client, tc.protocol), []string{url}, tc.except...)
		})
	}
}

// TestInspectorKnowsEverything holds that the two official programs run here.
func TestInspectorKnowsEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("only checks the peers")
	}
	url, stop, err := peers.StartEverything(t.Context(), "--http")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, target := range [][]string{{url}, peers.Server(interop.Everything)} {
		args := append(slices.Clone(target), "--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "--tool-arg", "b=3")
		out, err := peers.Inspect(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) || !bytes.Contains(out, []byte("5")) {
			t.Errorf("inspector said %s", out)
		}
	}
}
