//go:build !linux

package scenario

import (
	"errors"
	"time"
)

func familyCPU() (func() (time.Duration, error), error) {
	return nil, errors.New("the CPU time of a running subprocess is read on Linux only")
}

func rss() int64 { return 0 }
