package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"mcpv/bench/contest"
	"mcpv/bench/report"
	"mcpv/bench/scenario"
)

// A driver runs every chosen scenario of every chosen contestant in a process
// of its own. Rounds are interleaved: contestant after contestant, then the
// next round, so that a busy minute of the machine hits all alike.
type driver struct {
	who      []contest.Contestant
	what     []scenario.Scenario
	rounds   int
	each     time.Duration
	sessions int
}

// limit bounds one process; an idle run with thousands of sessions is longest.
const limit = 60 * time.Second

func (d *driver) run(ctx context.Context) (*report.Report, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &report.Report{Machine: machine(), Rounds: d.rounds, Each: d.each.String(), Sessions: d.sessions}
	for i, s := range d.what {
		fmt.Fprintf(os.Stderr, "[%d/%d] %s\n", i+1, len(d.what), s.Name)
		r.Rows = append(r.Rows, d.scenario(ctx, self, s)...)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, c := range d.who {
		if slices.ContainsFunc(r.Rows, func(row report.Row) bool { return row.Contestant == c.Name() }) {
			r.Contestants = append(r.Contestants, c.Name()+" ("+c.Version()+")")
		}
	}
	r.Machine.Load += " to " + loadAverage()
	r.Judge()
	return r, nil
}

func (d *driver) scenario(ctx context.Context, self string, s scenario.Scenario) []report.Row {
	var rows []report.Row
	for _, c := range d.who {
		if s.Offers(c) {
			rows = append(rows, report.Row{Scenario: s.Name, Contestant: c.Name()})
		}
	}
	rounds := d.rounds
	if s.Once {
		rounds = 1
	}
	for round := range rounds {
		for i := range rows {
			row := &rows[i]
			if row.Err != "" || ctx.Err() != nil {
				continue
			}
			sample, err := d.worker(ctx, self, s.Name, row.Contestant)
			if err != nil {
				row.Err = err.Error()
				fmt.Fprintf(os.Stderr, "%s %s: %v\n", s.Name, row.Contestant, err)
				continue
			}
			row.CPUs = append(row.CPUs, sample.CPU)
			if round == 0 {
				row.Best = sample
			} else {
				row.Best = row.Best.Best(sample)
			}
		}
	}
	return rows
}

// worker measures once, in a child that ends before worker returns.
func (d *driver) worker(ctx context.Context, self, name, contestant string) (s scenario.Sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, diag bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "measure", name, contestant, d.each.String(), fmt.Sprint(d.sessions))
	cmd.Stdout, cmd.Stderr = &out, &diag
	// Its own servers read EOF and end when it is gone; a second after that
	// whatever still holds our pipes is no longer waited for.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return s, errors.Join(err, errors.New(strings.TrimSpace(diag.String())))
	}
	return s, json.Unmarshal(out.Bytes(), &s)
}

// roles are what this program does when it starts itself.
var roles = map[string]func(ctx context.Context, args []string) error{
	"measure":     measureRole,
	"serve-stdio": stdioRole,
	"serve-http":  httpRole,
}

func measureRole(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("measure SCENARIO CONTESTANT DURATION SESSIONS")
	}
	s, err := scenario.Find(args[0])
	if err != nil {
		return err
	}
	c, err := contestant(args[1])
	if err != nil {
		return err
	}
	var o scenario.Options
	if o.For, err = time.ParseDuration(args[2]); err != nil {
		return err
	}
	if _, err := fmt.Sscan(args[3], &o.Sessions); err != nil {
		return err
	}
	if o.Self, err = os.Executable(); err != nil {
		return err
	}
	sample, err := s.Run(ctx, c, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sample)
}

func stdioRole(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("serve-stdio CONTESTANT ERA")
	}
	c, err := contestant(args[0])
	if err != nil {
		return err
	}
	s, ok := c.(contest.Stdio)
	if !ok {
		return errors.New(args[0] + " has no stdio")
	}
	return s.ServeStdio(ctx, contest.Setup{Era: contest.Era(args[1]), Tools: contest.Few})
}

func httpRole(_ context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("serve-http CONTESTANT")
	}
	c, err := contestant(args[0])
	if err != nil {
		return err
	}
	return scenario.ServeHTTP(c, os.Stdin, os.Stdout)
}

func contestant(name string) (contest.Contestant, error) {
	for _, c := range contestants() {
		if c.Name() == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no contestant %q", name)
}

func machine() report.Machine {
	return report.Machine{
		CPU: cpuModel(), Num: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Load: loadAverage(), Date: time.Now().UTC().Format(time.DateOnly),
	}
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "unknown processor"
}

// loadAverage returns the one-minute load average.
func loadAverage() string {
	b, _ := os.ReadFile("/proc/loadavg")
	first, _, ok := strings.Cut(string(b), " ")
	if !ok {
		return "unknown"
	}
	return first
}
