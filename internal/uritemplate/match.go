package uritemplate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A group says what a capture of the expression holds: the value of the only
// variable, or, if named, pairs in which the variables appear by name.
type group struct {
	vars  []variable
	named bool
	sep   string // between the values of an exploded variable, or the pairs
}

// Classes of characters, without brackets. Percent signs are checked when the
// value is decoded.
const (
	classSegment = `A-Za-z0-9\-._~%!$&'()*+;=:@` // of a path, but for the comma
	classAll     = classSegment + `,/?#\[\]`
	classQuery   = classSegment + `,/?\[\]`
)

// compile builds one regular expression, which Go matches in linear time, and
// the list of what its captures mean.
func (t *Template) compile() error {
	var re strings.Builder
	re.WriteString(`\A`)
	count := 0
	for i, p := range t.parts {
		if count += len(p.vars); count > MaxVariables {
			return fmt.Errorf("more than %d variables", MaxVariables)
		}
		switch p.op {
		case 0:
			t.literal += len(p.literal)
			re.WriteString(regexp.QuoteMeta(encode(p.literal)))
		case '?', '&', ';':
			if i > 0 && continues(t.parts[i-1].op, p.op) {
				g := &t.groups[len(t.groups)-1]
				g.vars = slices.Concat(g.vars, p.vars)
				continue
			}
			t.pairs(&re, p)
		default:
			t.values(&re, p)
			if i > 0 && (p.op == ' ' || p.op == '+') && t.parts[i-1].op != 0 {
				t.wild++ // nothing tells where the one ends and the other begins
			}
		}
	}
	if t.wild > MaxWild {
		return fmt.Errorf("more than %d variables that match across segments or have no fixed end", MaxWild)
	}
	re.WriteString(`\z`)
	var err error
	t.re, err = regexp.Compile(re.String())
	return err
}

// continues says whether an expression with the operator next, directly behind
// one with the operator op, adds to its pairs: {?a}{&b} is one query.
func continues(op, next byte) bool {
	return next == '&' && (op == '?' || op == '&') || next == ';' && op == ';'
}

// pairs adds an expression whose variables appear by name. All are optional.
func (t *Template) pairs(re *strings.Builder, p part) {
	g := group{vars: p.vars, named: true, sep: "&"}
	class := classQuery
	if p.op == ';' {
		g.sep, class = ";", classSegment+","
	}
	re.WriteString(`(?:` + regexp.QuoteMeta(string(p.op)) + `([` + class + `]*))?`)
	t.groups = append(t.groups, g)
	for _, v := range p.vars {
		if v.explode {
			t.wild++
		}
	}
}

// values adds an expression whose variables appear by position. Those with a
// sign in front are optional; the first of the others is not, so that a
// template for things does not match the URI that lists them.
func (t *Template) values(re *strings.Builder, p part) {
	sep, class := ",", classSegment
	switch p.op {
	case '+', '#':
		class = classAll
		t.wild += len(p.vars)
	case '.', '/':
		sep = string(p.op)
	}
	for i, v := range p.vars {
		c := class
		switch last := i == len(p.vars)-1; {
		case v.explode:
			c += regexp.QuoteMeta(sep)
			if p.op != '+' && p.op != '#' {
				t.wild++
			}
		case len(p.vars) > 1 && !(last && class == classAll):
			c = strings.ReplaceAll(c, sep, "")
		default:
			c += ","
		}
		capture := `([` + c + `]+)`
		switch {
		case p.op == '.' || p.op == '/':
			capture = `(?:` + regexp.QuoteMeta(sep) + capture + `)?`
		case i > 0:
			capture = `(?:,` + capture + `)?`
		case p.op == '#':
			capture = `(?:#` + capture // closed below
		}
		re.WriteString(capture)
		t.groups = append(t.groups, group{vars: p.vars[i : i+1], sep: sep})
	}
	if p.op == '#' {
		re.WriteString(`)?`)
	}
}

