package schema

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxInstanceDepth bounds the nesting of an instance (design: depth ≤ 256).
	maxInstanceDepth = 256
	// maxNumberLen and maxExponent bound one number. A decimal such as 1e999999
	// is a few bytes that an exact comparison would blow up to megabytes.
	maxNumberLen = 1000
	maxExponent  = 1000
)

// A cursor walks JSON text. Its methods return false on malformed text and then
// leave the position undefined. It checks syntax, but neither UTF-8 nor
// duplicate names: its input went through the strict parser already.
type cursor struct {
	b []byte
	i int
}

// next skips white space and returns the byte there, 0 at the end.
func (c *cursor) next() byte {
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; ch {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return ch
		}
	}
	return 0
}

// eat consumes ch, after white space.
func (c *cursor) eat(ch byte) bool {
	if c.next() != ch {
		return false
	}
	c.i++
	return true
}

// str consumes a string and returns its content between the quotes, still escaped.
func (c *cursor) str() (content []byte, escaped, ok bool) {
	if !c.eat('"') {
		return nil, false, false
	}
	start := c.i
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; {
		case ch == '"':
			content = c.b[start:c.i]
			c.i++
			return content, escaped, true
		case ch == '\\':
			escaped = true
			c.i += 2
		case ch < 0x20:
			return nil, false, false
		default:
			c.i++
		}
	}
	return nil, false, false
}

// unescape returns the text of a string's content; without escapes that is content itself.
func unescape(content []byte, escaped bool, buf []byte) ([]byte, bool) {
	if !escaped {
		return content, true
	}
	quoted := make([]byte, 0, len(content)+2)
	quoted = append(append(append(quoted, '"'), content...), '"')
	out, err := jsontext.AppendUnquote(buf[:0], quoted)
	return out, err == nil
}

// num consumes a number.
func (c *cursor) num() ([]byte, bool) {
	start := c.i
	if c.i < len(c.b) && c.b[c.i] == '-' {
		c.i++
	}
	first := c.i
	if n := c.digits(); n == 0 || n > 1 && c.b[first] == '0' {
		return nil, false
	}
	if c.i < len(c.b) && c.b[c.i] == '.' {
		c.i++
		if c.digits() == 0 {
			return nil, false
		}
	}
	if c.i < len(c.b) && c.b[c.i]|0x20 == 'e' {
		c.i++
		if c.i < len(c.b) && (c.b[c.i] == '+' || c.b[c.i] == '-') {
			c.i++
		}
		if c.digits() == 0 {
			return nil, false
		}
	}
	return c.b[start:c.i], true
}

func (c *cursor) digits() int {
	start := c.i
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i - start
}

func (c *cursor) literal(s string) bool {
	if len(c.b)-c.i < len(s) || string(c.b[c.i:c.i+len(s)]) != s {
		return false
	}
	c.i += len(s)
	return true
}

// value consumes any value and returns its bytes. depth is what is left of the allowed nesting.
func (c *cursor) value(depth int) ([]byte, bool) {
	ch := c.next()
	start := c.i
	ok := false
	switch {
	case ch == '"':
		_, _, ok = c.str()
	case ch == '{':
		ok = depth > 0 && c.object(func([]byte, bool) bool { _, ok := c.value(depth - 1); return ok })
	case ch == '[':
		ok = depth > 0 && c.array(func() bool { _, ok := c.value(depth - 1); return ok })
	default:
		ok = c.scalar()
	}
	if !ok {
		return nil, false
	}
	return c.b[start:c.i], true
}

// scalar consumes a number, true, false or null.
func (c *cursor) scalar() bool {
	switch ch := c.next(); {
	case ch == 't':
		return c.literal("true")
	case ch == 'f':
		return c.literal("false")
	case ch == 'n':
		return c.literal("null")
	case ch == '-' || ch >= '0' && ch <= '9':
		n, ok := c.num()
		return ok && inRange(n)
	}
	return false
}

// object consumes an object and calls member with each name, the cursor standing
// on the value, which member consumes. The name is still escaped if escaped is set.
func (c *cursor) object(member func(name []byte, escaped bool) bool) bool {
	if !c.eat('{') {
		return false
	}
	if c.next() == '}' {
		c.i++
		return true
	}
	for {
		name, escaped, ok := c.str()
		if !ok || !c.eat(':') || !member(name, escaped) {
			return false
		}
		switch c.next() {
		case ',':
			c.i++
		case '}':
			c.i++
			return true
		default:
			return false
		}
	}
}

// array consumes an array and calls item with the cursor on each element.
func (c *cursor) array(item func() bool) bool {
	if !c.eat('[') {
		return false
	}
	if c.next() == ']' {
		c.i++
		return true
	}
	for {
		if !item() {
			return false
		}
		switch c.next() {
		case ',':
			c.i++
		case ']':
			c.i++
			return true
		default:
			return false
		}
	}
}

// end reports whether only white space is left.
func (c *cursor) end() bool { c.next(); return c.i == len(c.b) }

// inRange reports whether a number token is within the bounds of one number.
func inRange(n []byte) bool {
	if len(n) > maxNumberLen {
		return false
	}
	e := bytes.IndexAny(n, "eE")
	if e < 0 {
		return true
	}
	exp, ok := exponent(n[e+1:])
	return ok && exp <= maxExponent && exp >= -maxExponent
}

// exponent reads the digits after e; it fails on more than nine of them.
func exponent(s []byte) (int, bool) {
	neg := s[0] == '-'
	if neg || s[0] == '+' {
		s = s[1:]
	}
	s = bytes.TrimLeft(s, "0")
	if len(s) > 9 {
		return 0, false
	}
	n := 0
	for _, d := range s {
		n = n*10 + int(d-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}
