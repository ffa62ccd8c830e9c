package report

import (
	"bytes"
	"errors"
	"os"
)

// Verdicts of a target.
const (
	Pass    = "PASS"
	Fail    = "FAIL"
	Missing = "not measured"
)

// A Target is one number the library has to reach.
type Target struct {
	What     string `json:"what"`
	Limit    string `json:"limit"`
	Measured string `json:"measured"`
	Verdict  string `json:"verdict"`
}

// Ours is the name of the contestant that is judged.
const Ours = "ours"

// Judge fills Targets from Rows.
func (r *Report) Judge() {
	const pipe, modern = "pipe/legacy/echo", "http/stateless-modern/1"
	const list = "list100/pipe/legacy"
	r.Targets = []Target{
		r.relative("CPU per call, io.Pipe, legacy", pipe, "mcp-go", 0.5),
		r.relative("CPU per call, stateless HTTP 2026-07-28", modern, "mcp-go", 0.45),
		r.relative("CPU per call, stateless HTTP 2026-07-28", modern, "floor", 1.5),
		r.relative("CPU of tools/list of 100 tools", list, "mcp-go", 0.1),
		r.allocs("allocations per call, io.Pipe, legacy", pipe, 60),
		r.held("idle legacy session, no stream", "idle/session", 4*1024),
		r.goroutines("idle legacy session, no stream", "idle/session"),
		r.held("idle legacy session, with stream", "idle/session+stream", 40*1024),
	}
}

// Failed reports whether a target was measured and missed.
func (r *Report) Failed() bool {
	for _, t := range r.Targets {
		if t.Verdict == Fail {
			return true
		}
	}
	return false
}

func (r *Report) relative(what, scenario, reference string, limit float64) Target {
	t := Target{What: what, Limit: "≤ " + fix(limit) + " × " + reference, Verdict: Missing}
	us, ok1 := r.Find(scenario, Ours)
	ref, ok2 := r.Find(scenario, reference)
	if ok1 && ok2 && ref.CPU > 0 {
		t.judge(fix(us.CPU/ref.CPU)+" × ("+num(us.CPU)+" / "+num(ref.CPU)+" µs)", us.CPU <= limit*ref.CPU)
	}
	return t
}

func (r *Report) allocs(what, scenario string, limit float64) Target {
	t := Target{What: what, Limit: "≤ " + num(limit), Verdict: Missing}
	if us, ok := r.Find(scenario, Ours); ok {
		t.judge(num(us.Allocs), us.Allocs <= limit)
	}
	return t
}

func (r *Report) held(what, scenario string, limit float64) Target {
	t := Target{What: what, Limit: "≤ " + num(limit/1024) + " KB", Verdict: Missing}
	if us, ok := r.Find(scenario, Ours); ok {
		t.judge(num(us.Bytes/1024)+" KB", us.Bytes <= limit)
	}
	return t
}

// goroutines allows for the few that a server starts once.
func (r *Report) goroutines(what, scenario string) Target {
	t := Target{What: what, Limit: "0 goroutines", Verdict: Missing}
	if us, ok := r.Find(scenario, Ours); ok {
		t.judge(fix(us.Goroutines), us.Goroutines < 0.01)
	}
	return t
}

func (t *Target) judge(measured string, ok bool) {
	t.Measured, t.Verdict = measured, Fail
	if ok {
		t.Verdict = Pass
	}
}

// The generated part of the README lies between these lines.
const (
	Begin = "<!-- figures: begin -->\n"
	End   = "<!-- figures: end -->\n"
)

// UpdateReadme replaces what lies between the markers of the file by r.
func (r *Report) UpdateReadme(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok1 := bytes.Cut(old, []byte(Begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(End))
	if !ok1 || !ok2 {
		return errors.New("the file lacks the markers of the figures")
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(Begin)
	r.Write(&b)
	b.WriteString(End)
	b.Write(tail)
	return os.WriteFile(path, b.Bytes(), 0o644)
}
