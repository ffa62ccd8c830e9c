package mcp

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// A Server offers tools, resources and prompts. It is a Handler and a Listener;
// a transport package puts it on the wire. Features may be added and removed at
// any time, from any goroutine; clients that care are told.
type Server struct {
	info    Implementation
	rawInfo []byte
	opts    ServerOptions
	handler Handler // dispatch, wrapped by the middleware
	seal    *sealer
	tasks   *taskEngine

	mu        sync.RWMutex // guards the registries and listeners
	tools     *registry[*tool]
	prompts   *registry[*prompt]
	resources *registry[*resource]
	templates *registry[*template]
	skills    *skillSet
	listeners map[*listening]struct{}
}

// ServerOptions configures a Server. The zero value works.
type ServerOptions struct {
	// Instructions tell a model how to use the server.
	Instructions string

	// Revisions are the dialects spoken; empty means all.
	Revisions []*revision.Revision

	// Middleware wraps every exchange, the first outermost.
	Middleware []Middleware

	// ToolMiddleware wraps every tool's handler, the first outermost. It sees
	// arguments that are valid and have their defaults, and results before they
	// are checked.
	ToolMiddleware []func(next ToolHandler) ToolHandler

	// Visible hides features from some callers: it is asked for every feature
	// in a list and for every one that is used. kind is "tool", "prompt",
	// "resource" or "template", name the name or URI. Nil shows everything.
	// In the modern era it must depend on the principal only. It must not call
	// the server, whose lock may be held.
	Visible func(ctx context.Context, s *Session, kind, name string) bool

	// PageSize is the number of features on one page of a list; 0 means 1000.
	PageSize int

	// CacheTTL and CachePublic are the hints for caches that lists and reads
	// carry. The zero values say "stale at once" and "for this caller only".
	CacheTTL    time.Duration
	CachePublic bool

	// StateKeys seal the state that modern clients carry between the rounds of
	// a request, 32 bytes each: the first seals, all open. Replicas that share
	// them may serve each other's rounds. Empty means one random key.
	StateKeys [][]byte
	// StateTTL bounds how long a client may take for its answers; 0 means 10
	// minutes.
	StateTTL time.Duration

	// Tasks enables tasks: tools may then run longer than their call.
	Tasks *TaskOptions

	// Extensions are advertised to modern clients: identifier to settings.
	Extensions map[string]JSON

	// NoLogging does not advertise log messages: clients may not ask for a
	// level. Request.Log still sends to those that want to see messages.
	NoLogging bool

	// Logger takes what no client is told: panics with their stacks, tasks that
	// could not be saved. Nil discards. It is also the logger of the server's
	// endpoints that have none of their own.
	Logger *slog.Logger
}

