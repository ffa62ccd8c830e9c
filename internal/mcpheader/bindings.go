package mcpheader

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSchemaDepth bounds how deep schemas nest in a schema.
const maxSchemaDepth = 256

const annotation = "x-mcp-header"

// A Binding is an argument that is mirrored in a header.
type Binding struct {
	Header string   // the annotation: the header's name without ParamPrefix
	Path   []string // names of properties from the arguments object down
	Type   string   // "string", "integer" or "boolean"
}

// Bindings returns the x-mcp-header annotations of a tool's input schema, in
// the order of the text. It fails when one of them is invalid, which makes the
// tool unfit for HTTP: not a token, used twice (case does not count), on a
// property that is not of exactly one of the three types, or anywhere that a
// chain of properties alone does not reach. Members that are no schemas
// (default, examples, unknown keywords) are not searched.
func Bindings(schema []byte) ([]Binding, error) {
	if !bytes.Contains(schema, []byte(annotation)) && bytes.IndexByte(schema, '\\') < 0 {
		return nil, nil
	}
	w := walker{dec: jsontext.NewDecoder(bytes.NewReader(schema))}
	if err := w.schema(true, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

type walker struct {
	dec   *jsontext.Decoder
	path  []string
	found []Binding
}

// schema reads one schema. static says that only properties led to it.
func (w *walker) schema(static bool, depth int) error {
	if depth > maxSchemaDepth {
		return errors.New("input schema nests too deep")
	}
	if w.dec.PeekKind() != '{' {
		return w.skip()
	}
	var header, typ jsontext.Value
	err := w.members(func(name string) (err error) {
		switch shapeOf(name) {
		case oneSchema:
			return w.schema(false, depth+1)
		case schemaList:
			return w.list(depth)
		case schemaMap:
			return w.named(static && name == "properties", depth)
		}
		v, err := w.dec.ReadValue()
		switch name {
		case annotation:
			header = v.Clone()
		case "type":
			typ = v.Clone()
		}
		return err
	})
	if err != nil || header == nil {
		return err
	}
	if err := w.bind(header, typ, static); err != nil {
		return fmt.Errorf("property %q: %w", strings.Join(w.path, "."), err)
	}
	return nil
}

func (w *walker) bind(header, typ jsontext.Value, static bool) error {
	if !static {
		return errors.New("x-mcp-header where properties alone do not lead")
	}
	if header.Kind() != '"' {
		return errors.New("x-mcp-header is not a string")
	}
	b := Binding{Header: unquote(header), Path: slices.Clone(w.path), Type: unquote(typ)}
	if err := ValidateAnnotation(b.Header); err != nil {
		return err
	}
	switch b.Type {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("x-mcp-header on type %s, not string, integer or boolean", typ)
	}
	for _, other := range w.found {
		if strings.EqualFold(other.Header, b.Header) {
			return fmt.Errorf("x-mcp-header %q is used twice", b.Header)
		}
	}
	w.found = append(w.found, b)
	return nil
}

// named reads an object whose values are schemas.
func (w *walker) named(static bool, depth int) error {
	if w.dec.PeekKind() != '{' {
		return w.skip()
	}
	return w.members(func(name string) error {
		w.path = append(w.path, name)
		err := w.schema(static, depth+1)
		w.path = w.path[:len(w.path)-1]
		return err
	})
}

// list reads an array of schemas, or the single schema of older drafts.
func (w *walker) list(depth int) error {
	if w.dec.PeekKind() != '[' {
		return w.schema(false, depth+1)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		if err := w.schema(false, depth+1); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// members calls f for each member of the object that comes next; f reads the
// value.
func (w *walker) members(f func(name string) error) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		t, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := f(t.String()); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *walker) skip() error { return w.dec.SkipValue() }

// unquote returns the text of a JSON string and nothing for other values.
func unquote(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

type shape int

const (
	noSchema shape = iota
	oneSchema
	schemaList
	schemaMap
)

// shapeOf says how a keyword of JSON Schema holds schemas, over all drafts.
func shapeOf(keyword string) shape {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return schemaMap
	case "items", "prefixItems", "allOf", "anyOf", "oneOf":
		return schemaList
	case "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties":
		return oneSchema
	}
	return noSchema
}
