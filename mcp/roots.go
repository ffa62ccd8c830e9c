package mcp

import (
	"context"
	"errors"
	"fmt"

	"mcpv/internal/rawjson"
)

// A Root is a place the client lets a server work in.
type Root struct {
	URI   string `json:"uri"` // file://…
	Name  string `json:"name,omitzero"`
	Meta  JSON   `json:"_meta,omitzero"`
	Extra JSON   `json:",embed"`
}

// A RootsQuestion asks for the client's roots.
type RootsQuestion struct {
	Key string // names the answer in the modern era; "" chooses one

	Result []Root // the answer, set by Request.Ask
}

// Roots asks the client for its roots. See Request.Ask for what the error may
// be.
func (r *Request) Roots(ctx context.Context) ([]Root, error) {
	q := &RootsQuestion{}
	if err := r.Ask(ctx, q); err != nil {
		return nil, err
	}
	return q.Result, nil
}

func (q *RootsQuestion) ask() (string, string, []byte) { return q.Key, "roots/list", emptyObject }

func (q *RootsQuestion) needs(s *Session) error {
	switch {
	case s.Can("roots"):
		return nil
	case s.Revision.Rules.InputRequired:
		return undeclared("roots", `{"roots":{}}`)
	}
	return fmt.Errorf("roots: %w", ErrUnsupported)
}

func (q *RootsQuestion) take(result []byte) error {
	var r struct {
		Roots []Root `json:"roots"`
	}
	if err := decode(result, &r); err != nil {
		return err
	}
	if rawjson.KindOf(rawjson.Get(result, "roots")) != '[' {
		return errors.New("roots/list answered without roots")
	}
	q.Result = r.Roots
	return nil
}
