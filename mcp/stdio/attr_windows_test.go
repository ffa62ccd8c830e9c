package stdio_test

import "syscall"

func sessionAttr(bool) *syscall.SysProcAttr { return nil }
