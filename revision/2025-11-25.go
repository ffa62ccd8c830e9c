package revision

import (
	"bytes"
	"slices"
	"strings"
)

// V2025_11_25 brought tasks in the core protocol, URL elicitation, richer enum schemas, sampling with tools, icons and
// polling of SSE streams. It is the last revision with a handshake.
//
//nolint:revive // the underscores keep the date readable, which is the name of the thing
var V2025_11_25 = &Revision{
	Name: "2025-11-25",
	Era:  Legacy,
	Rules: Rules{
		Handshake:             true,
		ServerRequests:        true,
		Ping:                  true,
		ClientProgress:        true,
		ProgressMessage:       true,
		ErrorIDOptional:       true,
		UniqueIDsPerSession:   true,
		Pagination:            true,
		Streamable:            true,
		GetStream:             true,
		Sessions:              true,
		VersionHeader:         true,
		Resumable:             true,
		Polling:               true,
		Subscribe:             true,
		SetLevel:              true,
		CompletionsCapability: true,
		CompletionContext:     true,
		StructuredContent:     true,
		ResourceLinks:         true,
		Audio:                 true,
		ToolAnnotations:       true,
		Titles:                true,
		Icons:                 true,
		CoreTasks:             true,
		ResourceNotFound:      codeResourceNotFound,
		Elicitation:           true,
		URLElicitation:        true,
		ElicitationID:         true,
		URLRequired:           codeURLRequired,
		EnumSchemas:           true,
		SamplingTools:         true,
		RootsChanged:          true,
	},
	base:    V2025_06_18,
	up:      up20251125,
	down:    down20251125,
	caps:    caps20251125,
	losses:  losses20251125,
	methods: methods20251125,
}

var methods20251125 = table(methods20250618,
	requests(Both, "tasks/get", "tasks/result", "tasks/list", "tasks/cancel"),
	notifications(Both, "notifications/tasks/status"),
	notifications(ServerToClient, "notifications/elicitation/complete"),
)

const (
	lossIcons           = "icons"
	lossImplementation  = "implementation details"
	lossMultiSelect     = "multi-select enum"
	lossSamplingTools   = "sampling tools"
	lossSamplingContent = "sampling content blocks"
)

var losses20251125 = []string{
	lossIcons, lossImplementation, lossMultiSelect, lossSamplingContent, lossSamplingTools, lossTask, lossToolExecution,
}

func up20251125(f *Frame) error {
	if f.Method == "initialize" {
		f.handshake("2025-06-18", "2025-11-25", caps20251125.clientUp, caps20251125.serverUp)
	}
	return nil
}

func down20251125(f *Frame) error {
	switch f.Kind {
	case Request:
		return downRequest20251125(f)
	case Result:
		return downResult20251125(f)
	}
	return nil
}

func downRequest20251125(f *Frame) error {
	switch f.Method {
	case "initialize":
		downHandshake20251125(f)
	case "tools/call":
		f.drop(lossTask, "task")
	case "elicitation/create":
		return downElicitation20251125(f)
	case "sampling/createMessage":
		f.drop(lossTask, "task")
		f.drop(lossSamplingTools, "tools", "toolChoice")
		return splitMessages(f)
	}
	return nil
}

func downHandshake20251125(f *Frame) {
	f.handshake("2025-11-25", "2025-06-18", caps20251125.clientDown, caps20251125.serverDown)
	f.edit(f.implementation(), func(info []byte) []byte {
		info = f.without(info, lossIcons, "icons")
		return f.without(info, lossImplementation, "description", "websiteUrl")
	})
}

func downResult20251125(f *Frame) error {
	if isTaskHandle(f) {
		return ErrNoCounterpart
	}
	switch f.Method {
	case "initialize":
		downHandshake20251125(f)
	case "sampling/createMessage":
		return joinContent(f)
	case "tools/list":
		f.eachIn("tools", func(tool []byte) []byte { return f.without(tool, lossToolExecution, "execution") })
	}
	noIcons := func(v []byte) []byte { return f.without(v, lossIcons, "icons") }
	f.eachListed(noIcons)
	f.eachContent(func(block []byte) []byte {
		if text(member(block, "type")) == "resource_link" {
			return noIcons(block)
		}
		return block
	})
	return nil
}

