package stdio

import (
	"os/exec"
	"syscall"
	"unsafe"
)

// dieWithParent has the kernel kill the child when the thread that started it
// ends; see Process.run.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// awaitExit returns when the child has exited and leaves it to be reaped.
func (g *group) awaitExit(*exec.Cmd) {
	const byPid = 1
	var info [128]byte // siginfo_t, unused, but old kernels want it
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(g.pid),
			uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno == syscall.ECHILD { // somebody waits for all children of this process
			g.mu.Lock()
			g.reaped = true
			g.mu.Unlock()
		}
		if errno != syscall.EINTR {
			return
		}
	}
}

func (g *group) collect(cmd *exec.Cmd) error { return cmd.Wait() }
