// Package report turns samples into tables, ratios and verdicts.
package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mcpv/bench/scenario"
)

// A Report is the outcome of one run. Rows keep the order of the scenarios
// and, within one, of the contestants.
type Report struct {
	Machine     Machine  `json:"machine"`
	Contestants []string `json:"contestants"` // name and version
	Rounds      int      `json:"rounds"`
	Each        string   `json:"each"` // length of one measurement
	Sessions    int      `json:"idle_sessions"`
	Rows        []Row    `json:"rows"`
	Targets     []Target `json:"targets"`
}

// A Machine says where the figures come from.
type Machine struct {
	CPU  string `json:"cpu"`
	Num  int    `json:"num_cpu"`
	OS   string `json:"os"`
	Go   string `json:"go"`
	Load string `json:"load"` // load averages when the run began and ended
	Date string `json:"date"`
}

// A Row is the best of all rounds of one contestant in one scenario.
type Row struct {
	Scenario   string          `json:"scenario"`
	Contestant string          `json:"contestant"`
	Best       scenario.Sample `json:"best"`
	CPUs       []float64       `json:"cpu_us_rounds"` // of every round, to judge the spread
	Err        string          `json:"error,omitempty"`
}

// Find returns the sample of a contestant in a scenario.
func (r *Report) Find(name, contestant string) (scenario.Sample, bool) {
	for _, row := range r.Rows {
		if row.Scenario == name && row.Contestant == contestant && row.Err == "" {
			return row.Best, true
		}
	}
	return scenario.Sample{}, false
}

// Write prints the report as Markdown, which is also legible in a terminal.
func (r *Report) Write(w io.Writer) {
	m := r.Machine
	fmt.Fprintf(w, "%s, %d cores, %s, %s; load average %s; %s.\n", m.CPU, m.Num, m.OS, m.Go, m.Load, m.Date)
	fmt.Fprintf(w, "%s; best of %d interleaved rounds of %s each; %d idle sessions.\n\n",
		strings.Join(r.Contestants, ", "), r.Rounds, r.Each, r.Sessions)
	r.writeCalls(w)
	r.writeIdle(w)
	r.writeTargets(w)
}

func (r *Report) writeCalls(w io.Writer) {
	table(w, []string{"scenario", "who", "CPU µs", "× mcp-go", "× floor", "wall µs", "B", "allocs", "req/s", "p50 ms", "p99 ms"},
		func(add func(...string)) {
			for _, row := range r.Rows {
				b := row.Best
				switch {
				case row.Err != "":
					add(row.Scenario, row.Contestant, "error: "+row.Err)
				case !isIdle(row):
					add(row.Scenario, row.Contestant, num(b.CPU), r.ratio(row, "mcp-go"), r.ratio(row, "floor"),
						num(b.Wall), num(b.Bytes), num(b.Allocs), num(b.RPS), milli(b.P50), milli(b.P99))
				}
			}
		})
}

func (r *Report) writeIdle(w io.Writer) {
	table(w, []string{"per idle session", "who", "heap+stack B", "RSS B", "goroutines"}, func(add func(...string)) {
		for _, row := range r.Rows {
			if isIdle(row) && row.Err == "" {
				add(row.Scenario, row.Contestant, num(row.Best.Bytes), num(row.Best.RSS), fix(row.Best.Goroutines))
			}
		}
	})
}

func (r *Report) writeTargets(w io.Writer) {
	table(w, []string{"target", "limit", "measured", "verdict"}, func(add func(...string)) {
		for _, t := range r.Targets {
			add(t.What, t.Limit, t.Measured, t.Verdict)
		}
	})
}

func isIdle(row Row) bool { return strings.HasPrefix(row.Scenario, "idle/") }

// ratio returns the CPU of the row over that of the reference.
func (r *Report) ratio(row Row, reference string) string {
	ref, ok := r.Find(row.Scenario, reference)
	if !ok || ref.CPU == 0 || row.Contestant == reference {
		return ""
	}
	return fix(row.Best.CPU / ref.CPU)
}

// table writes a Markdown table with aligned columns; nothing when no row was
// added.
func table(w io.Writer, head []string, fill func(add func(...string))) {
	rows := [][]string{head}
	fill(func(cells ...string) { rows = append(rows, cells) })
	if len(rows) == 1 {
		return
	}
	width := make([]int, len(head))
	for _, row := range rows {
		for i, c := range row {
			if len(row) == len(head) {
				width[i] = max(width[i], len([]rune(c)))
			}
		}
	}
	var b bytes.Buffer
	for i, row := range rows {
		b.WriteByte('|')
		for j := range head {
			cell := ""
			if j < len(row) {
				cell = row[j]
			}
			fmt.Fprintf(&b, " %s%s |", cell, strings.Repeat(" ", max(0, width[j]-len([]rune(cell)))))
		}
		b.WriteByte('\n')
		if i == 0 {
			b.WriteByte('|')
			for j := range head {
				b.WriteString(strings.Repeat("-", width[j]+2) + "|")
			}
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	_, _ = w.Write(b.Bytes())
}

// num prints three significant digits without an exponent.
func num(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 100 && f > -100:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

func fix(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// milli prints milliseconds down to the microsecond.
func milli(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
