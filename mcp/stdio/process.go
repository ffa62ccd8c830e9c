package stdio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"mcpv/jsonrpc"
)

// Times that nobody needs to tune.
const (
	defaultGrace = 2 * time.Second
	defaultTerm  = 3 * time.Second

	settleTime = 20 * time.Millisecond  // for our own goroutines to see what the kernel already shows
	lingerTime = 250 * time.Millisecond // for descendants after the child died of itself
	reapTime   = 500 * time.Millisecond // for the kernel to carry out SIGKILL
	pumpTime   = 100 * time.Millisecond // for the last of stderr
	exitTime   = 500 * time.Millisecond // from the end of stdout to the exit
	teeTime    = 250 * time.Millisecond // for Command.Stderr to take the last bytes
)

// A Process is a running server and a jsonrpc.Stream to it. Close must be
// called even when the server has exited.
type Process struct {
	path   string
	cmd    *exec.Cmd
	group  *group
	stream *Stream

	stdin  *os.File
	stdout *output
	stderr *os.File
	ring   *ring

	grace, term time.Duration

	closing  chan struct{} // closed when Close begins
	kill     chan struct{} // closed when Close runs out of patience
	done     chan struct{} // closed when the child is reaped and exitErr is set
	pumped   chan struct{} // closed when nobody holds the child's stderr any more
	teed     chan struct{} // closed when Command.Stderr has everything
	exitErr  error
	once     sync.Once
	closeErr error
}

var _ jsonrpc.Stream = (*Process)(nil)

// An ExitError is what became of a process that did not exit with status 0.
type ExitError struct {
	Path   string
	State  *os.ProcessState // nil if the system could not tell
	Stderr []byte           // what is remembered of its standard error
}

// Code is the exit status, or -1 if the process was killed by a signal.
func (e *ExitError) Code() int {
	if e.State == nil {
		return -1
	}
	return e.State.ExitCode()
}

func (e *ExitError) Error() string {
	how := "unknown status"
	if e.State != nil {
		how = e.State.String()
	}
	s := fmt.Sprintf("stdio: server %q ended: %s", e.Path, how)
	if t := tail(e.Stderr); t != "" {
		s += ": " + t
	}
	return s
}

// pipes are the ends of a child's standard streams, read end first.
type pipes struct{ in, out, err [2]*os.File }

func openPipes() (*pipes, error) {
	p := &pipes{}
	for _, ends := range []*[2]*os.File{&p.in, &p.out, &p.err} {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeTheirs()
			p.closeOurs()
			return nil, err
		}
		ends[0], ends[1] = r, w
	}
	return p, nil
}

// closeTheirs and closeOurs pass over pipes that were never opened: Close of a
// nil file is an error and nothing else.
func (p *pipes) closeTheirs() { p.in[0].Close(); p.out[1].Close(); p.err[1].Close() }
func (p *pipes) closeOurs()   { p.in[1].Close(); p.out[0].Close(); p.err[0].Close() }

// launch starts cmd with pipes of our own, so that waiting for the process
// never means waiting for whoever else holds them.
func launch(c *Command, cmd *exec.Cmd) (*Process, error) {
	pipes, err := openPipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.in[0], pipes.out[1], pipes.err[1]
	p := &Process{
		path: c.Path, cmd: cmd, group: &group{},
		stdin: pipes.in[1], stdout: &output{f: pipes.out[0]}, stderr: pipes.err[0], ring: newRing(),
		grace: cmp.Or(c.Grace, defaultGrace), term: cmp.Or(c.Term, defaultTerm),
		closing: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}),
		pumped: make(chan struct{}), teed: make(chan struct{}),
	}
	p.stream = NewStream(p.stdout, p.stdin, nil, &StreamOptions{Framing: c.Framing, MaxFrame: c.MaxFrame})

	started := make(chan error)
	go p.run(started)
	err = <-started
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, err
	}
	go p.pump()
	go p.tee(c.Stderr)
	return p, nil
}

// run starts the child and waits for it on one and the same thread. On Linux
// the child asks to be killed when its parent dies, and its parent in that
// sense is the thread that started it: one that ended earlier would take the
// child along. Waiting needs a thread in any case.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.group.start(p.cmd)
	started <- err
	if err == nil {
		p.supervise()
	}
}

