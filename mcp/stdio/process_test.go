//go:build unix

package stdio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpv/mcp/stdio"
)

func TestEcho(t *testing.T) {
	for mode, opening := range map[string]stdio.Framing{"echo": stdio.Lines, "classic": stdio.ContentLength} {
		c := server(mode)
		c.Framing = opening
		p := start(t, c)
		for _, size := range []int{8, 300, 70_000, 1 << 20} {
			want := benchFrame(size)
			sent := make(chan error)
			go func() { sent <- p.Write(want, []byte("[1]")) }()
			if got := mustRead(t, p); got != string(want) {
				t.Errorf("%s: frame of %d bytes came back as %d bytes", mode, size, len(got))
			}
			if got := mustRead(t, p); got != "[1]" {
				t.Errorf("%s: second frame came back as %q", mode, got)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
		}
		if p.Framing() != opening {
			t.Errorf("%s: framing %v", mode, p.Framing())
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		<-p.Done()
		if err := p.Err(); err != nil {
			t.Errorf("%s: orderly exit reported as %v", mode, err)
		}
	}
}

func TestServerShowsItsFraming(t *testing.T) {
	p := start(t, server("greet"))
	if got := mustRead(t, p); got != `{"hello":1}` {
		t.Errorf("greeting %q", got)
	}
	if p.Framing() != stdio.ContentLength {
		t.Errorf("framing %v", p.Framing())
	}
	if err := p.Write([]byte("[2]")); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, p); got != "[2]" {
		t.Errorf("echo %q", got)
	}
}

func TestExitIsAnEvent(t *testing.T) {
	p := start(t, server("fail"))
	_, err := p.Read()
	var exit *stdio.ExitError
	if !errors.As(err, &exit) || exit.Code() != 3 {
		t.Fatalf("read: %v", err)
	}
	<-p.Done()
	if p.Err() != err {
		t.Errorf("Err is %v, read returned %v", p.Err(), err)
	}
	if !strings.HasSuffix(err.Error(), "exit status 3: starting | [31mcannot find module[0m") {
		t.Errorf("message: %v", err)
	}
	eventually(t, "a write fails with the exit", func() bool {
		return errors.As(p.Write([]byte("{}")), &exit)
	})
}

func TestOutputBeforeExitIsRead(t *testing.T) {
	p := start(t, server("answer-and-fail"))
	<-p.Done()
	if a, b := mustRead(t, p), mustRead(t, p); a != `{"last":1}` || b != `{"unterminated":1}` {
		t.Errorf("read %q, %q", a, b)
	}
	var exit *stdio.ExitError
	if _, err := p.Read(); !errors.As(err, &exit) || exit.Code() != 4 {
		t.Errorf("then %v", err)
	}
}

func TestKilledServer(t *testing.T) {
	p := start(t, server("echo"))
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *stdio.ExitError
	if _, err := p.Read(); !errors.As(err, &exit) || exit.Code() != -1 || !strings.Contains(err.Error(), "killed") {
		t.Errorf("read: %v", err)
	}
}

func TestCloseEscalates(t *testing.T) {
	tests := []struct {
		mode   string
		stop   bool
		status string
	}{
		{mode: "term", status: "exit status 7: got the signal"},
		{mode: "term", stop: true, status: "exit status 7: got the signal"},
		{mode: "stubborn", status: "killed"},
	}
	for _, tt := range tests {
		c := server(tt.mode)
		c.Grace = 10 * time.Millisecond
		if tt.mode == "stubborn" {
			c.Term = 10 * time.Millisecond
		}
		p := start(t, c)
		mustRead(t, p)
		if tt.stop {
			syscall.Kill(p.Pid(), syscall.SIGSTOP)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				if err := p.Err(); err == nil || !strings.HasSuffix(err.Error(), tt.status) {
					t.Errorf("%s: after Close: %v", tt.mode, err)
				}
			})
		}
		wg.Wait()
		if err := syscall.Kill(-p.Pid(), 0); err != syscall.ESRCH {
			t.Errorf("%s: the group is still there: %v", tt.mode, err)
		}
	}
}

