package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// What a key of the jsonschema tag speaks of.
var tagKeys = map[string]string{
	"title": "", "description": "", "default": "", "example": "", "examples": "", "enum": "scalar",
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
	"minItems": "array", "maxItems": "array",
	"minProperties": "object", "maxProperties": "object",
	"x-mcp-header": "header",
}

var tagFlags = map[string]string{"deprecated": "", "uniqueItems": "array"}

type tagItem struct {
	key, value string
	flag       bool
}

// parseTag splits a tag by the grammar of the package comment.
func parseTag(tag string) ([]tagItem, error) {
	if strings.TrimSpace(tag) == "" {
		return nil, errors.New("empty jsonschema tag")
	}
	item, n := startItem(tag)
	if n == 0 {
		if key, _, ok := strings.Cut(tag, "="); ok && isWord(key) {
			return nil, fmt.Errorf("unknown key %q in the jsonschema tag", key)
		}
		return []tagItem{{key: "description", value: tag}}, nil
	}
	var items []tagItem
	for {
		tag = tag[n:]
		if item.key == "description" {
			item.value, tag = tag, ""
		} else if !item.flag {
			end := itemEnd(tag)
			item.value, tag = tag[:end], tag[end:]
		}
		if slices.ContainsFunc(items, func(i tagItem) bool { return i.key == item.key }) {
			return nil, fmt.Errorf("%s is given twice", item.key)
		}
		items = append(items, item)
		if tag == "" {
			return items, nil
		}
		tag = tag[1:] // the comma
		item, n = startItem(tag)
	}
}

// startItem recognises the item that a text begins with and returns how many
// bytes come before its value; 0 means there is none.
func startItem(s string) (tagItem, int) {
	word := s
	if i := strings.IndexAny(s, "=,"); i >= 0 {
		word = s[:i]
	}
	if _, ok := tagKeys[word]; ok && len(word) < len(s) && s[len(word)] == '=' {
		return tagItem{key: word}, len(word) + 1
	}
	if _, ok := tagFlags[word]; ok && (len(word) == len(s) || s[len(word)] == ',') {
		if _, n := startItem(strings.TrimPrefix(s[len(word):], ",")); n > 0 || len(word) == len(s) {
			return tagItem{key: word, flag: true}, len(word)
		}
	}
	return tagItem{}, 0
}

// itemEnd finds the first comma that an item follows.
func itemEnd(s string) int {
	for i := range len(s) {
		if s[i] == ',' {
			if _, n := startItem(s[i+1:]); n > 0 {
				return i
			}
		}
	}
	return len(s)
}

func isWord(s string) bool {
	for _, c := range s {
		if !(c == '-' || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z') {
			return false
		}
	}
	return s != ""
}

// applyTag adds what the tag says to the shape of a field.
func applyTag(s *shape, tag string) error {
	items, err := parseTag(tag)
	if err != nil {
		return err
	}
	if s.never {
		return errors.New("a jsonschema tag on a type whose schema is false")
	}
	for _, it := range items {
		if err := applyItem(s, it); err != nil {
			return err
		}
	}
	return s.checkValues()
}

func applyItem(s *shape, it tagItem) error {
	about := tagKeys[it.key]
	if it.flag {
		about = tagFlags[it.key]
	}
	target := s
	if s.typ == "array" && s.items != nil && (about == "scalar" || about == "number" || about == "string") {
		target = s.items
	}
	if !fits(about, target.typ) {
		return fmt.Errorf("%s does not fit %s", it.key, orAny(target.typ))
	}
	raw, err := target.tagValue(it)
	if err != nil {
		return fmt.Errorf("%s: %w", it.key, err)
	}
	key := it.key
	if key == "example" {
		key = "examples"
	}
	if old := target.get(key); old != nil && (key == "minimum" || key == "maximum") {
		o, n := parseDecimal(old), parseDecimal(raw)
		if c := n.cmp(&o); key == "minimum" && c < 0 || key == "maximum" && c > 0 {
			return fmt.Errorf("%s=%s is out of the type's range", key, it.value)
		}
	}
	target.set(key, raw)
	return nil
}

