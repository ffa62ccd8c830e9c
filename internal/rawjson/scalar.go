package rawjson

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// String returns the characters of the string v, and false when v is no string.
func String(v []byte) (string, bool) {
	v = Trim(v)
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return "", false
	}
	raw := v[1 : len(v)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), true
	}
	var buf [128]byte
	return string(appendUnescaped(buf[:0], raw)), true
}

// Int returns the integer v. It is false when v is no number, has a fraction or
// an exponent (1.0 and 1e2 too), or does not fit.
func Int(v []byte) (int64, bool) {
	v = Trim(v)
	if len(v) == 0 || v[0] == '+' {
		return 0, false
	}
	n, ok := int64(0), false
	digits := v
	if v[0] == '-' {
		digits = v[1:]
	}
	if len(digits) > 18 {
		// At most 20 characters fit, so long texts are not worth converting.
		if len(digits) > 19 {
			return 0, false
		}
		n, err := strconv.ParseInt(string(v), 10, 64)
		return n, err == nil
	}
	for _, c := range digits {
		if c-'0' > 9 {
			return 0, false
		}
		n, ok = n*10+int64(c-'0'), true
	}
	if v[0] == '-' {
		n = -n
	}
	return n, ok
}

// Bool returns the truth value v; ok is false when v is none.
func Bool(v []byte) (value, ok bool) {
	switch string(Trim(v)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what must be escaped is; invalid
// UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRuneInString(s[i:])
			if n == 1 {
				dst = append(dst, s[start:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscape appends the shortest escape of a quote, backslash or control
// character.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
	case '\b':
		c = 'b'
	case '\f':
		c = 'f'
	case '\n':
		c = 'n'
	case '\r':
		c = 'r'
	case '\t':
		c = 't'
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(dst, '\\', c)
}

// AppendCompact appends v without insignificant white space.
func AppendCompact(dst, v []byte) []byte {
	start := 0
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			i = skipString(v, i+1)
		case isSpace(c):
			dst = append(dst, v[start:i]...)
			i = skipSpaces(v, i)
			start = i
		default:
			i++
		}
	}
	return append(dst, v[start:]...)
}

// AppendLine appends v without its carriage returns and line feeds, which a
// checked text has only outside strings; everything else stays as it was. What
// it appends is fit for line framing.
func AppendLine(dst, v []byte) []byte {
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return append(dst, v...)
	}
	for {
		n := bytes.IndexAny(v, "\r\n")
		if n < 0 {
			return append(dst, v...)
		}
		dst = append(dst, v[:n]...)
		v = v[n+1:]
	}
}
