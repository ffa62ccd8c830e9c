//go:build unix

package stdio

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// openStandard returns a way to use f, a standard stream, whose Close unblocks
// pending calls. That takes a non-blocking descriptor, but the flag belongs to
// the open file, which other processes and our own stderr may share: a
// terminal with it set breaks the shell that started us. So the file is opened
// anew where the system can do that (pipes and terminals on Linux). Failing
// that, pipes and sockets get the flag until Close: their other users, if any,
// are of our own making.
func openStandard(f *os.File, flag int) io.ReadWriteCloser {
	info, err := f.Stat()
	if err != nil {
		return detach(f)
	}
	kind := info.Mode() & fs.ModeType
	if kind&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0 {
		if g := reopen(f, flag); g != nil {
			return g
		}
	}
	if kind&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		if g := borrow(f); g != nil {
			return g
		}
	}
	return detach(f)
}

// reopen returns nil if it cannot be done, or would be of no use because the
// system cannot poll the file.
func reopen(f *os.File, flag int) *os.File {
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	fd, err := syscall.Open(path, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return pollable(fd, f.Name())
}

// pollable returns nil, and closes fd, if the system cannot poll it.
func pollable(fd int, name string) *os.File {
	f := os.NewFile(uintptr(fd), name)
	if f.SetDeadline(time.Time{}) != nil {
		f.Close()
		return nil
	}
	return f
}

// borrowed is a non-blocking duplicate of a descriptor.
type borrowed struct {
	*os.File
	original int
}

// borrow returns nil if it cannot be done.
func borrow(f *os.File) *borrowed {
	original := int(f.Fd())
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(original)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil
	}
	g := pollable(fd, f.Name())
	if g == nil {
		syscall.SetNonblock(original, false)
		return nil
	}
	return &borrowed{File: g, original: original}
}

// restore makes the open file blocking again.
func (b *borrowed) restore() { syscall.SetNonblock(b.original, false) }
