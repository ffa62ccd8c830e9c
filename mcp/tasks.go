package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A TaskSupport says whether the calls of a tool run as tasks: apart from the
// request, to be asked about later.
//
// A client of 2025-11-25 asks for a task with each call; in the tasks extension
// the server decides, which is to say that every call of a tool that may be a
// task is one when the client has declared the extension. Clients of other
// revisions know no tasks: for them every tool runs within its request.
type TaskSupport int

const (
	TaskForbidden TaskSupport = iota // never a task
	TaskOptional                     // a task if the client can take one
	TaskRequired                     // refused if the client could take tasks, but does not
)

// String returns the word of 2025-11-25.
func (t TaskSupport) String() string {
	switch t {
	case TaskOptional:
		return "optional"
	case TaskRequired:
		return "required"
	}
	return "forbidden"
}

// TaskOptions configures the tasks of a server. The zero value works.
type TaskOptions struct {
	// Store keeps the tasks. Nil means NewMemoryTaskStore(0, 0).
	Store TaskStore

	// DefaultTTL is how long a task is kept from its creation, when it is
	// cancelled if it still runs. 0 means an hour, below 0 without end.
	DefaultTTL time.Duration

	// MaxTTL bounds what clients may ask for. 0 means a day, below 0 no bound.
	MaxTTL time.Duration

	// PollInterval is how often clients are told to ask. 0 means a second.
	PollInterval time.Duration

	// MaxRunning bounds the tasks that run at a time, MaxRunningPerOwner those
	// of one caller. 0 means 1000 and 100. A task that was cancelled counts
	// until its handler has returned.
	MaxRunning         int
	MaxRunningPerOwner int
}

func (o *TaskOptions) fill() {
	if o.Store == nil {
		o.Store = NewMemoryTaskStore(0, 0)
	}
	o.DefaultTTL = or(o.DefaultTTL, time.Hour)
	o.MaxTTL = or(o.MaxTTL, 24*time.Hour)
	o.PollInterval = or(o.PollInterval, time.Second)
	o.MaxRunning = or(o.MaxRunning, 1000)
	o.MaxRunningPerOwner = or(o.MaxRunningPerOwner, 100)
	if o.MaxTTL > 0 && (o.DefaultTTL < 0 || o.DefaultTTL > o.MaxTTL) {
		o.DefaultTTL = o.MaxTTL
	}
}

// ttl returns the time to live of a task, 0 for no end. raw is the wish of the
// client in milliseconds, or nil.
func (o *TaskOptions) ttl(raw []byte) time.Duration {
	ttl := o.DefaultTTL
	if ms, ok := rawjson.Int(raw); ok && ms > 0 {
		ttl = time.Duration(min(ms, int64(maxTaskTTL/time.Millisecond))) * time.Millisecond
	}
	if o.MaxTTL > 0 {
		ttl = min(ttl, o.MaxTTL)
	}
	return max(ttl, 0)
}

// maxTaskTTL keeps a client's wish within what a Duration can hold.
const maxTaskTTL = 100 * 365 * 24 * time.Hour

// A taskEngine runs the tasks of a server.
type taskEngine struct {
	server *Server
	opts   TaskOptions
	store  TaskStore

	mu      sync.Mutex // guards the following
	running map[string]*runningTask
	slots   map[string]int // handlers that have not returned, by owner
	total   int
	closed  bool
	wait    sync.WaitGroup
}

func newTaskEngine(s *Server, o *TaskOptions) *taskEngine {
	e := &taskEngine{server: s, opts: *o, running: map[string]*runningTask{}, slots: map[string]int{}}
	e.opts.fill()
	e.store = e.opts.Store
	return e
}

// close cancels what runs, takes nothing new, and waits for the handlers.
func (e *taskEngine) close() {
	e.mu.Lock()
	e.closed = true
	for _, t := range e.running {
		t.cancel(ErrClosed)
	}
	e.mu.Unlock()
	e.wait.Wait()
}

// supportOf reads how a tool wants to be run.
func (*taskEngine) supportOf(t *Tool) TaskSupport {
	if t.Task == TaskForbidden && t.Execution != nil {
		switch t.Execution.TaskSupport {
		case "optional":
			return TaskOptional
		case "required":
			return TaskRequired
		}
	}
	return t.Task
}

// adapt puts what 2025-11-25 is told of a tool's tasks into its description.
func (t *tool) adapt(r *revision.Revision, raw []byte) []byte {
	if !r.Rules.CoreTasks || t.task == TaskForbidden || raw == nil {
		return raw
	}
	var x ToolExecution
	if t.Execution != nil {
		x = *t.Execution
	}
	x.TaskSupport = t.task.String()
	return rawjson.Set(raw, encode(x), "execution")
}

