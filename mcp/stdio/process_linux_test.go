package stdio_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"mcpv/mcp/stdio"
)

// gone reports whether a process runs no more; nobody may collect it here.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return state == "" || state[0] == 'Z' || state[0] == 'X'
}

// terminal returns the slave of a new pseudo-terminal, or nil if there are none.
func terminal(t *testing.T) *os.File {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { master.Close() })
	var unlock, n int32
	for request, arg := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &n} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			return nil
		}
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { slave.Close() })
	return slave
}

func descriptors(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func TestNothingIsLeftAfterManyCycles(t *testing.T) {
	cycle := func(i int) {
		p := start(t, server([]string{"echo", "echo", "echo", "fail"}[i%4]))
		if i%2 == 0 {
			p.Write([]byte("{}"))
			mustRead(t, p)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	cycle(0) // the runtime opens descriptors of its own at first
	before := descriptors(t)
	ignore := goleak.IgnoreCurrent()
	for i := range 200 {
		cycle(i)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

// The kernel kills the child with the thread that started it, which must not
// be one that its caller can end.
func TestChildOutlivesTheThreadOfStart(t *testing.T) {
	started := make(chan int)
	var p *stdio.Process
	var run func()
	run = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if syscall.Gettid() != os.Getpid() {
			p, _ = server("echo").Start(t.Context())
			started <- syscall.Gettid()
			return
		}
		// The first thread never ends: while we hold it, take another.
		ended := make(chan struct{})
		go func() { defer close(ended); run() }()
		<-ended
		runtime.UnlockOSThread()
	}
	go run()
	task := fmt.Sprintf("/proc/self/task/%d", <-started)
	if p == nil {
		t.Fatal("not started")
	}
	defer p.Close()
	eventually(t, "thread gone", func() bool { _, err := os.Stat(task); return err != nil })
	if err := p.Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, p); got != "{}" {
		t.Errorf("got %q", got)
	}
}

func TestChildDiesWithUs(t *testing.T) {
	host := exec.CommandContext(t.Context(), os.Args[0])
	host.Env = append(os.Environ(), modeVar+"=host")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(out, `{"pid":%d}`, &pid); err != nil {
		t.Fatal(err)
	}
	if gone(pid) {
		t.Error("the server did not run")
	}
	host.Process.Kill()
	host.Wait()
	eventually(t, "server gone", func() bool { return gone(pid) })
}