// NewServer returns a server without features. Nil options are fine. It panics
// on options that cannot work, such as keys of a wrong size.
func NewServer(info Implementation, o *ServerOptions) *Server {
	if o == nil {
		o = &ServerOptions{}
	}
	s := &Server{info: info, rawInfo: encode(info), opts: *o, listeners: map[*listening]struct{}{}}
	s.tools = newRegistry[*tool]("tools/list", "tools")
	s.prompts = newRegistry[*prompt]("prompts/list", "prompts")
	s.resources = newRegistry[*resource]("resources/list", "resources")
	s.templates = newRegistry[*template]("resources/templates/list", "resourceTemplates")
	if s.opts.PageSize <= 0 {
		s.opts.PageSize = 1000
	}
	if s.opts.StateTTL <= 0 {
		s.opts.StateTTL = 10 * time.Minute
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if len(s.opts.StateKeys) == 0 {
		key := make([]byte, 32)
		rand.Read(key)
		s.opts.StateKeys = [][]byte{key}
	}
	s.seal = newSealer(s.opts.StateKeys)
	if o.Tasks != nil {
		s.tasks = newTaskEngine(s, o.Tasks)
	}
	s.handler = Chain(HandlerFunc(s.dispatch), o.Middleware...)
	return s
}

// Revisions returns the dialects the server speaks, newest first.
func (s *Server) Revisions() []*revision.Revision {
	if len(s.opts.Revisions) == 0 {
		return revision.All()
	}
	return s.opts.Revisions
}

// Handle answers one exchange of any revision but classic, which endpoints
// translate.
func (s *Server) Handle(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	return s.handler.Handle(ctx, x)
}

// Close ends the tasks that still run and waits for them.
func (s *Server) Close() error {
	if s.tasks != nil {
		s.tasks.close()
	}
	return nil
}

func (s *Server) dispatch(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	method := x.Request.Method()
	if x.Request.Kind() == jsonrpc.Notification {
		return nil, nil
	}
	switch method {
	case "server/discover":
		return s.discover(ctx, x)
	case "tools/call":
		return s.callTool(ctx, x)
	case "tools/list":
		return list(ctx, s, x, s.tools, "tool")
	case "prompts/list":
		return list(ctx, s, x, s.prompts, "prompt")
	case "prompts/get":
		return s.getPrompt(ctx, x)
	case "resources/list":
		return list(ctx, s, x, s.resources, "resource")
	case "resources/templates/list":
		return list(ctx, s, x, s.templates, "template")
	case "resources/read":
		return s.readResource(ctx, x)
	case "completion/complete":
		return s.complete(ctx, x)
	case "logging/setLevel":
		if !s.opts.NoLogging {
			return jsonrpc.NewResult(x.Request.ID(), emptyObject), nil
		}
	case "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update":
		if s.tasks != nil {
			return s.tasks.handle(ctx, x)
		}
	case "skills/list", "skills/get", "resources/directory/read":
		return s.serveSkills(ctx, x)
	}
	return nil, methodNotFound(method)
}

// discover answers with what the server has right now.
func (s *Server) discover(_ context.Context, x *Exchange) (*jsonrpc.Message, error) {
	b := []byte(`{"supportedVersions":[`)
	n := 0
	for _, r := range s.Revisions() {
		if r.Era == revision.Modern {
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(b, quote(r.Name)...)
		}
	}
	b = append(append(b, `],"capabilities":`...), s.capabilities()...)
	if s.opts.Instructions != "" {
		b = append(append(b, `,"instructions":`...), quote(s.opts.Instructions)...)
	}
	b = append(b, s.cacheHints()...)
	return s.finish(x, append(b, '}'))
}

// capabilities are in the shape of the newest revision.
func (s *Server) capabilities() []byte {
	type changes struct {
		ListChanged bool `json:"listChanged"`
		Subscribe   bool `json:"subscribe,omitzero"`
	}
	var c struct {
		Completions *struct{}       `json:"completions,omitzero"`
		Logging     *struct{}       `json:"logging,omitzero"`
		Prompts     *changes        `json:"prompts,omitzero"`
		Resources   *changes        `json:"resources,omitzero"`
		Tools       *changes        `json:"tools,omitzero"`
		Extensions  map[string]JSON `json:"extensions,omitempty"`
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	c.Extensions = map[string]JSON{}
	for id, settings := range s.opts.Extensions {
		c.Extensions[id] = settings
	}
	if s.tasks != nil {
		c.Extensions[revision.TasksExtensionID] = emptyObject
	}
	if s.skills != nil {
		c.Extensions[skillsExtensionID] = s.skills.settings()
	}
	if !s.opts.NoLogging {
		c.Logging = &struct{}{}
	}
	if s.tools.declared {
		c.Tools = &changes{ListChanged: true}
	}
	if s.prompts.declared {
		c.Prompts = &changes{ListChanged: true}
	}
	if s.resources.declared || s.templates.declared {
		c.Resources = &changes{ListChanged: true, Subscribe: true}
	}
	if s.completesLocked() {
		c.Completions = &struct{}{}
	}
	return encode(c)
}

// cacheHints are the members that cacheable results of the modern era carry.
func (s *Server) cacheHints() string {
	scope := "private"
	if s.opts.CachePublic {
		scope = "public"
	}
	return `,"ttlMs":` + itoa(s.opts.CacheTTL.Milliseconds()) + `,"cacheScope":"` + scope + `"`
}

// finish makes the response of a result that is in the shape of the newest
// revision except for resultType and the server's identity, which it adds.
func (s *Server) finish(x *Exchange, body []byte) (*jsonrpc.Message, error) {
	if x.Session.Revision == revision.Latest() {
		return jsonrpc.NewResult(x.Request.ID(), s.stamp(body, "complete")), nil
	}
	f := revision.Frame{Kind: revision.Result, Method: x.Request.Method(), Body: body, KeepStructured: x.Session.Can("extensions", revision.UIExtensionID)}
	if err := revision.Translate(&f, revision.Latest(), x.Session.Revision); err != nil {
		return nil, err
	}
	return jsonrpc.NewResult(x.Request.ID(), f.Body), nil
}

// stamp adds resultType and the server's identity to a result object.
func (s *Server) stamp(body []byte, resultType string) []byte {
	if rawjson.Get(body, "_meta") != nil {
		body = rawjson.Set(body, s.rawInfo, "_meta", revision.MetaServerInfo)
		return rawjson.Set(body, quote(resultType), "resultType")
	}
	b := make([]byte, 0, len(body)+len(s.rawInfo)+96)
	b = append(b, body[:len(body)-1]...)
	if len(body) > 2 {
		b = append(b, ',')
	}
	b = append(append(append(b, `"resultType":"`...), resultType...), `","_meta":{"`+revision.MetaServerInfo+`":`...)
	return append(append(b, s.rawInfo...), "}}"...)
}

func (s *Server) visible(ctx context.Context, x *Exchange, kind, name string) bool {
	return s.opts.Visible == nil || s.opts.Visible(ctx, x.Session, kind, name)
}

// A listening is one subscription to the server's changes.
type listening struct {
	session *Session
	filter  Filter
	deliver func(*jsonrpc.Message)
}

// Listen delivers list changes, updates of resources and states of tasks.
func (s *Server) Listen(ctx context.Context, session *Session, f Filter, deliver func(*jsonrpc.Message)) (Filter, func(), error) {
	l := &listening{session: session, deliver: deliver}
	var taskIDs []string
	if s.tasks != nil {
		taskIDs = s.tasks.own(ctx, session, f.TaskIDs)
	}
	uris := s.subscribable(ctx, session, f.URIs)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.filter = Filter{
		Tools:     f.Tools && s.tools.declared,
		Prompts:   f.Prompts && s.prompts.declared,
		Resources: f.Resources && (s.resources.declared || s.templates.declared),
		URIs:      uris,
		TaskIDs:   taskIDs,
	}
	s.listeners[l] = struct{}{}
	return l.filter, func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}, nil
}

// announce tells everybody who listens for n.
func (s *Server) announce(n *jsonrpc.Message) {
	s.mu.RLock()
	var told []*listening
	for l := range s.listeners {
		if l.filter.Wants(n) {
			told = append(told, l)
		}
	}
	s.mu.RUnlock()
	for _, l := range told {
		l.deliver(n)
	}
}

var listChanged = map[string]*jsonrpc.Message{
	"tools/list":               jsonrpc.NewNotification("notifications/tools/list_changed", nil),
	"prompts/list":             jsonrpc.NewNotification("notifications/prompts/list_changed", nil),
	"resources/list":           jsonrpc.NewNotification("notifications/resources/list_changed", nil),
	"resources/templates/list": jsonrpc.NewNotification("notifications/resources/list_changed", nil),
}

// ResourceUpdated tells the clients subscribed to the URI that it has changed.
func (s *Server) ResourceUpdated(uri string) {
	s.announce(jsonrpc.NewNotification("notifications/resources/updated", encode(struct {
		URI string `json:"uri"`
	}{uri})))
}
