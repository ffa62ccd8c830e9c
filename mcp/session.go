package mcp

import (
	"context"
	"sync/atomic"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Session is who asks: a client that has introduced itself by initialize, or,
// in the modern era, by the _meta of one request. It is safe for concurrent use.
type Session struct {
	ID        string // unguessable; "" where the transport or era has no sessions
	Revision  *revision.Revision
	Principal *Principal // who was authenticated; nil when nobody was

	capabilities []byte // raw ClientCapabilities, in the shape of Revision; never nil
	clientInfo   []byte // raw Implementation or nil
	level        atomic.Int32
}

// A Principal is an authenticated caller.
type Principal struct {
	Issuer  string
	Subject string
	Client  string   // the client acting for the subject
	Scopes  []string // what the token allows
	Claims  map[string]any
}

// Key identifies the principal in maps; "" for nil.
func (p *Principal) Key() string {
	if p == nil {
		return ""
	}
	return p.Issuer + "\x00" + p.Subject + "\x00" + p.Client
}

type principalKey struct{}

// WithPrincipal returns a context in which transports find the authenticated
// caller. An HTTP middleware that verifies tokens puts it into the request.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns what WithPrincipal put there, or nil.
func PrincipalFrom(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// ClientInfo returns how the client calls itself. Never trust it.
func (s *Session) ClientInfo() Implementation {
	var i Implementation
	_ = decode(s.clientInfo, &i) // what is malformed stays empty: it is for display only
	return i
}

// Capabilities returns the client's raw capabilities, an object.
func (s *Session) Capabilities() []byte { return s.capabilities }

// Can reports whether the client declared the capability at the path, as in
// Can("sampling", "tools").
func (s *Session) Can(path ...string) bool {
	return rawjson.Get(s.capabilities, path...) != nil
}

// CanElicit reports whether the client takes elicitations of the mode "form"
// or "url". A bare elicitation:{} means form.
func (s *Session) CanElicit(mode string) bool {
	c := rawjson.Get(s.capabilities, "elicitation")
	if c == nil || !s.Revision.Rules.Elicitation {
		return false
	}
	if mode == "url" {
		return rawjson.Get(c, "url") != nil && s.Revision.Rules.URLElicitation
	}
	return rawjson.Get(c, "form") != nil || rawjson.Get(c, "url") == nil
}

// CanTask reports whether the client declared the tasks extension.
func (s *Session) CanTask() bool {
	return s.Revision.Rules.TasksExtension && s.Can("extensions", revision.TasksExtensionID)
}

// LogLevel returns the least severe level that the client wants to see, and
// whether it wants any logs at all.
func (s *Session) LogLevel() (LogLevel, bool) {
	n := s.level.Load()
	return LogLevel(n - 1), n > 0
}

func (s *Session) setLogLevel(l LogLevel) { s.level.Store(int32(l) + 1) }

// requestMeta returns params._meta, or nil.
func requestMeta(m *jsonrpc.Message) []byte { return rawjson.Get(m.Params(), "_meta") }

// IsModern reports whether a request or notification speaks of itself as one of
// the modern era: it has the reserved version member in its _meta.
func IsModern(m *jsonrpc.Message) bool {
	return rawjson.Get(m.Params(), "_meta", revision.MetaProtocolVersion) != nil
}

// ModernSession reads the session that a modern request carries in its _meta.
// The errors are those of the specification: -32602 for missing members,
// -32022 for a revision that is not in supported.
func ModernSession(m *jsonrpc.Message, p *Principal, supported []*revision.Revision) (*Session, error) {
	var version, capabilities, info, level []byte
	for c := rawjson.Object(requestMeta(m)); c.Next(); {
		switch {
		case c.KeyIs(revision.MetaProtocolVersion):
			version = c.Value()
		case c.KeyIs(revision.MetaClientCapabilities):
			capabilities = c.Value()
		case c.KeyIs(revision.MetaClientInfo):
			info = c.Value()
		case c.KeyIs(revision.MetaLogLevel):
			level = c.Value()
		}
	}
	name, ok := rawjson.String(version)
	if !ok {
		return nil, invalidParams("params._meta must have %q, a string", revision.MetaProtocolVersion)
	}
	if rawjson.KindOf(capabilities) != '{' {
		return nil, invalidParams("params._meta must have %q, an object", revision.MetaClientCapabilities)
	}
	r := find(supported, name)
	if r == nil || r.Era != revision.Modern {
		return nil, unsupportedRevision(name, supported)
	}
	s := &Session{Revision: r, Principal: p, capabilities: capabilities, clientInfo: info}
	if level != nil {
		l, ok := parseLogLevel(level)
		if !ok {
			return nil, invalidParams("params._meta[%q] is no log level", revision.MetaLogLevel)
		}
		s.setLogLevel(l)
	}
	return s, nil
}

// LegacySession returns the session of a legacy request that came without one:
// that of a client which has declared nothing.
func LegacySession(r *revision.Revision, p *Principal) *Session {
	return &Session{Revision: r, Principal: p, capabilities: emptyObject}
}

func find(supported []*revision.Revision, name string) *revision.Revision {
	for _, r := range supported {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// unsupportedRevision is -32022. It lists modern revisions only: the others
// cannot be asked for in this way.
func unsupportedRevision(requested string, supported []*revision.Revision) *jsonrpc.Error {
	data := []byte(`{"supported":[`)
	n := 0
	for _, r := range supported {
		if r.Era != revision.Modern {
			continue
		}
		if n++; n > 1 {
			data = append(data, ',')
		}
		data = append(data, quote(r.Name)...)
	}
	data = append(data, `],"requested":`...)
	data = append(append(data, quote(requested)...), '}')
	return jsonrpc.Errorf(CodeUnsupportedRevision, "unsupported protocol version %q", requested).WithData(data)
}