func TestCloseUnblocksReadAndWrite(t *testing.T) {
	c := server("stubborn")
	c.Grace, c.Term = 10*time.Millisecond, 10*time.Millisecond
	p := start(t, c)
	mustRead(t, p)
	ended := make(chan error)
	go func() {
		_, err := p.Read()
		ended <- err
	}()
	go func() { ended <- p.Write(make([]byte, 1<<20)) }() // more than the pipe takes
	p.Close()
	for range 2 {
		if err := <-ended; !errors.Is(err, os.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// A server that is blocked on its output must get the chance to see the end
// of its input.
func TestCloseDrainsOutput(t *testing.T) {
	p := start(t, server("gush"))
	mustRead(t, p)
	p.Close()
	if err := p.Err(); err != nil {
		t.Error(err)
	}
	if got := string(p.Stderr()); got != "orderly\n" {
		t.Errorf("stderr %q", got)
	}
}

func forkedPid(t *testing.T, p *stdio.Process) int {
	t.Helper()
	var m struct{ Pid int }
	if err := json.Unmarshal([]byte(mustRead(t, p)), &m); err != nil || m.Pid == 0 {
		t.Fatal("no pid", err)
	}
	return m.Pid
}

func TestGrandchildDiesWithTheGroup(t *testing.T) {
	c := server("fork")
	c.Grace, c.Term = 10*time.Millisecond, 10*time.Millisecond
	p := start(t, c)
	pid := forkedPid(t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "grandchild gone", func() bool { return gone(pid) })
}

// The death of the server is known, and takes the grandchild along, although
// that holds the pipes.
func TestExitWithGrandchild(t *testing.T) {
	p := start(t, server("fork-and-fail"))
	pid := forkedPid(t, p)
	var exit *stdio.ExitError
	if _, err := p.Read(); !errors.As(err, &exit) || exit.Code() != 5 {
		t.Errorf("read: %v", err)
	}
	eventually(t, "grandchild gone", func() bool { return gone(pid) })
}

// A grandchild in a session of its own is out of reach, but holds up nothing.
func TestEscapedGrandchild(t *testing.T) {
	c := server("fork-session")
	c.Grace, c.Term = 10*time.Millisecond, 10*time.Millisecond
	p := start(t, c)
	pid := forkedPid(t, p)
	defer syscall.Kill(pid, syscall.SIGKILL)
	read := make(chan error)
	go func() {
		_, err := p.Read()
		read <- err
	}()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, os.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if gone(pid) {
		t.Error("the grandchild did not escape: this tests nothing")
	}
}

func TestExitWithEscapedGrandchild(t *testing.T) {
	p := start(t, server("fork-session-and-fail"))
	pid := forkedPid(t, p)
	defer syscall.Kill(pid, syscall.SIGKILL)
	var exit *stdio.ExitError
	if _, err := p.Read(); !errors.As(err, &exit) || exit.Code() != 5 {
		t.Errorf("read: %v", err)
	}
	if gone(pid) {
		t.Error("the grandchild did not escape: this tests nothing")
	}
}

func TestStderr(t *testing.T) {
	var tee bytes.Buffer
	c := server("fail")
	c.Stderr = &tee
	p := start(t, c)
	p.Close()
	if want := string(p.Stderr()); tee.String() != want || !strings.HasPrefix(want, "starting\n") {
		t.Errorf("tee %q, ring %q", tee.String(), want)
	}
}

// A flood passes although nobody takes the copy.
func TestStderrFlood(t *testing.T) {
	release := make(chan struct{})
	c := server("flood")
	c.Stderr = writerFunc(func(p []byte) (int, error) { <-release; return len(p), nil })
	p := start(t, c)
	mustRead(t, p)
	eventually(t, "all read", func() bool { return bytes.HasSuffix(p.Stderr(), []byte("the end\n")) })
	if n := len(p.Stderr()); n != 256<<10 {
		t.Errorf("%d bytes remembered", n)
	}
	close(release)
	p.Close()
}

func TestEnvironment(t *testing.T) {
	t.Setenv("GATEWAY_SECRET", "canary")
	t.Setenv("PASSED_ON", "yes")
	t.Setenv("TERM", "() { :; }")
	t.Setenv("USER", "us")
	c := server("environment")
	c.Env["USER"], c.Env["EXTRA"] = "them", "a=b"
	c.InheritEnv = append(c.InheritEnv, "PASSED_ON", "NOT_SET")
	p := start(t, c)
	var env []string
	if err := json.Unmarshal([]byte(mustRead(t, p)), &env); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range env {
		k, v, _ := strings.Cut(e, "=")
		got[k] = v
	}
	for k, want := range map[string]string{"PASSED_ON": "yes", "USER": "them", "EXTRA": "a=b", "PATH": os.Getenv("PATH")} {
		if got[k] != want {
			t.Errorf("%s is %q, want %q", k, got[k], want)
		}
	}
	allowed := "HOME LOGNAME PATH SHELL USER PASSED_ON EXTRA GORACE GOCOVERDIR " + modeVar
	for k := range got {
		if !strings.Contains(" "+allowed+" ", " "+k+" ") {
			t.Errorf("the child sees %s", k)
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		ctx  context.Context
		c    stdio.Command
		is   error
		says string
	}{
		{c: stdio.Command{}, says: "no program given"},
		{ctx: done, c: stdio.Command{Path: os.Args[0]}, is: context.Canceled},
		{c: stdio.Command{Path: "no-such-program"}, is: exec.ErrNotFound, says: "install it"},
		{c: stdio.Command{Path: "sh", Env: map[string]string{"PATH": dir}}, is: exec.ErrNotFound, says: "set PATH"},
		{c: stdio.Command{Path: dir + "/none"}, is: exec.ErrNotFound, says: "check the path"},
		{c: stdio.Command{Path: "./none", Dir: dir}, is: fs.ErrNotExist, says: "check the path"},
		{c: stdio.Command{Path: write("plain", "x", 0o600)}, is: fs.ErrPermission, says: "make the file executable"},
		{c: stdio.Command{Path: write("text", "hello", 0o700)}, is: syscall.ENOEXEC, says: "#! line"},
		{c: stdio.Command{Path: write("script", "#!/no/such/interpreter\n", 0o700)}, is: fs.ErrNotExist, says: "interpreter"},
		{c: stdio.Command{Path: os.Args[0], Dir: dir + "/none"}, is: fs.ErrNotExist, says: "working directory"},
		{c: stdio.Command{Path: os.Args[0], Args: []string{"a\x00b"}}, says: "NUL"},
		{c: stdio.Command{Path: os.Args[0], Env: map[string]string{"A=B": ""}}, says: "invalid environment variable name"},
		{c: stdio.Command{Path: os.Args[0], Env: map[string]string{"A": "\x00"}}, says: "NUL"},
	}
	for _, tt := range tests {
		if tt.ctx == nil {
			tt.ctx = t.Context()
		}
		_, err := tt.c.Start(tt.ctx)
		var se *stdio.StartError
		if !errors.As(err, &se) || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v", tt.c, err)
		}
	}
}

func TestProgramIsFoundInItsOwnPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "my-server")); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"", dir} {
		c := server("fail")
		c.Path, c.Env["PATH"] = "my-server", "relative:"+dir
		c.Dir = where
		p := start(t, c)
		<-p.Done()
		if !strings.Contains(p.Err().Error(), "my-server") {
			t.Error(p.Err())
		}
	}
	c := server("fail")
	c.Path, c.Dir = "./my-server", dir
	start(t, c)
}

