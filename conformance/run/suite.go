package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpv/conformance/nodejs"
	"mcpv/conformance/report"
)

// revisions whose frozen requirement sets are measured beside the whole suite.
var revisions = []string{"2025-11-25", "2026-07-28"}

// suite runs the official suite. It is used by one goroutine.
type suite struct {
	env  *nodejs.Env
	root string // of the module
	work string // temporary; holds our binaries and one folder per run
	out  io.Writer
}

// measure makes one full run and returns the closing line, with errBelow when a claim does not hold.
func (s *suite) measure(ctx context.Context, o options, claims map[report.Leg]report.Claim, n int) (string, error) {
	var lines []string
	var below bool
	for _, leg := range legs(o) {
		target, stop, err := s.start(ctx, leg, o)
		if err != nil {
			return "", err
		}
		whole, err := s.leg(ctx, leg, target, claims[leg], n)
		stop()
		if err != nil && !errors.Is(err, errBelow) {
			return "", err
		}
		below = below || err != nil
		lines = append(lines, report.Line(leg, whole))
	}
	var err error
	if below {
		err = errBelow
	}
	return strings.Join(lines, "; "), err
}

// leg runs the whole suite and the requirement sets on one side and prints what did not pass.
func (s *suite) leg(ctx context.Context, leg report.Leg, target []string, claim report.Claim, n int) ([]report.Scenario, error) {
	dir := filepath.Join(s.work, fmt.Sprintf("run%d-%s", n+1, leg))
	names, err := s.list(ctx, leg)
	if err != nil {
		return nil, err
	}
	whole, err := s.into(ctx, leg, filepath.Join(dir, "all"), names, append(target, "--suite", "all"))
	if err != nil {
		return nil, err
	}
	table(s.out, fmt.Sprintf("%s, whole suite", leg), whole)
	broken := claim.Broken(whole)

	for _, revision := range revisions {
		scored, err := s.list(ctx, leg, "--requirements", revision)
		if err != nil {
			return nil, err
		}
		got, err := s.into(ctx, leg, filepath.Join(dir, revision), scored, append(target, "--requirements", revision))
		if err != nil {
			return nil, err
		}
		got = got[:len(scored)] // what follows is run by the suite and not scored
		table(s.out, fmt.Sprintf("%s, required by %s", leg, revision), got)
		fmt.Fprintf(s.out, "%s (required by %s)\n\n", report.Line(leg, got), revision)
		broken = append(broken, claim.Broken(got)...)
	}

	passed := 0
	for _, sc := range whole {
		if sc.Outcome == report.Passed {
			passed++
		}
	}
	slices.Sort(broken)
	if broken = slices.Compact(broken); len(broken) > 0 || passed < claim.Passed {
		fmt.Fprintf(s.out, "%s: below the claim: %d passed of %d claimed; missing: %s\n\n",
			leg, passed, claim.Passed, strings.Join(broken, ", "))
		return whole, errBelow
	}
	return whole, nil
}

// into runs the suite with its output below dir and judges what it wrote.
func (s *suite) into(ctx context.Context, leg report.Leg, dir string, expected, args []string) ([]report.Scenario, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := s.command(ctx, append(slices.Clone(args), "-o", dir)...)
	cmd.Stdout, cmd.Stderr = log, log
	// The exit status only says that some check failed, which the files say better.
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return report.Load(dir, leg, expected)
}

// one runs a single scenario on its leg and passes the suite's own output on.
func (s *suite) one(ctx context.Context, o options) error {
	for _, leg := range legs(o) {
		names, err := s.list(ctx, leg)
		if err != nil {
			return err
		}
		if !slices.Contains(names, o.scenario) {
			continue
		}
		target, stop, err := s.start(ctx, leg, o)
		if err != nil {
			return err
		}
		defer stop()
		got, err := s.into(ctx, leg, filepath.Join(s.work, "one"), []string{o.scenario}, append(target, "--scenario", o.scenario))
		if err != nil {
			return err
		}
		for _, c := range got[0].Checks {
			fmt.Fprintf(s.out, "%-8s %s: %s\n", c.Status, c.ID, c.Message())
		}
		fmt.Fprintf(s.out, "%s: %s\n", o.scenario, got[0].Outcome)
		if got[0].Outcome == report.Failed {
			return errBelow
		}
		return nil
	}
	return fmt.Errorf("no scenario %q on this leg", o.scenario)
}

// list returns the names of the scenarios of a leg.
func (s *suite) list(ctx context.Context, leg report.Leg, args ...string) ([]string, error) {
	out, err := s.command(ctx, append([]string{"list", "--" + string(leg)}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	names := report.ParseList(out, leg)
	if len(names) == 0 {
		return nil, fmt.Errorf("the suite lists no %s scenarios", leg)
	}
	return names, nil
}

func (s *suite) command(ctx context.Context, args ...string) *exec.Cmd {
	script := s.env.Script("@modelcontextprotocol", "conformance", "dist", "index.js")
	cmd := exec.CommandContext(ctx, s.env.Node, append([]string{script}, args...)...)
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// start makes a leg's target ready and returns the arguments that name it. stop must be called; it waits.
func (s *suite) start(ctx context.Context, leg report.Leg, o options) (args []string, stop func(), err error) {
	if leg == report.Client {
		command := o.clientCommand
		if command == "" {
			if command, err = s.build(ctx, "client"); err != nil {
				return nil, nil, err
			}
		}
		return []string{"client", "--command", command}, func() {}, nil
	}
	if o.serverURL != "" {
		return []string{"server", "--url", o.serverURL}, func() {}, nil
	}
	binary, err := s.build(ctx, "server")
	if err != nil {
		return nil, nil, err
	}
	url, stop, err := serve(ctx, binary, filepath.Join(s.work, "server.log"))
	if err != nil {
		return nil, nil, err
	}
	return []string{"server", "--url", url}, stop, nil
}

// build compiles conformance/<name>. The path has no blanks: the suite splits a client command at them.
func (s *suite) build(ctx context.Context, name string) (string, error) {
	binary := filepath.Join(s.work, "mcpv-"+name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./conformance/"+name)
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build conformance/%s: %w\n%s", name, err, bytes.TrimSpace(out))
	}
	return binary, nil
}

// serve starts our server fixture, whose first line is its URL, and keeps the rest of what it says in a log file.
func serve(ctx context.Context, binary, logPath string) (url string, stop func(), err error) {
	log, err := os.Create(logPath)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, binary)
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, errors.Join(err, log.Close())
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // it was killed: its status says nothing
		_ = log.Close()
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("server fixture said no URL (see its stderr in %s): %w", logPath, err)
	}
	return strings.TrimSpace(line), stop, nil
}

// table prints the scenarios that did not pass, with the checks that say why.
func table(out io.Writer, title string, scenarios []report.Scenario) {
	header := false
	for _, sc := range scenarios {
		if sc.Outcome == report.Passed && !sc.Hollow() {
			continue
		}
		if !header {
			fmt.Fprintf(out, "%s: not passed, or not exercised\n", title)
			header = true
		}
		note := ""
		if sc.Hollow() {
			note = " (nothing but its frames was checked)"
		}
		fmt.Fprintf(out, "  %-8s %s%s\n", sc.Outcome, sc.Name, note)
		for _, c := range sc.Problems() {
			fmt.Fprintf(out, "             %-8s %s: %s\n", c.Status, c.ID, oneLine(c.Message()))
		}
	}
	if header {
		fmt.Fprintln(out)
	}
}

// oneLine keeps a message readable in the table; the whole of it is in checks.json.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + " …"
	}
	return s
}
