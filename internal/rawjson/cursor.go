package rawjson

import "bytes"

// KindOf tells the kind of a value by its first byte: '{', '[', '"', 't', 'f',
// 'n', '0' for every number, and 0 when v begins like no value.
func KindOf(v []byte) byte {
	switch c := at(v, skipSpace(v, 0)); {
	case c == '{', c == '[', c == '"', c == 't', c == 'f', c == 'n':
		return c
	case c == '-', c-'0' <= 9:
		return '0'
	}
	return 0
}

// Trim returns v without the JSON white space around it.
func Trim(v []byte) []byte {
	start, end := skipSpace(v, 0), len(v)
	for end > start && isSpace(v[end-1]) {
		end--
	}
	return v[start:end:end]
}

// Cursor walks the members of an object or the elements of an array. It is a
// plain value and aliases the text it was made of; the zero Cursor is at its end.
//
//	for c := rawjson.Object(v); c.Next(); {
//		if c.KeyIs("name") { … c.Value() … }
//	}
type Cursor struct {
	data   []byte
	i      int // before the next member, or its comma
	object bool
	comma  int // index of the comma before the current member, -1 for the first one
	key    Span
	value  Span
}

// Object returns a Cursor before the first member of v. It is at its end when v
// is no object.
func Object(v []byte) Cursor { return open(v, '{') }

// Array returns a Cursor before the first element of v. It is at its end when v
// is no array.
func Array(v []byte) Cursor { return open(v, '[') }

func open(v []byte, opener byte) Cursor {
	i := skipSpace(v, 0)
	if at(v, i) != opener {
		return Cursor{}
	}
	return Cursor{data: v, i: i + 1, object: opener == '{', comma: -1}
}

// Next moves to the next member or element and reports whether there is one.
func (c *Cursor) Next() bool { return c.step() && c.skip() }

// seek moves to the next member with this name. It leaves the end of its value
// unknown until skip is called: whoever goes on inside need not pass it twice.
func (c *Cursor) seek(name string) bool {
	for c.step() {
		if c.KeyIs(name) {
			return true
		}
		if !c.skip() {
			return false
		}
	}
	return false
}

// step moves to the start of the next value.
func (c *Cursor) step() bool {
	i := skipSpace(c.data, c.i)
	if i >= len(c.data) {
		return c.end()
	}
	if c.value.End > 0 {
		if at(c.data, i) != ',' {
			return c.end()
		}
		c.comma = i
		i = skipSpace(c.data, i+1)
	}
	if c.object {
		if at(c.data, i) != '"' {
			return c.end()
		}
		c.key = Span{i, skipString(c.data, i+1)}
		if i = skipSpace(c.data, c.key.End); at(c.data, i) != ':' {
			return c.end()
		}
		i = skipSpace(c.data, i+1)
	}
	c.value.Start = i
	return true
}

// skip moves to the end of the value that step has found.
func (c *Cursor) skip() bool {
	end := skipValue(c.data, c.value.Start)
	if end == c.value.Start {
		return c.end()
	}
	c.value.End = end
	c.i = end
	return true
}

// end leaves the Cursor so that it stays at its end.
func (c *Cursor) end() bool {
	c.data, c.i = nil, 0
	return false
}

// KeyIs reports whether the current member has this name, without allocating.
func (c *Cursor) KeyIs(name string) bool {
	raw := c.rawKey()
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == name
	}
	var buf [64]byte
	return string(appendUnescaped(buf[:0], raw)) == name
}

// Key returns the unescaped name of the current member, "" in an array.
func (c *Cursor) Key() string {
	raw := c.rawKey()
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var buf [64]byte
	return string(appendUnescaped(buf[:0], raw))
}

// rawKey returns the name without its quotes, as written.
func (c *Cursor) rawKey() []byte {
	if c.key.End-c.key.Start < 2 || c.key.End > len(c.data) {
		return nil
	}
	return c.data[c.key.Start+1 : c.key.End-1]
}

// Value returns the current value as a part of the text, without surrounding
// space and without spare capacity.
func (c *Cursor) Value() []byte {
	if c.value.End > len(c.data) || c.value.Start > c.value.End {
		return nil
	}
	return c.data[c.value.Start:c.value.End:c.value.End]
}

// Span returns where the current value is in the text given to Object or Array.
func (c *Cursor) Span() Span { return c.value }

// MemberSpan returns where the current member is, name and value; in an array
// it is Span.
func (c *Cursor) MemberSpan() Span {
	if !c.object {
		return c.value
	}
	return Span{c.key.Start, c.value.End}
}

// skipValue returns the index after the value that starts at i; i itself when
// none does.
func skipValue(data []byte, i int) int {
	switch c := at(data, i); c {
	case '"':
		return skipString(data, i+1)
	case '{', '[':
		return skipContainer(data, i)
	}
	for uint(i) < uint(len(data)) && !endsScalar[data[i]] {
		i++
	}
	return i
}

// endsScalar marks the bytes that no number or literal contains.
var endsScalar = [256]bool{
	' ': true, '\t': true, '\n': true, '\r': true, ',': true, ':': true,
	'"': true, '{': true, '}': true, '[': true, ']': true,
}

// skipContainer returns the index after the container that opens at i, or the
// length of the text when it does not close. Inside checked text brackets match,
// so counting them is enough.
func skipContainer(data []byte, i int) int {
	depth := 0
	for uint(i) < uint(len(data)) {
		c := data[i]
		i++
		switch c {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(data)
}
