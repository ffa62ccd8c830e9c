package schema

import (
	"encoding"
	stdjson "encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options guide [For]. The zero value suits the arguments of a tool.
type Options struct {
	// Open leaves out additionalProperties:false. Set it for results: a newer
	// server may then add a property without breaking its clients.
	Open bool
	// Types gives the schema of types that reflection cannot describe.
	Types map[reflect.Type]jsontext.Value
}

// For returns the JSON Schema (2020-12) of the JSON that t is encoded to by
// go-json-experiment/json. The same type and options give the same bytes,
// properties in the order of the fields. Types that contain themselves become
// references, to $defs or to the root; all others are written out where they
// are used. See the package comment for the jsonschema tag.
//
// A type with MarshalText is a string; one with MarshalJSON may be anything.
// Channels, functions, complex numbers and time.Duration (which has no JSON form
// of its own) are errors.
func For(t reflect.Type, o *Options) ([]byte, error) {
	if t == nil {
		return nil, fmt.Errorf("schema: no type")
	}
	if o == nil {
		o = &Options{}
	}
	b := &builder{options: o, recursive: map[reflect.Type]bool{}, defs: map[reflect.Type]string{}, names: map[string]bool{}}
	t = deref(t)
	b.root = t
	b.findRecursive(t, map[reflect.Type]int{})
	s, err := b.body(t, place{direct: true})
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s.defs = b.bodies
	if err := b.checkHeaders(); err != nil {
		return nil, fmt.Errorf("schema: %s: %w", t, err)
	}
	return s.append(nil), nil
}

// A Cache remembers the schemas of types, for one set of options. It may be used
// by several goroutines; the caller must not change the bytes.
type Cache struct {
	options *Options
	known   sync.Map // reflect.Type → []byte
}

// NewCache returns an empty cache. The options must not change afterwards.
func NewCache(o *Options) *Cache { return &Cache{options: o} }

// For is [For] with the cache's options.
func (c *Cache) For(t reflect.Type) ([]byte, error) {
	if raw, ok := c.known.Load(t); ok {
		return raw.([]byte), nil
	}
	raw, err := For(t, c.options)
	if err == nil {
		c.known.Store(t, raw)
	}
	return raw, err
}

// maxShapes bounds the subschemas of one type, which a few types that contain
// each other twice could multiply without end.
const maxShapes = 10_000

type builder struct {
	options   *Options
	root      reflect.Type
	recursive map[reflect.Type]bool // types that contain themselves
	defs      map[reflect.Type]string
	names     map[string]bool // of $defs
	bodies    []property      // of $defs
	headers   []string
	count     int
}

// place is where a type occurs.
type place struct {
	direct bool // reachable from the root through properties alone
}

// deref follows pointers; a pointer to itself comes back as a pointer.
func deref(t reflect.Type) reflect.Type {
	for range 16 {
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	return t
}

// findRecursive marks one type of every cycle. state is 1 while a type is open.
func (b *builder) findRecursive(t reflect.Type, state map[reflect.Type]int) {
	t = deref(t)
	if s, _ := b.known(t); s != nil {
		return
	}
	switch state[t] {
	case 1:
		b.recursive[t] = true
		return
	case 2:
		return
	}
	state[t] = 1
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		b.findRecursive(t.Elem(), state)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous {
				b.findRecursive(f.Type, state)
			}
		}
	}
	state[t] = 2
}

// shape describes t where it is used: by reference if it is recursive.
func (b *builder) shape(t reflect.Type, at place) (*shape, error) {
	t = deref(t)
	if !b.recursive[t] {
		return b.body(t, at)
	}
	if t == b.root {
		return &shape{ref: "#"}, nil
	}
	name, ok := b.defs[t]
	if !ok {
		name = b.defName(t)
		b.defs[t] = name
		i := len(b.bodies)
		b.bodies = append(b.bodies, property{name: name})
		s, err := b.body(t, place{})
		if err != nil {
			return nil, err
		}
		b.bodies[i].shape = s
	}
	return &shape{ref: "#/$defs/" + name}, nil
}

// defName makes a name for $defs that needs no escape in a reference.
func (b *builder) defName(t reflect.Type) string {
	name := []byte(t.Name())
	for i, c := range name {
		if !(c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z') {
			name[i] = '_'
		}
	}
	unique := string(name)
	for i := 2; b.names[unique]; i++ {
		unique = string(name) + strconv.Itoa(i)
	}
	b.names[unique] = true
	return unique
}

