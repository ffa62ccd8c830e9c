package revision

import (
	"slices"
	"strconv"

	"mcpv/internal/rawjson"
)

// Classic is the undated dialect with the mcp/ method prefix: five methods, bare lists, bare tool answers. A server
// never sends it requests or notifications.
//
// A list result holds one page: whoever serves a classic client collects the pages first. Listing resource templates
// answers mcp/listResources too, so that resources and templates can be put into one array.
var Classic = &Revision{
	Name: "classic",
	Era:  Legacy,
	Rules: Rules{
		Handshake:         true,
		ContentLength:     true,
		StructuredContent: true, // a tool answers with a JSON value of its own
	},
	base:    V2025_11_25,
	up:      upClassic,
	down:    downClassic,
	caps:    capsClassic,
	methods: methodsClassic,
	losses:  lossesClassic,
	undated: true,
}

var methodsClassic = table(requests(ClientToServer,
	"mcp/initialize", "mcp/listTools", "mcp/listResources", "mcp/tool/execute", "mcp/resource/read"))

// classicNames pairs the names of 2025-11-25 with those of classic; the first pair with a classic name is its
// meaning.
var classicNames = [...][2]string{
	{"initialize", "mcp/initialize"},
	{"tools/list", "mcp/listTools"},
	{"tools/call", "mcp/tool/execute"},
	{"resources/list", "mcp/listResources"},
	{"resources/templates/list", "mcp/listResources"},
	{"resources/read", "mcp/resource/read"},
}

const (
	lossPages        = "further pages"
	lossCursor       = "cursor"
	lossToolContent  = "tool content"
	lossContentParts = "resource content fields"
	lossResultMeta   = "result fields"
	lossInstructions = "instructions"
	lossServerFields = "server fields"
	lossClientCaps   = "client capabilities"
)

var lossesClassic = []string{
	lossClientCaps, lossCursor, lossPages, lossInstructions, lossContentParts, lossResultMeta, lossServerFields,
	lossToolContent,
}

// upClassic converts from 2025-11-25.
func upClassic(f *Frame) error {
	method := f.Method
	for _, n := range classicNames {
		if n[0] == method {
			f.Method = n[1]
		}
	}
	switch f.Kind {
	case Request:
		upClassicRequest(f, method)
	case Result:
		upClassicResult(f, method)
	}
	return nil
}

func upClassicRequest(f *Frame, method string) {
	switch method {
	case "initialize":
		f.set("protocolVersion", []byte(`"classic"`))
	case "tools/list", "resources/list", "resources/templates/list":
		f.drop(lossCursor, "cursor")
	case "tools/call":
		f.rename("name", "toolId")
		f.rename("arguments", "inputs")
		if f.get("inputs") == nil {
			f.set("inputs", []byte(`{}`))
		}
	case "resources/read":
		f.rename("uri", "resourceId")
	}
}

func upClassicResult(f *Frame, method string) {
	switch method {
	case "initialize":
		upClassicInitialize(f)
	case "tools/list":
		f.bareList("tools", func(tool []byte) []byte { return rename(tool, "name", "toolId") })
	case "resources/list":
		f.bareList("resources", func(r []byte) []byte { return rename(r, "uri", "resourceId") })
	case "resources/templates/list":
		f.bareList("resourceTemplates", templateResource)
	case "tools/call":
		upClassicCall(f)
	case "resources/read":
		upClassicRead(f)
	}
}

// upClassicInitialize answers with the methods that the server's capabilities allow.
func upClassicInitialize(f *Frame) {
	if !isObject(f.Body) {
		return
	}
	info, caps := f.get("serverInfo"), f.get("capabilities")
	methods := [][]byte{quote("mcp/initialize")}
	if member(caps, "tools") != nil {
		methods = append(methods, quote("mcp/listTools"), quote("mcp/tool/execute"))
	}
	if member(caps, "resources") != nil {
		methods = append(methods, quote("mcp/listResources"), quote("mcp/resource/read"))
	}
	if !isObject(caps) {
		caps = []byte(`{}`)
	}
	if f.get("instructions") != nil {
		f.lose(lossInstructions)
	}
	if !isEmpty(remove(info, "name", "version")) && isObject(info) {
		f.lose(lossServerFields)
	}
	out := set([]byte(`{}`), "name", quote(text(member(info, "name"))))
	out = set(out, "version", quote(text(member(info, "version"))))
	out = set(out, "protocolVersion", `"classic"`)
	out = set(out, "methods", array(methods))
	f.Body = set(out, "capabilities", caps)
}

