package revision

// V2024_11_05 is the first dated revision and the root of the tree: every other one is described by what it changed.
//
//nolint:revive // the underscores keep the date readable, which is the name of the thing
var V2024_11_05 = &Revision{
	Name: "2024-11-05",
	Era:  Legacy,
	Rules: Rules{
		Handshake:           true,
		ServerRequests:      true,
		Ping:                true,
		ClientProgress:      true,
		UniqueIDsPerSession: true,
		Pagination:          true,
		EndpointEvent:       true,
		Subscribe:           true,
		SetLevel:            true,
		ResourceNotFound:    codeResourceNotFound,
		RootsChanged:        true,
	},
	methods: methods20241105,
}

var methods20241105 = table(
	requests(ClientToServer,
		"initialize",
		"tools/list", "tools/call",
		"prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"completion/complete", "logging/setLevel"),
	requests(ServerToClient, "sampling/createMessage", "roots/list"),
	requests(Both, "ping"),
	notifications(ClientToServer, "notifications/initialized", "notifications/roots/list_changed"),
	notifications(ServerToClient,
		"notifications/message",
		"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated"),
	notifications(Both, "notifications/cancelled", "notifications/progress"),
)
