package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, in the top bit of each byte of x, the bytes that need a closer
// look inside a string: quote, backslash, control and non-ASCII. The lowest mark
// is exact; marks above it may be false.
func special(x uint64) uint64 {
	q, b := x^('"'*ones), x^('\\'*ones)
	return ((q-ones)&^q | (b-ones)&^b | (x-' '*ones)&^x | x) & highs
}

// str checks the string whose first byte after the quote is at i. It returns
// the index after the closing quote, or -1, and whether there are escapes in it.
func (s *scanner) str(i int) (end int, escaped bool) {
	data := s.data
	for {
		for i+8 <= len(data) {
			if m := special(binary.LittleEndian.Uint64(data[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		switch c := at(data, i); {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = s.escape(i); i < 0 {
				return -1, true
			}
		case c >= utf8.RuneSelf:
			if i = s.nonASCII(i); i < 0 {
				return -1, escaped
			}
		case c < ' ':
			return s.fail(i, "control character in a string"), escaped
		default:
			i++
		}
	}
}

// nonASCII checks the run of non-ASCII characters at i. DecodeRune refuses
// overlong forms, surrogates and what is beyond U+10FFFF.
func (s *scanner) nonASCII(i int) int {
	for at(s.data, i) >= utf8.RuneSelf {
		_, n := utf8.DecodeRune(s.data[i:])
		if n == 1 {
			return s.fail(i, "invalid UTF-8")
		}
		i += n
	}
	return i
}

// escape checks the escape whose backslash is at i, both halves of a surrogate
// pair included.
func (s *scanner) escape(i int) int {
	switch at(s.data, i+1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return s.fail(i+1, "unknown escape")
	}
	r, ok := hex4(s.data, i+2)
	if !ok {
		return s.fail(min(i+6, len(s.data)), "expected four hexadecimal digits")
	}
	if !utf16.IsSurrogate(r) {
		return i + 6
	}
	if at(s.data, i+6) == '\\' && at(s.data, i+7) == 'u' {
		low, ok := hex4(s.data, i+8)
		if ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			return i + 12
		}
	}
	return s.fail(i, "lone surrogate")
}

// hex4 reads four hexadecimal digits at i.
func hex4(data []byte, i int) (rune, bool) {
	if i > len(data)-4 {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// endsRun marks, like special, only what ends a run of plain characters of a
// checked string: quote and backslash.
func endsRun(x uint64) uint64 {
	q, b := x^('"'*ones), x^('\\'*ones)
	return ((q-ones)&^q | (b-ones)&^b) & highs
}

// skipString returns the index after the string whose first byte after the
// quote is at i, or the length of the text when it does not end.
func skipString(data []byte, i int) int {
	// Most strings are short: they are over before a call of IndexByte is.
	for near := min(i+64, len(data)-8); i <= near; {
		m := endsRun(binary.LittleEndian.Uint64(data[i:]))
		if m == 0 {
			i += 8
			continue
		}
		if i += bits.TrailingZeros64(m) / 8; data[i] == '"' {
			return i + 1
		}
		i += 2 // what follows a backslash ends nothing
	}
	return skipLong(data, i)
}

// skipLong is skipString for what is left of a string from i on; i may be
// beyond the end.
func skipLong(data []byte, i int) int {
	for start := i; i < len(data); {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			break
		}
		i += n + 1
		slashes := i - 1
		for slashes > start && data[slashes-1] == '\\' {
			slashes--
		}
		if (i-1-slashes)%2 == 0 {
			return i
		}
	}
	return len(data)
}

// appendUnescaped appends the characters that raw, the inside of a string,
// stands for. What no checked string contains becomes U+FFFD or is copied.
func appendUnescaped(dst, raw []byte) []byte {
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 || n+1 >= len(raw) {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:n]...)
		c := raw[n+1]
		raw = raw[n+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			var r rune
			r, raw = unicodeEscape(raw)
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// unicodeEscape reads what follows \u, a second escape included when the two
// are a surrogate pair, and returns the rest.
func unicodeEscape(raw []byte) (rune, []byte) {
	r, ok := hex4(raw, 0)
	if !ok {
		return utf8.RuneError, raw
	}
	raw = raw[4:]
	if !utf16.IsSurrogate(r) {
		return r, raw
	}
	if at(raw, 0) == '\\' && at(raw, 1) == 'u' {
		if low, ok := hex4(raw, 2); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, raw[6:]
			}
		}
	}
	return utf8.RuneError, raw
}
