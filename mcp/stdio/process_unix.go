//go:build unix

package stdio

import (
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// inherited are the variables every child gets, if we have them.
var inherited = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}

func configure(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// A group is the process group of a child, whose id is the child's. The id is
// only used for signals while the child is not reaped: it cannot have been
// given to somebody else until then.
type group struct {
	pid    int
	mu     sync.Mutex
	reaped bool
	//lint:ignore U1000 used where the child is collected at its exit, on BSD
	err error // of Wait
}

func (g *group) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	g.pid = cmd.Process.Pid
	return nil
}

// terminate asks the members to end. SIGCONT lets stopped ones hear it.
func (g *group) terminate() {
	g.signal(syscall.SIGTERM)
	g.signal(syscall.SIGCONT)
}

func (g *group) kill() { g.signal(syscall.SIGKILL) }

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped {
		syscall.Kill(-g.pid, s)
	}
}

// reap kills what is left of the group after the child's exit, collects the
// child, and waits a moment for the others to be gone: they are collected by
// somebody else, which may take its time or not happen at all.
func (g *group) reap(cmd *exec.Cmd) error {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.collect(cmd)
	g.reaped = true
	for range 50 {
		if syscall.Kill(-g.pid, 0) != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return err
}
