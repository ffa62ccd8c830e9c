package uritemplate

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A part is a literal, or an expression if op is not 0.
type part struct {
	literal string
	op      byte // the operator; ' ' for simple expansion
	vars    []variable
}

type variable struct {
	name    string
	explode bool
	prefix  int // the length of the prefix in characters; 0 means all
}

// maxPrefix is the largest number after the colon in {name:number}.
const maxPrefix = 9999

// split takes a template apart (RFC 6570, section 2).
func split(template string) (parts []part, err error) {
	for template != "" {
		literal, rest, found := strings.Cut(template, "{")
		if err := checkLiteral(literal); err != nil {
			return nil, err
		}
		if literal != "" {
			parts = append(parts, part{literal: literal})
		}
		if !found {
			break
		}
		body, rest, found := strings.Cut(rest, "}")
		if !found {
			return nil, errors.New("expression without end")
		}
		p, err := expression(body)
		if err != nil {
			return nil, fmt.Errorf("expression {%s}: %w", body, err)
		}
		parts = append(parts, p)
		template = rest
	}
	return parts, nil
}

func checkLiteral(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("not utf-8")
	}
	for i, c := range s {
		if c <= ' ' || 0x7f <= c && c < 0xa0 || strings.ContainsRune("\"<>\\^`|}", c) {
			return fmt.Errorf("character %q outside an expression", c)
		}
		if c == '%' && !triplet(s[i:]) {
			return errors.New("stray percent sign")
		}
	}
	return nil
}

// triplet says whether s begins with a percent-encoded byte.
func triplet(s string) bool {
	return len(s) >= 3 && s[0] == '%' && unhex(s[1]) >= 0 && unhex(s[2]) >= 0
}

func expression(s string) (part, error) {
	p := part{op: ' '}
	if s != "" && strings.IndexByte("+#./;?&", s[0]) >= 0 {
		p.op, s = s[0], s[1:]
	}
	for spec := range strings.SplitSeq(s, ",") {
		v := variable{name: spec}
		if name, ok := strings.CutSuffix(spec, "*"); ok {
			v.name, v.explode = name, true
		} else if name, n, ok := strings.Cut(spec, ":"); ok {
			v.name = name
			if v.prefix, ok = prefixLength(n); !ok {
				return part{}, errors.New("bad prefix length")
			}
		}
		if !validName(v.name) {
			return part{}, errors.New("bad variable name")
		}
		p.vars = append(p.vars, v)
	}
	return p, nil
}

func prefixLength(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > maxPrefix {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, 0 < n && n <= maxPrefix && s[0] != '0'
}

func validName(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		case c == '%' && triplet(s[i:]):
			i += 2
		case c == '.' && 0 < i && i < len(s)-1 && s[i-1] != '.':
		default:
			return false
		}
	}
	return s != ""
}
