package rawjson

import "bytes"

// Equal reports whether a and b are the same JSON value: order of members and
// white space do not matter, strings are compared after unescaping, numbers by
// their exact value (1.0 is 1e0, -0 is 0, and no digit is lost). What is nested
// deeper than DefaultDepth is compared byte for byte.
func Equal(a, b []byte) bool { return equal(Trim(a), Trim(b), DefaultDepth) }

func equal(a, b []byte, depth int) bool {
	if bytes.Equal(a, b) {
		return true
	}
	kind := KindOf(a)
	if kind != KindOf(b) || depth == 0 {
		return false
	}
	switch kind {
	case '{':
		return equalObjects(a, b, depth-1)
	case '[':
		x, y := Array(a), Array(b)
		for x.Next() {
			if !y.Next() || !equal(x.Value(), y.Value(), depth-1) {
				return false
			}
		}
		return !y.Next()
	case '"':
		return len(a) >= 2 && len(b) >= 2 && sameName(a[1:len(a)-1], b[1:len(b)-1])
	case '0':
		return parseDecimal(a).equal(parseDecimal(b))
	}
	return false // equal literals are equal bytes
}

// equalObjects compares in step while the names come in the same order.
func equalObjects(a, b []byte, depth int) bool {
	x, y := Object(a), Object(b)
	for x.Next() {
		if !y.Next() {
			return false
		}
		if !sameName(x.rawKey(), y.rawKey()) {
			return equalRest(x, y, depth)
		}
		if !equal(x.Value(), y.Value(), depth) {
			return false
		}
	}
	return !y.Next()
}

// equalRest compares the current and later members of x and y in any order.
func equalRest(x, y Cursor, depth int) bool {
	rest := map[string][]byte{}
	for more := true; more; more = y.Next() {
		rest[y.Key()] = y.Value()
	}
	for more := true; more; more = x.Next() {
		key := x.Key()
		v, ok := rest[key]
		if !ok || !equal(x.Value(), v, depth) {
			return false
		}
		delete(rest, key)
	}
	return len(rest) == 0
}
