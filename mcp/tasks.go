package mcp

import (
	"context"

	"mcpv/jsonrpc"
)

// placeholder while tasks are being written

type TaskSupport int
type TaskOptions struct{}
type taskEngine struct{}
type runningTask struct{}

func newTaskEngine(s *Server, o *TaskOptions) *taskEngine { return &taskEngine{} }
func (*taskEngine) close()                               {}
func (*taskEngine) handle(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	return nil, methodNotFound(x.Request.Method())
}
func (*taskEngine) supportOf(*Tool) TaskSupport { return 0 }
func (*taskEngine) run(ctx context.Context, t *tool, r *ToolRequest, task []byte) (*jsonrpc.Message, error, bool) {
	return nil, nil, false
}
func (*taskEngine) own(s *Session, ids []string) []string { return nil }
func (*runningTask) ask(ctx context.Context, r *Request, qs []Question) error { return nil }
func (*runningTask) progresses() bool                                         { return true }

type Task struct{}

func (c *Client) finishTask(ctx context.Context, raw []byte, t *ToolCall) ([]byte, error) { return raw, nil }
func (c *Client) taskChanged(m *jsonrpc.Message)                                           {}
