package revision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"mcpv/internal/rawjson"
)

// V2026_07_28 made the protocol stateless: no handshake, no sessions, no requests from the server, every request with
// its own context in _meta, results typed and cacheable, tasks moved to an extension.
//
//nolint:revive // the underscores keep the date readable, which is the name of the thing
var V2026_07_28 = &Revision{
	Name: "2026-07-28",
	Era:  Modern,
	Rules: Rules{
		Discover:              true,
		RequestMeta:           true,
		InputRequired:         true,
		ResultType:            true,
		CacheHints:            true,
		ProgressMessage:       true,
		ErrorIDOptional:       true,
		Pagination:            true,
		Streamable:            true,
		VersionHeader:         true,
		StandardHeaders:       true,
		DisconnectCancels:     true,
		Listen:                true,
		CompletionsCapability: true,
		CompletionContext:     true,
		StructuredContent:     true,
		StructuredAny:         true,
		ResourceLinks:         true,
		Audio:                 true,
		ToolAnnotations:       true,
		Titles:                true,
		Icons:                 true,
		TasksExtension:        true,
		ResourceNotFound:      codeInvalidParams,
		Elicitation:           true,
		URLElicitation:        true,
		EnumSchemas:           true,
		SamplingTools:         true,
	},
	base:      V2025_11_25,
	up:        up20260728,
	down:      down20260728,
	caps:      caps20260728,
	losses:    losses20260728,
	methods:   methods20260728,
	cacheable: cacheable20260728,
}

// The closed sets of the schema, the questions that only travel in inputRequests, and the methods of the tasks
// extension.
var methods20260728 = table(
	requests(ClientToServer,
		"server/discover",
		"tools/list", "tools/call",
		"prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read",
		"subscriptions/listen", "completion/complete"),
	embedded("sampling/createMessage", "roots/list", "elicitation/create"),
	notifications(ServerToClient,
		"notifications/progress", "notifications/message", "notifications/subscriptions/acknowledged",
		"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated"),
	notifications(Both, "notifications/cancelled"),
	extension(TasksExtensionID, requests(ClientToServer, "tasks/get", "tasks/update", "tasks/cancel")),
	extension(TasksExtensionID, notifications(ServerToClient, "notifications/tasks")),
)

var cacheable20260728 = []string{
	"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
}

func embedded(names ...string) []Method {
	t := requests(ServerToClient, names...)
	for i := range t {
		t[i].Embedded = true
	}
	return t
}

func extension(id string, t []Method) []Method {
	for i := range t {
		t[i].Extension = id
	}
	return t
}

// lossTask and so on are the values of Frame.Lost; each revision lists its own.
const (
	lossTask            = "task augmentation"
	lossRelatedTask     = "related task"
	lossToolExecution   = "tool execution"
	lossQuestionMeta    = "question _meta"
	lossElicitationID   = "elicitationId"
	lossErrorCode       = "error code"
	lossCacheHints      = "cache hints"
	lossInputResponses  = "input responses"
	lossStructuredAny   = "non-object structuredContent"
	lossOutputSchemaAny = "non-object outputSchema"
)

var losses20260728 = []string{
	lossCacheHints, lossElicitationID, lossErrorCode, lossInputResponses, lossOutputSchemaAny, lossStructuredAny,
	lossQuestionMeta, lossRelatedTask, lossTask, lossToolExecution,
}

func up20260728(f *Frame) error {
	if asksClient(f.Method) {
		if f.Kind == Request {
			f.drop(lossTask, "task")
			f.drop(lossElicitationID, "elicitationId")
			f.drop(lossQuestionMeta, "_meta")
		}
		return nil // a bare answer, or a notification nobody defines
	}
	switch f.Kind {
	case Request:
		if f.Method == "tools/call" {
			f.drop(lossTask, "task")
		}
	case Result:
		if isTaskHandle(f) {
			return ErrNoCounterpart
		}
		upResult20260728(f)
	case Error:
		upError20260728(f)
		return nil
	}
	f.edit("_meta", func(meta []byte) []byte { return f.without(meta, lossRelatedTask, MetaRelatedTask) })
	f.addMeta(f.Meta)
	return nil
}

