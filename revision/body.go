package revision

import (
	"bytes"
	"slices"

	"mcpv/internal/rawjson"
)

// contents says where the members of a body are, so that a body, which may be megabytes long, is walked once and not
// once per member looked for.
type contents struct {
	of      []byte // the body described; if the frame has another one by now, this is stale
	entries []entry
	room    [4]entry // for entries: most bodies have no more
}

// entry is a member: its unescaped name, and its indices in the body.
type entry struct {
	name              []byte
	start, value, end int // of the name's quote, of the value, after the value
}

// index brings the table of contents up to date. A body that is no object has no entries.
func (f *Frame) index() {
	if f.contents.of != nil && same(f.contents.of, f.Body) {
		return
	}
	if f.contents.entries == nil {
		f.contents.entries = f.contents.room[:0]
	}
	f.contents.of, f.contents.entries = f.Body, f.contents.entries[:0]
	for c := rawjson.Object(f.Body); c.Next(); {
		at, v := c.MemberSpan(), c.Span()
		name, _, _ := bytes.Cut(f.Body[at.Start+1:v.Start], []byte(`"`))
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(c.Key())
		}
		f.contents.entries = append(f.contents.entries, entry{name, at.Start, v.Start, v.End})
	}
}

// find returns the position of a member in the table of contents, or -1.
func (f *Frame) find(key string) int {
	f.index()
	return slices.IndexFunc(f.contents.entries, func(e entry) bool { return string(e.name) == key })
}

// get returns a member of the body, or nil.
func (f *Frame) get(key string) []byte {
	i := f.find(key)
	if i < 0 {
		return nil
	}
	e := f.contents.entries[i]
	return f.Body[e.value:e.end:e.end]
}

// A pair is a member by name and value.
type pair struct {
	key   string
	value string
}

// set replaces a member of the body or appends it. A body that is no object stays as it is.
func (f *Frame) set(key string, value []byte) {
	if !isObject(f.Body) {
		return
	}
	if i := f.find(key); i >= 0 {
		e := &f.contents.entries[i]
		f.splice(e.value, e.end, value)
		e.end = e.value + len(value)
		f.shift(i+1, len(f.Body)-len(f.contents.of))
		f.contents.of = f.Body
		return
	}
	f.add(pair{key, string(value)})
}

// setAll is set for several members. Those that are new cost one copy of the body together, not one each.
func (f *Frame) setAll(pairs ...pair) {
	if !isObject(f.Body) {
		return
	}
	var room [4]pair
	fresh := room[:0]
	for _, p := range pairs {
		if f.find(p.key) >= 0 {
			f.set(p.key, []byte(p.value))
		} else {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 0 {
		f.add(fresh...)
	}
}

// add appends members that the body, an object, does not have.
func (f *Frame) add(pairs ...pair) {
	f.index()
	at, lead := bytes.IndexByte(f.Body, '{')+1, ""
	if n := len(f.contents.entries); n > 0 {
		at, lead = f.contents.entries[n-1].end, ","
	}
	var room [128]byte
	text := room[:0]
	for _, p := range pairs {
		text = append(text, lead...)
		start := at + len(text)
		text = append(rawjson.AppendString(text, p.key), ':')
		value := at + len(text)
		text = append(text, p.value...)
		f.contents.entries = append(f.contents.entries, entry{[]byte(p.key), start, value, at + len(text)})
		lead = ","
	}
	f.splice(at, at, text)
	f.contents.of = f.Body
}

// remove takes members of the body away and reports whether there were any. Each takes one comma with it: the one
// after it or, if it is the last, the one before it.
func (f *Frame) remove(keys ...string) bool {
	found := false
	for _, key := range keys {
		i := f.find(key)
		if i < 0 {
			continue
		}
		found = true
		list := f.contents.entries
		e, comma := list[i], -1
		if i+1 < len(list) {
			comma = e.end + bytes.IndexByte(f.Body[e.end:], ',')
		} else if i > 0 {
			comma = list[i-1].end + bytes.IndexByte(f.Body[list[i-1].end:], ',')
		}
		switch {
		case comma < 0:
			f.splice(e.start, e.end, nil)
		case comma > e.start:
			f.splice(e.start, comma+1, f.Body[e.end:comma])
		default:
			f.splice(comma, e.end, f.Body[comma+1:e.start])
		}
		f.contents.entries = slices.Delete(list, i, i+1)
		f.shift(i, len(f.Body)-len(f.contents.of))
		f.contents.of = f.Body
	}
	return found
}

// splice makes a new body with text in place of [start, end).
func (f *Frame) splice(start, end int, text []byte) {
	f.Body = slices.Concat(f.Body[:start], text, f.Body[end:])
}

// shift moves the entries from i on.
func (f *Frame) shift(i, by int) {
	for ; i < len(f.contents.entries); i++ {
		e := &f.contents.entries[i]
		e.start, e.value, e.end = e.start+by, e.value+by, e.end+by
	}
}

// edit replaces a member of the body by what fn makes of its value, unless it is absent.
func (f *Frame) edit(key string, fn func([]byte) []byte) {
	old := f.get(key)
	if old == nil {
		return
	}
	if v := fn(old); !same(v, old) {
		f.set(key, v)
	}
}

// rename gives a member of the body another name, unless that is taken.
func (f *Frame) rename(from, to string) {
	if f.find(from) >= 0 {
		f.Body = rename(f.Body, from, to)
	}
}

// hasOther reports whether the body has members besides those named.
func (f *Frame) hasOther(keys ...string) bool {
	f.index()
	return slices.ContainsFunc(f.contents.entries, func(e entry) bool { return !slices.Contains(keys, string(e.name)) })
}

// addMeta puts the members of meta into the _meta of the body. Only a result stays without a body.
func (f *Frame) addMeta(meta []byte) {
	if !isObject(meta) || isEmpty(meta) {
		return
	}
	if f.Body == nil && f.Kind != Result {
		f.Body = []byte(`{}`)
	}
	old := f.get("_meta")
	if !isObject(old) {
		f.set("_meta", meta)
		return
	}
	for key, v := range members(meta) {
		old = set(old, key, v)
	}
	f.set("_meta", old)
}

// stripMeta takes the members of _meta whose names match away, and _meta itself when nothing remains.
func (f *Frame) stripMeta(match func(key string) bool) {
	meta := f.get("_meta")
	rest := meta
	for key := range members(meta) {
		if match(key) {
			rest = remove(rest, key)
		}
	}
	switch {
	case same(rest, meta):
	case isEmpty(rest):
		f.remove("_meta")
	default:
		f.set("_meta", rest)
	}
}
