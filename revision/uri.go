package revision

import (
	"net/url"
	"strings"

	"mcpv/internal/rawjson"
)

// The query of a classic resource fills the variables of an RFC 6570 template. Of the template language this knows
// what resource templates use: lists of plain names with every operator, without prefixes and explosions of values.

// templateOperators gives, per operator, what comes first, what comes between, and whether names are written.
var templateOperators = map[byte]struct {
	first, between string
	named, raw     bool
}{
	0: {"", ",", false, false}, '+': {"", ",", false, true}, '#': {"#", ",", false, true},
	'.': {".", ".", false, false}, '/': {"/", "/", false, false}, ';': {";", ";", true, false},
	'?': {"?", "&", true, false}, '&': {"&", "&", true, false},
}

// expression is one {…} of a template.
type expression struct {
	operator byte
	names    []string
}

// nextExpression cuts a template at its first expression; ok is false when there is none left.
func nextExpression(template string) (before string, e expression, after string, ok bool) {
	before, rest, found := strings.Cut(template, "{")
	inner, after, closed := strings.Cut(rest, "}")
	if !found || !closed || inner == "" {
		return template, expression{}, "", false
	}
	if _, known := templateOperators[inner[0]]; known {
		e.operator, inner = inner[0], inner[1:]
	}
	for name := range strings.SplitSeq(inner, ",") {
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
		e.names = append(e.names, name)
	}
	return before, e, after, true
}

func templateVariables(template string) []string {
	var names []string
	for {
		_, e, after, ok := nextExpression(template)
		if !ok {
			return names
		}
		names = append(names, e.names...)
		template = after
	}
}

// expandURI fills the variables of template from the members of query. Members that the template does not name are
// appended as a query string, in their order. Without query the template is returned as it is.
func expandURI(template string, query []byte) string {
	if !isObject(query) || isEmpty(query) {
		return template
	}
	values := map[string]string{}
	for name, v := range members(query) {
		if rawjson.KindOf(v) != 'n' {
			values[name] = plainText(v)
		}
	}
	var out strings.Builder
	used := map[string]bool{}
	for {
		before, e, after, ok := nextExpression(template)
		out.WriteString(before)
		if !ok {
			break
		}
		expand(&out, e, values)
		for _, name := range e.names {
			used[name] = true
		}
		template = after
	}
	return appendQuery(out.String(), query, values, used)
}

func expand(out *strings.Builder, e expression, values map[string]string) {
	op := templateOperators[e.operator]
	separator := op.first
	for _, name := range e.names {
		v, ok := values[name]
		if !ok {
			continue
		}
		out.WriteString(separator)
		separator = op.between
		if op.named {
			out.WriteString(name)
			out.WriteByte('=')
		}
		if op.raw {
			out.WriteString(escapeReserved(v))
		} else {
			out.WriteString(strings.ReplaceAll(url.QueryEscape(v), "+", "%20"))
		}
	}
}

// escapeReserved escapes what may not stand in a URI at all and keeps its delimiters.
func escapeReserved(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		if b > ' ' && b < 0x7f && !strings.ContainsRune("\"<>\\^`{|}%", rune(b)) {
			out.WriteByte(b)
		} else {
			out.WriteString(url.PathEscape(string([]byte{b})))
		}
	}
	return out.String()
}

func appendQuery(uri string, query []byte, values map[string]string, used map[string]bool) string {
	uri, fragment, hasFragment := strings.Cut(uri, "#")
	separator := "?"
	if strings.Contains(uri, "?") {
		separator = "&"
	}
	for name := range members(query) {
		v, ok := values[name]
		if !ok || used[name] {
			continue
		}
		uri += separator + url.QueryEscape(name) + "=" + url.QueryEscape(v)
		separator = "&"
	}
	if hasFragment {
		uri += "#" + fragment
	}
	return uri
}
