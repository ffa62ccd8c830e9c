package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

type echoIn struct {
	Message string `json:"message" jsonschema:"what to say back"`
}

type addIn struct {
	A int64 `json:"a" jsonschema:"the first number"`
	B int64 `json:"b" jsonschema:"the second number"`
}

type addOut struct {
	Sum int64 `json:"sum" jsonschema:"a + b"`
}

type slowIn struct {
	MS int `json:"ms" jsonschema:"minimum=0,maximum=60000,default=1000,description=how long to take, in milliseconds"`
}

type countIn struct {
	To int `json:"to" jsonschema:"minimum=1,maximum=600,default=10,description=the number to count to, ten a second"`
}

type countOut struct {
	Counted int `json:"counted"`
}

type logIn struct {
	Message string `json:"message" jsonschema:"what to log"`
	Level   string `json:"level" jsonschema:"enum=debug|info|notice|warning|error|critical|alert|emergency,default=info,description=its severity"`
}

type failIn struct {
	How string `json:"how" jsonschema:"enum=tool|protocol|panic,default=tool,description=tool: a result the model sees; protocol: a JSON-RPC error; panic: a bug in the handler"`
}

// readOnly are the hints of a tool that changes nothing.
func readOnly() *mcp.ToolAnnotations {
	yes, no := true, false
	return &mcp.ToolAnnotations{ReadOnly: &yes, Destructive: &no, Idempotent: &yes, OpenWorld: &no}
}

func addPlainTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Title: "Echo", Description: "Says the message back.", Annotations: readOnly(), Icons: []mcp.Icon{icon()}},
		func(_ context.Context, _ *mcp.ToolRequest, in echoIn) (string, error) { return in.Message, nil })
	mcp.AddTool(s, &mcp.Tool{Name: "add", Title: "Add", Description: "Adds two integers of up to 64 bits, exactly.", Annotations: readOnly()}, add)
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Title: "Slow", Description: "Takes its time, reports progress and can be cancelled.", Annotations: readOnly()}, slow)
	mcp.AddTool(s, &mcp.Tool{
		Name: "count", Title: "Count", Description: "Counts, as a task where the client has tasks.", Annotations: readOnly(),
		Task: mcp.TaskOptional,
	}, count)
	mcp.AddTool(s, &mcp.Tool{Name: "image", Title: "Image", Description: "Answers with a small PNG.", Annotations: readOnly()},
		func(context.Context, *mcp.ToolRequest, struct{}) (mcp.Content, error) {
			return mcp.Image(drawing(64), "image/png"), nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "audio", Title: "Audio", Description: "Answers with half a second of 440 Hz, as WAV.", Annotations: readOnly()},
		func(context.Context, *mcp.ToolRequest, struct{}) (mcp.Content, error) {
			return mcp.Audio(tone(440, 500), "audio/wav"), nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "log", Title: "Log", Description: "Sends a log message to the client."}, logMessage)
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Title: "Fail", Description: "Fails, in the way you choose."}, fail)
}

func add(_ context.Context, _ *mcp.ToolRequest, in addIn) (addOut, error) {
	sum := in.A + in.B
	if (sum > in.A) != (in.B > 0) && in.B != 0 {
		return addOut{}, errors.New("the sum does not fit into 64 bits")
	}
	return addOut{sum}, nil
}

func slow(ctx context.Context, r *mcp.ToolRequest, in slowIn) (string, error) {
	const steps = 10
	for i := range steps {
		if err := pause(ctx, time.Duration(in.MS)*time.Millisecond/steps); err != nil {
			return "", err
		}
		r.Progress(ctx, float64(i+1), steps, fmt.Sprintf("step %d of %d", i+1, steps))
	}
	return fmt.Sprintf("took %d ms", in.MS), nil
}

func count(ctx context.Context, r *mcp.ToolRequest, in countIn) (countOut, error) {
	for i := range in.To {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return countOut{}, err
		}
		r.Progress(ctx, float64(i+1), float64(in.To), "")
		r.Status(fmt.Sprintf("counted %d of %d", i+1, in.To)) // what a task has instead
	}
	return countOut{in.To}, nil
}

// pause waits for d or until ctx ends, and tells why in that case.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func logMessage(ctx context.Context, r *mcp.ToolRequest, in logIn) (string, error) {
	level, ok := mcp.ParseLogLevel(in.Level)
	if !ok {
		return "", fmt.Errorf("no such level: %s", in.Level)
	}
	r.Log(ctx, level, "demo", in.Message)
	if least, wanted := r.Session().LogLevel(); !wanted || level < least {
		return "not sent: the client has not asked for messages of level " + in.Level, nil
	}
	return "sent at level " + in.Level, nil
}

func fail(_ context.Context, _ *mcp.ToolRequest, in failIn) (string, error) {
	switch in.How {
	case "protocol":
		return "", jsonrpc.NewError(jsonrpc.CodeInvalidParams, "this tool was told to fail")
	case "panic":
		panic("this tool was told to panic")
	}
	return "", errors.New("this tool was told to fail")
}
