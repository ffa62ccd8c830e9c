package schema

import (
	"regexp"
	"strconv"
	"strings"
)

// The types of a value, as bits.
const (
	isNull = 1 << iota
	isBoolean
	isInteger
	isNumber // includes isInteger's values
	isString
	isArray
	isObject
)

var typeNames = [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}

// A node is a compiled subschema of the common subset. The zero node, apart from
// its bounds, allows everything. Nodes are immutable once compiled.
type node struct {
	never bool // the schema false
	free  bool // nothing to check

	types  uint8 // 0 is any
	enum   []scalar
	konst  []scalar // at most one
	bounds []bound

	minLen, maxLen     int // -1 is none
	minItems, maxItems int
	pattern            *regexp.Regexp
	items              *node

	props    []prop
	index    map[string]int // set when there are many props
	required uint64         // the required ones of props, as bits
	closed   bool
	rest     *node // of the other properties; nil is any
}

// A prop is a name that the schema mentions, in properties or in required.
type prop struct {
	name     string
	declared bool
	required bool
	node     *node
}

// A scalar is a value of enum or const.
type scalar struct {
	kind uint8 // a type bit; isNumber for all numbers
	text []byte
	num  decimal
	raw  string
}

type bound struct {
	key  string // "minimum", …
	num  decimal
	text string
}