func fits(about, typ string) bool {
	switch about {
	case "":
		return true
	case "scalar":
		return typ != "array" && typ != "object"
	case "number":
		return typ == "number" || typ == "integer"
	case "header":
		return typ == "string" || typ == "integer" || typ == "boolean"
	}
	return about == typ
}

func orAny(typ string) string {
	if typ == "" {
		return "any type"
	}
	return typ
}

// tagValue turns the text of an item into the JSON of its keyword.
func (s *shape) tagValue(it tagItem) ([]byte, error) {
	switch it.key {
	case "title", "description", "format":
		return appendString(nil, it.value), nil
	case "deprecated", "uniqueItems":
		return []byte("true"), nil
	case "pattern":
		if _, err := regexp.Compile(it.value); err != nil {
			return nil, err
		}
		return appendString(nil, it.value), nil
	case "x-mcp-header":
		if !isToken(it.value) {
			return nil, fmt.Errorf("%q is not a header token", it.value)
		}
		return appendString(nil, it.value), nil
	case "default":
		return parseLiteral(s.typ, it.value)
	case "example":
		raw, err := parseLiteral(s.typ, it.value)
		return append(append([]byte{'['}, raw...), ']'), err
	case "enum", "examples":
		return parseLiterals(s.typ, it.value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		raw, err := parseLiteral(s.typ, it.value)
		if err == nil && it.key == "multipleOf" && parseSign(raw) <= 0 {
			err = errors.New("must be greater than 0")
		}
		return raw, err
	}
	c := cursor{b: []byte(it.value)}
	if _, ok := compileCount(&c); !ok || !c.end() {
		return nil, fmt.Errorf("%q is not a natural number", it.value)
	}
	return []byte(it.value), nil
}

func parseSign(number []byte) int {
	d := parseDecimal(number)
	return d.sign()
}

// parseLiterals reads values separated by "|", or one JSON array.
func parseLiterals(typ, text string) ([]byte, error) {
	if strings.HasPrefix(text, "[") && jsontext.Value(text).IsValid() {
		v := jsontext.Value(text)
		err := v.Compact()
		return v, err
	}
	out := []byte{'['}
	for part := range strings.SplitSeq(text, "|") {
		raw, err := parseLiteral(typ, part)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, ']'), nil
}

// parseLiteral reads one value of a type: text for strings, JSON for all else.
func parseLiteral(typ, text string) ([]byte, error) {
	if typ == "string" {
		return appendString(nil, text), nil
	}
	v := jsontext.Value(text).Clone()
	if !v.IsValid() {
		return nil, fmt.Errorf("%q is not JSON for %s", text, orAny(typ))
	}
	if err := v.Compact(); err != nil {
		return nil, err
	}
	ok := true
	switch kind := v.Kind(); typ {
	case "boolean":
		ok = kind == 't' || kind == 'f'
	case "number", "integer":
		ok = kind == '0' && inRange(v)
		if ok && typ == "integer" {
			d := parseDecimal(v)
			ok = d.isInteger()
		}
	case "array":
		ok = kind == '['
	case "object":
		ok = kind == '{'
	}
	if !ok {
		return nil, fmt.Errorf("%q is not %s", text, typ)
	}
	return v, nil
}

// checkValues refuses a default, an example or an enum value that the schema
// itself would refuse. It leaves schemas with references alone.
func (s *shape) checkValues() error {
	if s.items != nil && s.items.get("enum") != nil {
		if err := s.items.checkValues(); err != nil {
			return err
		}
	}
	if s.hasRef() || s.get("default") == nil && s.get("examples") == nil && s.get("enum") == nil {
		return nil
	}
	compiled, err := Compile(s.append(nil), Limits{})
	if err != nil {
		return err
	}
	check := func(key string, raw []byte) error {
		if err := compiled.Validate(raw); err != nil {
			return fmt.Errorf("%s %s: %w", key, clip(string(raw)), err)
		}
		return nil
	}
	if raw := s.get("default"); raw != nil {
		if err := check("default", raw); err != nil {
			return err
		}
	}
	for _, key := range []string{"enum", "examples"} {
		c := cursor{b: s.get(key)}
		c.array(func() bool {
			raw, ok := c.value(maxInstanceDepth)
			if ok && err == nil {
				err = check(key, raw)
			}
			return ok
		})
	}
	return err
}

// isToken reports whether s is a token of RFC 9110.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}