// supervise waits for the child's exit, ends what is left of its group, and
// reports. Members that hold our pipes get a chance to end by themselves.
func (p *Process) supervise() {
	p.group.awaitExit(p.cmd)
	if !p.released(settleTime) {
		p.group.terminate()
		select {
		case <-p.closing:
			p.released(p.grace + p.term) // cut short by kill
		default:
			p.released(lingerTime)
		}
	}
	err := p.group.reap(p.cmd)
	if !wait(p.pumped, pumpTime) {
		p.stderr.SetReadDeadline(time.Now()) // somebody outside of the group holds it
		wait(p.pumped, settleTime)
	}
	var exit *exec.ExitError
	if err != nil {
		errors.As(err, &exit)
		e := &ExitError{Path: p.path, Stderr: p.ring.bytes()}
		if exit != nil {
			e.State = exit.ProcessState
		}
		p.exitErr = e
	}
	p.stdout.exit()
	close(p.done)
}

// released waits until the child's stderr is at its end, which means that no
// process holds our pipes, for d at most.
func (p *Process) released(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.pumped:
		return true
	case <-p.kill:
	case <-t.C:
	}
	return false
}

func (p *Process) pump() {
	defer close(p.pumped)
	defer p.ring.end()
	var buf [8 << 10]byte
	for {
		n, err := p.stderr.Read(buf[:])
		p.ring.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (p *Process) tee(w io.Writer) {
	defer close(p.teed)
	if w != nil {
		p.ring.follow(w)
	}
}

// Pid is the process id of the child, which is also that of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Framing is that of the stream; see Stream.Framing.
func (p *Process) Framing() Framing { return p.stream.Framing() }

// Stderr returns a copy of the last 256 KiB of the child's standard error.
func (p *Process) Stderr() []byte { return p.ring.bytes() }

// Done is closed when the child has exited and nothing of its process group is
// left.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is nil until Done is closed and if the exit status was 0; otherwise it
// is an *ExitError.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.exitErr
	default:
		return nil
	}
}

// Read implements jsonrpc.Stream. After a failed exit the error is an
// *ExitError instead of io.EOF.
func (p *Process) Read() ([]byte, error) {
	frame, err := p.stream.Read()
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = p.ended(err)
	}
	return frame, err
}

// Write implements jsonrpc.Stream. After a failed exit the error is an
// *ExitError.
func (p *Process) Write(frames ...[]byte) error {
	err := p.stream.Write(frames...)
	if errors.Is(err, syscall.EPIPE) {
		err = p.ended(err)
	}
	return err
}

// ended prefers the reason of the exit, which is about to be known, to err,
// the end of a pipe.
func (p *Process) ended(err error) error {
	t := time.NewTimer(exitTime)
	defer t.Stop()
	select {
	case <-p.done:
		if p.exitErr != nil {
			return p.exitErr
		}
	case <-p.closing:
	case <-t.C:
	}
	return err
}

// Close ends the child: its stdin is closed, after Grace its group gets
// SIGTERM, and after Term SIGKILL. It returns when the group is gone and the
// pipes and goroutines with it, at most a second after the two durations. An
// exit status that is not 0 is no error of Close.
func (p *Process) Close() error {
	p.once.Do(func() { p.closeErr = p.close() })
	return p.closeErr
}

func (p *Process) close() error {
	close(p.closing)
	p.stream.Close()
	p.stdin.Close()
	drained := make(chan struct{})
	p.stdout.interrupt()
	go func() {
		defer close(drained)
		p.stdout.drain() // a child that is writing has to get on to see the end of its stdin
	}()

	ended := wait(p.done, p.grace)
	if !ended {
		p.group.terminate()
		ended = wait(p.done, p.term)
	}
	if !ended {
		close(p.kill)
		p.group.kill()
		ended = wait(p.done, reapTime)
	}
	p.stdout.f.Close()
	p.stderr.Close()
	<-drained
	<-p.pumped
	wait(p.teed, teeTime)
	if !ended {
		return fmt.Errorf("stdio: server %q (process %d) does not end after SIGKILL", p.path, p.Pid())
	}
	return nil
}

// wait reports whether c was closed within d.
func wait(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