// find returns the index of a property, -1 when the schema does not mention it.
func (n *node) find(name []byte) int {
	if n.index != nil {
		if i, ok := n.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range n.props {
		if n.props[i].name == string(name) {
			return i
		}
	}
	return -1
}

// A fastCompiler compiles the common subset. It fails, without a reason, on
// anything outside of it, malformed keywords included: the complete validator's
// compiler then says what is wrong.
type fastCompiler struct {
	root bool // the next object is the root
}

func (fc *fastCompiler) compile(c *cursor) (*node, bool) {
	n := &node{minLen: -1, maxLen: -1, minItems: -1, maxItems: -1}
	switch c.next() {
	case 't':
		n.free = true
		return n, c.literal("true")
	case 'f':
		n.never = true
		return n, c.literal("false")
	}
	root := fc.root
	fc.root = false
	free := true
	ok := c.object(func(name []byte, escaped bool) bool {
		key := string(name)
		if escaped {
			return false
		}
		if note, known := annotations[key]; known || strings.HasPrefix(key, "x-") {
			raw, ok := c.value(maxInstanceDepth)
			return ok && (note == 0 || note == raw[0] || note == 'b' && (raw[0] == 't' || raw[0] == 'f'))
		}
		if key == "$schema" {
			_, _, ok := c.str()
			return ok && root
		}
		free = false
		return fc.keyword(n, key, c)
	})
	if !ok {
		return nil, false
	}
	n.free = free
	n.seal()
	return n, true
}

// annotations maps the keywords that assert nothing to the first byte their
// value must have: 0 any, 'b' a boolean.
var annotations = map[string]byte{
	"title": '"', "description": '"', "$comment": '"', "format": '"', "contentEncoding": '"',
	"contentMediaType": '"', "default": 0, "examples": '[', "deprecated": 'b', "readOnly": 'b', "writeOnly": 'b',
}

// seal computes what find and the object check need.
func (n *node) seal() {
	if len(n.props) > 8 {
		n.index = make(map[string]int, len(n.props))
	}
	for i, p := range n.props {
		if n.index != nil {
			n.index[p.name] = i
		}
		if p.required {
			n.required |= 1 << i
		}
	}
}

func (fc *fastCompiler) keyword(n *node, key string, c *cursor) (ok bool) {
	switch key {
	case "type":
		n.types, ok = compileTypes(c)
	case "enum":
		ok = c.next() == '[' && c.array(func() bool {
			s, ok := compileScalar(c)
			n.enum = append(n.enum, s)
			return ok
		}) && len(n.enum) > 0
	case "const":
		var s scalar
		s, ok = compileScalar(c)
		n.konst = []scalar{s}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		c.next()
		var tok []byte
		if tok, ok = c.num(); ok {
			n.bounds = append(n.bounds, bound{key, parseDecimal(tok), string(tok)})
		}
	case "minLength":
		n.minLen, ok = compileCount(c)
	case "maxLength":
		n.maxLen, ok = compileCount(c)
	case "minItems":
		n.minItems, ok = compileCount(c)
	case "maxItems":
		n.maxItems, ok = compileCount(c)
	case "uniqueItems":
		ok = c.next() == 'f' && c.literal("false")
	case "pattern":
		var s string
		if s, ok = compileString(c); ok {
			var err error
			n.pattern, err = regexp.Compile(s)
			ok = err == nil
		}
	case "items":
		if ok = c.next() != '['; ok {
			n.items, ok = fc.compile(c)
		}
	default:
		ok = fc.objectKeyword(n, key, c)
	}
	return ok
}

func (fc *fastCompiler) objectKeyword(n *node, key string, c *cursor) bool {
	switch key {
	case "properties":
		return c.next() == '{' && c.object(func(name []byte, escaped bool) bool {
			text, ok := unescape(name, escaped, nil)
			if !ok {
				return false
			}
			sub, ok := fc.compile(c)
			p := n.mention(string(text))
			if p == nil {
				return false
			}
			p.declared, p.node = true, sub
			return ok
		})
	case "required":
		return c.next() == '[' && c.array(func() bool {
			s, ok := compileString(c)
			if !ok {
				return false
			}
			p := n.mention(s)
			if p == nil || p.required { // names must be unique
				return false
			}
			p.required = true
			return true
		})
	case "additionalProperties":
		sub, ok := fc.compile(c)
		if !ok {
			return false
		}
		n.closed, n.rest = sub.never, sub
		return true
	}
	return false
}

// maxProps is how many names one object of the subset may mention: they are bits of a word.
const maxProps = 64

func (n *node) mention(name string) *prop {
	for i := range n.props {
		if n.props[i].name == name {
			return &n.props[i]
		}
	}
	if len(n.props) == maxProps {
		return nil
	}
	n.props = append(n.props, prop{name: name})
	return &n.props[len(n.props)-1]
}

func compileTypes(c *cursor) (mask uint8, ok bool) {
	one := func() bool {
		s, ok := compileString(c)
		for i, name := range typeNames {
			if ok && s == name && mask&(1<<i) == 0 {
				mask |= 1 << i
				return true
			}
		}
		return false
	}
	if c.next() == '"' {
		ok = one()
		return mask, ok
	}
	ok = c.next() == '[' && c.array(one) && mask != 0
	return mask, ok
}

func compileString(c *cursor) (string, bool) {
	content, escaped, ok := c.str()
	if !ok {
		return "", false
	}
	text, ok := unescape(content, escaped, nil)
	return string(text), ok
}

// compileCount reads a small natural number in its plain form.
func compileCount(c *cursor) (int, bool) {
	c.next()
	tok, ok := c.num()
	if !ok || len(tok) > 9 {
		return -1, false
	}
	n, err := strconv.Atoi(string(tok))
	return n, err == nil && n >= 0
}

func compileScalar(c *cursor) (scalar, bool) {
	switch ch := c.next(); ch {
	case '{', '[':
		return scalar{}, false
	case '"':
		start := c.i
		s, ok := compileString(c)
		return scalar{kind: isString, text: []byte(s), raw: string(c.b[start:c.i])}, ok
	default:
		start := c.i
		if !c.scalar() {
			return scalar{}, false
		}
		s := scalar{raw: string(c.b[start:c.i])}
		switch ch {
		case 'n':
			s.kind = isNull
		case 't', 'f':
			s.kind, s.text = isBoolean, []byte(s.raw)
		default:
			s.kind, s.num = isNumber, parseDecimal([]byte(s.raw))
		}
		return s, true
	}
}
