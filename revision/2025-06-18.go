package revision

// V2025_06_18 brought structured tool output, resource links, elicitation, titles, completion context and the version
// header, and took batching away.
//
//nolint:revive // the underscores keep the date readable, which is the name of the thing
var V2025_06_18 = &Revision{
	Name: "2025-06-18",
	Era:  Legacy,
	Rules: Rules{
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
		VersionHeader:         true,
		Resumable:             true,
		Subscribe:             true,
		SetLevel:              true,
		CompletionsCapability: true,
		CompletionContext:     true,
		StructuredContent:     true,
		ResourceLinks:         true,
		Audio:                 true,
		ToolAnnotations:       true,
		Titles:                true,
		ResourceNotFound:      codeResourceNotFound,
		Elicitation:           true,
		RootsChanged:          true,
	},
	base:    V2025_03_26,
	up:      up20250618,
	down:    down20250618,
	caps:    caps20250618,
	losses:  losses20250618,
	methods: methods20250618,
}

var methods20250618 = table(methods20241105, requests(ServerToClient, "elicitation/create"))

const (
	lossTitles            = "titles"
	lossLastModified      = "lastModified"
	lossOutputSchema      = "outputSchema"
	lossStructuredContent = "structuredContent"
	lossResourceLinks     = "resource links"
	lossCompletionContext = "completion context"
)

var losses20250618 = []string{
	lossCompletionContext, lossLastModified, lossOutputSchema, lossResourceLinks, lossStructuredContent, lossTitles,
}

func up20250618(f *Frame) error {
	if f.Method == "initialize" {
		f.handshake("2025-03-26", "2025-06-18", nil, nil)
	}
	return nil
}

func down20250618(f *Frame) error {
	switch {
	case f.Method == "initialize":
		f.handshake("2025-06-18", "2025-03-26", caps20250618.clientDown, nil)
		f.edit(f.implementation(), func(info []byte) []byte { return f.without(info, lossTitles, "title") })
	case f.Kind == Request && f.Method == "elicitation/create":
		return ErrNoCounterpart
	case f.Kind == Request && f.Method == "completion/complete":
		f.drop(lossCompletionContext, "context")
	case f.Kind == Result:
		downResult20250618(f)
	}
	return nil
}

func downResult20250618(f *Frame) {
	f.eachListed(func(v []byte) []byte {
		v = edit(f.without(v, lossTitles, "title"), "annotations", f.noLastModified)
		switch f.Method {
		case "tools/list":
			if !f.KeepStructured {
				v = f.without(v, lossOutputSchema, "outputSchema")
			}
		case "prompts/list":
			v = edit(v, "arguments", func(args []byte) []byte {
				return each(args, func(arg []byte) []byte { return f.without(arg, lossTitles, "title") })
			})
		}
		return v
	})
	if f.Method == "tools/call" && !f.KeepStructured {
		if v := f.get("structuredContent"); v != nil && len(elements(f.get("content"))) == 0 {
			f.set("content", array([][]byte{textBlock(string(v))})) // all there is to read
		}
		f.drop(lossStructuredContent, "structuredContent")
	}
	f.eachContent(func(block []byte) []byte {
		block = edit(block, "annotations", f.noLastModified)
		if text(member(block, "type")) != "resource_link" {
			return block
		}
		f.lose(lossResourceLinks)
		return replaceBlock(block, text(member(block, "uri")))
	})
}

func (f *Frame) noLastModified(annotations []byte) []byte {
	return f.without(annotations, lossLastModified, "lastModified")
}

var caps20250618 = capabilityShape{
	clientDown: func(c []byte) []byte { return remove(c, "elicitation") },
}
