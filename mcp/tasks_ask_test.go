package mcp_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

func TestTaskQuestionsOnTheWire(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	c := connect(t, g.Server, answerer(revision.V2026_07_28))
	task := start(t, c, "asks")
	open := func() []string {
		t.Helper()
		for {
			raw, err := c.Request(t.Context(), "tasks/get", map[string]string{"taskId": task.ID})
			if err != nil {
				t.Fatal(err)
			}
			if s, _ := rawjson.String(rawjson.Get(raw, "status")); s != "working" {
				var keys []string
				for q := rawjson.Object(rawjson.Get(raw, "inputRequests")); q.Next(); {
					if m, _ := rawjson.String(rawjson.Get(q.Value(), "method")); m != "elicitation/create" {
						t.Errorf("method %q", m)
					}
					keys = append(keys, q.Key())
				}
				return keys
			}
		}
	}
	update := func(responses string) error {
		_, err := c.Request(t.Context(), "tasks/update", mcp.JSON(`{"taskId":"`+task.ID+`","inputResponses":`+responses+`}`))
		return err
	}
	keys := open()
	if len(keys) != 2 || keys[0] != "who" || keys[1] == "who" {
		t.Fatalf("keys %v", keys)
	}
	if err := update(`{"unknown":{"ignored":true}}`); err != nil {
		t.Fatal(err)
	}
	wantShape(t, g.last(), `{"resultType":"complete","_meta":"*"}`)
	wantCode(t, "no answer", update(`{"who":{"action":"accept","content":{"name":1}}}`), jsonrpc.CodeInvalidParams)
	wantCode(t, "no object", update(`null`), jsonrpc.CodeInvalidParams)
	if err := update(`{"who":{"action":"accept","content":{"name":"a"}}}`); err != nil {
		t.Fatal(err)
	}
	if now := open(); !slices.Equal(now, keys[1:]) {
		t.Fatalf("keys %v after the first answer", now)
	}
	if err := update(`{"` + keys[1] + `":{"action":"accept","content":{"name":"b"}},"who":{"action":"decline"}}`); err != nil {
		t.Fatal(err)
	}
	again := open()
	if len(again) != 1 || slices.Contains(keys, again[0]) {
		t.Fatalf("keys %v again after %v", again, keys)
	}
	if err := update(`{"` + again[0] + `":{"action":"accept","content":{"name":"c"}}}`); err != nil {
		t.Fatal(err)
	}
	got, err := c.TaskResult(t.Context(), task.ID)
	if err != nil || got.Text() != "a b c" {
		t.Errorf("result %+v, %v", got, err)
	}
	if err := update(`{"who":{"action":"cancel"}}`); err != nil {
		t.Errorf("an update of a finished task: %v", err)
	}
}

func TestCoreTaskAsksOverTheResultRequest(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	o := answerer(revision.V2025_11_25)
	var asked atomic.Int32
	inner := o.Elicit
	told := make(chan mcp.TaskStatus, 64)
	o.OnTask = func(task *mcp.Task) { told <- task.Status }
	o.Elicit = func(ctx context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked.Add(1)
		return inner(ctx, q)
	}
	c := connect(t, g.Server, o)
	task := start(t, c, "asks")
	got, err := c.TaskResult(t.Context(), task.ID)
	if err != nil || got.Text() != "first second third" {
		t.Fatalf("result %+v, %v", got, err)
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times", n)
	}
	for status := range told {
		if status == mcp.TaskInputRequired {
			break
		}
	}
}

