// Package report reads what the official conformance suite wrote and counts scenarios by our rule.
//
// A scenario passes with no FAILURE, no WARNING and at least one SUCCESS; it is skipped when it holds nothing but
// SKIPPED and INFO; anything else fails, and so does a scenario that was expected and wrote no file.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Leg is the side under test.
type Leg string

// The two legs of the suite.
const (
	Server Leg = "server"
	Client Leg = "client"
)

// Outcome of a scenario.
type Outcome string

// Outcomes by the rule of the package comment.
const (
	Passed  Outcome = "passed"
	Skipped Outcome = "skipped"
	Failed  Outcome = "failed"
)

// Check is one entry of a checks.json.
type Check struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// Scenario is a scenario with its checks; Checks is nil when no file was written.
type Scenario struct {
	Name    string
	Outcome Outcome
	Checks  []Check
}

// Message says why a check did not succeed.
func (c Check) Message() string {
	if c.ErrorMessage != "" {
		return c.ErrorMessage
	}
	return c.Description
}

// Judge applies the rule to the checks of one scenario.
func Judge(checks []Check) Outcome {
	count := map[string]int{}
	for _, c := range checks {
		count[c.Status]++
	}
	bad := len(checks) - count["SUCCESS"] - count["SKIPPED"] - count["INFO"]
	switch {
	case bad > 0 || len(checks) == 0:
		return Failed
	case count["SUCCESS"] > 0:
		return Passed
	default:
		return Skipped
	}
}

// Hollow reports whether a scenario passes by our rule although nothing of its own was exercised: the suite adds
// the check wire-schema-valid to every scenario with traffic, also to one that skips all its own checks.
func (s Scenario) Hollow() bool {
	return s.Outcome == Passed && !slices.ContainsFunc(s.Checks, func(c Check) bool {
		return c.Status == "SUCCESS" && c.ID != "wire-schema-valid"
	})
}

// Problems returns the checks that keep a scenario from passing.
func (s Scenario) Problems() []Check {
	if s.Outcome == Passed && !s.Hollow() {
		return nil
	}
	if s.Checks == nil {
		return []Check{{ID: "no-result", Status: "FAILURE", ErrorMessage: "the suite wrote no checks.json for this scenario"}}
	}
	return slices.DeleteFunc(slices.Clone(s.Checks), func(c Check) bool {
		return c.Status == "SUCCESS" || c.Status == "INFO" || c.Status == "SKIPPED" && s.Outcome == Failed
	})
}

// stamped is the folder of one scenario: its name, a dash and the time with the colons and dots replaced.
var stamped = regexp.MustCompile(`^(.+)-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z$`)

// Load reads the output folder of one run and judges every expected scenario, in the order of expected.
// A scenario that was run but not expected is appended: losing one silently would hide a change of the suite.
func Load(dir string, leg Leg, expected []string) ([]Scenario, error) {
	found := map[string][]Check{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		match := stamped.FindStringSubmatch(filepath.ToSlash(rel))
		if match == nil {
			return nil
		}
		name := match[1]
		if leg == Server {
			name = strings.TrimPrefix(name, "server-")
		}
		checks, err := readChecks(filepath.Join(path, "checks.json"))
		if err != nil {
			return fmt.Errorf("scenario %s: %w", name, err)
		}
		found[name] = checks
		return fs.SkipDir
	})
	if err != nil {
		return nil, err
	}
	names := slices.Clone(expected)
	for name := range found {
		if !slices.Contains(expected, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[len(expected):])
	scenarios := make([]Scenario, len(names))
	for i, name := range names {
		scenarios[i] = Scenario{Name: name, Outcome: Judge(found[name]), Checks: found[name]}
	}
	return scenarios, nil
}

// readChecks returns nil, nil when the file is missing.
func readChecks(path string) ([]Check, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseChecks(data)
}

// ParseChecks decodes a checks.json. The result is never nil when the error is.
func ParseChecks(data []byte) ([]Check, error) {
	checks := []Check{}
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, fmt.Errorf("checks.json: %w", err)
	}
	if checks == nil {
		checks = []Check{}
	}
	return checks, nil
}

// Line is one leg's part of the closing line.
func Line(leg Leg, scenarios []Scenario) string {
	count := map[Outcome]int{}
	for _, s := range scenarios {
		count[s.Outcome]++
	}
	return fmt.Sprintf("%s: %d scenarios, %d passed, %d skipped, %d failed",
		leg, len(scenarios), count[Passed], count[Skipped], count[Failed])
}

// Claim is what the README says about one leg.
type Claim struct {
	Passed int      `json:"passed"` // at least so many pass in the whole suite
	Except []string `json:"except"` // names or "prefix/" that need not pass; everything else must
}

// Excepts reports whether a scenario need not pass.
func (c Claim) Excepts(name string) bool {
	return slices.ContainsFunc(c.Except, func(e string) bool {
		return name == e || strings.HasSuffix(e, "/") && strings.HasPrefix(name, e)
	})
}

// Broken returns the scenarios that the claim says pass and that do not, or only in a hollow way.
func (c Claim) Broken(scenarios []Scenario) []string {
	var broken []string
	for _, s := range scenarios {
		if (s.Outcome != Passed || s.Hollow()) && !c.Excepts(s.Name) {
			broken = append(broken, s.Name)
		}
	}
	return broken
}

// ParseList reads the names out of what "list --server" or "list --client" prints, with --requirements or without.
// What the suite runs but never scores is not part of it.
func ParseList(out []byte, leg Leg) []string {
	var names []string
	var inside bool
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		item, isItem := strings.CutPrefix(line, "  - ")
		switch {
		case isItem && inside:
			name, _, _ := strings.Cut(item, " ")
			names = append(names, name)
		case line != "" && line[0] != ' ':
			inside = strings.HasPrefix(strings.ToLower(line), string(leg)+" scenarios")
		}
	}
	return names
}
