package scenario

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// familyCPU returns a clock of the CPU time of this process and everything it
// started, which is found once: start it before.
func familyCPU() (func() (time.Duration, error), error) {
	pids, err := descendants(os.Getpid())
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("no subprocess to measure")
	}
	return func() (time.Duration, error) {
		sum, err := selfCPU()
		for _, pid := range pids {
			// CPUCLOCK_SCHED of another process, see clock_getcpuclockid(3):
			// nanoseconds, where /proc counts ticks of 10 ms.
			var ts unix.Timespec
			if e := unix.ClockGettime(int32(^pid<<3|2), &ts); e != nil {
				return 0, fmt.Errorf("cpu clock of subprocess: %w", e)
			}
			sum += time.Duration(ts.Nano())
		}
		return sum, err
	}, nil
}

// descendants returns the children of a process, their children, and so on.
func descendants(root int) ([]int, error) {
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, e := range dir {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // gone since
		}
		// "pid (name, any bytes) state ppid …"
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		if ppid, err := strconv.Atoi(fields[1]); err == nil {
			children[ppid] = append(children[ppid], pid)
		}
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found, nil
}

// rss returns the resident set of this process in bytes.
func rss() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
