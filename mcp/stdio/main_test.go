package stdio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpv/mcp/stdio"
)

// modeVar makes the test binary play one of the servers below.
const modeVar = "STDIO_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVar); mode != "" {
		play(mode)
		os.Exit(0)
	}
	// Servers leave at once, and keep quiet about coverage.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	dir, err := os.MkdirTemp("", "stdio")
	if err != nil {
		panic(err)
	}
	os.Setenv("GOCOVERDIR", dir)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

func play(mode string) {
	switch mode {
	case "echo":
		echo(stdio.Stdio())
	case "classic":
		echo(stdio.NewStream(os.Stdin, os.Stdout, nil, &stdio.StreamOptions{Framing: stdio.ContentLength}))
	case "greet":
		s := stdio.NewStream(os.Stdin, os.Stdout, nil, &stdio.StreamOptions{Framing: stdio.ContentLength})
		s.Write([]byte(`{"hello":1}`))
		echo(s)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(`{"ready":true}`)
		<-time.After(time.Hour) // a bare select would be taken for a deadlock
	case "hold": // the grandchild of fork
		signal.Ignore(syscall.SIGTERM)
		os.NewFile(3, "ready").Close()
		<-time.After(time.Hour) // a bare select would be taken for a deadlock
	case "term":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println(`{"ready":true}`)
		<-c
		fmt.Fprintln(os.Stderr, "got the signal")
		os.Exit(7)
	case "fail":
		fmt.Fprintln(os.Stderr, "starting\n\x1b[31mcannot find module\x1b[0m")
		os.Exit(3)
	case "answer-and-fail":
		fmt.Print("{\"last\":1}\n{\"unterminated\":1}")
		os.Exit(4)
	case "flood":
		line := strings.Repeat("e", 1023) + "\n"
		for range 2048 {
			io.WriteString(os.Stderr, line)
		}
		fmt.Fprintln(os.Stderr, "the end")
		fmt.Println(`{"flooded":true}`)
		io.Copy(io.Discard, os.Stdin)
	case "gush": // writes until its stdin ends, then says goodbye
		go io.WriteString(os.Stdout, strings.Repeat(`{"more":true}`+"\n", 100_000))
		io.Copy(io.Discard, os.Stdin)
		fmt.Println(`{"bye":true}`)
		fmt.Fprintln(os.Stderr, "orderly")
	case "environment":
		b, _ := json.Marshal(os.Environ())
		fmt.Println(string(b))
	case "fork", "fork-and-fail", "fork-session", "fork-session-and-fail":
		fork(mode)
	case "close":
		closeWhileBusy()
	case "host": // runs a server and waits to be killed
		p, err := server("echo").Start(context.Background())
		if err != nil {
			os.Exit(1)
		}
		fmt.Printf("{\"pid\":%d}\n", p.Pid())
		<-time.After(time.Hour) // a bare select would be taken for a deadlock
	case "file":
		echo(stdio.Stdio())
		fmt.Fprint(os.Stderr, "end")
	default:
		panic("unknown mode " + mode)
	}
}

func echo(s *stdio.Stream) {
	for {
		f, err := s.Read()
		if err != nil {
			return
		}
		if s.Write(f) != nil {
			return
		}
	}
}

// fork leaves a grandchild that ignores SIGTERM and keeps all pipes open.
func fork(mode string) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), modeVar+"=hold")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = sessionAttr(strings.HasPrefix(mode, "fork-session"))
	ready, theirs, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	c.ExtraFiles = []*os.File{theirs}
	if err := c.Start(); err != nil {
		panic(err)
	}
	theirs.Close()
	ready.Read(make([]byte, 1)) // it ignores the signal from here on
	fmt.Printf("{\"pid\":%d}\n", c.Process.Pid)
	if strings.HasSuffix(mode, "-and-fail") {
		os.Exit(5)
	}
	io.Copy(io.Discard, os.Stdin)
}

// closeWhileBusy closes the stream when a Read and a Write are pending, as far
// as they block. The peer neither writes nor reads.
func closeWhileBusy() {
	s := stdio.Stdio()
	read, written := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Read()
		read <- err
	}()
	go func() { written <- s.Write(make([]byte, 4<<20)) }()
	for !(len(read) == 1 || parked("(*Stream).Read")) || !(len(written) == 1 || parked("(*Stream).Write")) {
		runtime.Gosched()
	}
	err := s.Close()
	fmt.Fprintf(os.Stderr, "read: %v; write: %v; close: %v", <-read, <-written, err)
}

// parked reports whether the goroutine with the method in its stack waits.
func parked(method string) bool {
	buf := make([]byte, 1<<16)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		state, stack, _ := strings.Cut(g, "\n")
		if strings.Contains(stack, method) {
			return strings.Contains(state, "[IO wait")
		}
	}
	return false
}

func server(mode string) *stdio.Command {
	return &stdio.Command{
		Path:  os.Args[0],
		Env:   map[string]string{modeVar: mode},
		Grace: 10 * time.Second, // a slow machine is no reason to kill
		Term:  10 * time.Second,

		InheritEnv: []string{"GORACE", "GOCOVERDIR"},
	}
}

func start(t *testing.T, c *stdio.Command) *stdio.Process {
	t.Helper()
	p, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func mustRead(t *testing.T, s interface{ Read() ([]byte, error) }) string {
	t.Helper()
	f, err := s.Read()
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(f)
}

// eventually polls until ok, and fails the test after a time that only a
// broken implementation needs.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("not so in time: " + what)
		}
	}
}