// Match returns the variables with which the template becomes uri, decoded. In
// {?v*} and its like, a pair whose name is no variable's adds "name=value" to
// v; elsewhere such a pair means that the template does not match, and so do
// values that contradict each other.
func (t *Template) Match(uri string) (Values, bool) {
	if len(uri) > MaxURI {
		return nil, false
	}
	uri = encode(uri)
	loc := t.re.FindStringSubmatchIndex(uri)
	if loc == nil {
		return nil, false
	}
	found := make(Values, len(t.names))
	var prefixes []prefix
	for i := range t.groups {
		g := &t.groups[i]
		from, to := loc[2*i+2], loc[2*i+3]
		if from < 0 {
			continue
		}
		var ok bool
		if g.named {
			ok = g.readPairs(uri[from:to], found, &prefixes)
		} else {
			ok = g.readValue(uri[from:to], found, &prefixes)
		}
		if !ok {
			return nil, false
		}
	}
	if !resolve(prefixes, found) {
		return nil, false
	}
	return found, true
}

// A prefix is the value of {name:n}, which says how a variable begins.
type prefix struct {
	variable
	value string
}

// resolve makes prefixes the values of variables that have no other.
func resolve(prefixes []prefix, found Values) bool {
	// Longest first: it is the most that is known of the variable.
	slices.SortStableFunc(prefixes, func(a, b prefix) int { return b.prefix - a.prefix })
	for _, p := range prefixes {
		if utf8.RuneCountInString(p.value) > p.prefix {
			return false
		}
		vs, ok := found[p.name]
		if !ok {
			found[p.name] = []string{p.value}
		} else if len(vs) != 1 || !strings.HasPrefix(vs[0], p.value) {
			return false
		}
	}
	return true
}

func (g *group) readValue(raw string, found Values, prefixes *[]prefix) bool {
	v := g.vars[0]
	if !v.explode {
		s, ok := decode(raw)
		return ok && v.store([]string{s}, found, prefixes)
	}
	list := make([]string, 0, strings.Count(raw, g.sep)+1)
	for item := range strings.SplitSeq(raw, g.sep) {
		s, ok := decode(item)
		if !ok {
			return false
		}
		list = append(list, s)
	}
	return v.store(list, found, prefixes)
}

// store notes the values of a variable, which have to agree with those it has.
func (v variable) store(values []string, found Values, prefixes *[]prefix) bool {
	if v.prefix > 0 {
		*prefixes = append(*prefixes, prefix{v, values[0]})
		return true
	}
	if old, ok := found[v.name]; ok {
		return slices.Equal(old, values)
	}
	found[v.name] = values
	return true
}

func (g *group) readPairs(raw string, found Values, prefixes *[]prefix) bool {
	if raw == "" {
		return true
	}
	lists := make([][]string, len(g.vars))
	for pair := range strings.SplitSeq(raw, g.sep) {
		name, rawValue, _ := strings.Cut(pair, "=")
		value, ok := decode(rawValue)
		if !ok || name == "" {
			return false
		}
		i := slices.IndexFunc(g.vars, func(v variable) bool { return v.name == name })
		if i < 0 {
			i = slices.IndexFunc(g.vars, func(v variable) bool { return v.explode })
			key, ok := decode(name)
			if i < 0 || !ok {
				return false
			}
			value = key + "=" + value
		}
		if len(lists[i]) > 0 && !g.vars[i].explode {
			return false
		}
		lists[i] = append(lists[i], value)
	}
	for i, list := range lists {
		if list != nil && !g.vars[i].store(list, found, prefixes) {
			return false
		}
	}
	return true
}

const hex = "0123456789ABCDEF"

// encode writes bytes beyond ASCII as expansion does.
func encode(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return s
	}
	b := append(make([]byte, 0, 3*len(s)), s[:i]...)
	for ; i < len(s); i++ {
		if c := s[i]; c < utf8.RuneSelf {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// decode undoes percent-encoding. It fails for a stray percent sign and for
// what is not UTF-8.
func decode(s string) (string, bool) {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s, true
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return "", false
			}
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			c = byte(hi<<4 | lo)
			i += 2
		}
		b = append(b, c)
	}
	return string(b), utf8.Valid(b)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
