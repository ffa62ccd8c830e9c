//go:build unix

package stdio_test

import "syscall"

func sessionAttr(own bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: own} }
