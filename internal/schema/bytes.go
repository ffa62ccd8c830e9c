package schema

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A run is one pass of the byte validator. Its methods consume the value under
// the cursor and return false when the run must stop: malformed text, an
// exhausted budget, or the first problem when there is no report.
type run struct {
	cursor
	steps  int
	failed bool
	report *report
	buf    []byte // the last unescaped string
}

// A report keeps the problems and the path of the value under the cursor.
type report struct {
	problems []Problem
	path     []string
}

func (r *run) root(n *node) bool {
	return r.check(n, maxInstanceDepth) && r.end()
}

// problem notes a problem; message is called only when there is a report.
func (r *run) problem(message func() string) bool {
	r.failed = true
	if r.report == nil {
		return false
	}
	if len(r.report.problems) <= maxProblems {
		path := ""
		for _, seg := range r.report.path {
			path = appendPointer(path, seg)
		}
		r.report.problems = append(r.report.problems, Problem{path, message()})
	}
	return true
}

func (r *run) spend(n int) bool {
	r.steps -= n
	return r.steps >= 0
}

func (r *run) enter(name []byte) {
	if r.report != nil {
		r.report.path = append(r.report.path, string(name))
	}
}

func (r *run) leave() {
	if r.report != nil {
		r.report.path = r.report.path[:len(r.report.path)-1]
	}
}

// check validates the value under the cursor. depth is what is left of the allowed nesting.
func (r *run) check(n *node, depth int) bool {
	if !r.spend(1) {
		return false
	}
	if n.never || n.free {
		_, ok := r.value(depth)
		return ok && (n.free || r.problem(func() string { return msgForbidden }))
	}
	switch ch := r.next(); ch {
	case '{':
		if ok, match := r.composite(n, isObject, depth); !match {
			return ok
		}
		return r.checkObject(n, depth)
	case '[':
		if ok, match := r.composite(n, isArray, depth); !match {
			return ok
		}
		return r.checkArray(n, depth)
	case '"':
		return r.checkString(n)
	case 't', 'f':
		return r.checkWord(n, isBoolean)
	case 'n':
		return r.checkWord(n, isNull)
	default:
		return r.checkNumber(n)
	}
}

// composite decides whether an object or array may be looked into: its type is
// wanted and no enum or const (of scalars) excludes it. If not, it is skipped.
func (r *run) composite(n *node, kind uint8, depth int) (ok, match bool) {
	if (n.types == 0 || n.types&kind != 0) && n.enum == nil && n.konst == nil {
		return depth > 0, depth > 0
	}
	if _, ok := r.value(depth); !ok {
		return false, false
	}
	got := describeKind(kind)
	return r.problem(func() string { return n.unwanted(kind, got) }), false
}

// unwanted is the message for a value whose type, enum or const does not match.
func (n *node) unwanted(kind uint8, got string) string {
	if !n.allows(kind) {
		var want []string
		for i, name := range typeNames {
			if n.types&(1<<i) != 0 {
				want = append(want, name)
			}
		}
		return msgExpected(strings.Join(want, " or "), got)
	}
	list := n.konst
	if list == nil {
		list = n.enum
	}
	var want []string
	for _, s := range list[:min(11, len(list))] {
		want = append(want, clip(s.raw))
	}
	return msgEnum(want, got)
}

// allows says whether the type keyword lets a value of these types pass; an
// integer is isInteger|isNumber.
func (n *node) allows(kind uint8) bool { return n.types == 0 || n.types&kind != 0 }

func describeKind(kind uint8) string {
	return typeNames[bits.TrailingZeros8(kind)]
}

func (r *run) checkWord(n *node, kind uint8) bool {
	start := r.i
	if !r.scalar() {
		return false
	}
	v := scalar{kind: kind}
	if kind == isBoolean {
		v.text = r.b[start:r.i]
	}
	in, ok := r.among(n, &v)
	if !ok {
		return false
	}
	if n.allows(kind) && in {
		return true
	}
	return r.problem(func() string {
		if kind == isBoolean {
			return n.unwanted(kind, "boolean "+string(v.text))
		}
		return n.unwanted(kind, "null")
	})
}

// among reports whether enum and const allow v; ok is false when the budget is spent.
func (r *run) among(n *node, v *scalar) (in, ok bool) {
	in = contains(n.konst, v) && contains(n.enum, v)
	return in, r.spend(len(n.enum) / 4)
}

// contains reports whether list holds v; an absent list holds everything.
func contains(list []scalar, v *scalar) bool {
	for i := range list {
		s := &list[i]
		if s.kind != v.kind {
			continue
		}
		if s.kind == isNumber && s.num.cmp(&v.num) == 0 || s.kind != isNumber && bytes.Equal(s.text, v.text) {
			return true
		}
	}
	return list == nil
}

