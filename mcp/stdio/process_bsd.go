//go:build unix && !linux

package stdio

import (
	"os/exec"
	"syscall"
)

func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit collects the child, for want of a reliable way to wait for an exit
// and leave the process to be reaped. The id of the group stays taken as long
// as it has members; when it has none it is signalled a moment later at most.
func (g *group) awaitExit(cmd *exec.Cmd) { g.err = cmd.Wait() }

func (g *group) collect(*exec.Cmd) error { return g.err }