// downElicitation20251125 turns a form into one of flat primitives. URL mode did not exist.
func downElicitation20251125(f *Frame) error {
	if text(f.get("mode")) == "url" {
		return ErrNoCounterpart
	}
	f.drop(lossTask, "task")
	f.remove("mode") // "form" is what its absence means
	schema := f.get("requestedSchema")
	required := elements(member(schema, "required"))
	properties := member(schema, "properties")
	flat := properties
	for name, field := range members(properties) {
		if text(member(field, "type")) == "array" {
			if slices.ContainsFunc(required, func(r []byte) bool { return text(r) == name }) {
				return ErrNoCounterpart
			}
			f.lose(lossMultiSelect)
			flat = remove(flat, name)
		} else if plain := enumNames(field); !same(plain, field) {
			flat = set(flat, name, plain)
		}
	}
	if !same(flat, properties) {
		f.set("requestedSchema", set(schema, "properties", flat))
	}
	return nil
}

// enumNames writes the titled choices of a field, oneOf [{const, title}], as enum beside enumNames.
func enumNames(field []byte) []byte {
	choices := elements(member(field, "oneOf"))
	if len(choices) == 0 {
		return field
	}
	var values, titles [][]byte
	for _, c := range choices {
		value, title := member(c, "const"), member(c, "title")
		if value == nil {
			return field
		}
		if title == nil {
			title = value
		}
		values, titles = append(values, value), append(titles, title)
	}
	field = remove(field, "oneOf", "enum", "enumNames")
	field = set(field, "enum", array(values))
	return set(field, "enumNames", array(titles))
}

// splitMessages gives every sampling message one content block. Tool use and its results cannot be told to a model
// that was not given the tools.
func splitMessages(f *Frame) error {
	var err error
	f.eachIn("messages", func(message []byte) []byte {
		content := member(message, "content")
		blocks := elements(content)
		if !isArray(content) {
			blocks = [][]byte{content}
		}
		var single [][]byte
		for _, b := range blocks {
			if t := text(member(b, "type")); t == "tool_use" || t == "tool_result" {
				err = ErrNoCounterpart
				return message
			}
			single = append(single, set(message, "content", b))
		}
		if !isArray(content) {
			return message
		}
		if len(single) != 1 {
			f.lose(lossSamplingContent)
		}
		return bytes.Join(single, []byte(","))
	})
	return err
}

// joinContent gives a sampling result one content block: the only one, or all texts in one.
func joinContent(f *Frame) error {
	content := f.get("content")
	if text(member(content, "type")) == "tool_use" {
		return ErrNoCounterpart
	}
	if !isArray(content) {
		return nil
	}
	blocks := elements(content)
	if len(blocks) == 1 && text(member(blocks[0], "type")) != "tool_use" {
		f.set("content", blocks[0])
		return nil
	}
	var texts []string
	for _, b := range blocks {
		if text(member(b, "type")) != "text" {
			return ErrNoCounterpart
		}
		texts = append(texts, text(member(b, "text")))
	}
	f.lose(lossSamplingContent)
	f.set("content", textBlock(strings.Join(texts, "\n")))
	return nil
}

var caps20251125 = capabilityShape{
	clientUp: formElicitation,
	clientDown: func(c []byte) []byte {
		c = edit(remove(c, "tasks"), "sampling", func(s []byte) []byte { return remove(s, "tools", "context") })
		e := member(c, "elicitation")
		if member(e, "url") != nil && member(e, "form") == nil {
			return remove(c, "elicitation")
		}
		return edit(c, "elicitation", func(e []byte) []byte { return remove(e, "form", "url") })
	},
	serverDown: func(c []byte) []byte { return remove(c, "tasks") },
}

// formElicitation names the mode that an empty elicitation capability stands for.
func formElicitation(c []byte) []byte {
	if isEmpty(member(c, "elicitation")) {
		return set(c, "elicitation", `{"form":{}}`)
	}
	return c
}
