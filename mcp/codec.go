package mcp

import (
	"mcpv/internal/rawjson"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON is a raw JSON value. Unlike a decoded one it keeps numbers, member order
// and everything else as they were.
type JSON = jsontext.Value

// decode reads JSON that has already been checked to be strict, so the checks
// of duplicates and UTF-8 are not paid twice. Members match by exact case.
func decode(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into, lax)
}

var lax = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// encode writes values of this package, which cannot fail.
func encode(v any) []byte {
	b, err := json.Marshal(v, deterministic)
	if err != nil {
		panic("mcp: encoding " + err.Error()) // a programming error; recovered as -32603
	}
	return b
}

var deterministic = json.Deterministic(true)

// encodeValue writes a caller's value. Raw JSON is checked and stays as it is,
// but for white space around it; nil stays nil.
func encodeValue(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case JSON:
		return trimmed(v)
	case []byte:
		return trimmed(v)
	}
	return json.Marshal(v, deterministic)
}

func trimmed(raw []byte) ([]byte, error) {
	if raw == nil {
		return nil, nil
	}
	if err := rawjson.Check(raw); err != nil {
		return nil, err
	}
	return rawjson.Trim(raw), nil
}
