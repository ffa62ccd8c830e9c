package schema

import (
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema of a few hundred bytes can make a validator run for ever: n levels
// that each apply the next one twice cost 2ⁿ. The validator has no budget of its
// own, but it calls a subschema's format before it applies any other subschema,
// and a compiled schema's fields are open. So every subschema gets a format that
// counts steps and panics with spent when there are none left.

const (
	// stepsPerSchema is what applying one subschema costs beside what it looks at.
	stepsPerSchema = 16
	// stepsPerDynamic is what a $dynamicRef or $recursiveRef costs more: it walks
	// up all subschemas that are being applied.
	stepsPerDynamic = 500
	// stepsPerNumber is what comparing two numbers costs: both are parsed anew.
	stepsPerNumber = 32
)

type budget struct {
	engine *engine
	seen   map[*jsonschema.Schema]bool
	chains map[*jsonschema.Schema]int
}

// chain is the length of the longest chain of subschemas that s applies to one
// value. The validator walks up that chain at every step to find cycles.
func (b *budget) chain(s *jsonschema.Schema) int {
	if n, ok := b.chains[s]; ok {
		return n
	}
	b.chains[s] = 0 // while it is being computed, which cuts cycles
	longest := 0
	inPlace, _ := children(s)
	for _, c := range inPlace {
		longest = max(longest, b.chain(c))
	}
	b.chains[s] = longest + 1
	return longest + 1
}

// attach hooks s and all that it refers to.
func (b *budget) attach(s *jsonschema.Schema) {
	todo := []*jsonschema.Schema{s}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if b.seen[s] {
			continue
		}
		b.seen[s] = true
		b.engine.chain = max(b.engine.chain, b.chain(s))
		inPlace, below := children(s)
		todo = append(append(todo, inPlace...), below...)
		s.Format = &jsonschema.Format{Name: "budget", Validate: b.hook(s, inPlace, below)}
	}
}

// hook returns the format of s. A child whose type, enum or const does not match
// never reaches its own format, so its parent pays for it.
func (b *budget) hook(s *jsonschema.Schema, inPlace, below []*jsonschema.Schema) func(any) error {
	fixed := stepsPerSchema + ownCost(s) + len(s.Required)
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		fixed += stepsPerDynamic
	}
	for _, c := range inPlace {
		fixed += 1 + ownCost(c)
	}
	each := 1 + len(s.PatternProperties)
	for _, c := range below {
		each = max(each, 1+len(s.PatternProperties)+ownCost(c))
	}
	patterns := ""
	for re := range s.PatternProperties {
		patterns += re.String()
	}
	e := b.engine
	return func(v any) error {
		cost := fixed + e.chain/8
		switch v := v.(type) {
		case string:
			if s.Pattern != nil {
				cost += patternCost(s.Pattern.String(), len(v))
			}
			cost += len(v) / 1024
		case []any:
			cost += len(v) * each
			if s.UniqueItems {
				cost += weight(v)
			}
		case map[string]any:
			cost += len(v) * each
			for name := range v {
				if patterns == "" {
					break
				}
				cost += patternCost(patterns, len(name))
			}
		}
		if e.steps -= cost; e.steps < 0 {
			panic(spent{})
		}
		return nil
	}
}

// ownCost is what comparing a value with enum and const costs.
func ownCost(s *jsonschema.Schema) int {
	n := 0
	if s.Const != nil {
		n += weight(*s.Const)
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			n += weight(v)
		}
	}
	return n
}

// weight is what comparing v with another value costs at most.
func weight(v any) int {
	n := 1
	switch v := v.(type) {
	case json.Number:
		n = stepsPerNumber
	case string:
		n += len(v) / 256
	case []any:
		for _, w := range v {
			n += weight(w)
		}
	case map[string]any:
		for _, w := range v {
			n += 1 + weight(w)
		}
	}
	return n
}

// children lists the subschemas that s applies to the same value and those that
// it applies to a part of it.
func children(s *jsonschema.Schema) (inPlace, below []*jsonschema.Schema) {
	add := func(to *[]*jsonschema.Schema, vs ...any) {
		for _, v := range vs {
			switch v := v.(type) {
			case *jsonschema.Schema:
				if v != nil {
					*to = append(*to, v)
				}
			case []*jsonschema.Schema:
				*to = append(*to, v...)
			}
		}
	}
	add(&inPlace, s.Ref, s.RecursiveRef, s.Not, s.AllOf, s.AnyOf, s.OneOf, s.If, s.Then, s.Else)
	if s.DynamicRef != nil {
		add(&inPlace, s.DynamicRef.Ref)
	}
	for _, d := range s.DependentSchemas {
		add(&inPlace, d)
	}
	for _, d := range s.Dependencies {
		add(&inPlace, d)
	}
	add(&below, s.PropertyNames, s.AdditionalProperties, s.UnevaluatedProperties, s.Contains, s.Items,
		s.AdditionalItems, s.PrefixItems, s.Items2020, s.UnevaluatedItems, s.ContentSchema)
	for _, p := range s.Properties {
		add(&below, p)
	}
	for _, p := range s.PatternProperties {
		add(&below, p)
	}
	return inPlace, below
}

// dynamicAnchors lists the JSON pointers, escaped for a URL fragment, of all
// objects with a $dynamicAnchor.
func dynamicAnchors(v any, at string, found []string) []string {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["$dynamicAnchor"]; ok {
			found = append(found, at)
		}
		for name, w := range v {
			found = dynamicAnchors(w, at+url.PathEscape(appendPointer("", name)), found)
		}
	case []any:
		for i, w := range v {
			found = dynamicAnchors(w, at+"/"+strconv.Itoa(i), found)
		}
	}
	return found
}
