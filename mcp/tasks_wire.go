package mcp

import (
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// The two kinds of tasks on the wire. They are alike in what they mean and in
// nearly nothing else: see the extension's "not wire-compatible".

type wireTask struct {
	ID            string     `json:"taskId"`
	Status        TaskStatus `json:"status"`
	StatusMessage string     `json:"statusMessage,omitzero"`
	Created       string     `json:"createdAt"`
	Updated       string     `json:"lastUpdatedAt"`
}

// taskTime is RFC 3339 in UTC with milliseconds.
const taskTime = "2006-01-02T15:04:05.000Z"

func newWireTask(r *TaskRecord, status TaskStatus) wireTask {
	return wireTask{r.ID, status, r.StatusMessage, r.Created.UTC().Format(taskTime), r.Updated.UTC().Format(taskTime)}
}

// milliseconds returns d for the wire: nil, which is null, for no end.
func milliseconds(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	ms := max(d.Milliseconds(), 1)
	return &ms
}

// coreTask writes a task in the shape of 2025-11-25.
func coreTask(r *TaskRecord) []byte {
	return encode(struct {
		wireTask
		TTL          *int64 `json:"ttl"`
		PollInterval *int64 `json:"pollInterval,omitzero"`
	}{newWireTask(r, coreStatus(r)), milliseconds(r.TTL), milliseconds(r.PollInterval)})
}

// coreStatus is the status in 2025-11-25, where a tool that reports an error
// has failed.
func coreStatus(r *TaskRecord) TaskStatus {
	if r.Status == TaskCompleted {
		if failed, _ := rawjson.Bool(rawjson.Get(r.Result, "isError")); failed {
			return TaskFailed
		}
	}
	return r.Status
}

// extensionTask writes a task in the shape of the extension. detailed adds what
// belongs to its status: questions, the result or the error.
func extensionTask(r *TaskRecord, detailed bool) []byte {
	v := struct {
		wireTask
		TTL          *int64 `json:"ttlMs"`
		PollInterval *int64 `json:"pollIntervalMs,omitzero"`
		Questions    JSON   `json:"inputRequests,omitzero"`
		Result       JSON   `json:"result,omitzero"`
		Error        JSON   `json:"error,omitzero"`
	}{wireTask: newWireTask(r, r.Status), TTL: milliseconds(r.TTL), PollInterval: milliseconds(r.PollInterval)}
	if detailed {
		switch r.Status {
		case TaskInputRequired:
			open := make([]pendingQuestion, len(r.Questions))
			for i, q := range r.Questions {
				open[i] = pendingQuestion{q.Key, q.Method, q.Params}
			}
			v.Questions = appendQuestions(nil, open)
		case TaskCompleted:
			v.Result = rawjson.Set(r.Result, []byte(`"complete"`), "resultType")
		case TaskFailed:
			v.Error = r.Error
		}
	}
	return encode(v)
}

// relatedTask is the value of the _meta member with which 2025-11-25 marks what
// belongs to a task.
func relatedTask(id string) []byte { return append(append([]byte(`{"taskId":`), quote(id)...), '}') }

// relate marks params or a result as belonging to a task.
func relate(body []byte, id string) []byte {
	if body == nil {
		body = emptyObject
	}
	return rawjson.Set(body, relatedTask(id), "_meta", revision.MetaRelatedTask)
}

// payload answers tasks/result of 2025-11-25 for a task that is final.
func (e *taskEngine) payload(x *Exchange, r *TaskRecord) (*jsonrpc.Message, error) {
	switch r.Status {
	case TaskCompleted:
		f := revision.Frame{Kind: revision.Result, Method: "tools/call", Body: r.Result, KeepStructured: x.Session.Can("extensions", revision.UIExtensionID)}
		if err := revision.Translate(&f, revision.Latest(), x.Session.Revision); err != nil {
			return nil, err
		}
		return jsonrpc.NewResult(x.Request.ID(), relate(f.Body, r.ID)), nil
	case TaskFailed:
		f := revision.Frame{Kind: revision.Error, Method: "tools/call", Body: r.Error}
		if err := revision.Translate(&f, revision.Latest(), x.Session.Revision); err != nil {
			return nil, err
		}
		return jsonrpc.NewRawErrorResponse(x.Request.ID(), f.Body), nil
	}
	return nil, jsonrpc.NewError(jsonrpc.CodeInternal, "the task was cancelled and has no result")
}