// asksClient reports whether the method is a question to the client. In the modern era its params and its result
// travel inside other frames, without _meta and resultType.
func asksClient(method string) bool {
	return method == "elicitation/create" || method == "sampling/createMessage" || method == "roots/list"
}

// isTaskHandle recognises the CreateTaskResult of 2025-11-25, which names a task in place of the tool's answer.
func isTaskHandle(f *Frame) bool {
	return f.Method == "tools/call" && isObject(f.get("task")) && f.get("content") == nil
}

// upResult20260728 completes a legacy result. A resultType that a legacy server happens to send means nothing.
func upResult20260728(f *Frame) {
	if f.Method == "tools/list" && mayHave(f.Body, "execution") {
		f.eachIn("tools", func(tool []byte) []byte { return f.without(tool, lossToolExecution, "execution") })
	}
	var room [3]pair
	missing := room[:0]
	if text(f.get("resultType")) != "complete" {
		missing = append(missing, pair{"resultType", `"complete"`})
	}
	if slices.Contains(cacheable20260728, f.Method) {
		if ttl := f.get("ttlMs"); rawjson.KindOf(ttl) != '0' || ttl[0] == '-' {
			missing = append(missing, pair{"ttlMs", conservativeTTL})
		}
		if s := text(f.get("cacheScope")); s != "public" && s != "private" {
			missing = append(missing, pair{"cacheScope", conservativeScope})
		}
	}
	f.setAll(missing...)
}

// What is said for results whose origin gave no cache hints.
const (
	conservativeTTL   = `0`
	conservativeScope = `"private"`
)

// upError20260728 keeps legacy codes out of the ranges that the modern era reserves, and -32002 out of everything.
// The code -32042 has a conversation of its own in package mcp; here it is one of the reserved ones.
func upError20260728(f *Frame) {
	code, ok := errorCode(f.Body)
	switch {
	case !ok:
	case code == codeResourceNotFound && strings.HasPrefix(f.Method, "resources/"):
		f.Body = setCode(f.Body, codeInvalidParams)
	case code == codeResourceNotFound, reserved(code):
		f.Body = setCode(f.Body, codeInternal)
		f.lose(lossErrorCode)
	}
}

func down20260728(f *Frame) error {
	if asksClient(f.Method) {
		if f.Kind == Request && text(f.get("mode")) == "url" {
			f.set("elicitationId", elicitationID(text(f.get("url"))))
		}
		return nil
	}
	switch f.Kind {
	case Request:
		f.drop(lossInputResponses, "inputResponses", "requestState")
		f.stripMeta(func(key string) bool { return strings.HasPrefix(key, MetaPrefix) })
	case Notification:
		f.stripMeta(func(key string) bool { return key == MetaSubscriptionID })
	case Result:
		return downResult20260728(f)
	case Error:
		downError20260728(f)
	}
	return nil
}

// elicitationID makes the id that 2025-11-25 demands of a URL elicitation from the URL, so that asking again for the
// same URL, which is how the modern era waits for its completion, gives the same id.
func elicitationID(url string) []byte {
	sum := sha256.Sum256([]byte(url))
	return quote(hex.EncodeToString(sum[:16]))
}

