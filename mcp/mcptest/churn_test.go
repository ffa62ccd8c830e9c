package mcptest_test

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpv/mcp"
	"mcpv/revision"
)

var cycles = flag.Int("cycles", 100, "how often TestChurn connects and disconnects on each transport")

// TestChurn connects, calls and disconnects over and over: nothing may be left
// behind, no goroutine, no descriptor and no child. `make churn` does it 10 000
// times on each transport, in either era.
func TestChurn(t *testing.T) {
	for _, via := range transports {
		for _, r := range []*revision.Revision{revision.Latest(), revision.LatestLegacy()} {
			t.Run(via.name+" "+r.Name, func(t *testing.T) {
				n := *cycles / 2
				if strings.HasPrefix(via.name, "stdio") {
					n = max(n/2, 1) // the two framings are one transport
				}
				transport := via.dial(t, r)
				once(t, transport, r) // what is made on first use is no leak
				before := census(t)
				for range n {
					once(t, transport, r)
				}
				settle(t, before)
				t.Logf("%d cycles left nothing behind", n)
			})
		}
	}
}

func once(t *testing.T, transport mcp.Transport, r *revision.Revision) {
	t.Helper()
	c, err := mcp.Connect(t.Context(), transport, &mcp.ClientOptions{Revision: r})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "filler_00"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// A count is what a process holds.
type count struct{ goroutines, descriptors, children int }

func census(t *testing.T) count {
	t.Helper()
	c := count{goroutines: runtime.NumGoroutine()}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		c.descriptors = len(fds)
	}
	if tasks, err := os.ReadDir("/proc/self/task"); err == nil {
		for _, task := range tasks {
			children, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
			c.children += len(strings.Fields(string(children)))
		}
	}
	return c
}

// settle waits until no more is held than before. Idle HTTP connections are
// closed first: they are the pool's, and bounded.
func settle(t *testing.T, before count) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		after := census(t)
		if after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.children <= before.children {
			return
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			t.Fatalf("held %+v before and %+v after; goroutines:\n%s", before, after, stacks)
		}
		<-ticker.C
	}
}
