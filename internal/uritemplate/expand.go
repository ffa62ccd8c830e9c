package uritemplate

import "strings"

// style is how the variables of an expression are written (RFC 6570, appendix
// A).
type style struct {
	first, sep string
	named      bool
	ifEmpty    string
	reserved   bool
}

func styleOf(op byte) style {
	switch op {
	case '+':
		return style{sep: ",", reserved: true}
	case '#':
		return style{first: "#", sep: ",", reserved: true}
	case '.', '/':
		return style{first: string(op), sep: string(op)}
	case ';':
		return style{first: ";", sep: ";", named: true}
	case '?', '&':
		return style{first: string(op), sep: "&", named: true, ifEmpty: "="}
	}
	return style{sep: ","}
}

// Expand returns the URI for the given variables; those without values are
// undefined. A variable with several values is a list, to which the length of a
// prefix does not apply.
func (t *Template) Expand(vars Values) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.op == 0 {
			b.WriteString(encode(p.literal))
			continue
		}
		s := styleOf(p.op)
		sep := s.first
		for _, v := range p.vars {
			if values := vars[v.name]; len(values) > 0 {
				b.WriteString(sep)
				s.expand(&b, v, values)
				sep = s.sep
			}
		}
	}
	return b.String()
}

func (s style) expand(b *strings.Builder, v variable, values []string) {
	if len(values) == 1 && v.prefix > 0 {
		values = []string{firstRunes(values[0], v.prefix)}
	}
	sep := ","
	if v.explode {
		sep = s.sep
	}
	for i, value := range values {
		if i > 0 {
			b.WriteString(sep)
		}
		if s.named && (i == 0 || v.explode) {
			b.WriteString(v.name)
			if value == "" && (v.explode || len(values) == 1) {
				b.WriteString(s.ifEmpty)
				continue
			}
			b.WriteByte('=')
		}
		s.escape(b, value)
	}
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func (s style) escape(b *strings.Builder, value string) {
	for i := range len(value) {
		c := value[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0,
			s.reserved && (strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0 || triplet(value[i:])):
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
}
