package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A shape is a subschema being built.
type shape struct {
	ref      string
	typ      string
	keywords []keyword // all others that are not below
	props    []property
	required []string
	items    *shape
	rest     *shape // additionalProperties
	closed   bool   // additionalProperties:false
	defs     []property
	given    bool // the caller's own schema
	never    bool // the caller's own schema, false
}

type keyword struct {
	key   string
	value []byte
}

type property struct {
	name  string
	shape *shape
}

// order is the order of keywords in the output; those not listed come last, as set.
var order = []string{"title", "description", "deprecated", "enum", "default", "examples", "minimum", "maximum",
	"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
	"contentEncoding", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "x-mcp-header"}

func (s *shape) set(key string, value []byte) {
	for i := range s.keywords {
		if s.keywords[i].key == key {
			s.keywords[i].value = value
			return
		}
	}
	s.keywords = append(s.keywords, keyword{key, value})
}

func (s *shape) get(key string) []byte {
	for _, k := range s.keywords {
		if k.key == key {
			return k.value
		}
	}
	return nil
}

// isFree reports whether the shape is the empty schema.
func (s *shape) isFree() bool {
	return s.ref == "" && s.typ == "" && len(s.keywords) == 0 && !s.never
}

// hasRef reports whether the shape refers to something outside itself.
func (s *shape) hasRef() bool {
	if s == nil {
		return false
	}
	for _, p := range s.props {
		if p.shape.hasRef() {
			return true
		}
	}
	return s.ref != "" || s.given || s.items.hasRef() || s.rest.hasRef()
}

// append writes the schema, compact and in a fixed order.
func (s *shape) append(b []byte) []byte {
	if s.never {
		return append(b, "false"...)
	}
	b = append(b, '{')
	if s.ref != "" {
		b = appendString(appendKey(b, "$ref"), s.ref)
	}
	if s.typ != "" {
		b = appendString(appendKey(b, "type"), s.typ)
	}
	slices.SortStableFunc(s.keywords, func(a, b keyword) int { return rank(a.key) - rank(b.key) })
	for _, k := range s.keywords {
		b = append(appendKey(b, k.key), k.value...)
	}
	if s.props != nil {
		b = appendProperties(appendKey(b, "properties"), s.props)
	}
	if len(s.required) > 0 {
		b = append(appendKey(b, "required"), '[')
		for i, name := range s.required {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, name)
		}
		b = append(b, ']')
	}
	if s.items != nil {
		b = s.items.append(appendKey(b, "items"))
	}
	switch {
	case s.rest != nil:
		b = s.rest.append(appendKey(b, "additionalProperties"))
	case s.closed:
		b = append(appendKey(b, "additionalProperties"), "false"...)
	}
	if len(s.defs) > 0 {
		b = appendProperties(appendKey(b, "$defs"), s.defs)
	}
	return append(b, '}')
}

func rank(key string) int {
	if i := slices.Index(order, key); i >= 0 {
		return i
	}
	return len(order)
}

func appendProperties(b []byte, ps []property) []byte {
	b = append(b, '{')
	for _, p := range ps {
		b = p.shape.append(appendKey(b, p.name))
	}
	return append(b, '}')
}

// appendKey writes "key": after a comma where one is due.
func appendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendString(b, key), ':')
}

// appendString quotes s; bytes that are not UTF-8 are replaced.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	return b
}

// parseShape reads a schema given by the caller, member by member.
func parseShape(raw jsontext.Value) (*shape, error) {
	raw = raw.Clone()
	if err := raw.Compact(); err != nil {
		return nil, err
	}
	switch string(raw) {
	case "true":
		return &shape{given: true}, nil
	case "false":
		return &shape{given: true, never: true}, nil
	}
	s := &shape{given: true}
	c := cursor{b: raw}
	ok := c.object(func(name []byte, escaped bool) bool {
		key, ok := unescape(name, escaped, nil)
		if !ok {
			return false
		}
		v, ok := c.value(maxInstanceDepth)
		switch {
		case !ok:
		case string(key) == "type" && v[0] == '"':
			s.typ = string(v[1 : len(v)-1])
		default:
			s.set(string(key), v)
		}
		return ok
	})
	if !ok {
		return nil, errors.New("not an object or a boolean")
	}
	return s, nil
}
