package interop_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes descendants whose parents have ended our children, so that leftBehind sees them.
func adoptOrphans() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err) // every kernel since 3.4 has it
	}
}

// leftBehind returns the processes that the tests started and that do not end within 5 s.
func leftBehind() []string {
	for deadline := time.Now().Add(5 * time.Second); ; {
		left := children()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		<-time.After(20 * time.Millisecond)
	}
}

// children returns the children of this process that run.
func children() []string {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	self := fmt.Sprint(os.Getpid())
	var running []string
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// PID (NAME) STATE PPID …, and the name may have blanks and brackets.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == self && string(fields[0]) != "Z" {
			running = append(running, string(stat[:bytes.LastIndexByte(stat, ')')+1]))
		}
	}
	return running
}
