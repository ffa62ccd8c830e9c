package revision

// V2025_03_26 brought Streamable HTTP with sessions and resumption, batching (for this revision only), tool
// annotations, audio, progress messages and the completions capability.
//
//nolint:revive // the underscores keep the date readable, which is the name of the thing
var V2025_03_26 = &Revision{
	Name: "2025-03-26",
	Era:  Legacy,
	Rules: Rules{
		Batching:              true,
		Handshake:             true,
		ServerRequests:        true,
		Ping:                  true,
		ClientProgress:        true,
		ProgressMessage:       true,
		UniqueIDsPerSession:   true,
		Pagination:            true,
		Streamable:            true,
		GetStream:             true,
		Sessions:              true,
		Resumable:             true,
		Subscribe:             true,
		SetLevel:              true,
		CompletionsCapability: true,
		Audio:                 true,
		ToolAnnotations:       true,
		ResourceNotFound:      codeResourceNotFound,
		RootsChanged:          true,
	},
	base:    V2024_11_05,
	up:      up20250326,
	down:    down20250326,
	caps:    caps20250326,
	losses:  losses20250326,
	methods: methods20241105,
}

const (
	lossAudio           = "audio"
	lossToolAnnotations = "tool annotations"
	lossProgressMessage = "progress message"
)

var losses20250326 = []string{lossAudio, lossProgressMessage, lossToolAnnotations}

func up20250326(f *Frame) error {
	if f.Method == "initialize" {
		f.handshake("2024-11-05", "2025-03-26", nil, caps20250326.serverUp)
	}
	return nil
}

func down20250326(f *Frame) error {
	switch {
	case f.Method == "initialize":
		f.handshake("2025-03-26", "2024-11-05", nil, caps20250326.serverDown)
	case f.Method == "notifications/progress":
		f.drop(lossProgressMessage, "message")
	case f.Method == "tools/list" && f.Kind == Result:
		f.eachIn("tools", func(tool []byte) []byte { return f.without(tool, lossToolAnnotations, "annotations") })
	case f.Method == "sampling/createMessage" && f.Kind == Request:
		f.eachIn("messages", func(m []byte) []byte { return edit(m, "content", f.noAudio) })
	case f.Method == "sampling/createMessage" && f.Kind == Result:
		f.edit("content", f.noAudio)
	case f.Kind == Result:
		f.eachContent(f.noAudio)
	}
	return nil
}

// noAudio replaces an audio block by a note that it was there.
func (f *Frame) noAudio(block []byte) []byte {
	if text(member(block, "type")) != "audio" {
		return block
	}
	f.lose(lossAudio)
	return replaceBlock(block, "[audio: "+text(member(block, "mimeType"))+"]")
}

// A server of 2024-11-05 may complete without saying so: the capability is claimed for it, and a server that does not
// will answer -32601.
var caps20250326 = capabilityShape{
	serverUp: func(c []byte) []byte {
		if isObject(c) && member(c, "completions") == nil {
			return set(c, "completions", `{}`)
		}
		return c
	},
	serverDown: func(c []byte) []byte { return remove(c, "completions") },
}
