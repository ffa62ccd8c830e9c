package jsonrpc

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpv/internal/rawjson"
)

// An ID is the raw token of a request id: `7`, `"abc"`, `9007199254740993`.
// The zero ID is absent, as in a notification. IDs are comparable; two
// spellings of one string ("a" and "\u0061") are made equal by Parse.
type ID struct{ token string }

// IntID returns the id with the token of n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID returns the id that is the JSON string s.
func StringID(s string) ID { return ID{string(rawjson.AppendString(nil, s))} }

// ParseID reads an id token, with white space around it at most. Only strings
// and integers without fraction or exponent are ids; null, booleans, objects,
// arrays and what is no JSON are not.
func ParseID(raw []byte) (ID, bool) {
	raw = rawjson.Trim(raw)
	switch rawjson.KindOf(raw) {
	case '"':
		return parseStringID(raw)
	case '0':
		digits := bytes.TrimPrefix(raw, []byte{'-'})
		if len(digits) == 0 || len(digits) > maxDigits || digits[0] == '0' && len(digits) > 1 {
			return ID{}, false
		}
		for _, c := range digits {
			if c < '0' || c > '9' {
				return ID{}, false
			}
		}
		return ID{string(raw)}, true
	}
	return ID{}, false
}

// maxDigits keeps integers within what rawjson takes for a number.
const maxDigits = 300

func parseStringID(raw []byte) (ID, bool) {
	if len(raw) < 2 || raw[len(raw)-1] != '"' {
		return ID{}, false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c == '\\' || c == '"' || c < ' ' || c >= utf8.RuneSelf {
			if rawjson.Check(raw) != nil {
				return ID{}, false
			}
			s, ok := rawjson.String(raw)
			return StringID(s), ok
		}
	}
	return ID{string(raw)}, true
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.token == "" }

// Raw returns the token as it stands on the wire, "" when absent.
func (id ID) Raw() string { return id.token }

// String is Raw for people: a string id without its quotes.
func (id ID) String() string { return strings.Trim(id.token, `"`) }

// MarshalJSON writes the token; an absent id is null.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.token == "" {
		return []byte("null"), nil
	}
	return []byte(id.token), nil
}

// UnmarshalJSON reads a token; what is no id is an error.
func (id *ID) UnmarshalJSON(raw []byte) error {
	got, ok := ParseID(raw)
	if !ok {
		return NewError(CodeInvalidRequest, "id must be a string or an integer")
	}
	*id = got
	return nil
}
