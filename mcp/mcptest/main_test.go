package mcptest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"mcpv/mcp/mcptest"
	"mcpv/mcp/stdio"
	"mcpv/revision"
)

// serveEnv makes the test binary a server on standard input and output that
// speaks the revision it names.
const serveEnv = "MCPTEST_SERVE"

func TestMain(m *testing.M) {
	if name := os.Getenv(serveEnv); name != "" {
		os.Exit(serve(name))
	}
	goleak.VerifyTestMain(m)
}

func serve(name string) int {
	r, ok := revision.Lookup(name)
	if !ok {
		fmt.Fprintf(os.Stderr, "no revision %q\n", name)
		return 2
	}
	s := mcptest.NewServer(r)
	err := stdio.Serve(context.Background(), s, nil)
	if closeErr := s.Close(); err != nil || closeErr != nil {
		fmt.Fprintln(os.Stderr, err, closeErr)
		return 1
	}
	return 0
}
