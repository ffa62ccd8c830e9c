package mcp

import (
	"context"
	"errors"
	"fmt"

	"mcpv/internal/rawjson"

	"github.com/go-json-experiment/json"
)

// A Sampling asks the client's model to write a message.
type Sampling struct {
	Key    string // names the answer in the modern era; "" chooses one
	Params SamplingParams

	Result SamplingResult // the answer, set by Request.Ask
}

// SamplingParams say what the model is asked.
type SamplingParams struct {
	Messages         []SamplingMessage `json:"messages"`
	MaxTokens        int               `json:"maxTokens"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	Temperature      *float64          `json:"temperature,omitzero"`
	StopSequences    []string          `json:"stopSequences,omitempty"`
	IncludeContext   string            `json:"includeContext,omitzero"`
	ModelPreferences JSON              `json:"modelPreferences,omitzero"`
	Metadata         JSON              `json:"metadata,omitzero"`
	Tools            []Tool            `json:"tools,omitempty"`     // the client has to declare sampling.tools
	ToolChoice       JSON              `json:"toolChoice,omitzero"` // {"mode":"auto"}
	Extra            JSON              `json:",embed"`
}

// A SamplingMessage is one message of the conversation.
type SamplingMessage struct {
	Role    string        `json:"role"` // "user" or "assistant"
	Content SamplingBlock `json:"content"`
	Meta    JSON          `json:"_meta,omitzero"`
	Extra   JSON          `json:",embed"`
}

// A SamplingBlock is one block of content or several. On the wire a single
// block is written without brackets, as all revisions understand it.
type SamplingBlock []Content

// MarshalJSON writes one block as an object and others as an array.
func (b SamplingBlock) MarshalJSON() ([]byte, error) {
	if len(b) == 1 {
		return json.Marshal(b[0], deterministic)
	}
	if b == nil {
		b = SamplingBlock{}
	}
	return json.Marshal([]Content(b), deterministic)
}

// UnmarshalJSON reads both forms.
func (b *SamplingBlock) UnmarshalJSON(raw []byte) error {
	if rawjson.KindOf(raw) == '[' {
		return decode(raw, (*[]Content)(b))
	}
	*b = make(SamplingBlock, 1)
	return decode(raw, &(*b)[0])
}

// A SamplingResult is what the model wrote.
type SamplingResult struct {
	Role       string        `json:"role"`
	Content    SamplingBlock `json:"content"`
	Model      string        `json:"model"`
	StopReason string        `json:"stopReason,omitzero"`
	Meta       JSON          `json:"_meta,omitzero"`
	Extra      JSON          `json:",embed"`
}

// Text returns the text blocks of the answer, joined by newlines.
func (r *SamplingResult) Text() string {
	return (&ToolResult{Content: r.Content}).Text()
}

// UserText returns a message of the user with the text.
func UserText(text string) SamplingMessage {
	return SamplingMessage{Role: "user", Content: SamplingBlock{Text(text)}}
}

// Sample asks the client's model and returns its answer. See Request.Ask for
// what the error may be.
func (r *Request) Sample(ctx context.Context, p SamplingParams) (*SamplingResult, error) {
	q := &Sampling{Params: p}
	if err := r.Ask(ctx, q); err != nil {
		return nil, err
	}
	return &q.Result, nil
}

func (q *Sampling) ask() (string, string, []byte) {
	if q.Params.Messages == nil {
		q.Params.Messages = []SamplingMessage{}
	}
	return q.Key, "sampling/createMessage", encode(q.Params)
}

func (q *Sampling) usesTools() bool { return len(q.Params.Tools) > 0 || q.Params.ToolChoice != nil }

func (q *Sampling) needs(s *Session) error {
	switch modern := s.Revision.Rules.InputRequired; {
	case !s.Can("sampling") && modern:
		return undeclared("sampling", `{"sampling":{}}`)
	case !s.Can("sampling"):
		return fmt.Errorf("sampling: %w", ErrUnsupported)
	case !q.usesTools() || s.Can("sampling", "tools") && s.Revision.Rules.SamplingTools:
		return nil
	case modern:
		return undeclared("sampling.tools", `{"sampling":{"tools":{}}}`)
	}
	return fmt.Errorf("sampling with tools: %w", ErrUnsupported)
}

func (q *Sampling) take(result []byte) error {
	var r SamplingResult
	if err := decode(result, &r); err != nil {
		return err
	}
	if len(r.Content) == 0 || r.Role == "" {
		return errors.New("sampling answered without role or content")
	}
	q.Result = r
	return nil
}
