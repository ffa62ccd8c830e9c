package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Task is work that a server does apart from the request for it. It is the
// same for tasks of 2025-11-25 and of the extension.
type Task struct {
	ID            string // "" when the server answered at once: then there is a Result
	Status        TaskStatus
	StatusMessage string
	CreatedAt     time.Time
	LastUpdatedAt time.Time
	TTL           time.Duration // from CreatedAt; 0 means without end
	PollInterval  time.Duration // how often to ask; 0 when the server did not say

	Result *ToolResult    // if the server sent it along: see Client.TaskResult
	Error  *jsonrpc.Error // likewise

	raw       []byte // the Result
	questions []byte // inputRequests of the extension, or nil
}

// ErrTaskCancelled says that a task has no result because it was cancelled.
var ErrTaskCancelled = fmt.Errorf("the task was cancelled: %w", context.Canceled)

// parseTask reads a task of either kind.
func parseTask(raw []byte) (*Task, error) {
	var w struct {
		wireTask
		TTL            *int64 `json:"ttl"`
		TTLMs          *int64 `json:"ttlMs"`
		PollInterval   *int64 `json:"pollInterval"`
		PollIntervalMs *int64 `json:"pollIntervalMs"`
		Questions      JSON   `json:"inputRequests"`
		Result         JSON   `json:"result"`
		Error          JSON   `json:"error"`
	}
	if err := decode(raw, &w); err != nil {
		return nil, fmt.Errorf("malformed task: %w", err)
	}
	if w.ID == "" || w.Status == "" {
		return nil, errors.New("malformed task: it has no id or no status")
	}
	t := &Task{ID: w.ID, Status: w.Status, StatusMessage: w.StatusMessage, raw: w.Result, questions: w.Questions}
	t.CreatedAt, _ = time.Parse(time.RFC3339, w.Created) // what is malformed stays zero: nothing is decided on it
	t.LastUpdatedAt, _ = time.Parse(time.RFC3339, w.Updated)
	t.TTL = duration(w.TTL, w.TTLMs)
	t.PollInterval = duration(w.PollInterval, w.PollIntervalMs)
	if w.Error != nil {
		t.Error = jsonrpc.ParseErrorObject(w.Error)
	}
	if w.Result != nil {
		t.Result = &ToolResult{}
		if err := decode(w.Result, t.Result); err != nil {
			return nil, fmt.Errorf("malformed task: result: %w", err)
		}
	}
	return t, nil
}

// duration reads milliseconds under either of two names.
func duration(names ...*int64) time.Duration {
	for _, ms := range names {
		if ms != nil && *ms > 0 {
			return time.Duration(min(*ms, int64(maxTaskTTL/time.Millisecond))) * time.Millisecond
		}
	}
	return 0
}

// flatTask turns the CreateTaskResult of 2025-11-25 into that of the extension;
// nil when raw is none.
func flatTask(r *revision.Revision, method string, raw []byte) []byte {
	if !r.Rules.CoreTasks || method != "tools/call" || rawjson.Get(raw, "content") != nil {
		return nil
	}
	task := rawjson.Get(raw, "task")
	if rawjson.KindOf(task) != '{' {
		return nil
	}
	task = rawjson.Rename(task, "ttlMs", "ttl")
	task = rawjson.Rename(task, "pollIntervalMs", "pollInterval")
	return rawjson.Set(task, []byte(`"task"`), "resultType")
}

// coreTasks reports whether the server has tasks of 2025-11-25 for tool calls.
func (c *Client) coreTasks() bool {
	a := c.current()
	return a.revision.Rules.CoreTasks && a.server.Can("tasks", "requests", "tools", "call")
}

// CallToolTask calls a tool and does not wait for it if the server makes it a
// task: always asked for in 2025-11-25, the server's choice in the extension,
// which ClientOptions.Tasks has to declare. A server without tasks answers at
// once; the Task returned then has a Result and no ID.
func (c *Client) CallToolTask(ctx context.Context, t *ToolCall) (*Task, error) {
	var param []byte
	if c.coreTasks() {
		param = emptyObject
	}
	raw, err := c.callTool(ctx, t, param)
	if err != nil {
		return nil, err
	}
	if kind, _ := rawjson.String(rawjson.Get(raw, "resultType")); kind == "task" {
		return parseTask(raw)
	}
	r := &ToolResult{}
	if err := decode(raw, r); err != nil {
		return nil, fmt.Errorf("tools/call: %w", err)
	}
	return &Task{Status: TaskCompleted, Result: r, raw: raw}, nil
}

