package mcp

import (
	"bytes"
	"context"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// classicPrefix starts every method of the classic dialect, and no other.
const classicPrefix = "mcp/"

// maxPages bounds the pages collected where a dialect has none.
const maxPages = 100

// AnswerClassic answers a request of the classic dialect. It needs no session:
// mcp/initialize only introduces. Handlers see the same request in the
// neighbouring revision; lists are collected from all pages; nothing is ever
// sent to the client but the answer.
func (e *Endpoint) AnswerClassic(ctx context.Context, m *jsonrpc.Message, p *Principal) *jsonrpc.Message {
	if !e.Speaks(revision.Classic) || !revision.Classic.Request(m.Method(), revision.ClientToServer) {
		return answerError(m.ID(), methodNotFound(m.Method()))
	}
	base := revision.LatestLegacy()
	f := revision.Frame{Kind: revision.Request, Method: m.Method(), Body: m.Params()}
	if err := revision.Translate(&f, revision.Classic, base); err != nil {
		return answerError(m.ID(), err)
	}
	s := &Session{Revision: base, Principal: p, capabilities: emptyObject}
	if f.Method == "initialize" {
		body, err := e.initializeResult(ctx, s, silentPeer{})
		if err != nil {
			return answerError(m.ID(), err)
		}
		return e.toClassic(f.Method, jsonrpc.NewResult(m.ID(), body))
	}
	x := &Exchange{Request: jsonrpc.NewRequest(m.ID(), f.Method, f.Body), Session: s, Peer: silentPeer{}}
	answer := e.Answer(ctx, x)
	if list, ok := listMember[f.Method]; ok {
		answer = e.collect(ctx, x, answer, list)
	}
	return e.toClassic(f.Method, answer)
}

// listMember names the array in the result of each paginated method.
var listMember = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts",
	"resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// collect appends the elements of the following pages to the first.
func (e *Endpoint) collect(ctx context.Context, x *Exchange, first *jsonrpc.Message, list string) *jsonrpc.Message {
	all := rawjson.Trim(rawjson.Get(first.Result(), list))
	answer := first
	for range maxPages {
		cursor := rawjson.Get(answer.Result(), "nextCursor")
		if cursor == nil || len(all) < 2 {
			break
		}
		next := *x
		next.Request = jsonrpc.NewRequest(x.Request.ID(), x.Request.Method(), rawjson.Set(emptyObject, cursor, "cursor"))
		answer = e.Answer(ctx, &next)
		if answer.Err() != nil {
			return answer
		}
		all = joinArrays(all, rawjson.Trim(rawjson.Get(answer.Result(), list)))
	}
	if answer == first {
		return first
	}
	return first.WithBody(rawjson.Delete(rawjson.Set(first.Result(), all, list), "nextCursor"))
}

// joinArrays returns the JSON array with the elements of both.
func joinArrays(a, b []byte) []byte {
	switch {
	case len(bytes.TrimSpace(a[1:len(a)-1])) == 0:
		return b
	case len(b) < 2 || len(bytes.TrimSpace(b[1:len(b)-1])) == 0:
		return a
	}
	joined := append([]byte(nil), a[:len(a)-1]...)
	return append(append(joined, ','), b[1:]...)
}

func (e *Endpoint) toClassic(method string, answer *jsonrpc.Message) *jsonrpc.Message {
	f := revision.Frame{Kind: revision.Result, Method: method, Body: answer.Result()}
	if answer.Err() != nil {
		f.Kind, f.Body = revision.Error, answer.RawError()
	}
	if err := revision.Translate(&f, revision.LatestLegacy(), revision.Classic); err != nil {
		return answerError(answer.ID(), err)
	}
	if f.Kind == revision.Error {
		return jsonrpc.NewRawErrorResponse(answer.ID(), f.Body)
	}
	return jsonrpc.NewResult(answer.ID(), f.Body)
}

// silentPeer leads nowhere: the dialect has no way back.
type silentPeer struct{}

func (silentPeer) Call(context.Context, string, []byte) (*jsonrpc.Message, error) {
	return nil, ErrNoRequests
}

func (silentPeer) Notify(context.Context, *jsonrpc.Message) error { return nil }