func (r *run) checkNumber(n *node) bool {
	start := r.i
	if !r.scalar() {
		return false
	}
	tok := r.b[start:r.i]
	v := scalar{kind: isNumber, num: parseDecimal(tok)}
	kind := uint8(isNumber)
	if v.num.isInteger() {
		kind |= isInteger
	}
	in, ok := r.among(n, &v)
	if !ok {
		return false
	}
	got := func() string { return describeNumber(string(tok)) }
	if !n.allows(kind) || !in {
		return r.problem(func() string { return n.unwanted(kind, got()) })
	}
	for i := range n.bounds {
		b := &n.bounds[i]
		if !b.holds(v.num.cmp(&b.num)) && !r.problem(func() string { return msgBound(b.key, b.text, got()) }) {
			return false
		}
	}
	return true
}

func (b *bound) holds(cmp int) bool {
	switch b.key {
	case "minimum":
		return cmp >= 0
	case "maximum":
		return cmp <= 0
	case "exclusiveMinimum":
		return cmp > 0
	}
	return cmp < 0
}

func msgBound(key, limit, got string) string {
	sign := map[string]string{"minimum": "≥", "maximum": "≤", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}[key]
	return msgExpected("number "+sign+" "+clip(limit), got)
}

func (r *run) checkString(n *node) bool {
	content, escaped, ok := r.str()
	if !ok {
		return false
	}
	text, ok := unescape(content, escaped, r.buf)
	if !ok {
		return false
	}
	if escaped {
		r.buf = text
	}
	v := scalar{kind: isString, text: text}
	in, ok := r.among(n, &v)
	if !ok {
		return false
	}
	if !n.allows(isString) || !in {
		return r.problem(func() string { return n.unwanted(isString, describeString(string(text))) })
	}
	if n.minLen < 0 && n.maxLen < 0 && n.pattern == nil {
		return true
	}
	return r.checkText(n, text)
}

func (r *run) checkText(n *node, text []byte) bool {
	if n.minLen >= 0 || n.maxLen >= 0 {
		count := utf8.RuneCount(text)
		if count < n.minLen && !r.problem(func() string { return msgCount("least", n.minLen, "character", count) }) {
			return false
		}
		if n.maxLen >= 0 && count > n.maxLen && !r.problem(func() string { return msgCount("most", n.maxLen, "character", count) }) {
			return false
		}
	}
	if n.pattern == nil {
		return true
	}
	if !r.spend(patternCost(n.pattern.String(), len(text))) {
		return false
	}
	return n.pattern.Match(text) || r.problem(func() string {
		return msgPattern(n.pattern.String(), describeString(string(text)))
	})
}

// patternCost is what matching costs in steps: RE2 takes time proportional to
// the product of both lengths, at worst.
func patternCost(pattern string, text int) int { return (len(pattern) + 8) * (text + 8) / 256 }

func (r *run) checkArray(n *node, depth int) bool {
	count := 0
	if r.i++; r.next() == ']' {
		r.i++
	} else {
		for {
			r.enterIndex(count)
			var ok bool
			if n.items != nil {
				ok = r.check(n.items, depth-1)
			} else if ok = r.spend(1); ok {
				_, ok = r.value(depth - 1)
			}
			if !ok {
				return false
			}
			r.leave()
			count++
			ch := r.next()
			r.i++
			if ch == ']' {
				break
			}
			if ch != ',' {
				return false
			}
		}
	}
	if count < n.minItems && !r.problem(func() string { return msgCount("least", n.minItems, "item", count) }) {
		return false
	}
	return n.maxItems < 0 || count <= n.maxItems ||
		r.problem(func() string { return msgCount("most", n.maxItems, "item", count) })
}

func (r *run) enterIndex(i int) {
	if r.report != nil {
		r.report.path = append(r.report.path, strconv.Itoa(i))
	}
}

func (r *run) checkObject(n *node, depth int) bool {
	var seen uint64
	if r.i++; r.next() == '}' {
		r.i++
		return r.checkRequired(n, seen)
	}
	for {
		name, escaped, ok := r.str()
		if !ok || !r.eat(':') {
			return false
		}
		if name, ok = unescape(name, escaped, nil); !ok {
			return false
		}
		i := n.find(name)
		if i >= 0 {
			seen |= 1 << i
		}
		r.enter(name)
		if !r.checkMember(n, i, depth-1) {
			return false
		}
		r.leave()
		ch := r.next()
		r.i++
		if ch == '}' {
			return r.checkRequired(n, seen)
		}
		if ch != ',' {
			return false
		}
	}
}

// checkMember validates the value of property i, -1 being one the schema does not mention.
func (r *run) checkMember(n *node, i, depth int) bool {
	switch {
	case i >= 0 && n.props[i].declared:
		return r.check(n.props[i].node, depth)
	case n.closed:
		_, ok := r.value(depth)
		return ok && r.problem(func() string { return msgUnknown })
	case n.rest != nil:
		return r.check(n.rest, depth)
	}
	if !r.spend(1) {
		return false
	}
	_, ok := r.value(depth)
	return ok
}

func (r *run) checkRequired(n *node, seen uint64) bool {
	if seen&n.required == n.required {
		return true
	}
	for i := range n.props {
		p := &n.props[i]
		if !p.required || seen&(1<<i) != 0 {
			continue
		}
		r.enter([]byte(p.name))
		if !r.problem(func() string { return msgMissing }) {
			return false
		}
		r.leave()
	}
	return true
}