// coreTaskCapabilities adds the capability of 2025-11-25 to a server's that has
// the extension: a handler that advertises it takes the tasks of both kinds.
func coreTaskCapabilities(discovered, capabilities []byte, r *revision.Revision) []byte {
	if !r.Rules.CoreTasks || rawjson.Get(discovered, "extensions", revision.TasksExtensionID) == nil {
		return capabilities
	}
	return rawjson.Set(capabilities, []byte(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`), "tasks")
}

// tasksRequired is -32021, naming the extension.
func tasksRequired() *jsonrpc.Error {
	return missingCapability("the tasks extension", `{"extensions":{"`+revision.TasksExtensionID+`":{}}}`)
}

// run takes a call that is to be a task, and answers it with the task's handle.
// param is the task member of the params, with which clients of 2025-11-25 ask
// for one. taken is false for calls that run within their request.
func (e *taskEngine) run(ctx context.Context, t *tool, r *ToolRequest, param []byte) (m *jsonrpc.Message, err error, taken bool) {
	rules := &r.Session().Revision.Rules
	switch {
	case rules.CoreTasks && param == nil && t.task == TaskRequired:
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "tool %s runs as a task only", t.Name), true
	case rules.CoreTasks && param != nil && t.task == TaskForbidden:
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "tool %s does not run as a task", t.Name), true
	case rules.CoreTasks && param != nil:
		if rawjson.KindOf(param) != '{' {
			return nil, invalidParams("task must be an object"), true
		}
		m, err = e.start(ctx, t, r, e.opts.ttl(rawjson.Get(param, "ttl")))
		return m, err, true
	case !rules.TasksExtension || t.task == TaskForbidden:
		return nil, nil, false
	case r.Session().CanTask():
		m, err = e.start(ctx, t, r, e.opts.ttl(nil))
		return m, err, true
	case t.task == TaskRequired:
		return nil, tasksRequired(), true
	}
	return nil, nil, false
}

// start runs the handler in a goroutine of its own and answers as soon as the
// call is a task or, with TaskLate, has ended without becoming one.
func (e *taskEngine) start(ctx context.Context, t *tool, r *ToolRequest, ttl time.Duration) (*jsonrpc.Message, error) {
	x := r.Exchange
	w := e.newTask(ctx, t, r, ttl)
	if err := e.reserve(w); err != nil {
		w.cancel(err)
		return nil, err
	}
	if !t.TaskLate || w.core {
		if err := w.create(ctx, &r.Request); err != nil {
			e.release(w)
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { w.abandon(context.Cause(ctx)) })
	defer stop()
	ended := make(chan taskOutcome, 1)
	go func() {
		defer e.release(w)
		out := w.call(t, r)
		w.finish(out)
		ended <- out
	}()
	select {
	case <-w.created:
		if ctx.Err() != nil { // nobody will learn of it
			w.finish(taskOutcome{status: TaskCancelled, message: "the call was cancelled"})
			w.cancel(context.Cause(ctx))
		}
		return e.handleFor(x, w.seed), nil
	case out := <-ended:
		select {
		case <-w.created: // and has ended already
			return e.handleFor(x, w.seed), nil
		default:
		}
		if out.err != nil {
			return r.answerOr(out.err)
		}
		return e.server.finish(x, out.result)
	}
}

// reserve takes one of the slots in which handlers run.
func (e *taskEngine) reserve(w *runningTask) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return ErrClosed
	case e.total >= e.opts.MaxRunning, e.slots[w.owner] >= e.opts.MaxRunningPerOwner:
		return fmt.Errorf("%w are running; wait for some to end", ErrTooManyTasks)
	}
	e.total++
	e.slots[w.owner]++
	e.running[w.id] = w
	e.wait.Add(1)
	return nil
}

// release gives the slot of a handler back that has returned or never ran.
func (e *taskEngine) release(w *runningTask) {
	w.cancel(nil)
	e.mu.Lock()
	delete(e.running, w.id)
	e.total--
	if e.slots[w.owner]--; e.slots[w.owner] == 0 {
		delete(e.slots, w.owner)
	}
	e.mu.Unlock()
	e.wait.Done()
}

// find returns the task of this id that runs here, or nil.
func (e *taskEngine) find(id string) *runningTask {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running[id]
}

// own returns those of the ids that the session may hear of.
func (e *taskEngine) own(ctx context.Context, s *Session, ids []string) []string {
	var mine []string
	for _, id := range ids {
		if _, err := e.store.Get(ctx, taskOwner(s), id); err == nil {
			mine = append(mine, id)
		}
	}
	return mine
}

// handle serves the tasks/ methods.
func (e *taskEngine) handle(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	method, rules := x.Request.Method(), &x.Session.Revision.Rules
	if !x.Session.Revision.Request(method, revision.ClientToServer) {
		return nil, methodNotFound(method)
	}
	if rules.TasksExtension && !x.Session.CanTask() {
		return nil, tasksRequired()
	}
	if method == "tasks/list" {
		return e.list(ctx, x)
	}
	id, ok := rawjson.String(rawjson.Get(x.Request.Params(), "taskId"))
	if !ok {
		return nil, invalidParams("taskId must be a string")
	}
	record, err := e.store.Get(ctx, taskOwner(x.Session), id)
	if err != nil {
		return nil, taskError(err)
	}
	switch method {
	case "tasks/get":
		return e.get(x, record)
	case "tasks/result":
		return e.result(ctx, x, record)
	case "tasks/update":
		return e.update(ctx, x, record)
	case "tasks/cancel":
		return e.cancel(ctx, x, record)
	}
	return nil, methodNotFound(method)
}

// taskError says what a store said in the terms of the protocol.
func taskError(err error) error {
	if errors.Is(err, ErrTaskUnknown) {
		return invalidParams("task not found")
	}
	return err
}

func (e *taskEngine) get(x *Exchange, record *TaskRecord) (*jsonrpc.Message, error) {
	if x.Session.Revision.Rules.CoreTasks {
		return jsonrpc.NewResult(x.Request.ID(), coreTask(record)), nil
	}
	return jsonrpc.NewResult(x.Request.ID(), e.server.stamp(extensionTask(record, true), "complete")), nil
}

func (e *taskEngine) list(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	after := ""
	if cursor := rawjson.Get(x.Request.Params(), "cursor"); cursor != nil {
		var ok bool
		if after, ok = rawjson.String(cursor); !ok || after == "" {
			return nil, invalidParams("cursor is not one of this server's")
		}
	}
	page, more, err := e.store.List(ctx, taskOwner(x.Session), after, e.server.opts.PageSize)
	switch {
	case errors.Is(err, ErrTaskUnknown):
		return nil, invalidParams("cursor is not one of this server's, or too old")
	case err != nil:
		return nil, err
	}
	b := []byte(`{"tasks":[`)
	for i, record := range page {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, coreTask(record)...)
	}
	b = append(b, ']')
	if more {
		b = append(append(b, `,"nextCursor":`...), quote(page[len(page)-1].ID)...)
	}
	return jsonrpc.NewResult(x.Request.ID(), append(b, '}')), nil
}

// cancel marks the task before it answers, so that nobody sees it finish later.
func (e *taskEngine) cancel(ctx context.Context, x *Exchange, record *TaskRecord) (*jsonrpc.Message, error) {
	core := x.Session.Revision.Rules.CoreTasks
	if w := e.find(record.ID); w != nil {
		w.finish(taskOutcome{status: TaskCancelled, message: "cancelled by the client"})
		w.cancel(ErrCancelled)
	}
	already := record.Status.Final()
	record, err := e.store.Update(ctx, record.Owner, record.ID, func(r *TaskRecord) error {
		if !r.Status.Final() {
			r.Status, r.StatusMessage, r.Questions, r.Updated = TaskCancelled, "cancelled by the client", nil, time.Now()
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, taskError(err)
	case core && (already || record.Status != TaskCancelled):
		return nil, invalidParams("the task is %s already", coreStatus(record))
	case core:
		return jsonrpc.NewResult(x.Request.ID(), coreTask(record)), nil
	}
	return jsonrpc.NewResult(x.Request.ID(), e.server.stamp(emptyObject, "complete")), nil
}

// update takes answers to the questions of a task. Those to questions that are
// not open are ignored; one that is no answer is refused, and then none of them
// is taken.
func (e *taskEngine) update(ctx context.Context, x *Exchange, record *TaskRecord) (*jsonrpc.Message, error) {
	responses := rawjson.Get(x.Request.Params(), "inputResponses")
	if rawjson.KindOf(responses) != '{' {
		return nil, invalidParams("inputResponses must be an object")
	}
	if w := e.find(record.ID); w != nil {
		if err := w.answer(ctx, responses); err != nil {
			return nil, err
		}
	}
	return jsonrpc.NewResult(x.Request.ID(), e.server.stamp(emptyObject, "complete")), nil
}

// handleFor answers a call with the handle of its task.
func (e *taskEngine) handleFor(x *Exchange, record *TaskRecord) *jsonrpc.Message {
	if x.Session.Revision.Rules.CoreTasks {
		return jsonrpc.NewResult(x.Request.ID(), append(append([]byte(`{"task":`), coreTask(record)...), '}'))
	}
	return jsonrpc.NewResult(x.Request.ID(), e.server.stamp(extensionTask(record, false), "task"))
}

// newTaskID returns 128 bits nobody can guess.
func newTaskID() string { return rand.Text() }
