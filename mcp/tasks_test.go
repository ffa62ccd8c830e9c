package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

// taskKinds are the revisions with tasks, in the core and as an extension.
var taskKinds = []*revision.Revision{revision.V2025_11_25, revision.V2026_07_28}

func eachTaskKind(t *testing.T, f func(t *testing.T, r *revision.Revision)) {
	for _, r := range taskKinds {
		t.Run(r.Name, func(t *testing.T) { f(t, r) })
	}
}

const nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// A taskRig is a server with tools that run as tasks, and what it answered.
type taskRig struct {
	*mcp.Server
	release chan struct{} // lets one call of "wait" end
	causes  chan error    // why calls of "wait" were cancelled

	mu      sync.Mutex
	answers []*jsonrpc.Message
}

func newTaskRig(t *testing.T, o mcp.TaskOptions) *taskRig {
	t.Helper()
	g := &taskRig{release: make(chan struct{}), causes: make(chan error, 16)}
	if o.PollInterval == 0 {
		o.PollInterval = 10 * time.Millisecond
	}
	g.Server = mcp.NewServer(mcp.Implementation{Name: "tasks", Version: "1"}, &mcp.ServerOptions{
		Tasks: &o, PageSize: 2, Middleware: []mcp.Middleware{g.record},
	})
	t.Cleanup(func() { _ = g.Close() })
	type none struct{}
	mcp.AddTool(g.Server, &mcp.Tool{Name: "plain"}, func(context.Context, *mcp.ToolRequest, none) (string, error) { return "at once", nil })
	mcp.AddTool(g.Server, &mcp.Tool{Name: "wait", Task: mcp.TaskOptional}, func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
		select {
		case <-g.release:
			return "waited", nil
		case <-ctx.Done():
			g.causes <- context.Cause(ctx)
			return "", context.Cause(ctx)
		}
	})
	mcp.AddTool(g.Server, &mcp.Tool{Name: "must", Task: mcp.TaskRequired}, func(context.Context, *mcp.ToolRequest, none) (string, error) { return "as a task", nil })
	mcp.AddTool(g.Server, &mcp.Tool{Name: "fails", Task: mcp.TaskRequired}, func(context.Context, *mcp.ToolRequest, none) (string, error) {
		return "", errors.New("did not work")
	})
	mcp.AddTool(g.Server, &mcp.Tool{Name: "breaks", Task: mcp.TaskOptional}, func(context.Context, *mcp.ToolRequest, none) (string, error) {
		return "", jsonrpc.NewError(1234, "broken")
	})
	mcp.AddTool(g.Server, &mcp.Tool{Name: "panics", Task: mcp.TaskOptional}, func(context.Context, *mcp.ToolRequest, none) (string, error) { panic("at the disco") })
	mcp.AddTool(g.Server, &mcp.Tool{Name: "asks", Task: mcp.TaskOptional}, func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
		a := &mcp.Elicitation{Key: "who", Message: "first", Schema: mcp.JSON(nameForm)}
		b := &mcp.Elicitation{Message: "second", Schema: mcp.JSON(nameForm)}
		if err := r.Ask(ctx, a, b); err != nil {
			return "", err
		}
		c := &mcp.Elicitation{Key: "who", Message: "third", Schema: mcp.JSON(nameForm)}
		if err := r.Ask(ctx, c); err != nil {
			return "", err
		}
		return strings.Join([]string{said(a), said(b), said(c)}, " "), nil
	})
	mcp.AddTool(g.Server, &mcp.Tool{Name: "late", Task: mcp.TaskRequired, TaskLate: true}, func(ctx context.Context, r *mcp.ToolRequest, _ none) (string, error) {
		q := &mcp.Elicitation{Key: "who", Message: "first", Schema: mcp.JSON(nameForm)}
		if err := r.Ask(ctx, q); err != nil {
			return "", err
		}
		if said(q) == "nobody" {
			return "no task", nil
		}
		if err := r.Detach(ctx); err != nil {
			return "", err
		}
		select {
		case <-g.release:
			return "hello " + said(q), nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	return g
}

func said(q *mcp.Elicitation) string {
	var v struct {
		Name string `json:"name"`
	}
	_ = q.Result.Decode(&v)
	return v.Name
}

// record keeps the answers as they go out.
func (g *taskRig) record(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, x *mcp.Exchange) (*jsonrpc.Message, error) {
		m, err := next.Handle(ctx, x)
		if m != nil && strings.HasPrefix(x.Request.Method(), "t") { // tools and tasks
			g.mu.Lock()
			g.answers = append(g.answers, m)
			g.mu.Unlock()
		}
		return m, err
	})
}

