// Package uritemplate matches URIs against the templates of RFC 6570 under
// which a server offers resources, and expands them.
//
// RFC 6570 defines expansion only. Matching here accepts every expansion with
// variables that are not empty, and somewhat more, so that URIs written by hand
// are found: characters that a URI may contain in that place need not be
// percent-encoded, and the parameters of {?…}, {&…} and {;…} may come in any
// order. It takes time linear in the length of the URI, whatever both say.
package uritemplate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// The limits of what is looked at. With them the worst template and URI cost
// some tens of milliseconds, and ordinary ones of full length a few.
const (
	MaxTemplate  = 4 << 10  // bytes of a template
	MaxVariables = 32       // variables of a template, each occurrence counted
	MaxWild      = 8        // variables of a template that match across segments or have no fixed end
	MaxURI       = 64 << 10 // bytes of a URI; longer ones match nothing
)

// Values are the variables of a template by name. A variable that is not
// exploded has one value; one that is undefined is absent.
type Values map[string][]string

// Get returns the first value of a variable, or nothing.
func (v Values) Get(name string) string {
	if vs := v[name]; len(vs) > 0 {
		return vs[0]
	}
	return ""
}

// A Template is a parsed template. It may be used concurrently.
type Template struct {
	raw     string
	parts   []part
	re      *regexp.Regexp
	groups  []group // one for each capture of re
	names   []string
	literal int // bytes outside expressions
	wild    int // variables that match across segments or have no fixed end
}

// Parse parses a template and compiles its matcher. It takes hyphens in names
// and apostrophes in literals, which RFC 6570 does not know and people use.
func Parse(template string) (*Template, error) {
	if len(template) > MaxTemplate {
		return nil, fmt.Errorf("uri template is longer than %d bytes", MaxTemplate)
	}
	parts, err := split(template)
	if err != nil {
		return nil, fmt.Errorf("uri template %q: %w", template, err)
	}
	t := &Template{raw: template, parts: parts}
	if err := t.compile(); err != nil {
		return nil, fmt.Errorf("uri template %q: %w", template, err)
	}
	for _, p := range parts {
		for _, v := range p.vars {
			if !slices.Contains(t.names, v.name) {
				t.names = append(t.names, v.name)
			}
		}
	}
	return t, nil
}

// String returns the template as it was parsed.
func (t *Template) String() string { return t.raw }

// Names returns the names of the variables in the order of their first
// occurrence. The caller must not change it.
func (t *Template) Names() []string { return t.names }

// Compare orders templates by how specific they are, the most specific first:
// more literal text, then fewer variables that match across segments, then fewer
// variables, then the text. Of several that match a URI the first in this
// order is the one to choose. Only equal templates are equal.
func (t *Template) Compare(u *Template) int {
	return cmp.Or(
		cmp.Compare(u.literal, t.literal),
		cmp.Compare(t.wild, u.wild),
		cmp.Compare(len(t.names), len(u.names)),
		cmp.Compare(t.raw, u.raw),
	)
}

// Less says whether t is more specific than u, in the order of Compare.
func (t *Template) Less(u *Template) bool { return t.Compare(u) < 0 }