// bareList makes the array of a list result the result.
func (f *Frame) bareList(key string, fn func([]byte) []byte) {
	if text(f.get("nextCursor")) != "" {
		f.lose(lossPages)
	}
	if f.hasOther(key, "nextCursor") {
		f.lose(lossResultMeta)
	}
	list := f.get(key)
	if !isArray(list) {
		list = []byte(`[]`)
	}
	f.Body = each(list, fn)
}

// templateResource lists a template as a resource whose query fills the template's variables.
func templateResource(t []byte) []byte {
	properties := []byte(`{}`)
	for _, name := range templateVariables(text(member(t, "uriTemplate"))) {
		properties = set(properties, name, `{"type":"string"}`)
	}
	t = rename(t, "uriTemplate", "resourceId")
	return set(t, "querySchema", `{"type":"object","properties":`+string(properties)+`}`)
}

// upClassicCall answers with the structured content, else the only text, else the content. A failure becomes an error.
func upClassicCall(f *Frame) {
	structured, content := f.get("structuredContent"), f.get("content")
	if content == nil {
		content = []byte(`[]`)
	}
	blocks := elements(content)
	only := len(blocks) == 1 && text(member(blocks[0], "type")) == "text"
	if f.hasOther("structuredContent", "content", "isError") ||
		only && !isEmpty(remove(blocks[0], "type", "text")) {
		f.lose(lossResultMeta)
	}
	if failed, _ := rawjson.Bool(f.get("isError")); failed {
		if structured != nil {
			f.lose(lossResultMeta)
		}
		f.Kind = Error
		f.Body = failure(blocks, content)
		return
	}
	switch {
	case structured != nil:
		if len(blocks) > 0 {
			f.lose(lossToolContent)
		}
		f.Body = structured
	case only:
		f.Body = orNull(member(blocks[0], "text"))
	default:
		f.Body = content
	}
}

// failure is the error of a failed tool: its first text for people, the content for programs.
func failure(blocks [][]byte, content []byte) []byte {
	message := "tool failed"
	for _, b := range blocks {
		if t := text(member(b, "text")); t != "" {
			message = t
			break
		}
	}
	out := set([]byte(`{}`), "code", strconv.Itoa(codeToolFailed))
	out = set(out, "message", quote(message))
	return set(out, "data", content)
}

// upClassicRead answers with the only text, else with the contents.
func upClassicRead(f *Frame) {
	contents := f.get("contents")
	if f.hasOther("contents") {
		f.lose(lossResultMeta)
	}
	if parts := elements(contents); len(parts) == 1 && member(parts[0], "text") != nil {
		if !isEmpty(remove(parts[0], "text", "uri")) {
			f.lose(lossContentParts)
		}
		f.Body = member(parts[0], "text")
		return
	}
	f.Body = contents
	if contents == nil {
		f.Body = []byte(`[]`)
	}
}

func orNull(v []byte) []byte {
	if v == nil {
		return []byte(`null`)
	}
	return v
}

// downClassic converts to 2025-11-25.
func downClassic(f *Frame) error {
	method := f.Method
	for _, n := range slices.Backward(classicNames[:]) {
		if n[1] == method {
			f.Method = n[0]
		}
	}
	switch f.Kind {
	case Request:
		downClassicRequest(f)
	case Result:
		downClassicResult(f)
	case Error:
		downClassicError(f)
	}
	return nil
}

func downClassicRequest(f *Frame) {
	switch f.Method {
	case "initialize":
		downClassicHello(f)
	case "tools/list", "resources/list":
		if !isObject(f.Body) {
			f.Body = nil // null is legal here and nowhere else
		}
	case "tools/call":
		f.rename("toolId", "name")
		f.rename("inputs", "arguments")
	case "resources/read":
		query := f.get("query")
		f.edit("resourceId", func(id []byte) []byte {
			if uri := expandURI(text(id), query); uri != text(id) {
				return quote(uri)
			}
			return id
		})
		f.remove("query")
		f.rename("resourceId", "uri")
	}
}

