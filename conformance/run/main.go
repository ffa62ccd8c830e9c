// Command run measures our server and client with the official MCP conformance suite.
//
// It installs the pinned suite into conformance/.cache, builds our two fixtures, runs the whole suite and the
// requirement sets of both revisions on both legs, prints what did not pass and ends with one line of counts.
// The exit status is 1 when less passes than conformance/claims.json says, 2 when nothing could be measured.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"mcpv/conformance/nodejs"
	"mcpv/conformance/report"
)

// errBelow says that a claim does not hold; the reasons are printed already.
var errBelow = errors.New("below the claims")

type options struct {
	serverOnly, clientOnly bool
	scenario               string
	runs                   int
	keep                   bool
	serverURL              string
	clientCommand          string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errBelow):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.BoolVar(&o.serverOnly, "server-only", false, "run the server leg alone")
	flags.BoolVar(&o.clientOnly, "client-only", false, "run the client leg alone")
	flags.StringVar(&o.scenario, "scenario", "", "run this scenario alone and show all its checks")
	flags.IntVar(&o.runs, "runs", 1, "repeat the whole measurement; all runs must end with the same line")
	flags.BoolVar(&o.keep, "keep", false, "keep the suite's output and say where it is")
	flags.StringVar(&o.serverURL, "server-url", "", "measure the server at this URL instead of ours")
	flags.StringVar(&o.clientCommand, "client-command", "", "measure this client instead of ours")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.serverOnly && o.clientOnly || o.runs < 1 || flags.NArg() > 0 {
		return o, errors.New("usage: --server-only and --client-only exclude each other, --runs is at least 1, and there are no arguments")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	home := filepath.Join(root, "conformance")
	claims, err := readClaims(filepath.Join(home, "claims.json"))
	if err != nil {
		return err
	}
	env, err := nodejs.Install(ctx, home, filepath.Join(home, ".cache"))
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mcpv-conformance-")
	if err != nil {
		return err
	}
	defer func() {
		if o.keep {
			fmt.Fprintln(out, "kept:", work)
			return
		}
		err = errors.Join(err, os.RemoveAll(work))
	}()
	s := &suite{env: env, root: root, work: work, out: out}
	if o.scenario != "" {
		return s.one(ctx, o)
	}
	return s.all(ctx, o, claims)
}

// all makes every run and demands the same closing line of each.
func (s *suite) all(ctx context.Context, o options, claims map[report.Leg]report.Claim) error {
	var first string
	var result error
	for n := range o.runs {
		line, err := s.measure(ctx, o, claims, n)
		if err != nil && !errors.Is(err, errBelow) {
			return err
		}
		result = errors.Join(result, err)
		fmt.Fprintln(s.out, line)
		if n == 0 {
			first = line
		} else if line != first {
			fmt.Fprintf(s.out, "run %d differs from the first: %s\n", n+1, first)
			result = errors.Join(result, errBelow)
		}
	}
	return result
}

func legs(o options) []report.Leg {
	switch {
	case o.serverOnly:
		return []report.Leg{report.Server}
	case o.clientOnly:
		return []report.Leg{report.Client}
	default:
		return []report.Leg{report.Server, report.Client}
	}
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func readClaims(path string) (map[report.Leg]report.Claim, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var claims map[report.Leg]report.Claim
	if err := json.Unmarshal(data, &claims); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return claims, nil
}
