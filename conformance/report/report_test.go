package report_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpv/conformance/report"
)

func checks(status ...string) []report.Check {
	out := []report.Check{}
	for _, s := range status {
		out = append(out, report.Check{ID: "id-" + s, Status: s})
	}
	return out
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		status []string
		want   report.Outcome
	}{
		{[]string{"SUCCESS"}, report.Passed},
		{[]string{"SUCCESS", "SKIPPED", "INFO"}, report.Passed},
		{[]string{"SUCCESS", "WARNING"}, report.Failed},
		{[]string{"SUCCESS", "FAILURE"}, report.Failed},
		{[]string{"SUCCESS", "SOMETHING-NEW"}, report.Failed},
		{[]string{"SKIPPED", "INFO"}, report.Skipped},
		{[]string{"INFO"}, report.Skipped},
		{nil, report.Failed},
	} {
		if got := report.Judge(checks(tc.status...)); got != tc.want {
			t.Errorf("Judge(%v) = %s, want %s", tc.status, got, tc.want)
		}
	}
}

// write lays out one scenario's folder the way the suite does; an empty body leaves the file out.
func write(t *testing.T, dir, folder, body string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(folder))
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if body == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(path, "checks.json"), []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "server-tools-list-2026-11-15T02-30-11-123Z",
		`[{"id":"tools-list","status":"SUCCESS","details":{"toolCount":3}},{"id":"tools-name-format","status":"WARNING","errorMessage":"a/b"}]`)
	write(t, dir, "server-server-initialize-2026-11-15T02-30-12-123Z", `[{"id":"server-initialize","status":"SUCCESS"}]`)
	write(t, dir, "server-ping-2026-11-15T02-30-13-001Z", "")
	write(t, dir, "server-brand-new-2026-11-15T02-30-14-001Z", `[{"id":"x","status":"SKIPPED"}]`)

	got, err := report.Load(dir, report.Server, []string{"server-initialize", "tools-list", "ping", "caching"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range got {
		lines = append(lines, s.Name+" "+string(s.Outcome))
	}
	want := []string{"server-initialize passed", "tools-list failed", "ping failed", "caching failed", "brand-new skipped"}
	if !slices.Equal(lines, want) {
		t.Errorf("scenarios %q, want %q", lines, want)
	}
	if line := report.Line(report.Server, got); line != "server: 5 scenarios, 1 passed, 1 skipped, 3 failed" {
		t.Errorf("line %q", line)
	}
	if p := got[1].Problems(); len(p) != 1 || p[0].Message() != "a/b" {
		t.Errorf("problems of tools-list: %+v", p)
	}
	if p := got[3].Problems(); len(p) != 1 || p[0].ID != "no-result" {
		t.Errorf("problems of a scenario without a file: %+v", p)
	}
}

func TestLoadNestedClientScenario(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "auth/iss-wrong-issuer-2026-11-15T02-30-11-123Z", `[{"id":"iss","status":"FAILURE","description":"no"}]`)
	write(t, dir, "auth/2025-03-26-oauth-endpoint-fallback-2026-11-15T02-30-11-123Z", `[{"id":"f","status":"SUCCESS"}]`)
	got, err := report.Load(dir, report.Client, []string{"auth/iss-wrong-issuer", "auth/2025-03-26-oauth-endpoint-fallback"})
	if err != nil {
		t.Fatal(err)
	}
	if line := report.Line(report.Client, got); line != "client: 2 scenarios, 1 passed, 0 skipped, 1 failed" {
		t.Errorf("line %q", line)
	}
}

func TestLoadRefusesBrokenFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "server-ping-2026-11-15T02-30-13-001Z", `[{"id":`)
	if _, err := report.Load(dir, report.Server, []string{"ping"}); err == nil || !strings.Contains(err.Error(), "ping") {
		t.Errorf("error %v does not name the scenario", err)
	}
}

func TestParseList(t *testing.T) {
	plain := "Server scenarios (test against a server):\n  - ping [2025-06-18,2025-11-25]\n  - tasks-lifecycle [extension]\n"
	if got := report.ParseList([]byte(plain), report.Server); !slices.Equal(got, []string{"ping", "tasks-lifecycle"}) {
		t.Errorf("plain list: %q", got)
	}
	required := "Required for 2026-07-28 (69 scenarios, frozen):\n\nServer scenarios (test against a server):\n  - caching\n\n" +
		"Client scenarios (test against a client):\n  - tools_call\n\nRun and reported, but never scored:\n  extension (16):\n    - auth/dpop [client]\n"
	if got := report.ParseList([]byte(required), report.Server); !slices.Equal(got, []string{"caching"}) {
		t.Errorf("required servers: %q", got)
	}
	if got := report.ParseList([]byte(required), report.Client); !slices.Equal(got, []string{"tools_call"}) {
		t.Errorf("required clients: %q", got)
	}
}

func TestClaim(t *testing.T) {
	claim := report.Claim{Except: []string{"auth/", "tasks-status-notifications"}}
	scenarios := []report.Scenario{
		{Name: "auth/dpop", Outcome: report.Failed},
		{Name: "tasks-status-notifications", Outcome: report.Skipped},
		{Name: "tasks-lifecycle", Outcome: report.Skipped},
		{Name: "authx", Outcome: report.Failed},
		{Name: "ping", Outcome: report.Passed, Checks: checks("SUCCESS")},
		{Name: "skills", Outcome: report.Passed, Checks: []report.Check{{ID: "wire-schema-valid", Status: "SUCCESS"}, {ID: "own", Status: "SKIPPED"}}},
	}
	if got := claim.Broken(scenarios); !slices.Equal(got, []string{"tasks-lifecycle", "authx", "skills"}) {
		t.Errorf("broken: %q", got)
	}
}

// FuzzParseChecks holds that any file is read without a panic and that what is read can be judged.
func FuzzParseChecks(f *testing.F) {
	for _, s := range []string{`[]`, `null`, `[{"id":"a","status":"SUCCESS"}]`, `[{"status":1}]`, `{}`, `[{"id":"a","status":"WARNING","errorMessage":"x","details":{"a":[1]}}]`, ``, `[null]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := report.ParseChecks(data)
		if err != nil {
			return
		}
		if got == nil {
			t.Fatal("nil checks without an error")
		}
		for _, c := range (report.Scenario{Outcome: report.Judge(got), Checks: got}).Problems() {
			if c.Status == "SUCCESS" {
				t.Fatalf("a success is listed as a problem: %+v", c)
			}
		}
	})
}
