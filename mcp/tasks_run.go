package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"mcpv/jsonrpc"
)

// A runningTask is a call whose handler runs apart from its request. The store
// has what others may know of it; what only the handler needs is here.
type runningTask struct {
	engine *taskEngine
	id     string
	owner  string
	tool   string
	core   bool // of 2025-11-25, else of the extension
	ttl    time.Duration
	origin Peer // of the call: on pipes it leads to the client for longer than that

	ctx     context.Context // the handler's
	cancel  context.CancelCauseFunc
	created chan struct{} // closed when the task exists; until then this is a call like others
	seed    *TaskRecord   // the task as created; set before created is closed
	expiry  *time.Timer   // likewise
	over    context.Context
	setOver context.CancelFunc // ends over: the task is final, and the store knows

	storing sync.Mutex // held while the store is written, so that the newest state is written last

	mu      sync.Mutex // guards the following
	open    []*openQuestion
	used    map[string]bool // keys of questions, for the life of the task
	message string
	final   *taskOutcome
	changed chan struct{} // closed and replaced when there is something new to ask
	streams []*Exchange   // tasks/result requests that wait
}

// A taskOutcome is how a task ended. err is nil unless it failed.
type taskOutcome struct {
	status  TaskStatus
	message string
	result  []byte // of the tool, in the shape of the newest revision
	err     error
}

// An openQuestion waits for its answer. The task's lock guards it.
type openQuestion struct {
	TaskQuestion
	question Question
	asked    bool          // a tasks/result request is asking it
	answered chan struct{} // closed when question has its answer, or err
	err      error
}

var (
	errTaskExpired = fmt.Errorf("the task has outlived its time: %w", context.DeadlineExceeded)
	errTaskFinal   = errors.New("the task has ended")
)

// storeTimeout bounds a write to the store that no request waits for.
const storeTimeout = 10 * time.Second

func (e *taskEngine) newTask(ctx context.Context, t *tool, r *ToolRequest, ttl time.Duration) *runningTask {
	w := &runningTask{
		engine: e, id: newTaskID(), owner: taskOwner(r.Session()), tool: t.Name, ttl: ttl, origin: r.Exchange.Peer,
		core:    r.Session().Revision.Rules.CoreTasks,
		created: make(chan struct{}), changed: make(chan struct{}), used: map[string]bool{},
	}
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	w.over, w.setOver = context.WithCancel(context.Background())
	r.late = w
	return w
}

// Detach turns the rest of a call into a task: the client is answered with its
// handle while the handler goes on, its context untouched by the end of the
// request. Questions asked before travel in rounds, those asked later do not:
// from here on the handler runs once. It does nothing for calls that are tasks
// already or cannot become one; see Tool.TaskLate.
func (r *Request) Detach(ctx context.Context) error {
	if r.late == nil || r.task != nil {
		return nil
	}
	return r.late.create(ctx, r)
}

// Status tells the client of a task how the work goes. For other calls it does
// nothing: see Progress, which in turn the tasks extension does not have.
func (r *Request) Status(message string) {
	if w := r.task; w != nil {
		w.mu.Lock()
		w.message = message
		w.mu.Unlock()
		w.save()
	}
}

// create makes the task known. It runs before the handler or in it.
func (w *runningTask) create(ctx context.Context, r *Request) error {
	now := time.Now()
	seed := &TaskRecord{
		ID: w.id, Owner: w.owner, Tool: w.tool, Status: TaskWorking,
		Created: now, Updated: now, TTL: w.ttl, PollInterval: w.engine.opts.PollInterval,
	}
	if err := w.engine.store.Create(ctx, seed); err != nil {
		return fmt.Errorf("create task: %w", err)
	}
	if w.ttl > 0 {
		w.expiry = time.AfterFunc(w.ttl, func() { w.cancel(errTaskExpired) })
	}
	x := *r.Exchange
	x.Peer = taskPeer{w}
	r.Exchange, r.task = &x, w
	w.seed = seed
	close(w.created)
	return nil
}

func (w *runningTask) isCreated() bool {
	select {
	case <-w.created:
		return true
	default:
		return false
	}
}

// abandon ends the handler of a call that nobody waits for. A task goes on.
func (w *runningTask) abandon(why error) {
	if !w.isCreated() {
		w.cancel(why)
	}
}

