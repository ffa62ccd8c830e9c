package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A Command says how to run a server as a subprocess. No shell is involved.
// Start may be called any number of times, by any goroutine, as long as
// nobody changes the fields.
type Command struct {
	// Path is the program: a path, relative to Dir, or a name to be found in
	// the PATH of Env, or else in ours.
	Path string
	Args []string // without the program's name

	// Env is added to the child's environment, which otherwise holds only what
	// a program needs to find its user's home and its tools, and InheritEnv.
	Env        map[string]string
	InheritEnv []string // names of variables of our environment to pass on

	Dir string // working directory; ours if empty

	// Stderr, if not nil, gets a copy of the child's standard error from a
	// goroutine of the Process. It never holds up the child: output that it is
	// too slow for is left out. A Write that never returns outlives Close.
	Stderr io.Writer

	Framing  Framing // until the child has shown its own
	MaxFrame int     // in bytes; DefaultMaxFrame if <= 0

	Grace time.Duration // from closing its stdin to SIGTERM; 2 s if 0
	Term  time.Duration // from SIGTERM to SIGKILL; 3 s if 0
}

// A StartError says why a command could not be started and what to do. It
// wraps exec.ErrNotFound, fs.ErrNotExist, fs.ErrPermission or the system's
// error.
type StartError struct {
	Path string
	Hint string // what to do; may be empty
	Err  error

	notFound bool
}

func (e *StartError) Error() string {
	s := fmt.Sprintf("stdio: start %q: %v", e.Path, e.Err)
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

func (e *StartError) Unwrap() error { return e.Err }

// Is makes a path that does not exist an exec.ErrNotFound as well.
func (e *StartError) Is(target error) bool { return e.notFound && target == exec.ErrNotFound }

// Start runs the command. The context covers the start only; the process ends
// by itself or by Close, which the caller has to call in either case.
func (c *Command) Start(ctx context.Context) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, &StartError{Path: c.Path, Err: err}
	}
	cmd, err := c.build()
	if err != nil {
		return nil, c.classify(err)
	}
	p, err := launch(c, cmd)
	if err != nil {
		return nil, c.classify(err)
	}
	return p, nil
}

func (c *Command) build() (*exec.Cmd, error) {
	if c.Path == "" {
		return nil, errors.New("no program given")
	}
	for _, s := range append([]string{c.Path, c.Dir}, c.Args...) {
		if strings.Contains(s, "\x00") {
			return nil, errors.New("program, directory or argument contains a NUL byte")
		}
	}
	env, err := c.environment()
	if err != nil {
		return nil, err
	}
	path, err := c.lookPath()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{c.Path}, c.Args...), Env: env, Dir: c.Dir}
	configure(cmd)
	return cmd, nil
}

// lookPath finds the program as the child would: a PATH of its own counts.
func (c *Command) lookPath() (string, error) {
	if filepath.Base(c.Path) != c.Path {
		if filepath.IsAbs(c.Path) || c.Dir == "" {
			return exec.LookPath(c.Path)
		}
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return "", err
		}
		return exec.LookPath(filepath.Join(dir, c.Path))
	}
	list, ok := c.Env["PATH"]
	if !ok {
		return exec.LookPath(c.Path)
	}
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue // as os/exec: the current directory is not a place to find programs
		}
		if path, err := exec.LookPath(filepath.Join(dir, c.Path)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: c.Path, Err: exec.ErrNotFound}
}

// classify turns the error of a failed start into one that helps.
func (c *Command) classify(err error) error {
	e := &StartError{Path: c.Path, Err: err}
	var dirErr error
	if c.Dir != "" {
		_, dirErr = os.Stat(c.Dir)
	}
	isPath := filepath.Base(c.Path) != c.Path
	switch {
	case dirErr != nil:
		e.Err = fmt.Errorf("working directory: %w", dirErr)
		e.Hint = "create it, or correct the configured directory"
	case errors.Is(err, exec.ErrDot):
		e.Hint = "write ./ before the name to run it from the current directory"
	case errors.Is(err, exec.ErrNotFound) && !isPath:
		e.Err = exec.ErrNotFound
		e.Hint = "install it, give its absolute path, or set PATH in the server's environment"
	case errors.Is(err, exec.ErrNotFound):
		e.Hint = "check the path and that it names an executable file"
	case errors.Is(err, fs.ErrNotExist):
		e.Hint = c.missing()
		e.notFound = true
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "make the file executable, or name its interpreter as the program and the file as an argument"
	case errors.Is(err, syscall.ENOEXEC):
		e.Hint = "the file is no program for this system, or a script without a #! line: name its interpreter as the program"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Hint = "raise the limit of open files"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		e.Hint = "the system is out of processes or memory: stop other servers or raise the limit"
	}
	return e
}

// missing explains an ENOENT: of the program, or of the interpreter that an
// existing script names.
func (c *Command) missing() string {
	path := c.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	if _, err := os.Stat(path); err == nil {
		return "the file exists, but the interpreter or loader that it names does not: install that"
	}
	return "check the path, or install the program"
}
