package schema

import "github.com/go-json-experiment/json/jsontext"

// defaults are the defaults of an object's properties, as its schema lists them.
type defaults struct {
	members []defaultMember
}

type defaultMember struct {
	name   string
	splice []byte    // "name":value, nil when the property has no default
	below  *defaults // of the property's own properties
}

// findDefaults reads the defaults that are reachable through properties alone.
func findDefaults(raw []byte) *defaults {
	d := &defaults{}
	eachMember(raw, "properties", func(props []byte) {
		c := cursor{b: props}
		if c.next() != '{' {
			return
		}
		c.object(func(name []byte, escaped bool) bool {
			text, ok := unescape(name, escaped, nil)
			if !ok {
				return false
			}
			sub, ok := c.value(maxInstanceDepth)
			if !ok {
				return false
			}
			m := defaultMember{name: string(text), below: findDefaults(sub)}
			eachMember(sub, "default", func(value []byte) {
				v := jsontext.Value(append([]byte(nil), value...))
				if v.Compact() == nil {
					m.splice = append(append(append([]byte{'"'}, name...), '"', ':'), v...)
				}
			})
			if m.splice != nil || m.below != nil {
				d.members = append(d.members, m)
			}
			return true
		})
	})
	if len(d.members) == 0 {
		return nil
	}
	return d
}

// eachMember calls f with the value of the member called name of an object.
func eachMember(raw []byte, name string, f func(value []byte)) {
	c := cursor{b: raw}
	if c.next() != '{' {
		return
	}
	c.object(func(key []byte, escaped bool) bool {
		text, ok := unescape(key, escaped, nil)
		if !ok {
			return false
		}
		v, ok := c.value(maxInstanceDepth)
		if ok && string(text) == name {
			f(v)
		}
		return ok
	})
}

// ApplyDefaults adds the properties that raw, an object, lacks and the schema
// has a default for, at the end of the object, in the order of the schema; and
// so on in objects that are present below it. It follows properties only, not
// references or combinators, and creates no object that the default of its own
// does not spell out. It returns raw itself when there is nothing to add or raw
// is no object; raw is never changed.
func (s *Schema) ApplyDefaults(raw []byte) []byte {
	if s.defaults == nil {
		return raw
	}
	a := applier{cursor: cursor{b: raw}}
	if !a.apply(s.defaults) || a.out == nil || !a.end() {
		return raw
	}
	return append(a.out, raw[a.done:]...)
}

// An applier copies raw to out as far as done, with the defaults added. out is
// nil until there is something to add.
type applier struct {
	cursor
	out  []byte
	done int
}

func (a *applier) apply(d *defaults) bool {
	if a.next() != '{' {
		_, ok := a.value(maxInstanceDepth)
		return ok
	}
	present := make([]bool, len(d.members))
	empty := true
	if !a.object(func(name []byte, escaped bool) bool {
		empty = false
		text, ok := unescape(name, escaped, nil)
		if !ok {
			return false
		}
		for i := range d.members {
			m := &d.members[i]
			if m.name != string(text) {
				continue
			}
			present[i] = true
			if m.below != nil {
				return a.apply(m.below)
			}
		}
		_, ok = a.value(maxInstanceDepth)
		return ok
	}) {
		return false
	}
	for i := range d.members {
		if m := &d.members[i]; !present[i] && m.splice != nil {
			a.add(m.splice, empty)
			empty = false
		}
	}
	return true
}

// add puts a member before the brace that the cursor has just passed.
func (a *applier) add(member []byte, first bool) {
	brace := a.i - 1
	a.out = append(a.out, a.b[a.done:brace]...)
	a.done = brace
	if !first {
		a.out = append(a.out, ',')
	}
	a.out = append(a.out, member...)
}
