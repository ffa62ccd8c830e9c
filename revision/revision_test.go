package revision_test

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpv/revision"
)

func TestAll(t *testing.T) {
	var names []string
	for _, r := range revision.All() {
		names = append(names, r.String())
	}
	want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "classic"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if revision.Latest() != revision.V2026_07_28 || revision.LatestLegacy() != revision.V2025_11_25 {
		t.Errorf("latest %v, latest legacy %v", revision.Latest(), revision.LatestLegacy())
	}
	revision.All()[0] = nil
	revision.V2025_11_25.Methods()[0].Name = "changed"
	if revision.All()[0] == nil || revision.V2025_11_25.Methods()[0].Name == "changed" {
		t.Error("a caller can change the package's tables")
	}
}

func TestLookup(t *testing.T) {
	for _, r := range revision.All() {
		if got, ok := revision.Lookup(r.Name); !ok || got != r {
			t.Errorf("Lookup(%q) = %v, %v", r.Name, got, ok)
		}
	}
	if r, ok := revision.Lookup("2025-01-01"); ok {
		t.Errorf("found %v", r)
	}
}

func TestNegotiate(t *testing.T) {
	all := revision.All()
	some := []*revision.Revision{revision.V2024_11_05, revision.V2025_06_18, revision.V2026_07_28}
	for _, c := range []struct {
		requested string
		supported []*revision.Revision
		want      *revision.Revision
	}{
		{"2025-11-25", all, revision.V2025_11_25},
		{"2024-11-05", all, revision.V2024_11_05},
		{"2026-07-28", all, revision.V2025_11_25},
		{"1999-01-01", all, revision.V2025_11_25},
		{"classic", all, revision.V2025_11_25},
		{"2025-11-25", some, revision.V2025_06_18},
		{"2024-11-05", some, revision.V2024_11_05},
		{"2025-11-25", []*revision.Revision{revision.V2026_07_28, revision.Classic}, nil},
		{"2025-11-25", nil, nil},
	} {
		if got := revision.Negotiate(c.requested, c.supported); got != c.want {
			t.Errorf("Negotiate(%q, %v) = %v, want %v", c.requested, c.supported, got, c.want)
		}
	}
}

// TestMethodTables compares the tables with the published schemas. Extensions are not in the schemas.
func TestMethodTables(t *testing.T) {
	want := schemaMethods(t)
	for _, r := range revision.All() {
		if r == revision.Classic {
			continue
		}
		got := map[string]revision.Method{}
		for _, m := range r.Methods() {
			if m.Extension == "" {
				got[m.Name] = m
			}
		}
		if diff := cmp.Diff(want[r.Name], got); diff != "" {
			t.Errorf("%s (-schema +table):\n%s", r, diff)
		}
		if !slices.IsSortedFunc(r.Methods(), func(a, b revision.Method) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: table is not sorted", r)
		}
	}
}

func schemaMethods(t *testing.T) map[string]map[string]revision.Method {
	t.Helper()
	f, err := os.Open("testdata/methods.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tables := map[string]map[string]revision.Method{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if len(field) != 4 {
			t.Fatalf("bad line %q", lines.Text())
		}
		name := field[3]
		if tables[field[0]] == nil {
			tables[field[0]] = map[string]revision.Method{}
		}
		m := tables[field[0]][name]
		m.Name = name
		m.Kind = map[string]revision.Kind{"request": revision.Request, "notification": revision.Notification}[field[2]]
		m.Embedded = field[1] == "embedded"
		if field[1] == "client" {
			m.Direction |= revision.ClientToServer
		} else {
			m.Direction |= revision.ServerToClient
		}
		tables[field[0]][name] = m
	}
	return tables
}

