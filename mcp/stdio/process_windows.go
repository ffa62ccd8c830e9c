package stdio

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"
)

// inherited are the variables every child gets, if we have them.
var inherited = []string{
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
	"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
}

var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject  = kernel32.NewProc("SetInformationJobObject")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
)

func configure(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// A group is a job object: it ends with its last handle, which is ours, so the
// child and its descendants end with us.
type group struct {
	mu  sync.Mutex
	job syscall.Handle // 0 if there is none (any more)
	p   *os.Process
}

// jobLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type jobLimits struct {
	perProcessUserTime, perJobUserTime int64
	flags                              uint32
	minWorkingSet, maxWorkingSet       uintptr
	activeProcesses                    uint32
	affinity                           uintptr
	priority, scheduling               uint32
	io                                 [6]uint64
	memory                             [4]uintptr
}

func (g *group) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	g.p = cmd.Process
	const extendedLimits, killOnClose = 9, 0x2000
	job, _, _ := createJobObject.Call(0, 0)
	if job == 0 {
		return nil // the child alone is looked after
	}
	limits := jobLimits{flags: killOnClose}
	setInformationJobObject.Call(job, extendedLimits, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	cmd.Process.WithHandle(func(h uintptr) { assignProcessToJobObject.Call(job, h) })
	g.job = syscall.Handle(job)
	return nil
}

// terminate does nothing: Windows has no request to end that a process
// without a console or window would get.
func (g *group) terminate() {}

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		terminateJobObject.Call(uintptr(g.job), 1)
	}
	g.p.Kill()
}

// awaitExit returns when the child has exited.
func (g *group) awaitExit(cmd *exec.Cmd) {
	cmd.Process.WithHandle(func(h uintptr) { syscall.WaitForSingleObject(syscall.Handle(h), syscall.INFINITE) })
}

// reap kills what is left of the job and collects the child.
func (g *group) reap(cmd *exec.Cmd) error {
	err := cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		terminateJobObject.Call(uintptr(g.job), 1)
		syscall.CloseHandle(g.job)
		g.job = 0
	}
	return err
}
