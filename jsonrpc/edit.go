package jsonrpc

import "mcpv/internal/rawjson"

// Get returns the raw value that path names in the params, result or error
// object, member by member from there inwards: the body itself for no path, nil
// when there is no such member. It is part of the frame and must not be changed.
func (m *Message) Get(path ...string) []byte {
	body := m.body()
	if body == nil {
		return nil
	}
	return rawjson.Get(body, path...)
}

// With returns the message with value, raw JSON, at the path in its params,
// result or error object. A value that is there is replaced in place; else it
// becomes the last member, and objects missing on the way are made. All other
// bytes stay.
func (m *Message) With(value []byte, path ...string) *Message {
	body := m.body()
	if body == nil {
		body = []byte("{}")
	}
	return m.WithBody(rawjson.Set(body, value, path...))
}

// Without returns the message without the member that path names in its params,
// result or error object; all other bytes stay.
func (m *Message) Without(path ...string) *Message {
	body := m.body()
	if body == nil || len(path) == 0 {
		return m
	}
	return m.WithBody(rawjson.Delete(body, path...))
}

// body returns params, result or error object, nil when there is none.
func (m *Message) body() []byte {
	if m.bodyAt.end == 0 {
		return nil
	}
	return m.bodyAt.of(m.raw)
}