func TestMethods(t *testing.T) {
	const c, s, both = revision.ClientToServer, revision.ServerToClient, revision.Both
	for _, x := range []struct {
		r            *revision.Revision
		method       string
		d            revision.Direction
		request, not bool
	}{
		{revision.V2025_11_25, "ping", both, true, false},
		{revision.V2025_11_25, "ping", s, true, false},
		{revision.V2025_11_25, "tools/call", c, true, false},
		{revision.V2025_11_25, "tools/call", s, false, false},
		{revision.V2025_11_25, "tools/call", both, false, false},
		{revision.V2025_11_25, "notifications/progress", both, false, true},
		{revision.V2025_11_25, "tasks/update", c, false, false},
		{revision.V2025_11_25, "vendor/thing", c, false, false},
		{revision.V2026_07_28, "ping", c, false, false},
		{revision.V2026_07_28, "initialize", c, false, false},
		{revision.V2026_07_28, "tasks/update", c, true, false},
		{revision.V2026_07_28, "tasks/result", c, false, false},
		{revision.V2026_07_28, "elicitation/create", s, false, false},
		{revision.V2026_07_28, "notifications/progress", c, false, false},
		{revision.V2026_07_28, "notifications/progress", s, false, true},
		{revision.V2026_07_28, "notifications/cancelled", both, false, true},
		{revision.Classic, "mcp/tool/execute", c, true, false},
		{revision.Classic, "tools/call", c, false, false},
		{revision.V2025_11_25, "ping", 0, false, false},
	} {
		if got := x.r.Request(x.method, x.d); got != x.request {
			t.Errorf("%s: Request(%s, %d) = %v", x.r, x.method, x.d, got)
		}
		if got := x.r.Notification(x.method, x.d); got != x.not {
			t.Errorf("%s: Notification(%s, %d) = %v", x.r, x.method, x.d, got)
		}
	}
	if m, ok := revision.V2026_07_28.Method("tasks/get"); !ok || m.Extension != revision.TasksExtensionID {
		t.Errorf("tasks/get is %+v, %v", m, ok)
	}
	if m, ok := revision.V2026_07_28.Method("roots/list"); !ok || !m.Embedded {
		t.Errorf("roots/list is %+v, %v", m, ok)
	}
}

// TestRulesAgreeWithMethods holds every rule that a method table can prove against the table.
func TestRulesAgreeWithMethods(t *testing.T) {
	for _, r := range revision.All() {
		if r == revision.Classic {
			continue
		}
		serverAsks := slices.ContainsFunc(r.Methods(), func(m revision.Method) bool {
			return r.Request(m.Name, revision.ServerToClient)
		})
		_, elicitation := r.Method("elicitation/create")
		client := revision.ClientToServer
		got := map[string]bool{
			"Handshake": r.Rules.Handshake, "Discover": r.Rules.Discover, "Ping": r.Rules.Ping,
			"Listen": r.Rules.Listen, "Subscribe": r.Rules.Subscribe, "SetLevel": r.Rules.SetLevel,
			"ServerRequests": r.Rules.ServerRequests, "Elicitation": r.Rules.Elicitation,
			"CoreTasks": r.Rules.CoreTasks, "TasksExtension": r.Rules.TasksExtension,
			"RootsChanged": r.Rules.RootsChanged, "ClientProgress": r.Rules.ClientProgress,
			"ElicitationID": r.Rules.ElicitationID, "CacheHints": r.Rules.CacheHints,
		}
		want := map[string]bool{
			"Handshake": r.Request("initialize", client), "Discover": r.Request("server/discover", client),
			"Ping": r.Request("ping", revision.Both), "Listen": r.Request("subscriptions/listen", client),
			"Subscribe": r.Request("resources/subscribe", client), "SetLevel": r.Request("logging/setLevel", client),
			"ServerRequests": serverAsks, "Elicitation": elicitation,
			"CoreTasks":      r.Request("tasks/result", revision.Both),
			"TasksExtension": r.Request("tasks/update", client),
			"RootsChanged":   r.Notification("notifications/roots/list_changed", client),
			"ClientProgress": r.Notification("notifications/progress", client),
			"ElicitationID":  r.Notification("notifications/elicitation/complete", revision.ServerToClient),
			"CacheHints":     r.Cacheable("tools/list"),
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %s", r, cmp.Diff(want, got))
		}
		if r.Rules.Handshake != (r.Era == revision.Legacy) {
			t.Errorf("%s is of the %s era", r, r.Era)
		}
	}
}

func TestCacheable(t *testing.T) {
	var got []string
	for _, m := range revision.V2026_07_28.Methods() {
		if revision.V2026_07_28.Cacheable(m.Name) {
			got = append(got, m.Name)
		}
	}
	want := []string{"prompts/list", "resources/list", "resources/read", "resources/templates/list", "server/discover", "tools/list"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
