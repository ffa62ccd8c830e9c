package schema

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A field is a struct field as JSON sees it.
type field struct {
	reflect.StructField
	owner    reflect.Type
	name     string
	tagged   bool // the name is given by the tag
	optional bool
	quoted   bool // the string option
	embed    bool
	depth    int
}

// object describes a struct.
func (b *builder) object(t reflect.Type, at place) (*shape, error) {
	all, rest, err := b.fields(t, 0, nil)
	if err != nil {
		return nil, err
	}
	s := &shape{typ: "object", props: []property{}, closed: !b.options.Open}
	for _, f := range dominant(all) {
		p, err := b.field(f, at)
		if err != nil {
			return nil, err
		}
		s.props = append(s.props, property{f.name, p})
		if !f.optional && p.get("default") == nil {
			s.required = append(s.required, f.name)
		}
	}
	if rest != nil {
		s.closed = false
		if rest.Kind() == reflect.Map {
			d, err := b.dictionary(rest)
			if err != nil {
				return nil, err
			}
			s.rest = d.rest
		}
	}
	return s, nil
}

func (b *builder) field(f field, at place) (*shape, error) {
	where := func(err error) error { return fmt.Errorf("%s.%s: %w", f.owner, f.Name, err) }
	s, err := b.shape(f.Type, at)
	if err != nil {
		return nil, where(err)
	}
	if f.quoted {
		if s.typ != "integer" && s.typ != "number" {
			return nil, where(fmt.Errorf("the json option string needs a number"))
		}
		s = &shape{typ: "string"}
	}
	tag, ok := f.Tag.Lookup("jsonschema")
	if !ok {
		return s, nil
	}
	if err := applyTag(s, tag); err != nil {
		return nil, where(err)
	}
	if header := s.get("x-mcp-header"); header != nil && !s.given {
		if !at.direct {
			return nil, where(fmt.Errorf("x-mcp-header must be reachable through properties alone"))
		}
		b.headers = append(b.headers, string(header))
	}
	return s, nil
}

// checkHeaders refuses two arguments that mirror to the same header (H31).
func (b *builder) checkHeaders() error {
	seen := map[string]bool{}
	for _, h := range b.headers {
		if h = strings.ToLower(h); seen[h] {
			return fmt.Errorf("x-mcp-header %s is used twice", h)
		}
		seen[h] = true
	}
	return nil
}

// fields lists the fields of t and of the structs embedded in it, in the order
// in which they are encoded. rest is the type of the field that takes all other
// members. open holds the types that are being listed.
func (b *builder) fields(t reflect.Type, depth int, open []reflect.Type) (list []field, rest reflect.Type, err error) {
	for _, o := range open {
		if o == t {
			return nil, nil, nil
		}
	}
	open = append(open, t)
	for i := range t.NumField() {
		f, ok := parseField(t, t.Field(i))
		if !ok {
			continue
		}
		f.depth = depth
		inner := deref(f.Type)
		switch {
		case !f.embed || f.Anonymous && !b.plainStruct(inner):
			if f.IsExported() {
				list = append(list, f)
			}
		case inner.Kind() == reflect.Struct:
			sub, r, err := b.fields(inner, depth+1, open)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, sub...)
			if r != nil {
				rest = r
			}
		case inner.Kind() == reflect.Map || inner == reflect.TypeFor[jsontext.Value]():
			rest = inner
		default:
			return nil, nil, fmt.Errorf("%s.%s: %s cannot be embedded", t, f.Name, f.Type)
		}
	}
	return list, rest, nil
}

// plainStruct reports whether t is a struct that is encoded field by field.
func (b *builder) plainStruct(t reflect.Type) bool {
	s, _ := b.known(t)
	return t.Kind() == reflect.Struct && s == nil
}

// parseField reads the json tag; ok is false when the field is not encoded.
func parseField(owner reflect.Type, sf reflect.StructField) (f field, ok bool) {
	tag := sf.Tag.Get("json")
	if tag == "-" || !sf.IsExported() && !sf.Anonymous {
		return f, false
	}
	f = field{StructField: sf, owner: owner, name: sf.Name, optional: sf.Type.Kind() == reflect.Pointer}
	name, options, _ := strings.Cut(tag, ",")
	if name != "" {
		f.name, f.tagged = name, true
	}
	for opt := range strings.SplitSeq(options, ",") {
		switch opt {
		case "omitempty", "omitzero":
			f.optional = true
		case "string":
			f.quoted = true
		case "embed", "inline", "unknown":
			f.embed = true
		}
	}
	f.embed = f.embed || sf.Anonymous && !f.tagged
	return f, true
}

// dominant keeps, of fields with the same name, the one that Go's rules select.
func dominant(all []field) []field {
	best := map[string][]field{}
	for _, f := range all {
		old := best[f.name]
		switch {
		case len(old) == 0 || stronger(f, old[0]):
			best[f.name] = []field{f}
		case !stronger(old[0], f):
			best[f.name] = append(old, f)
		}
	}
	kept := all[:0:0]
	for _, f := range all {
		if same := best[f.name]; len(same) == 1 && same[0].owner == f.owner && same[0].Name == f.Name && same[0].depth == f.depth {
			kept = append(kept, f)
		}
	}
	return kept
}

func stronger(f, g field) bool {
	return f.depth < g.depth || f.depth == g.depth && f.tagged && !g.tagged
}
