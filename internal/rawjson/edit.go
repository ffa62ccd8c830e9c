package rawjson

// place is how far a path leads into a text.
type place struct {
	found  int    // names of the path that were found
	start  int    // of the value that the last of them has
	member Cursor // on that member; the zero Cursor when found is 0
	base   int    // where in the text the indices of member count from
}

// find follows path from the outermost value inwards. It does not look for the
// end of any value on the way.
func find(v []byte, path []string) place {
	p := place{start: skipSpace(v, 0)}
	for _, name := range path {
		c := Object(v[p.start:])
		if !c.seek(name) {
			break
		}
		p.member, p.base = c, p.start
		p.start += c.value.Start
		p.found++
	}
	return p
}

// span returns where the value of p is, looking for its end.
func (p *place) span(v []byte) Span {
	if p.found == 0 {
		return Span{p.start, p.start + len(Trim(v))}
	}
	return Span{p.start, skipValue(v, p.start)}
}

// Get returns the value that path names, member by member from v inwards: v
// itself, trimmed, for no path; nil when a member is absent or something on the
// way is no object. The result is part of v, without spare capacity.
func Get(v []byte, path ...string) []byte {
	p := find(v, path)
	if p.found < len(path) {
		return nil
	}
	s := p.span(v)
	return v[s.Start:s.End:s.End]
}

// Set returns a copy of v in which path names value. An existing value is
// replaced in place; a new member becomes the last of its object. Objects that
// are missing on the way are made, and something on the way that is no object is
// replaced by one. Every other byte is that of v.
func Set(v, value []byte, path ...string) []byte {
	p := find(v, path)
	if p.found == len(path) {
		return splice(v, p.span(v), value)
	}
	var text []byte
	var cut Span
	closers := len(path) - p.found - 1
	if at(v, p.start) == '{' {
		last, empty := lastMember(v[p.start:])
		cut = Span{p.start + last, p.start + last}
		if !empty {
			text = append(text, ',')
		}
	} else {
		cut = p.span(v)
		text = append(text, '{')
		closers++
	}
	for i, name := range path[p.found:] {
		if i > 0 {
			text = append(text, '{')
		}
		text = append(AppendString(text, name), ':')
	}
	text = append(text, value...)
	for range closers {
		text = append(text, '}')
	}
	return splice(v, cut, text)
}

// splice returns a copy of v with text in place of cut.
func splice(v []byte, cut Span, text []byte) []byte {
	out := make([]byte, 0, len(v)-(cut.End-cut.Start)+len(text))
	out = append(out, v[:cut.Start]...)
	out = append(out, text...)
	return append(out, v[cut.End:]...)
}

// lastMember returns the index after the last member of the object v, or after
// its opening brace when it is empty.
func lastMember(v []byte) (i int, empty bool) {
	i, empty = skipSpace(v, 0)+1, true
	for c := Object(v); c.Next(); {
		i, empty = c.value.End, false
	}
	return i, empty
}

// Delete returns a copy of v without the member that path names and without
// one comma next to it: the one after it, or for the last member the one before
// it. Every other byte is that of v. It returns v itself when there is no such
// member or path is empty.
func Delete(v []byte, path ...string) []byte {
	p := find(v, path)
	if p.found < len(path) || p.found == 0 {
		return v
	}
	member := Span{p.base + p.member.key.Start, p.span(v).End}
	first, second := member, member // what to cut out, in order
	if comma := skipSpace(v, member.End); at(v, comma) == ',' {
		second = Span{comma, comma + 1}
	} else if p.member.comma >= 0 {
		comma := p.base + p.member.comma
		first = Span{comma, comma + 1}
	} else {
		second = Span{member.End, member.End}
	}
	out := make([]byte, 0, len(v))
	out = append(out, v[:first.Start]...)
	out = append(out, v[first.End:second.Start]...)
	return append(out, v[second.End:]...)
}

// Rename returns a copy of v in which the member that path names is called
// newKey; its place, its value and every other byte stay. It returns v itself
// when there is no such member or path is empty. That the object has no other
// member called newKey is up to the caller.
func Rename(v []byte, newKey string, path ...string) []byte {
	p := find(v, path)
	if p.found < len(path) || p.found == 0 {
		return v
	}
	key := p.member.key
	return splice(v, Span{p.base + key.Start, p.base + key.End}, AppendString(nil, newKey))
}
