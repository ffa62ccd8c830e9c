package revision

import (
	"bytes"
	"strconv"
)

// Error codes whose meaning depends on the revision.
const (
	codeInvalidParams     = -32602
	codeInternal          = -32603
	codeToolFailed        = -32000 // classic: a tool's own failure
	codeResourceNotFound  = -32002 // before 2026-07-28, which uses codeInvalidParams
	codeMissingCapability = -32021 // MissingRequiredClientCapability, since 2026-07-28
	codeURLRequired       = -32042 // URLElicitationRequired, 2025-11-25 only
)

// reserved reports whether a code lies in the range that the specification keeps for itself since 2026-07-28.
func reserved(code int) bool { return -32099 <= code && code <= -32020 }

// errorCode reads the code of an error object; ok is false when it has no integer there.
func errorCode(body []byte) (code int, ok bool) {
	code, err := strconv.Atoi(string(member(body, "code")))
	return code, err == nil
}

func setCode(body []byte, code int) []byte { return set(body, "code", strconv.Itoa(code)) }

// saysNotFound reports whether an error of resources/read is about a missing resource and not about the request: it
// names the URI in its data, or says so in words.
func saysNotFound(body []byte) bool {
	if text(member(member(body, "data"), "uri")) != "" {
		return true
	}
	message := bytes.ToLower([]byte(text(member(body, "message"))))
	for _, words := range []string{"not found", "does not exist", "no such resource", "unknown resource"} {
		if bytes.Contains(message, []byte(words)) {
			return true
		}
	}
	return false
}
