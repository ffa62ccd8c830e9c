package mcpv_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// buildMCPV builds the program for a test and returns the directory it is in.
func buildMCPV(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir, "./cmd/mcpv").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return dir
}

// Every verb of the program has a script.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts use a POSIX shell")
	}
	testscript.Run(t, scriptParams(t, "testdata/script"))
}

func scriptParams(t *testing.T, dir string) testscript.Params {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	bin := buildMCPV(t)
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			e.Setenv("ROOT", root)
			for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
				value, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				e.Setenv(name, strings.TrimSpace(string(value)))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "post": post, "like": like, "lines": lines, "contentlength": contentLength, "status": status,
		},
		Condition: func(c string) (bool, error) { return false, fmt.Errorf("unknown condition %s", c) },
	}
}

// serve starts "mcpv demo ARGS", waits until it tells its address, and puts
// that into $ADDR. At the end of the script the demo is interrupted and has to
// exit with status 0.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(filepath.ListSeparator))[0], "mcpv"))
	ts.Check(err)
	c := exec.Command(path, append([]string{"demo"}, args...)...)
	stderr, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	told := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			if _, addr, ok := strings.Cut(in.Text(), "mcpv demo on http://"); ok {
				told <- addr
			}
		}
		close(told)
	}()
	ts.Defer(func() {
		ts.Check(c.Process.Signal(syscall.SIGINT))
		killer := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
		<-drained
		err := c.Wait()
		killer.Stop()
		if err != nil {
			ts.Fatalf("the demo did not end well: %v", err)
		}
	})
	addr, ok := <-told
	if ok == neg {
		ts.Fatalf("mcpv demo %s: told the address %q", strings.Join(args, " "), addr)
	}
	ts.Setenv("ADDR", addr)
}

// post sends the file to the path of the demo, with headers as NAME:VALUE, and
// writes status and body to its standard output.
func post(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: post PATH FILE [NAME:VALUE]...")
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+ts.Getenv("ADDR")+args[0], strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, a := range args[2:] {
		name, value, _ := strings.Cut(a, ":")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	answer, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	out := ts.Stdout()
	fmt.Fprintln(out, answer.StatusCode)
	_, err = bufio.NewReader(answer.Body).WriteTo(out)
	ts.Check(err)
	ts.Setenv("SESSION", answer.Header.Get("Mcp-Session-Id"))
}

// status runs a command that has to fail with the exit code given and write
// nothing to its standard output.
func status(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND [ARG]...")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("got %v, want exit status %s", err, args[0])
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("unexpected output: %s", out)
	}
}

// like compares what was written to standard output with a file in which "…"
// stands for anything.
func like(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: like FILE")
	}
	got, want := strings.TrimSpace(ts.ReadFile("stdout")), strings.TrimSpace(ts.ReadFile(args[0]))
	pattern := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$"
	if regexp.MustCompile(pattern).MatchString(got) == neg {
		ts.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// contentLength writes each line of a file as a frame of the classic framing to
// another file.
func contentLength(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: contentlength FROM TO")
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(line), line)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}

// lines holds that standard output has so many of them.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: lines N")
	}
	if got := fmt.Sprint(strings.Count(ts.ReadFile("stdout"), "\n")); (got == args[0]) == neg {
		ts.Check(errors.New("got " + got + " lines, want " + args[0]))
	}
}
