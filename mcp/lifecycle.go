package mcp

import (
	"bytes"
	"context"
	"errors"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// initialize makes the session. The handler knows server/discover only: what
// it discovers is told to a legacy client in the words of its revision.
func (c *Channel) initialize(ctx context.Context, m *jsonrpc.Message, peer Peer) *jsonrpc.Message {
	if c.Session() != nil {
		return jsonrpc.NewErrorResponse(m.ID(), jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "already initialized"))
	}
	s, err := c.endpoint.legacySession(m, c.principal)
	if err != nil {
		return answerError(m.ID(), err)
	}
	s.ID = c.id
	result, err := c.endpoint.initializeResult(ctx, s, peer)
	if err != nil {
		return answerError(m.ID(), err)
	}
	c.mu.Lock()
	twice := c.session != nil
	if !twice {
		c.session = s
	}
	c.mu.Unlock()
	if twice {
		return jsonrpc.NewErrorResponse(m.ID(), jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "already initialized"))
	}
	return jsonrpc.NewResult(m.ID(), result)
}

// initialized starts the notifications that a legacy client gets unasked.
func (c *Channel) initialized(ctx context.Context) {
	c.subscribing.Lock()
	defer c.subscribing.Unlock()
	c.mu.Lock()
	s, listening := c.session, c.stop != nil
	c.mu.Unlock()
	if s != nil && !listening && c.push != nil && c.endpoint.listener != nil {
		_ = c.relisten(ctx, s, nil) // a handler that cannot listen sends nothing
	}
}

// maxIntroduction bounds what a session remembers of its client, in bytes: a
// client may open many sessions and leave them.
const maxIntroduction = 32 << 10

// legacySession reads initialize and settles the revision.
func (e *Endpoint) legacySession(m *jsonrpc.Message, p *Principal) (*Session, error) {
	var requested, capabilities, info []byte
	for c := rawjson.Object(m.Params()); c.Next(); {
		switch {
		case c.KeyIs("protocolVersion"):
			requested = c.Value()
		case c.KeyIs("capabilities"):
			capabilities = c.Value()
		case c.KeyIs("clientInfo"):
			info = c.Value()
		}
	}
	version, ok := rawjson.String(requested)
	if !ok {
		return nil, invalidParams("protocolVersion must be a string")
	}
	if capabilities == nil {
		capabilities = emptyObject
	}
	if rawjson.KindOf(capabilities) != '{' {
		return nil, invalidParams("capabilities must be an object")
	}
	r := revision.Negotiate(version, e.revisions)
	if r == nil {
		return nil, e.noLegacy(version)
	}
	if len(capabilities)+len(info) > maxIntroduction {
		return nil, invalidParams("capabilities and clientInfo may not exceed %d bytes together", maxIntroduction)
	}
	// Clones: the session outlives the frame, which may be much larger.
	s := &Session{Revision: r, Principal: p, capabilities: bytes.Clone(capabilities), clientInfo: bytes.Clone(info)}
	if r.Rules.SetLevel {
		s.setLogLevel(LogInfo) // until the client says otherwise
	}
	return s, nil
}

// noLegacy refuses initialize on an endpoint that speaks other eras only.
func (e *Endpoint) noLegacy(requested string) error {
	for _, r := range e.revisions {
		if r.Era == revision.Modern {
			err := unsupportedRevision(requested, e.revisions)
			err.Message = "initialize is not spoken here; use server/discover"
			return err
		}
	}
	return methodNotFound("initialize")
}

// initializeResult asks the handler what it is and tells it in the shape of the
// session's revision.
func (e *Endpoint) initializeResult(ctx context.Context, s *Session, peer Peer) ([]byte, error) {
	d, err := e.discover(ctx, s, peer)
	if err != nil {
		return nil, err
	}
	capabilities := rawjson.Get(d, "capabilities")
	if capabilities == nil {
		capabilities = emptyObject
	}
	discovered := capabilities
	capabilities = revision.ServerCapabilities(capabilities, revision.Latest(), s.Revision)
	capabilities = coreTaskCapabilities(discovered, capabilities, s.Revision)
	info := rawjson.Get(d, "_meta", revision.MetaServerInfo)
	if info == nil {
		info = []byte(`{"name":"unnamed","version":"0"}`)
	}
	b := append([]byte(`{"protocolVersion":`), quote(s.Revision.Name)...)
	b = append(append(b, `,"capabilities":`...), capabilities...)
	b = append(append(b, `,"serverInfo":`...), info...)
	if text := rawjson.Get(d, "instructions"); text != nil {
		b = append(append(b, `,"instructions":`...), text...)
	}
	f := revision.Frame{Kind: revision.Result, Method: "initialize", Body: append(b, '}')}
	if err := revision.Translate(&f, revision.LatestLegacy(), s.Revision); err != nil {
		return nil, err
	}
	return f.Body, nil
}

// discover runs server/discover on behalf of a legacy session.
func (e *Endpoint) discover(ctx context.Context, s *Session, peer Peer) ([]byte, error) {
	latest := revision.Latest()
	as := &Session{
		ID: s.ID, Revision: latest, Principal: s.Principal, clientInfo: s.clientInfo,
		capabilities: revision.ClientCapabilities(s.capabilities, s.Revision, latest),
	}
	req := jsonrpc.NewRequest(jsonrpc.StringID("discover"), "server/discover", discoverParams(as))
	answer := e.Answer(ctx, &Exchange{Request: req, Session: as, Peer: modernPeer{peer}})
	if err := answer.Err(); err != nil {
		return nil, err
	}
	if rawjson.KindOf(answer.Result()) != '{' {
		return nil, errors.New("server/discover answered no object")
	}
	return answer.Result(), nil
}

func discoverParams(s *Session) []byte {
	b := append([]byte(`{"_meta":{"`+revision.MetaProtocolVersion+`":`), quote(s.Revision.Name)...)
	b = append(append(b, `,"`+revision.MetaClientCapabilities+`":`...), s.capabilities...)
	if s.clientInfo != nil {
		b = append(append(b, `,"`+revision.MetaClientInfo+`":`...), s.clientInfo...)
	}
	return append(b, "}}"...)
}
