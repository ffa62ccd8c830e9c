package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// flatten turns the complete validator's tree of errors into problems, in the
// words of the byte validator. root is the instance, from which values are quoted.
func flatten(e *jsonschema.ValidationError, root any) []Problem {
	f := flattener{root: root}
	f.add(e)
	return f.problems
}

type flattener struct {
	root     any
	problems []Problem
}

func (f *flattener) add(e *jsonschema.ValidationError) {
	if len(f.problems) > 10*maxProblems {
		return
	}
	path := ""
	for _, seg := range e.InstanceLocation {
		path = appendPointer(path, seg)
	}
	note := func(path, msg string) { f.problems = append(f.problems, Problem{path, msg}) }
	switch k := e.ErrorKind.(type) {
	case nil, *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
	case *kind.AnyOf:
		f.alternatives(e, path)
		return
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			f.alternatives(e, path)
			return
		}
		note(path, "matches more than one of the alternatives")
	case *kind.Required:
		for _, name := range k.Missing {
			note(appendPointer(path, name), msgMissing)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			note(appendPointer(path, name), msgUnknown)
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			note(appendPointer(path, name), "required when "+strconv.Quote(k.Prop)+" is present")
		}
	case *kind.Dependency:
		for _, name := range k.Missing {
			note(appendPointer(path, name), "required when "+strconv.Quote(k.Prop)+" is present")
		}
	case *kind.PropertyNames:
		note(appendPointer(path, k.Property), "property name is not allowed")
		return
	default:
		note(path, text(e.ErrorKind, f.at(e.InstanceLocation)))
	}
	for _, c := range e.Causes {
		f.add(c)
	}
}

// alternatives reports a failed anyOf or oneOf: as one problem when all that is
// wrong is the value itself, else with the problems of every alternative.
func (f *flattener) alternatives(e *jsonschema.ValidationError, path string) {
	var want []string
	simple := true
	for _, c := range e.Causes {
		for len(c.Causes) == 1 {
			c = c.Causes[0]
		}
		simple = simple && slices.Equal(c.InstanceLocation, e.InstanceLocation)
		switch k := c.ErrorKind.(type) {
		case *kind.Type:
			want = append(want, k.Want...)
		case *kind.Const:
			want = append(want, literal(k.Want))
		case *kind.Enum:
			for _, w := range k.Want {
				want = append(want, literal(w))
			}
		default:
			simple = false
		}
	}
	if simple {
		slices.Sort(want)
		got := describe(f.at(e.InstanceLocation))
		f.problems = append(f.problems, Problem{path, msgEnum(slices.Compact(want), got)})
		return
	}
	f.problems = append(f.problems, Problem{path, fmt.Sprintf("matches none of the %d alternatives", len(e.Causes))})
	for _, c := range e.Causes {
		f.add(c)
	}
}

// text puts one leaf into words.
func text(k jsonschema.ErrorKind, v any) string {
	got := describe(v)
	switch k := k.(type) {
	case *kind.Type:
		return msgExpected(strings.Join(k.Want, " or "), got)
	case *kind.Enum:
		want := make([]string, len(k.Want))
		for i, w := range k.Want {
			want[i] = literal(w)
		}
		return msgEnum(want, got)
	case *kind.Const:
		return msgExpected(literal(k.Want), got)
	case *kind.Minimum:
		return msgBound("minimum", ratio(k.Want), got)
	case *kind.Maximum:
		return msgBound("maximum", ratio(k.Want), got)
	case *kind.ExclusiveMinimum:
		return msgBound("exclusiveMinimum", ratio(k.Want), got)
	case *kind.ExclusiveMaximum:
		return msgBound("exclusiveMaximum", ratio(k.Want), got)
	case *kind.MultipleOf:
		return msgExpected("a multiple of "+ratio(k.Want), got)
	case *kind.MinLength:
		return msgCount("least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		return msgCount("most", k.Want, "character", k.Got)
	case *kind.MinItems:
		return msgCount("least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		return msgCount("most", k.Want, "item", k.Got)
	case *kind.MinProperties:
		return msgCount("least", k.Want, "property", k.Got)
	case *kind.MaxProperties:
		return msgCount("most", k.Want, "property", k.Got)
	case *kind.Pattern:
		return msgPattern(k.Want, got)
	case *kind.FalseSchema:
		return msgForbidden
	case *kind.UniqueItems:
		return fmt.Sprintf("expected unique items, but items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Not:
		return "matches what the schema excludes"
	case *kind.RefCycle:
		return "cannot be decided: the schema's references form a cycle"
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return "does not satisfy " + clip(strings.Join(path, "/"))
	}
	return "is not allowed by the schema"
}

// at returns the part of the instance at a location, nil when there is none.
func (f *flattener) at(loc []string) any {
	v := f.root
	for _, seg := range loc {
		switch w := v.(type) {
		case map[string]any:
			v = w[seg]
		case []any:
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= len(w) {
				return nil
			}
			v = w[i]
		default:
			return nil
		}
	}
	return v
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean " + strconv.FormatBool(v)
	case string:
		return describeString(v)
	case json.Number:
		return describeNumber(v.String())
	case []any:
		return "array"
	}
	return "object"
}

// literal is v as JSON.
func literal(v any) string {
	if s, ok := v.(string); ok {
		return clip(strconv.Quote(s))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(b))
}

func ratio(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String())
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
