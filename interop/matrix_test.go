package interop_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"mcpv/interop/peers/feature"
)

// columns are the features of the matrix and what they are called in its head. Every row answers for every one.
var columns = []struct{ feature, short string }{
	{"initialize", "init"}, {"ping", "ping"}, {"tools", "tools"}, {"tool-error", "error"}, {"resources", "resrc"},
	{"resource-templates", "templ"}, {"prompts", "prompt"}, {"completion", "compl"}, {"logging", "log"}, {"progress", "progr"},
	{"cancellation", "cancel"}, {"subscriptions", "subscr"}, {"sampling", "sampl"}, {"elicitation", "elicit"}, {"roots", "roots"},
	{"close", "close"},
}

// A pairing is one row: our side, the peer, and how they met.
type pairing struct {
	ours, peer, transport string
	revision              string // the one that has to be agreed on
}

func (p pairing) String() string {
	return fmt.Sprintf("%s %s %s %s", p.ours, p.peer, p.transport, p.revision)
}

// except says what a pairing cannot do: feature to reason. What is in it has to fail, so that the list stays true.
type except map[string]string

// with returns the exceptions and those of more.
func (e except) with(more except) except {
	all := maps.Clone(e)
	if all == nil {
		all = except{}
	}
	maps.Copy(all, more)
	return all
}

// matrix is what all tests of one run found. It is safe for concurrent use.
type matrix struct {
	mu    sync.Mutex
	rows  map[pairing]map[string]string // to the cell of every feature
	notes []string                      // reasons, numbered by their place
}

// table is filled by the tests and printed by TestMain.
var table = matrix{rows: map[pairing]map[string]string{}}

// judge fails the test for what went wrong without a reason and for what has a reason and went well, and records all.
func (m *matrix) judge(t *testing.T, p pairing, results []feature.Result, except except) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows[p] != nil {
		t.Errorf("%s was met twice", p)
	}
	cells := map[string]string{}
	m.rows[p] = cells
	for _, r := range results {
		reason, known := except[r.Feature]
		switch {
		case r.OK && known:
			t.Errorf("%s works: it must not be excused by %q", r.Feature, reason)
			cells[r.Feature] = "FAIL"
		case r.OK && cells[r.Feature] == "": // a feature may be tried in parts
			cells[r.Feature] = "ok"
		case r.OK:
		case known:
			cells[r.Feature] = m.note(reason)
			t.Logf("%s: %s (%s)", r.Feature, reason, r.Detail)
		default:
			cells[r.Feature] = "FAIL"
			t.Errorf("%s: %s", r.Feature, r.Detail)
		}
		if r.Feature == "initialize" && r.OK && r.Detail != p.revision {
			t.Errorf("agreed on %q, want %q", r.Detail, p.revision)
		}
	}
	for _, c := range columns {
		if cells[c.feature] == "" {
			cells[c.feature] = "FAIL"
			t.Errorf("%s was not tried", c.feature)
		}
	}
}

// note returns the mark of a reason. The caller holds m.mu.
func (m *matrix) note(reason string) string {
	i := slices.Index(m.notes, reason)
	if i < 0 {
		i = len(m.notes)
		m.notes = append(m.notes, reason)
	}
	return fmt.Sprintf("[%d]", i+1)
}

// String returns the table, the reasons and a line of totals.
func (m *matrix) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, "ours\tpeer\tover\trevision")
	for _, c := range columns {
		fmt.Fprint(w, "\t", c.short)
	}
	fmt.Fprintln(w)
	byName := func(a, b pairing) int { return strings.Compare(a.String(), b.String()) }
	count := map[string]int{}
	for _, p := range slices.SortedFunc(maps.Keys(m.rows), byName) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s", p.ours, p.peer, p.transport, p.revision)
		for _, c := range columns {
			cell := m.rows[p][c.feature]
			fmt.Fprint(w, "\t", cell)
			count[strings.TrimRight(cell, "0123456789]")]++
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to a buffer
	for i, reason := range m.notes {
		fmt.Fprintf(&out, "[%d] %s\n", i+1, reason)
	}
	fmt.Fprintf(&out, "interop: %d pairings, %d cells: %d ok, %d not possible or not tried for the reasons above, %d failed\n",
		len(m.rows), len(m.rows)*len(columns), count["ok"], count["["], count["FAIL"])
	return out.String()
}

// publish prints the matrix, and keeps it at path because go test shows what a package printed only with -v.
func (m *matrix) publish(w io.Writer, path string) error {
	if len(m.rows) == 0 {
		return nil
	}
	text := m.String()
	fmt.Fprint(w, "\n", text)
	return os.WriteFile(path, []byte(text), 0o644)
}
