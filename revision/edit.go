package revision

import (
	"bytes"
	"iter"
	"slices"

	"mcpv/internal/rawjson"
)

// Reading and splicing of JSON values. A value that is absent is nil. Every function that takes an object takes
// anything else too, as an object without members that cannot be edited. Editors return the slice they were given
// when nothing changes and never write into it.

// same reports whether a and b are one slice, that is, whether an editor changed nothing.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func isObject(v []byte) bool { return rawjson.KindOf(v) == '{' }
func isArray(v []byte) bool  { return rawjson.KindOf(v) == '[' }

// isEmpty reports whether v is an object without members.
func isEmpty(v []byte) bool {
	c := rawjson.Object(v)
	return isObject(v) && !c.Next()
}

func member(obj []byte, key string) []byte {
	return rawjson.Get(obj, key)
}

// text returns the characters of a string, and "" for everything else.
func text(v []byte) string {
	s, _ := rawjson.String(v)
	return s
}

func quote(s string) []byte { return rawjson.AppendString(nil, s) }

func elements(arr []byte) [][]byte {
	var list [][]byte
	for c := rawjson.Array(arr); c.Next(); {
		list = append(list, c.Value())
	}
	return list
}

// mayHave reports false when no object anywhere in v has a member of this name, a plain word. It is a plain search,
// many times faster than walking a long list that has nothing to edit. A name written with escapes is not seen, so
// their mere presence counts.
func mayHave(v []byte, key string) bool {
	return bytes.Contains(v, []byte(`"`+key+`"`)) || bytes.Contains(v, []byte(`\u`))
}

func members(obj []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for c := rawjson.Object(obj); c.Next(); {
			if !yield(c.Key(), c.Value()) {
				return
			}
		}
	}
}

func array(list [][]byte) []byte {
	out := []byte{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

func set[V string | []byte](obj []byte, key string, value V) []byte {
	if !isObject(obj) {
		return obj
	}
	return rawjson.Set(obj, []byte(value), key)
}

func remove(obj []byte, keys ...string) []byte {
	for c := rawjson.Object(obj); c.Next(); {
		if slices.ContainsFunc(keys, c.KeyIs) {
			for _, k := range keys {
				obj = rawjson.Delete(obj, k)
			}
			return obj
		}
	}
	return obj
}

// rename gives a member another name, unless that is taken.
func rename(obj []byte, from, to string) []byte {
	if member(obj, to) != nil {
		return obj
	}
	return rawjson.Rename(obj, to, from)
}

// edit replaces a member by what fn makes of its value, unless the member is absent.
func edit(obj []byte, key string, fn func([]byte) []byte) []byte {
	old := member(obj, key)
	if old == nil {
		return obj
	}
	if v := fn(old); !same(v, old) {
		return set(obj, key, v)
	}
	return obj
}

// each replaces the elements of an array by what fn makes of them, which may be several values with commas between.
func each(arr []byte, fn func([]byte) []byte) []byte {
	var out []byte
	copied := 0
	for c := rawjson.Array(arr); c.Next(); {
		old := c.Value()
		v := fn(old)
		if same(v, old) {
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(arr))
		}
		at := c.Span()
		out = append(append(out, arr[copied:at.Start]...), v...)
		copied = at.End
	}
	if out == nil {
		return arr
	}
	return append(out, arr[copied:]...)
}

// textBlock makes a text content block.
func textBlock(s string) []byte {
	return append(rawjson.AppendString([]byte(`{"type":"text","text":`), s), '}')
}

// replaceBlock makes a text block in place of another content block, whose annotations and _meta stay.
func replaceBlock(block []byte, s string) []byte {
	out := textBlock(s)
	for _, key := range []string{"annotations", "_meta"} {
		if v := member(block, key); v != nil {
			out = set(out, key, v)
		}
	}
	return out
}