func downResult20260728(f *Frame) error {
	if t := f.get("resultType"); t != nil && text(t) != "complete" {
		return ErrNoCounterpart
	}
	f.remove("resultType")
	if slices.Contains(cacheable20260728, f.Method) {
		ttl, scope := f.get("ttlMs"), f.get("cacheScope")
		if ttl != nil && string(ttl) != conservativeTTL || scope != nil && string(scope) != conservativeScope {
			f.lose(lossCacheHints)
		}
		f.remove("ttlMs", "cacheScope")
	}
	f.stripMeta(func(key string) bool { return key == MetaServerInfo || key == MetaSubscriptionID })
	switch f.Method {
	case "tools/call":
		f.edit("structuredContent", func(v []byte) []byte {
			if isObject(v) {
				return v
			}
			f.lose(lossStructuredAny)
			return slices.Concat([]byte(`{"result":`), v, []byte(`}`))
		})
	case "tools/list":
		f.eachIn("tools", func(tool []byte) []byte { return objectOutput(f, tool) })
	}
	return nil
}

// objectOutput gives a tool an output schema with an object at its root, as older revisions demand. A schema that
// allows no objects is wrapped like its values. One that allows objects and others, or that would change its meaning
// when moved, is dropped: the structured content is then without a schema, which is legal.
func objectOutput(f *Frame, tool []byte) []byte {
	schema := member(tool, "outputSchema")
	if schema == nil {
		return tool
	}
	t := member(schema, "type")
	if text(t) == "object" {
		return tool
	}
	f.lose(lossOutputSchemaAny)
	if t == nil || slices.ContainsFunc(elements(t), func(e []byte) bool { return text(e) == "object" }) || !movable(schema) {
		return remove(tool, "outputSchema")
	}
	return set(tool, "outputSchema", wrapSchema(schema))
}

// movable reports whether every reference inside schema is one that wrapSchema keeps valid.
func movable(schema []byte) bool {
	if member(schema, "$id") != nil {
		return true
	}
	for rest := schema; ; {
		i := bytes.Index(rest, []byte(`"#`))
		if i < 0 {
			return true
		}
		rest = rest[i+2:]
		if !bytes.HasPrefix(rest, []byte(`/$defs/`)) && !bytes.HasPrefix(rest, []byte(`/definitions/`)) {
			return false
		}
	}
}

// wrapSchema describes {"result": v} for the values v of schema. Definitions move to the new root, where references
// look for them.
func wrapSchema(schema []byte) []byte {
	root := []byte(`{"type":"object"}`)
	moves := []string{"$schema", "$defs", "definitions"}
	if member(schema, "$id") != nil {
		moves = nil // references count from the $id, wherever it is
	}
	for _, key := range moves {
		if v := member(schema, key); v != nil {
			root = set(root, key, v)
			schema = remove(schema, key)
		}
	}
	root = set(root, "properties", `{"result":`+string(schema)+`}`)
	return set(root, "required", `["result"]`)
}

func downError20260728(f *Frame) {
	code, ok := errorCode(f.Body)
	switch {
	case !ok:
	case code == codeInvalidParams && f.Method == "resources/read" && saysNotFound(f.Body):
		f.Body = setCode(f.Body, codeResourceNotFound)
	case code == codeMissingCapability:
		f.Body = setCode(f.Body, codeInvalidParams)
		f.lose(lossErrorCode)
	case reserved(code):
		f.Body = setCode(f.Body, codeInternal)
		f.lose(lossErrorCode)
	}
}

var caps20260728 = capabilityShape{
	clientUp: func(c []byte) []byte {
		c = edit(c, "roots", func(roots []byte) []byte { return remove(roots, "listChanged") })
		return formElicitation(remove(c, "tasks"))
	},
	clientDown: withoutTasksExtension,
	serverUp:   func(c []byte) []byte { return remove(c, "tasks") },
	serverDown: withoutTasksExtension,
}

// withoutTasksExtension hides the extension from revisions in which it must not enable anything.
func withoutTasksExtension(c []byte) []byte {
	extensions := member(c, "extensions")
	rest := remove(extensions, TasksExtensionID)
	switch {
	case same(rest, extensions):
		return c
	case isEmpty(rest):
		return remove(c, "extensions")
	}
	return set(c, "extensions", rest)
}
