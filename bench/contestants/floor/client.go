package floor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpv/bench/contest"
)

// A client appends one request, hands it to do and decodes the one answer.
type client struct {
	setup contest.Setup
	id    int64
	buf   []byte
	do    func(ctx context.Context, method, name string, frame []byte) ([]byte, error)
	close func() error // may be nil
}

type response struct {
	ID     int64 `json:"id"`
	Result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent struct {
			Length int `json:"length"`
		} `json:"structuredContent"`
		Tools []tool `json:"tools"`
	} `json:"result"`
}

// A tool keeps its schema as bytes, as a client that does not look into it may.
type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema jsontext.Value `json:"inputSchema"`
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + contest.ModernVersion +
	`","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`

// lineClient talks newline-delimited JSON.
func lineClient(s contest.Setup, r io.Reader, w io.Writer) *client {
	br := bufio.NewReaderSize(r, 256<<10)
	return &client{setup: s, do: func(_ context.Context, _, _ string, frame []byte) ([]byte, error) {
		if _, err := w.Write(append(frame, '\n')); err != nil {
			return nil, err
		}
		return br.ReadSlice('\n')
	}}
}

func (c *client) roundTrip(ctx context.Context, method, name, key, value string) (*response, error) {
	c.id++
	b := append(c.buf[:0], `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, c.id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":{`...)
	if c.setup.Era == contest.Modern {
		b = append(b, meta...)
	}
	if name != "" {
		if c.setup.Era == contest.Modern {
			b = append(b, ',')
		}
		b = append(b, `"name":"`...)
		b = append(b, name...)
		b = append(b, `","arguments":{"`...)
		b = append(b, key...)
		b = append(b, `":`...)
		b = quote(b, value)
		b = append(b, '}')
	}
	b = append(b, `}}`...)
	c.buf = b
	frame, err := c.do(ctx, method, name, b)
	if err != nil {
		return nil, err
	}
	var r response
	if err := jsonv2.Unmarshal(frame, &r); err != nil {
		return nil, err
	}
	if r.ID != c.id {
		return nil, errors.New("floor: answer to another request")
	}
	return &r, nil
}

func (c *client) Echo(ctx context.Context, message string) (string, error) {
	r, err := c.roundTrip(ctx, "tools/call", "echo", "message", message)
	if err != nil {
		return "", err
	}
	if len(r.Result.Content) != 1 {
		return "", errors.New("echo: unexpected result")
	}
	return r.Result.Content[0].Text, nil
}

func (c *client) Measure(ctx context.Context, text string) (int, error) {
	r, err := c.roundTrip(ctx, "tools/call", "measure", "text", text)
	if err != nil {
		return 0, err
	}
	return r.Result.StructuredContent.Length, nil
}

func (c *client) ListTools(ctx context.Context) (int, error) {
	r, err := c.roundTrip(ctx, "tools/list", "", "", "")
	if err != nil {
		return 0, err
	}
	return len(r.Result.Tools), nil
}

func (c *client) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}