// last returns the newest result that was sent.
func (g *taskRig) last() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answers[len(g.answers)-1].Result()
}

// answerer answers every elicitation with the message of the question.
func answerer(r *revision.Revision) *mcp.ClientOptions {
	return &mcp.ClientOptions{Revision: r, Tasks: true, Elicit: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"name":"` + q.Message + `"}`)}, nil
	}}
}

func start(t *testing.T, c *mcp.Client, tool string) *mcp.Task {
	t.Helper()
	task, err := c.CallToolTask(t.Context(), &mcp.ToolCall{Name: tool})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if task.ID == "" {
		t.Fatalf("%s was answered at once: %+v", tool, task)
	}
	return task
}

func wantCode(t *testing.T, what string, err error, code int) *jsonrpc.Error {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%s: got %v, want code %d", what, err, code)
	}
	return e
}

func TestTaskRunsApartFromItsRequest(t *testing.T) {
	eachTaskKind(t, func(t *testing.T, r *revision.Revision) {
		g := newTaskRig(t, mcp.TaskOptions{})
		c := connect(t, g.Server, answerer(r))
		task := start(t, c, "wait")
		if task.Status != mcp.TaskWorking || task.TTL != time.Hour || task.PollInterval != 10*time.Millisecond || task.CreatedAt.IsZero() {
			t.Errorf("created as %+v", task)
		}
		now, err := c.GetTask(t.Context(), task.ID)
		if err != nil || now.Status != mcp.TaskWorking || now.ID != task.ID {
			t.Fatalf("get: %+v, %v", now, err)
		}
		g.release <- struct{}{}
		got, err := c.TaskResult(t.Context(), task.ID)
		if err != nil || got.Text() != "waited" {
			t.Fatalf("result: %+v, %v", got, err)
		}
		if now, err = c.GetTask(t.Context(), task.ID); err != nil || now.Status != mcp.TaskCompleted {
			t.Errorf("afterwards: %+v, %v", now, err)
		}
	})
}

func TestCallToolWaitsForTasks(t *testing.T) {
	eachTaskKind(t, func(t *testing.T, r *revision.Revision) {
		g := newTaskRig(t, mcp.TaskOptions{})
		c := connect(t, g.Server, answerer(r))
		for tool, want := range map[string]string{"must": "as a task", "plain": "at once", "asks": "first second third"} {
			got, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: tool})
			if err != nil || got.Text() != want {
				t.Errorf("%s: %+v, %v", tool, got, err)
			}
		}
	})
}

func TestGivingUpACallCancelsItsTask(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	c := connect(t, g.Server, answerer(revision.V2026_07_28))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.ToolCall{Name: "wait"})
		done <- err
	}()
	for len(g.results()) < 2 { // until the client polls, and so knows of the task
		if _, err := c.GetTask(t.Context(), "unknown"); err == nil {
			t.Fatal("an unknown task was found")
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("call: %v", err)
	}
	if err := <-g.causes; !errors.Is(err, mcp.ErrCancelled) {
		t.Errorf("handler ended by %v", err)
	}
}

func (g *taskRig) results() []*jsonrpc.Message {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.answers)
}

func TestTaskWireShapes(t *testing.T) {
	const times = `,"createdAt":"*","lastUpdatedAt":"*"`
	for _, tc := range []struct {
		rev                *revision.Revision
		create, get, final string
	}{{
		revision.V2025_11_25,
		`{"task":{"taskId":"*","status":"working"` + times + `,"ttl":3600000,"pollInterval":10}}`,
		`{"taskId":"*","status":"working"` + times + `,"ttl":3600000,"pollInterval":10}`,
		`{"taskId":"*","status":"completed"` + times + `,"ttl":3600000,"pollInterval":10}`,
	}, {
		revision.V2026_07_28,
		`{"resultType":"task","taskId":"*","status":"working"` + times + `,"ttlMs":3600000,"pollIntervalMs":10,"_meta":"*"}`,
		`{"resultType":"complete","taskId":"*","status":"working"` + times + `,"ttlMs":3600000,"pollIntervalMs":10,"_meta":"*"}`,
		`{"resultType":"complete","taskId":"*","status":"completed"` + times + `,"ttlMs":3600000,"pollIntervalMs":10,"_meta":"*",
		  "result":{"resultType":"complete","content":[{"type":"text","text":"waited"}]}}`,
	}} {
		t.Run(tc.rev.Name, func(t *testing.T) {
			g := newTaskRig(t, mcp.TaskOptions{})
			c := connect(t, g.Server, answerer(tc.rev))
			task := start(t, c, "wait")
			wantShape(t, g.last(), tc.create)
			if _, err := c.GetTask(t.Context(), task.ID); err != nil {
				t.Fatal(err)
			}
			wantShape(t, g.last(), tc.get)
			g.release <- struct{}{}
			if _, err := c.TaskResult(t.Context(), task.ID); err != nil {
				t.Fatal(err)
			}
			if tc.rev.Rules.CoreTasks {
				wantShape(t, g.last(), `{"content":[{"type":"text","text":"waited"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"*"}}}`)
				if _, err := c.GetTask(t.Context(), task.ID); err != nil {
					t.Fatal(err)
				}
			}
			wantShape(t, g.last(), tc.final)
		})
	}
}

// wantShape compares JSON, where "*" stands for anything.
func wantShape(t *testing.T, got []byte, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if !matches(a, b) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func matches(got, want any) bool {
	switch w := want.(type) {
	case string:
		return w == "*" || got == want
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if v, ok := g[k]; !ok || !matches(v, w[k]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, matches)
	}
	return got == want
}

func TestTaskFailures(t *testing.T) {
	eachTaskKind(t, func(t *testing.T, r *revision.Revision) {
		g := newTaskRig(t, mcp.TaskOptions{})
		c := connect(t, g.Server, answerer(r))
		failed := mcp.TaskCompleted
		if r.Rules.CoreTasks {
			failed = mcp.TaskFailed
		}
		task := start(t, c, "fails")
		got, err := c.TaskResult(t.Context(), task.ID)
		if err != nil || !got.IsError || got.Text() != "did not work" {
			t.Errorf("fails: %+v, %v", got, err)
		}
		if now, err := c.GetTask(t.Context(), task.ID); err != nil || now.Status != failed {
			t.Errorf("fails: %+v, %v", now, err)
		}
		for tool, code := range map[string]int{"breaks": 1234, "panics": jsonrpc.CodeInternal} {
			task := start(t, c, tool)
			_, err := c.TaskResult(t.Context(), task.ID)
			wantCode(t, tool, err, code)
			if now, err := c.GetTask(t.Context(), task.ID); err != nil || now.Status != mcp.TaskFailed {
				t.Errorf("%s: %+v, %v", tool, now, err)
			}
		}
	})
}

func TestTaskCancel(t *testing.T) {
	eachTaskKind(t, func(t *testing.T, r *revision.Revision) {
		g := newTaskRig(t, mcp.TaskOptions{})
		c := connect(t, g.Server, answerer(r))
		task := start(t, c, "wait")
		if err := c.CancelTask(t.Context(), task.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-g.causes; !errors.Is(err, mcp.ErrCancelled) {
			t.Errorf("handler ended by %v", err)
		}
		if now, err := c.GetTask(t.Context(), task.ID); err != nil || now.Status != mcp.TaskCancelled {
			t.Errorf("after cancel: %+v, %v", now, err)
		}
		if _, err := c.TaskResult(t.Context(), task.ID); !errors.Is(err, mcp.ErrTaskCancelled) {
			t.Errorf("result: %v", err)
		}
		err := c.CancelTask(t.Context(), task.ID)
		if r.Rules.CoreTasks {
			wantCode(t, "second cancel", err, jsonrpc.CodeInvalidParams)
		} else if err != nil {
			t.Errorf("second cancel: %v", err)
		} else {
			wantShape(t, g.last(), `{"resultType":"complete","_meta":"*"}`)
		}
	})
}

func TestTaskNegotiation(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	t.Run("extension not declared", func(t *testing.T) {
		c := connect(t, g.Server, &mcp.ClientOptions{Revision: revision.V2026_07_28})
		_, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "must"})
		e := wantCode(t, "must", err, mcp.CodeMissingCapability)
		if rawjson.Get(e.Data, "requiredCapabilities", "extensions", revision.TasksExtensionID) == nil {
			t.Errorf("data %s", e.Data)
		}
		_, err = c.CallTool(t.Context(), &mcp.ToolCall{Name: "breaks"})
		wantCode(t, "breaks runs within its request", err, 1234)
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			_, err := c.Request(t.Context(), method, map[string]string{"taskId": "any"})
			wantCode(t, method, err, mcp.CodeMissingCapability)
		}
	})
	t.Run("extension", func(t *testing.T) {
		c := connect(t, g.Server, answerer(revision.V2026_07_28))
		info := c.Server()
		if !info.Can("extensions", revision.TasksExtensionID) || info.Can("tasks") {
			t.Errorf("capabilities %s", info.Capabilities)
		}
		ch := mcp.NewEndpoint(g.Server, nil).NewChannel(mcp.ChannelOptions{})
		defer ch.Close()
		for _, method := range []string{"tasks/result", "tasks/list"} {
			m := jsonrpc.NewRequest(jsonrpc.IntID(1), method, []byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
				"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`))
			wantCode(t, method, ch.Serve(t.Context(), m, nil, nil).Err(), jsonrpc.CodeMethodNotFound)
		}
		_, err := c.GetTask(t.Context(), "unknown")
		wantCode(t, "unknown task", err, jsonrpc.CodeInvalidParams)
		raw, err := c.Request(t.Context(), "tools/call", mcp.JSON(`{"name":"plain","task":{"ttl":5}}`))
		if err != nil || rawjson.Get(raw, "content") == nil {
			t.Errorf("the task member is ignored: %s, %v", raw, err)
		}
		if strings.Contains(toolList(t, c), "execution") {
			t.Error("execution is not of this revision")
		}
	})
	t.Run("core", func(t *testing.T) {
		c := connect(t, g.Server, &mcp.ClientOptions{Revision: revision.V2025_11_25})
		info := c.Server()
		if !info.Can("tasks", "requests", "tools", "call") || !info.Can("tasks", "list") || !info.Can("tasks", "cancel") || info.Can("extensions") {
			t.Errorf("capabilities %s", info.Capabilities)
		}
		_, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "must"})
		wantCode(t, "must", err, jsonrpc.CodeMethodNotFound)
		_, err = c.Request(t.Context(), "tools/call", mcp.JSON(`{"name":"plain","task":{}}`))
		wantCode(t, "plain", err, jsonrpc.CodeMethodNotFound)
		g.mu.Lock()
		g.answers = nil
		g.mu.Unlock()
		toolList(t, c)
		support := map[string]string{}
		for _, m := range g.results() {
			for v := rawjson.Array(rawjson.Get(m.Result(), "tools")); v.Next(); {
				name, _ := rawjson.String(rawjson.Get(v.Value(), "name"))
				support[name], _ = rawjson.String(rawjson.Get(v.Value(), "execution", "taskSupport"))
			}
		}
		if support["must"] != "required" || support["wait"] != "optional" || support["plain"] != "" {
			t.Errorf("support %v", support)
		}
	})
	t.Run("before tasks", func(t *testing.T) {
		c := connect(t, g.Server, &mcp.ClientOptions{Revision: revision.V2025_06_18})
		got, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "must"})
		if err != nil || got.Text() != "as a task" {
			t.Errorf("must: %+v, %v", got, err)
		}
		if info := c.Server(); info.Can("tasks") {
			t.Errorf("capabilities %s", info.Capabilities)
		}
	})
}

