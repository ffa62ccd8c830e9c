//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a child its own process group and ends the whole group on cancellation: the suite starts clients
// of its own, which would outlive it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