// call runs the handler. It does not panic.
func (w *runningTask) call(t *tool, r *ToolRequest) (out taskOutcome) {
	defer func() {
		if p := recover(); p != nil {
			w.engine.server.opts.Logger.Error("handler panicked", "tool", t.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = taskOutcome{status: TaskFailed, err: jsonrpc.NewError(jsonrpc.CodeInternal, "internal error")}
		}
	}()
	result, err := t.call(w.ctx, r)
	if err != nil {
		return taskOutcome{status: TaskFailed, message: err.Error(), err: err}
	}
	return taskOutcome{status: TaskCompleted, result: appendToolResult(nil, result)}
}

// finish makes a task final, once: what comes later is dropped.
func (w *runningTask) finish(out taskOutcome) {
	if !w.isCreated() {
		return
	}
	w.mu.Lock()
	if w.final != nil {
		w.mu.Unlock()
		return
	}
	w.final, w.open = &out, nil
	w.mu.Unlock()
	if w.expiry != nil {
		w.expiry.Stop()
	}
	w.save()
	w.setOver()
}

// save writes the task as it is now, and tells who listens.
func (w *runningTask) save() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), storeTimeout)
	defer cancel()
	record, err := w.write(ctx)
	switch {
	case err == nil:
		w.tell(ctx, record)
	case errors.Is(err, errTaskFinal): // ended by another replica, or by a cancellation that was faster
		w.cancel(ErrCancelled)
	case !errors.Is(err, ErrTaskUnknown): // expired
		w.engine.server.opts.Logger.Error("task was not saved", "task", w.id, "error", err)
	}
}

func (w *runningTask) write(ctx context.Context) (*TaskRecord, error) {
	w.storing.Lock()
	defer w.storing.Unlock()
	w.mu.Lock()
	message, final := w.message, w.final
	open := make([]TaskQuestion, len(w.open))
	for i, q := range w.open {
		open[i] = q.TaskQuestion
	}
	w.mu.Unlock()
	return w.engine.store.Update(ctx, w.owner, w.id, func(r *TaskRecord) error {
		if r.Status.Final() {
			return errTaskFinal
		}
		r.Status, r.StatusMessage, r.Questions, r.Updated = TaskWorking, message, open, time.Now()
		switch {
		case final != nil:
			final.put(r)
		case len(open) > 0:
			r.Status = TaskInputRequired
		}
		return nil
	})
}

func (out *taskOutcome) put(r *TaskRecord) {
	r.Status, r.Result = out.status, out.result
	if out.message != "" {
		r.StatusMessage = out.message
	}
	if out.err != nil {
		var e *jsonrpc.Error
		if !errors.As(out.err, &e) {
			e = jsonrpc.NewError(jsonrpc.CodeInternal, out.err.Error())
		}
		r.Error = e.Append(nil)
	}
}

// tell sends the state of the task to those who listen: in the extension who
// asked to, in 2025-11-25 who made the task, as long as there is a way.
func (w *runningTask) tell(ctx context.Context, r *TaskRecord) {
	if s := w.engine.server; s.hearsOf(w.id) {
		s.announce(jsonrpc.NewNotification("notifications/tasks", extensionTask(r, true)))
	}
	if w.core {
		w.send(ctx, jsonrpc.NewNotification("notifications/tasks/status", coreTask(r)))
	}
}

// hearsOf reports whether somebody listens for a task.
func (s *Server) hearsOf(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for l := range s.listeners {
		if slices.Contains(l.filter.TaskIDs, id) {
			return true
		}
	}
	return false
}

// send takes the way back that is open, if any: that of a tasks/result request
// or that of the call itself, which may have ended.
func (w *runningTask) send(ctx context.Context, n *jsonrpc.Message) {
	w.mu.Lock()
	way := w.origin
	if len(w.streams) > 0 {
		way = w.streams[len(w.streams)-1].Peer
	}
	w.mu.Unlock()
	_ = way.Notify(ctx, n) // status and progress are hints; nothing depends on them
}

// progresses reports whether progress may be told: the extension has none.
func (w *runningTask) progresses() bool { return w.core }

// A taskPeer is the way back for a handler that runs as a task.
type taskPeer struct{ task *runningTask }

func (taskPeer) Call(context.Context, string, []byte) (*jsonrpc.Message, error) {
	return nil, ErrNoRequests // questions go through Request.Ask
}

func (p taskPeer) Notify(ctx context.Context, n *jsonrpc.Message) error {
	if p.task.core {
		p.task.send(ctx, n.WithBody(relate(n.Params(), p.task.id)))
	}
	return nil
}