func TestStdioCloseUnblocks(t *testing.T) {
	r, _ := pipe(t)
	_, w := pipe(t)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket, peer := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "peer")
	defer socket.Close()
	defer peer.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	const closed = "file already closed; "
	tests := []struct {
		name    string
		in, out *os.File
		want    string
	}{
		{"pipes", r, w, "read: stdio: read: " + closed + "write: stdio: write: " + closed + "close: <nil>"},
		{"socket", socket, socket, "read: stdio: read: " + closed + "write: stdio: write: " + closed + "close: <nil>"},
		{"null", null, null, "read: EOF; write: <nil>; close: <nil>"},
	}
	if tty := terminal(t); tty != nil {
		tests = append(tests, tests[0])
		tests[3].name, tests[3].in = "terminal", tty
		_, tests[3].out = pipe(t)
	}
	for _, tt := range tests {
		var stderr bytes.Buffer
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), modeVar+"=close")
		c.Stdin, c.Stdout, c.Stderr = tt.in, tt.out, &stderr
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if stderr.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, stderr.String(), tt.want)
		}
	}
	if flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(pair[0]), syscall.F_GETFL, 0); flags&syscall.O_NONBLOCK != 0 {
		t.Error("the socket was left non-blocking")
	}
}

func TestDetached(t *testing.T) {
	r, w := pipe(t)
	in, out := stdio.Detach(r), stdio.Detach(w)
	sent := bytes.Repeat([]byte("7"), 200_000) // more than its buffer and the pipe's
	written := make(chan error)
	go func() {
		_, err := out.Write(sent)
		written <- err
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("read differs, %v", err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	ended := make(chan error)
	go func() {
		_, err := in.Read(got)
		ended <- err
	}()
	in.Close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("pending read: %v", err)
	}
	out.Close()
	if _, err := out.Write(sent); !errors.Is(err, os.ErrClosed) {
		t.Errorf("later write: %v", err)
	}
}

// pipe returns a pipe that is open as long as the test runs.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestStdioOverFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	text := strings.Repeat("{\"a\":1}\n", 20_000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(path + ".out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), modeVar+"=file")
	c.Stdin, c.Stdout = in, out
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path + ".out"); err != nil || string(got) != text {
		t.Errorf("%d bytes came out of %d, %v", len(got), len(text), err)
	}
}
