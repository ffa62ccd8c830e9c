package revision

// Rules are the facts of one revision. The zero value of a field means that the revision does not have the thing.
type Rules struct {
	// Base protocol.

	Batching            bool // JSON-RPC arrays must be accepted (2025-03-26 basic: batching)
	Handshake           bool // initialize comes first and freezes capabilities (lifecycle)
	Discover            bool // server/discover is mandatory for servers (versioning)
	RequestMeta         bool // params._meta must carry protocolVersion and clientCapabilities (basic: _meta)
	ServerRequests      bool // the server may send requests (absent from 2026-07-28: patterns)
	InputRequired       bool // a server asks by answering input_required (patterns: mrtr)
	ResultType          bool // every result of a client request has resultType (basic: results)
	CacheHints          bool // cacheable results have ttlMs and cacheScope (server utilities: caching)
	Ping                bool // ping, both ways (utilities: ping)
	ClientProgress      bool // the client may send notifications/progress
	ProgressMessage     bool // notifications/progress may have a message
	ErrorIDOptional     bool // an error response may lack its id when the request was unreadable
	UniqueIDsPerSession bool // a request id is never reused in a session; else only not while outstanding
	Pagination          bool // lists come in pages with cursors

	// Transports.

	ContentLength     bool // stdio frames messages with Content-Length headers, else by lines
	EndpointEvent     bool // HTTP+SSE: a GET stream whose first event names the POST endpoint
	Streamable        bool // Streamable HTTP: one endpoint
	GetStream         bool // a GET opens a stream for unsolicited server messages, a DELETE ends the session
	Sessions          bool // Mcp-Session-Id
	VersionHeader     bool // MCP-Protocol-Version on every HTTP request (after initialize, where there is one)
	StandardHeaders   bool // Mcp-Method, Mcp-Name and Mcp-Param-* mirror the body
	Resumable         bool // SSE event ids and Last-Event-ID
	Polling           bool // priming event and retry: the server may close a connection before the response
	DisconnectCancels bool // a dropped HTTP response stream cancels its request; else it must not

	// Server features.

	Listen                bool // subscriptions/listen
	Subscribe             bool // resources/subscribe and resources/unsubscribe
	SetLevel              bool // logging/setLevel; else the level is asked for per request, if at all
	CompletionsCapability bool // completion needs the completions capability
	CompletionContext     bool // completion/complete may have context.arguments
	StructuredContent     bool // tools have outputSchema, their results structuredContent
	StructuredAny         bool // structuredContent may be any JSON value; else it is an object
	ResourceLinks         bool // resource_link content
	Audio                 bool // audio content
	ToolAnnotations       bool // annotations of tools (readOnlyHint and so on)
	Titles                bool // title beside name; lastModified in annotations
	Icons                 bool // icons; description and websiteUrl of implementations
	CoreTasks             bool // tasks in the core protocol: task params, tasks capability, execution.taskSupport
	TasksExtension        bool // tasks as the extension TasksExtensionID
	ResourceNotFound      int  // error code of resources/read for an unknown URI; 0 if unspecified

	// Client features.

	Elicitation    bool // elicitation in form mode
	URLElicitation bool // elicitation in url mode
	ElicitationID  bool // url mode has elicitationId, notifications/elicitation/complete and URLRequired
	URLRequired    int  // error code URLElicitationRequired; 0 if there is none
	EnumSchemas    bool // oneOf and multi-select enums, defaults on every primitive; else enum with enumNames
	SamplingTools  bool // tools, toolChoice and content arrays in sampling
	RootsChanged   bool // notifications/roots/list_changed
}

// TasksExtensionID and UIExtensionID are keys of the extensions capability.
const (
	TasksExtensionID = "io.modelcontextprotocol/tasks"
	UIExtensionID    = "io.modelcontextprotocol/ui"
)

// Members of _meta that the modern era reserves.
const (
	MetaPrefix             = "io.modelcontextprotocol/"
	MetaProtocolVersion    = MetaPrefix + "protocolVersion"
	MetaClientInfo         = MetaPrefix + "clientInfo"
	MetaClientCapabilities = MetaPrefix + "clientCapabilities"
	MetaLogLevel           = MetaPrefix + "logLevel"
	MetaServerInfo         = MetaPrefix + "serverInfo"
	MetaSubscriptionID     = MetaPrefix + "subscriptionId"
	MetaRelatedTask        = MetaPrefix + "related-task" // of 2025-11-25 tasks
)