func toolList(t *testing.T, c *mcp.Client) string {
	t.Helper()
	tools, err := mcp.Collect(c.Tools(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTasksBelongToTheirPrincipal(t *testing.T) {
	eachTaskKind(t, func(t *testing.T, r *revision.Revision) {
		g := newTaskRig(t, mcp.TaskOptions{})
		ann := connectAs(t, g.Server, &mcp.Principal{Subject: "ann"}, answerer(r))
		bob := connectAs(t, g.Server, &mcp.Principal{Subject: "bob"}, answerer(r))
		also := connectAs(t, g.Server, &mcp.Principal{Subject: "ann"}, answerer(r))
		task := start(t, ann, "wait")
		methods := []string{"tasks/get", "tasks/cancel", "tasks/update"}
		if r.Rules.CoreTasks {
			methods = []string{"tasks/get", "tasks/cancel", "tasks/result"}
		}
		for _, m := range methods {
			_, err := bob.Request(t.Context(), m, mcp.JSON(`{"taskId":"`+task.ID+`","inputResponses":{}}`))
			wantCode(t, m, err, jsonrpc.CodeInvalidParams)
		}
		if now, err := also.GetTask(t.Context(), task.ID); err != nil || now.Status != mcp.TaskWorking {
			t.Errorf("another connection of the owner: %+v, %v", now, err)
		}
		if !r.Rules.CoreTasks {
			if err := bob.WatchTask(t.Context(), task.ID); !errors.Is(err, mcp.ErrUnsupported) {
				t.Errorf("watched: %v", err)
			}
			if _, err := mcp.Collect(ann.ListTasks(t.Context())); !errors.Is(err, mcp.ErrUnsupported) {
				t.Errorf("listed: %v", err)
			}
			return
		}
		start(t, ann, "wait")
		start(t, ann, "wait")
		mine, err := mcp.Collect(ann.ListTasks(t.Context()))
		if err != nil || len(mine) != 3 || mine[0].ID != task.ID {
			t.Errorf("ann's list: %v, %v", mine, err)
		}
		if theirs, err := mcp.Collect(bob.ListTasks(t.Context())); err != nil || len(theirs) != 0 {
			t.Errorf("bob's list: %v, %v", theirs, err)
		}
		_, err = ann.Request(t.Context(), "tasks/list", map[string]string{"cursor": "made up"})
		wantCode(t, "cursor", err, jsonrpc.CodeInvalidParams)
	})
}

// connectAs is connect for an authenticated caller.
func connectAs(t *testing.T, h mcp.Handler, p *mcp.Principal, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	ctx := mcp.WithPrincipal(context.WithoutCancel(t.Context()), p)
	served := make(chan error, 1)
	c, err := mcp.Connect(t.Context(), mcp.StreamTransport(func(context.Context) (jsonrpc.Stream, error) {
		a, b := jsonrpc.Pipe()
		go func() { served <- mcp.ServeStream(ctx, h, b, nil) }()
		return a, nil
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		<-served
	})
	return c
}

func TestCloseEndsTasks(t *testing.T) {
	store := mcp.NewMemoryTaskStore(0, 0)
	g := newTaskRig(t, mcp.TaskOptions{Store: store})
	c := connect(t, g.Server, answerer(revision.V2026_07_28))
	task := start(t, c, "wait")
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-g.causes:
		if !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("handler ended by %v", err)
		}
	default:
		t.Error("Close did not wait for the handler")
	}
	r, err := store.Get(t.Context(), "", task.ID)
	if err != nil || !r.Status.Final() {
		t.Errorf("left as %+v, %v", r, err)
	}
	if _, err := c.CallToolTask(t.Context(), &mcp.ToolCall{Name: "wait"}); err == nil {
		t.Error("a task started after Close")
	}
}

func TestWatchTask(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	o := answerer(revision.V2026_07_28)
	told := make(chan *mcp.Task, 16)
	o.OnTask = func(task *mcp.Task) { told <- task }
	c := connect(t, g.Server, o)
	task := start(t, c, "wait")
	if err := c.WatchTask(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	g.release <- struct{}{}
	got := <-told
	if got.ID != task.ID || got.Status != mcp.TaskCompleted || got.Result == nil || got.Result.Text() != "waited" {
		t.Errorf("told of %+v", got)
	}
}

func TestTaskStatusMessage(t *testing.T) {
	eachTaskKind(t, func(t *testing.T, r *revision.Revision) {
		g := newTaskRig(t, mcp.TaskOptions{})
		mcp.AddTool(g.Server, &mcp.Tool{Name: "tells", Task: mcp.TaskOptional}, func(_ context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
			r.Status("half way")
			g.release <- struct{}{}
			return "done", nil
		})
		c := connect(t, g.Server, answerer(r))
		task := start(t, c, "tells")
		for {
			now, err := c.GetTask(t.Context(), task.ID)
			if err != nil {
				t.Fatal(err)
			}
			if now.StatusMessage == "half way" {
				break
			}
		}
		<-g.release
	})
}

// Tasks of the extension send neither progress nor log messages.
func TestExtensionTaskIsSilent(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	mcp.AddTool(g.Server, &mcp.Tool{Name: "talks", Task: mcp.TaskOptional}, func(ctx context.Context, r *mcp.ToolRequest, _ struct{}) (string, error) {
		r.Progress(ctx, 1, 2, "")
		r.Log(ctx, mcp.LogError, "", "noise")
		return "done", nil
	})
	o := answerer(revision.V2026_07_28)
	o.OnLog = func(m *mcp.LogMessage) { t.Errorf("log message %s", m.Data) }
	c := connect(t, g.Server, o)
	got, err := c.CallTool(t.Context(), &mcp.ToolCall{Name: "talks", Progress: func(mcp.Progress) { t.Error("progress") }})
	if err != nil || got.Text() != "done" {
		t.Errorf("%+v, %v", got, err)
	}
}