// asTask calls a tool once more, as a task, if it was refused because it runs
// as a task only. err is the refusal; the tool has not run.
func (c *Client) asTask(ctx context.Context, t *ToolCall, err error) ([]byte, error) {
	var e *jsonrpc.Error
	if !c.opts.Tasks || !c.coreTasks() || !errors.As(err, &e) || e.Code != jsonrpc.CodeMethodNotFound {
		return nil, err
	}
	return c.callTool(ctx, t, emptyObject)
}

// GetTask asks how a task stands.
func (c *Client) GetTask(ctx context.Context, id string) (*Task, error) {
	raw, err := c.do(ctx, &call{method: "tasks/get", params: taskParams(id)})
	if err != nil {
		return nil, err
	}
	return parseTask(raw)
}

func taskParams(id string) []byte { return rawjson.Set(emptyObject, quote(id), "taskId") }

// CancelTask asks the server to stop a task. That it has ended already is an
// error in 2025-11-25 only.
func (c *Client) CancelTask(ctx context.Context, id string) error {
	_, err := c.do(ctx, &call{method: "tasks/cancel", params: taskParams(id)})
	return err
}

// ListTasks lists the caller's tasks. The extension has no such list: it fails with
// ErrUnsupported there.
func (c *Client) ListTasks(ctx context.Context) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		if a := c.current(); !a.revision.Rules.CoreTasks || !a.server.Can("tasks", "list") {
			yield(nil, fmt.Errorf("tasks/list: %w", ErrUnsupported))
			return
		}
		for raw, err := range c.list(ctx, "tasks/list", "tasks") {
			var t *Task
			if err == nil {
				t, err = parseTask(raw)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// TaskResult waits for a task and returns what the tool answered. Questions the
// task asks meanwhile go to the handlers of the options. The error is that of
// the call if it failed, ErrTaskCancelled if the task was cancelled. The task
// goes on when ctx ends first.
func (c *Client) TaskResult(ctx context.Context, id string) (*ToolResult, error) {
	t, err := c.GetTask(ctx, id)
	if err != nil {
		return nil, err
	}
	raw, err := c.awaitTask(ctx, t)
	if err != nil {
		return nil, err
	}
	r := &ToolResult{}
	if err := decode(raw, r); err != nil {
		return nil, fmt.Errorf("result of task %s: %w", id, err)
	}
	return r, nil
}

// awaitTask polls until the task is final and returns the raw result.
func (c *Client) awaitTask(ctx context.Context, t *Task) ([]byte, error) {
	var answered []string
	for {
		core := c.Revision().Rules.CoreTasks
		switch {
		case t.Status == TaskCancelled:
			return nil, ErrTaskCancelled
		case core && (t.Status.Final() || t.Status == TaskInputRequired):
			// The questions come while this request waits. It takes as long as
			// the task does.
			return c.do(ctx, &call{method: "tasks/result", params: taskParams(t.ID), timeout: -1})
		case t.Status == TaskCompleted && t.raw != nil:
			return t.raw, nil
		case t.Status == TaskFailed && t.Error != nil:
			return nil, t.Error
		case t.Status == TaskInputRequired:
			keys, err := c.answerTask(ctx, t, answered)
			if err != nil {
				return nil, err
			}
			answered = append(answered, keys...)
		case t.Status != TaskWorking:
			return nil, fmt.Errorf("task %s is %s without saying more", t.ID, t.Status)
		}
		if err := pause(ctx, pollInterval(t)); err != nil {
			return nil, err
		}
		next, err := c.GetTask(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		t = next
	}
}

// pollInterval is what the server asked for within reason, and up to a tenth
// more, so that many clients do not come at once.
func pollInterval(t *Task) time.Duration {
	d := min(max(or(t.PollInterval, time.Second), 10*time.Millisecond), time.Minute)
	return d + rand.N(d/10+1)
}

// answerTask answers the questions that have not been answered yet and returns
// their keys. A server may show a question again until it has seen the answer.
func (c *Client) answerTask(ctx context.Context, t *Task, answered []string) (keys []string, err error) {
	if len(t.questions) > c.opts.MaxRoundBytes || len(answered) > maxTaskQuestions {
		return nil, fmt.Errorf("task %s asks too much", t.ID)
	}
	responses := []byte{'{'}
	for q := rawjson.Object(t.questions); q.Next(); {
		if slices.Contains(answered, q.Key()) {
			continue
		}
		method, _ := rawjson.String(rawjson.Get(q.Value(), "method"))
		raw, err := c.answer(ctx, method, rawjson.Get(q.Value(), "params"))
		if err != nil {
			return nil, fmt.Errorf("task %s asked %s: %w", t.ID, method, err)
		}
		if len(keys) > 0 {
			responses = append(responses, ',')
		}
		responses = append(append(append(responses, quote(q.Key())...), ':'), raw...)
		keys = append(keys, q.Key())
	}
	if len(keys) == 0 {
		return nil, nil
	}
	params := rawjson.Set(taskParams(t.ID), append(responses, '}'), "inputResponses")
	_, err = c.do(ctx, &call{method: "tasks/update", params: params})
	return keys, err
}

// maxTaskQuestions bounds what a task may ask in its life.
const maxTaskQuestions = 1000

// finishTask waits for the task that raw, the answer to a call, names. When the
// caller gives up, the task is cancelled: nobody else knows of it.
func (c *Client) finishTask(ctx context.Context, raw []byte, call *ToolCall) ([]byte, error) {
	t, err := parseTask(raw)
	if err != nil {
		return nil, fmt.Errorf("tools/call: %w", err)
	}
	if call.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, call.Timeout, ErrTimeout)
		defer stop()
	}
	if t.Status != TaskWorking { // the handle says no more than that
		if t, err = c.GetTask(ctx, t.ID); err != nil {
			return nil, err
		}
	}
	result, err := c.awaitTask(ctx, t)
	var refused *jsonrpc.Error
	if err != nil && !errors.As(err, &refused) && !errors.Is(err, ErrTaskCancelled) {
		c.giveUp(t.ID)
	}
	return result, err
}

// giveUp cancels a task without waiting for it.
func (c *Client) giveUp(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.context.Err() != nil {
		return
	}
	c.running.Go(func() {
		if err := c.CancelTask(c.context, id); err != nil {
			c.opts.Logger.Debug("task was not cancelled", "task", id, "error", err)
		}
	})
}

// WatchTask has OnTask called when the task changes, until it is final. It is
// needed in the extension; servers of 2025-11-25 tell on their own, if at all.
func (c *Client) WatchTask(ctx context.Context, id string) error {
	if !c.Revision().Rules.Listen {
		return nil
	}
	c.subs.mu.Lock()
	if !slices.Contains(c.subs.tasks, id) {
		c.subs.tasks = append(c.subs.tasks, id)
	}
	c.subs.mu.Unlock()
	granted, err := c.relisten(ctx)
	if err == nil && !slices.Contains(granted.TaskIDs, id) {
		err = fmt.Errorf("task %s cannot be watched: %w", id, ErrUnsupported)
	}
	if err != nil {
		c.unwatch(id)
	}
	return err
}

// unwatch leaves the task out of the next listening. The present one may stay:
// it hears nothing more of a task that is final.
func (c *Client) unwatch(id string) {
	c.subs.mu.Lock()
	c.subs.tasks = slices.DeleteFunc(c.subs.tasks, func(s string) bool { return s == id })
	c.subs.mu.Unlock()
}

// taskChanged takes a notification about a task.
func (c *Client) taskChanged(m *jsonrpc.Message) {
	t, err := parseTask(m.Params())
	if err != nil {
		c.opts.Logger.Warn("notification about a task dropped", "error", err)
		return
	}
	if t.Status.Final() {
		c.unwatch(t.ID)
	}
	if c.opts.OnTask != nil {
		c.opts.OnTask(t)
	}
}
