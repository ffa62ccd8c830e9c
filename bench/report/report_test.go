package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpv/bench/report"
	"mcpv/bench/scenario"
)

func row(name, who string, s scenario.Sample) report.Row {
	return report.Row{Scenario: name, Contestant: who, Best: s}
}

func sample() *report.Report {
	return &report.Report{Rows: []report.Row{
		row("pipe/legacy/echo", "ours", scenario.Sample{CPU: 32, Allocs: 61}),
		row("pipe/legacy/echo", "mcp-go", scenario.Sample{CPU: 64, Allocs: 226}),
		row("http/stateless-modern/1", "ours", scenario.Sample{CPU: 80}),
		row("http/stateless-modern/1", "mcp-go", scenario.Sample{CPU: 186}),
		row("http/stateless-modern/1", "floor", scenario.Sample{CPU: 50}),
		row("idle/session", "ours", scenario.Sample{Bytes: 4096, Goroutines: 1}),
	}}
}

func TestJudge(t *testing.T) {
	r := sample()
	r.Judge()
	want := []string{
		report.Pass,    // 32 ≤ 0.5 × 64
		report.Pass,    // 80 ≤ 0.45 × 186
		report.Fail,    // 80 > 1.5 × 50
		report.Missing, // no list
		report.Fail,    // 61 > 60
		report.Pass,    // 4 KB
		report.Fail,    // one goroutine
		report.Missing, // no stream
	}
	if len(r.Targets) != len(want) {
		t.Fatalf("%d targets, want %d", len(r.Targets), len(want))
	}
	for i, w := range want {
		if got := r.Targets[i]; got.Verdict != w {
			t.Errorf("%s %s: %s (%s), want %s", got.What, got.Limit, got.Verdict, got.Measured, w)
		}
	}
	if !r.Failed() {
		t.Error("a missed target is not reported as failed")
	}
}

func TestJudgeWithoutOurs(t *testing.T) {
	r := &report.Report{Rows: []report.Row{row("pipe/legacy/echo", "mcp-go", scenario.Sample{CPU: 64})}}
	r.Judge()
	if r.Failed() {
		t.Error("a target that was not measured counts as missed")
	}
}

func TestFindIgnoresErrors(t *testing.T) {
	r := &report.Report{Rows: []report.Row{{Scenario: "a", Contestant: "b", Err: "broken"}}}
	if _, ok := r.Find("a", "b"); ok {
		t.Error("a failed row was found")
	}
}

func TestWrite(t *testing.T) {
	r := sample()
	r.Judge()
	var b bytes.Buffer
	r.Write(&b)
	for _, want := range []string{"| 32.0 ", "| 0.50 ", "| idle/session ", "PASS", "FAIL"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestUpdateReadme(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	before := "head\n" + report.Begin + "old\n" + report.End + "tail\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sample().UpdateReadme(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(b)
	if !strings.HasPrefix(got, "head\n"+report.Begin) || !strings.HasSuffix(got, report.End+"tail\n") ||
		strings.Contains(got, "old") || !strings.Contains(got, "pipe/legacy/echo") {
		t.Errorf("got\n%s", got)
	}
	if err := os.WriteFile(path, []byte("no markers"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sample().UpdateReadme(path); err == nil {
		t.Error("a file without markers was accepted")
	}
}
