package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound what a schema may cost. A zero field means its default.
type Limits struct {
	Bytes      int // length of the schema; 1 MiB
	Subschemas int // objects in it, an upper bound of its subschemas; 10 000
	Depth      int // nesting of its JSON; 64
	// Steps bounds the work of one Validate, about one step per value that the
	// byte validator checks and sixteen per subschema that the complete one
	// applies; 4 000 000, some 100 ms. A count and not a clock, so that a verdict
	// does not depend on the load of the machine.
	Steps int
}

func (l Limits) orDefault() Limits {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&l.Bytes, 1<<20)
	set(&l.Subschemas, 10_000)
	set(&l.Depth, 64)
	set(&l.Steps, 4_000_000)
	return l
}

// A Schema is a compiled schema. It may be used by several goroutines at once.
type Schema struct {
	raw      []byte
	limits   Limits
	fast     *node     // set when the schema is of the common subset
	full     *full     // set otherwise
	defaults *defaults // nil when there are none
}

// Compile checks and compiles a schema. Its dialect is that of $schema, which
// may be 2020-12 (the default), 2019-09 or draft-07, -06 or -04; any other is an
// error that names it. Nothing is ever loaded: a reference that leaves the
// document is an error, except to the meta-schemas of those dialects, which are
// built in. The bytes are copied.
func Compile(raw []byte, l Limits) (*Schema, error) {
	l = l.orDefault()
	if len(raw) > l.Bytes {
		return nil, fmt.Errorf("schema: %d bytes, more than %d", len(raw), l.Bytes)
	}
	raw = bytes.Clone(raw)
	dialect, err := survey(raw, l)
	if err != nil {
		return nil, err
	}
	s := &Schema{raw: raw, limits: l}
	if dialect != draft04 {
		fc := fastCompiler{root: true}
		c := cursor{b: raw}
		s.fast, _ = fc.compile(&c)
	}
	if s.fast == nil {
		if s.full, err = newFull(raw, l); err != nil {
			return nil, err
		}
	}
	s.defaults = findDefaults(raw)
	return s, nil
}

// Raw returns the schema as it was given. The caller must not change it.
func (s *Schema) Raw() []byte { return s.raw }

// Validate checks raw, which must be one strict JSON value: well formed, valid
// UTF-8, no duplicate names. Text that is not may be accepted or refused, but
// never panics. The error is a [*ValidationError] when the instance is not
// valid, [ErrBudget] when finding out would take too long.
//
// Numbers are exact. A number of more than 1000 bytes or an exponent beyond
// ±1000 is refused, as is nesting deeper than 256.
func (s *Schema) Validate(raw []byte) error {
	if s.fast == nil {
		return s.full.validate(raw)
	}
	r := run{cursor: cursor{b: raw}, steps: s.limits.Steps}
	if r.root(s.fast) && !r.failed {
		return nil
	}
	return s.explain(raw)
}

// explain runs the byte validator again, this time keeping paths and problems.
func (s *Schema) explain(raw []byte) error {
	r := &run{cursor: cursor{b: raw}, steps: s.limits.Steps, report: new(report)}
	switch ok := r.root(s.fast); {
	case r.steps < 0:
		return ErrBudget
	case !ok:
		return errMalformed
	}
	return newValidationError(r.report.problems)
}

var errMalformed = errors.New("schema: instance is malformed JSON, nested too deep or has a number out of range")

const draft04 = "json-schema.org/draft-04/schema"

// dialectOf returns the identifier of a dialect without its scheme, "" when it is not supported.
func dialectOf(uri string) string {
	id := strings.TrimSuffix(uri, "#")
	id = strings.TrimPrefix(strings.TrimPrefix(id, "http://"), "https://")
	switch id {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
		"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", draft04:
		return id
	}
	return ""
}

// maxProduct bounds the product of references (or identifiers) and subschemas,
// which is what resolving them costs.
const maxProduct = 10_000_000

// survey checks the schema's JSON and the limits, and returns the dialect.
func survey(raw []byte, l Limits) (dialect string, err error) {
	if !jsontext.Value(raw).IsValid() {
		return "", errors.New("schema: not strict JSON")
	}
	sv := surveyor{cursor: cursor{b: raw}, max: l.Subschemas}
	if !sv.walk(l.Depth) {
		switch {
		case sv.objects > sv.max:
			return "", fmt.Errorf("schema: more than %d subschemas", l.Subschemas)
		case sv.deep:
			return "", fmt.Errorf("schema: nested deeper than %d", l.Depth)
		}
		return "", errors.New("schema: a number is out of range")
	}
	if sv.links*sv.objects > maxProduct {
		return "", fmt.Errorf("schema: %d references in %d subschemas are too many", sv.links, sv.objects)
	}
	c := cursor{b: raw}
	switch c.next() {
	case '{':
	case 't', 'f':
		return "", nil
	default:
		return "", errors.New("schema: must be an object or a boolean")
	}
	return rootDialect(&c)
}

// rootDialect reads $schema of the root object.
func rootDialect(c *cursor) (dialect string, err error) {
	c.object(func(name []byte, escaped bool) bool {
		text, _ := unescape(name, escaped, nil)
		v, ok := c.value(maxInstanceDepth)
		if ok && string(text) == "$schema" {
			uri, uerr := jsontext.AppendUnquote(nil, v)
			if dialect = dialectOf(string(uri)); uerr != nil || dialect == "" {
				err = fmt.Errorf("schema: unsupported dialect %s", clip(string(v)))
			}
		}
		return ok
	})
	return dialect, err
}

// A surveyor counts what the limits bound.
type surveyor struct {
	cursor
	max, objects, links int
	deep                bool
}

func (s *surveyor) walk(depth int) bool {
	switch s.next() {
	case '{':
		s.objects++
		if s.objects > s.max || !s.enter(depth) {
			return false
		}
		return s.object(func(name []byte, escaped bool) bool {
			if len(name) > 0 && name[0] == '$' || escaped || string(name) == "id" {
				s.links++
			}
			return s.walk(depth - 1)
		})
	case '[':
		return s.enter(depth) && s.array(func() bool { return s.walk(depth - 1) })
	}
	_, ok := s.value(0)
	return ok
}

func (s *surveyor) enter(depth int) bool {
	s.deep = s.deep || depth <= 0
	return depth > 0
}