// body describes t itself.
func (b *builder) body(t reflect.Type, at place) (*shape, error) {
	if b.count++; b.count > maxShapes {
		return nil, fmt.Errorf("%s has more than %d subschemas", t, maxShapes)
	}
	if s, err := b.known(t); s != nil || err != nil {
		return s, err
	}
	switch kind := t.Kind(); kind {
	case reflect.Bool:
		return &shape{typ: "boolean"}, nil
	case reflect.String:
		return &shape{typ: "string"}, nil
	case reflect.Float32, reflect.Float64:
		return &shape{typ: "number"}, nil
	case reflect.Interface:
		return &shape{}, nil
	case reflect.Slice, reflect.Array:
		return b.list(t)
	case reflect.Map:
		return b.dictionary(t)
	case reflect.Struct:
		return b.object(t, at)
	default:
		if s := integer(kind); s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s has no JSON form", t)
}

// integer describes the integer kinds; those of less than 64 bits are bounded.
func integer(k reflect.Kind) *shape {
	s := &shape{typ: "integer"}
	limit := func(lo, hi int64) *shape {
		s.set("minimum", strconv.AppendInt(nil, lo, 10))
		s.set("maximum", strconv.AppendInt(nil, hi, 10))
		return s
	}
	switch k {
	case reflect.Int, reflect.Int64:
		return s
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		s.set("minimum", []byte("0"))
		return s
	case reflect.Int8:
		return limit(-1<<7, 1<<7-1)
	case reflect.Int16:
		return limit(-1<<15, 1<<15-1)
	case reflect.Int32:
		return limit(-1<<31, 1<<31-1)
	case reflect.Uint8:
		return limit(0, 1<<8-1)
	case reflect.Uint16:
		return limit(0, 1<<16-1)
	case reflect.Uint32:
		return limit(0, 1<<32-1)
	}
	return nil
}

func (b *builder) list(t reflect.Type) (*shape, error) {
	if t.Elem() == reflect.TypeFor[byte]() {
		s := &shape{typ: "string"}
		s.set("contentEncoding", []byte(`"base64"`))
		return s, nil
	}
	items, err := b.shape(t.Elem(), place{})
	if err != nil {
		return nil, err
	}
	s := &shape{typ: "array", items: items}
	if t.Kind() == reflect.Array {
		n := strconv.AppendInt(nil, int64(t.Len()), 10)
		s.set("minItems", n)
		s.set("maxItems", n)
	}
	return s, nil
}

func (b *builder) dictionary(t reflect.Type) (*shape, error) {
	if s := integer(t.Key().Kind()); s == nil && t.Key().Kind() != reflect.String && !isText(t.Key()) {
		return nil, fmt.Errorf("%s: a key must be a string, an integer or a text marshaler", t)
	}
	rest, err := b.shape(t.Elem(), place{})
	if err != nil {
		return nil, err
	}
	s := &shape{typ: "object"}
	if !rest.isFree() {
		s.rest = rest
	}
	return s, nil
}

// known describes the types whose encoding is not that of their kind; it
// returns nil for all others.
func (b *builder) known(t reflect.Type) (*shape, error) {
	if raw, ok := b.options.Types[t]; ok {
		s, err := parseShape(raw)
		if err != nil {
			return nil, fmt.Errorf("the given schema of %s: %w", t, err)
		}
		return s, nil
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		s := &shape{typ: "string"}
		s.set("format", []byte(`"date-time"`))
		return s, nil
	case reflect.TypeFor[time.Duration]():
		return nil, fmt.Errorf("%s has no JSON form; use a number or a string", t)
	case reflect.TypeFor[stdjson.Number]():
		return &shape{typ: "number"}, nil
	case reflect.TypeFor[big.Int]():
		return &shape{typ: "integer"}, nil
	case reflect.TypeFor[jsontext.Value](), reflect.TypeFor[stdjson.RawMessage]():
		return &shape{}, nil
	}
	if t.Kind() == reflect.Interface {
		return nil, nil
	}
	switch {
	case implements[json.Marshaler](t), implements[json.MarshalerTo](t),
		implements[json.Unmarshaler](t), implements[json.UnmarshalerFrom](t):
		return &shape{}, nil
	case isText(t):
		return &shape{typ: "string"}, nil
	}
	return nil, nil
}

func isText(t reflect.Type) bool {
	return implements[encoding.TextMarshaler](t) || implements[encoding.TextAppender](t) || implements[encoding.TextUnmarshaler](t)
}

func implements[I any](t reflect.Type) bool {
	i := reflect.TypeFor[I]()
	return t.Implements(i) || reflect.PointerTo(t).Implements(i)
}
