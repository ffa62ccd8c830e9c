package mcpheader

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxInteger is the largest integer that every JSON implementation keeps exact.
const maxInteger = 1<<53 - 1

// ErrValue says that an argument cannot be mirrored in a header.
var ErrValue = errors.New("value is not a string, a boolean or an integer within ±(2^53-1)")

// Value returns the header value for an argument, given as raw JSON: a string
// encoded, an integer in decimal digits, a boolean as true or false. For null
// ok is false and there is no error: null arguments have no header.
func Value(raw []byte) (header string, ok bool, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return "", false, ErrValue
	case string(raw) == "null":
		return "", false, nil
	case string(raw) == "true" || string(raw) == "false":
		return string(raw), true, nil
	case raw[0] == '"':
		s, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return "", false, ErrValue
		}
		return Encode(string(s)), true, nil
	}
	n, isInt := integer(raw)
	if !isInt {
		return "", false, ErrValue
	}
	return strconv.FormatInt(n, 10), true, nil
}

// Compare says whether a header, as received, and a value of the body, as raw
// JSON, mean the same: strings byte for byte after decoding, booleans by name,
// integers by number, so that 42 and 42.0 agree. A header that cannot be
// decoded, an integer beyond ±(2^53-1), null and every other kind of value
// agree with nothing.
func Compare(header string, body []byte) bool {
	value, err := Decode(header)
	body = bytes.TrimSpace(body)
	if err != nil || len(body) == 0 {
		return false
	}
	switch string(body) {
	case "null":
		return false
	case "true", "false":
		return value == string(body)
	}
	if body[0] == '"' {
		s, err := jsontext.AppendUnquote(nil, body)
		return err == nil && value == string(s)
	}
	b, okB := integer(body)
	h, okH := integer([]byte(value))
	return okB && okH && b == h
}

// integer reads a JSON number that is an integer within the exact range, in
// whatever form it is written. It works on the digits: a double would round
// what has to be refused.
func integer(s []byte) (int64, bool) {
	digits, exp, neg, ok := number(s)
	if !ok {
		return 0, false
	}
	digits = bytes.TrimLeft(digits, "0")
	short := bytes.TrimRight(digits, "0")
	exp += len(digits) - len(short)
	if len(short) == 0 {
		return 0, true
	}
	if exp < 0 || len(short)+exp > 16 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(short), 10, 64)
	if err != nil {
		return 0, false
	}
	for range exp {
		n *= 10
	}
	if neg {
		n = -n
	}
	return n, -maxInteger <= n && n <= maxInteger
}

// number splits a JSON number: its value is digits × 10^exp.
func number(s []byte) (digits []byte, exp int, neg, ok bool) {
	if len(s) > 0 && s[0] == '-' {
		neg, s = true, s[1:]
	}
	whole := run(s)
	s = s[len(whole):]
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return nil, 0, false, false
	}
	digits = whole
	if len(s) > 0 && s[0] == '.' {
		frac := run(s[1:])
		if len(frac) == 0 {
			return nil, 0, false, false
		}
		s = s[1+len(frac):]
		digits = append(bytes.Clone(whole), frac...)
		exp = -len(frac)
	}
	if len(s) > 0 && (s[0] == 'e' || s[0] == 'E') {
		e := s[1:]
		if len(e) > 0 && e[0] == '+' {
			e = e[1:]
		}
		d := bytes.TrimPrefix(e, []byte("-"))
		if len(d) == 0 || len(run(d)) != len(d) || len(s) > 1 && s[1] == '+' && e[0] == '-' {
			return nil, 0, false, false
		}
		n, err := strconv.Atoi(string(e))
		if err != nil || n > 1<<20 || n < -1<<20 {
			n = clamp(e)
		}
		return digits, exp + n, neg, true
	}
	return digits, exp, neg, len(s) == 0
}

// clamp stands for an exponent beyond what any text can make up for with its
// digits.
func clamp(e []byte) int {
	if e[0] == '-' {
		return -1 << 40
	}
	return 1 << 40
}

// run returns the decimal digits that s begins with.
func run(s []byte) []byte {
	for i, c := range s {
		if c < '0' || c > '9' {
			return s[:i]
		}
	}
	return s
}
