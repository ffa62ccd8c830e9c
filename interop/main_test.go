package interop_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpv/interop"
)

// peers is set once, before any test runs.
var peers *interop.Peers

func TestMain(m *testing.M) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	var err error
	if peers, err = interop.Setup(ctx, "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cancel()
	goleak.VerifyTestMain(run{m})
}

// run is all tests, and what is to be done when they are through.
type run struct{ tests *testing.M }

func (r run) Run() int {
	adoptOrphans()
	code := r.tests.Run()
	if err := table.publish(os.Stdout, ".cache/matrix.txt"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if left := leftBehind(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "processes left behind:", left)
		code = 1
	}
	return code
}