// downClassicHello makes a complete initialize request. Whatever a classic client can do, it cannot be asked.
func downClassicHello(f *Frame) {
	if !isObject(f.Body) {
		f.Body = []byte(`{}`)
	}
	if caps := f.get("capabilities"); caps != nil && !isEmpty(caps) {
		f.lose(lossClientCaps)
	}
	f.set("protocolVersion", []byte(`"2025-11-25"`))
	f.set("capabilities", []byte(`{}`))
	info := f.get("clientInfo")
	if !isObject(info) {
		info = []byte(`{}`)
	}
	for _, key := range []string{"name", "version"} {
		if v := member(info, key); rawjson.KindOf(v) != '"' {
			info = set(info, key, quote(orUnknown(text(f.get(key)))))
		}
	}
	f.set("clientInfo", info)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func downClassicResult(f *Frame) {
	switch f.Method {
	case "initialize":
		downClassicInitialize(f)
	case "tools/list":
		f.listOf("tools", func(tool []byte) []byte {
			tool = rename(tool, "toolId", "name")
			if !isObject(member(tool, "inputSchema")) {
				tool = set(tool, "inputSchema", `{"type":"object"}`)
			}
			return tool
		})
	case "resources/list":
		f.listOf("resources", func(r []byte) []byte {
			r = rename(r, "resourceId", "uri")
			if member(r, "name") == nil {
				r = set(r, "name", quote(text(member(r, "uri"))))
			}
			return r
		})
	case "tools/call":
		value := orNull(rawjson.Trim(f.Body))
		out := set([]byte(`{}`), "content", array([][]byte{textBlock(plainText(value))}))
		if isObject(value) {
			out = set(out, "structuredContent", value)
		}
		f.Body = out
	case "resources/read":
		f.Body = readResult(f.URI, orNull(rawjson.Trim(f.Body)))
	}
}

// plainText is the characters of a string and the JSON of anything else.
func plainText(v []byte) string {
	if s, ok := rawjson.String(v); ok {
		return s
	}
	return string(v)
}

func readResult(uri string, value []byte) []byte {
	mime := "application/json"
	if rawjson.KindOf(value) == '"' {
		mime = "text/plain"
	}
	part := set([]byte(`{}`), "uri", quote(uri))
	part = set(part, "mimeType", quote(mime))
	part = set(part, "text", quote(plainText(value)))
	return set([]byte(`{}`), "contents", array([][]byte{part}))
}

func downClassicInitialize(f *Frame) {
	if !isObject(f.Body) {
		return
	}
	if f.hasOther("name", "version", "protocolVersion", "methods", "capabilities") {
		f.lose(lossServerFields)
	}
	caps := f.get("capabilities")
	if !isObject(caps) {
		caps = []byte(`{}`)
	}
	info := set([]byte(`{}`), "name", quote(orUnknown(text(f.get("name")))))
	info = set(info, "version", quote(orUnknown(text(f.get("version")))))
	out := set([]byte(`{}`), "protocolVersion", `"2025-11-25"`)
	out = set(out, "capabilities", classicServer(caps))
	f.Body = set(out, "serverInfo", info)
}

// listOf makes a bare array the list of a result; a server that answers with an object already is left alone.
func (f *Frame) listOf(key string, fn func([]byte) []byte) {
	list := f.Body
	if isObject(list) {
		list = f.get(key)
	}
	if !isArray(list) {
		list = []byte(`[]`)
	}
	f.Body = set([]byte(`{}`), key, each(list, fn))
}

// downClassicError brings a failed tool back: an error whose data is content. Other errors stay errors.
func downClassicError(f *Frame) {
	code, ok := errorCode(f.Body)
	data := f.get("data")
	if f.Method != "tools/call" || !ok || code != codeToolFailed || !isContent(data) {
		return
	}
	f.Kind = Result
	f.Body = set(set([]byte(`{}`), "content", data), "isError", `true`)
}

func isContent(v []byte) bool {
	for c := rawjson.Array(v); c.Next(); {
		if text(member(c.Value(), "type")) == "" {
			return false
		}
	}
	return isArray(v)
}

var capsClassic = capabilityShape{
	clientDown: func([]byte) []byte { return []byte(`{}`) },
	serverDown: classicServer,
}

// classicServer keeps what are capabilities and adds the two that every classic server has.
func classicServer(caps []byte) []byte {
	for key, v := range members(caps) {
		if !isObject(v) {
			caps = remove(caps, key)
		}
	}
	for _, key := range []string{"tools", "resources"} {
		if member(caps, key) == nil {
			caps = set(caps, key, `{}`)
		}
	}
	return caps
}
