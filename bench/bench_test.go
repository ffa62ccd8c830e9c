package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mcpv/bench/report"
	"mcpv/bench/scenario"
)

// The program starts itself as worker and as server, so the test runs the real
// program once over everything, with the smallest settings.
func TestEveryScenarioOfEveryContestant(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bench")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(bin, "-json", "-rounds", "1", "-each", "1ms", "-sessions", "5", "-who", ".*")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Err != "" || row.Best.Calls == 0 {
			t.Errorf("%s %s: %d calls, error %q", row.Scenario, row.Contestant, row.Best.Calls, row.Err)
		}
	}
	for _, s := range scenario.All() {
		for _, who := range []string{"mcp-go", "go-sdk"} {
			if _, ok := r.Find(s.Name, who); !ok {
				t.Errorf("%s did not take part in %s", who, s.Name)
			}
		}
	}
}