// What belongs to a task of 2025-11-25 says so.
func TestCoreTaskMarksWhatBelongsToIt(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	near, far := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- mcp.ServeStream(t.Context(), g.Server, far, nil) }()
	questions := make(chan *jsonrpc.Message, 16)
	c := jsonrpc.NewConn(near, &jsonrpc.Options{OnCall: func(c *jsonrpc.Conn, m *jsonrpc.Message) {
		if m.Kind() == jsonrpc.Request {
			questions <- m
			c.TrySend(jsonrpc.NewResult(m.ID(), []byte(`{"action":"accept","content":{"name":"x"}}`)))
		}
	}})
	call := func(method, params string) []byte {
		t.Helper()
		m, err := c.Call(t.Context(), jsonrpc.NewRequest(c.NextID(), method, []byte(params)))
		if err != nil || m.Err() != nil {
			t.Fatalf("%s: %v, %v", method, err, m.Err())
		}
		return m.Result()
	}
	call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
	id, _ := rawjson.String(rawjson.Get(call("tools/call", `{"name":"asks","task":{}}`), "task", "taskId"))
	result := call("tasks/result", `{"taskId":"`+id+`"}`)
	const related = `{"io.modelcontextprotocol/related-task":{"taskId":"*"}}`
	wantShape(t, rawjson.Get(result, "_meta"), related)
	for range 3 {
		q := <-questions
		wantShape(t, rawjson.Get(q.Params(), "_meta"), related)
		if got, _ := rawjson.String(rawjson.Get(q.Params(), "_meta", revision.MetaRelatedTask, "taskId")); got != id || q.Method() != "elicitation/create" {
			t.Errorf("%s for task %q, want %q", q.Method(), got, id)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A question that was not answered because its tasks/result went away is asked
// again on the next.
func TestCoreTaskAsksAgain(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{})
	o := answerer(revision.V2025_11_25)
	asked, inner := make(chan struct{}), o.Elicit
	var once sync.Once
	o.Elicit = func(ctx context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		first := false
		once.Do(func() { first = true })
		if first {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return inner(ctx, q)
	}
	c := connect(t, g.Server, o)
	task := start(t, c, "asks")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := c.TaskResult(ctx, task.ID); !errors.Is(err, context.Canceled) {
		t.Fatalf("first: %v", err)
	}
	got, err := c.TaskResult(t.Context(), task.ID)
	if err != nil || got.Text() != "first second third" {
		t.Fatalf("result %+v, %v", got, err)
	}
}

func TestLateTask(t *testing.T) {
	t.Run("rounds first", func(t *testing.T) {
		g := newTaskRig(t, mcp.TaskOptions{})
		c := connect(t, g.Server, answerer(revision.V2026_07_28))
		task := start(t, c, "late")
		sent := g.results()
		if len(sent) != 2 {
			t.Fatalf("%d answers", len(sent))
		}
		wantShape(t, sent[0].Result(), `{"resultType":"input_required","inputRequests":{"who":"*"},"requestState":"*","_meta":"*"}`)
		wantShape(t, sent[1].Result(), `{"resultType":"task","taskId":"*","status":"working","createdAt":"*","lastUpdatedAt":"*","ttlMs":3600000,"pollIntervalMs":10,"_meta":"*"}`)
		g.release <- struct{}{}
		got, err := c.TaskResult(t.Context(), task.ID)
		if err != nil || got.Text() != "hello first" {
			t.Errorf("result %+v, %v", got, err)
		}
	})
	t.Run("never", func(t *testing.T) {
		g := newTaskRig(t, mcp.TaskOptions{})
		o := answerer(revision.V2026_07_28)
		o.Elicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: mcp.JSON(`{"name":"nobody"}`)}, nil
		}
		c := connect(t, g.Server, o)
		task, err := c.CallToolTask(t.Context(), &mcp.ToolCall{Name: "late"})
		if err != nil || task.ID != "" || task.Result == nil || task.Result.Text() != "no task" {
			t.Errorf("got %+v, %v", task, err)
		}
	})
	t.Run("core", func(t *testing.T) {
		g := newTaskRig(t, mcp.TaskOptions{})
		c := connect(t, g.Server, answerer(revision.V2025_11_25))
		task := start(t, c, "late")
		go func() { g.release <- struct{}{} }()
		got, err := c.TaskResult(t.Context(), task.ID)
		if err != nil || got.Text() != "hello first" {
			t.Errorf("result %+v, %v", got, err)
		}
	})
}
