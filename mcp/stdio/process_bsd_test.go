//go:build unix && !linux

package stdio_test

import (
	"os"
	"syscall"
	"testing"
)

func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

func terminal(*testing.T) *os.File { return nil }
