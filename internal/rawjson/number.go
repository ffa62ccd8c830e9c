package rawjson

import (
	"bytes"
	"math"
	"strconv"
)

// maxPoint is the decimal point of the largest double, 0.1797…e309.
const maxPoint = 309

// number checks the number at i, whose first byte is '-' or a digit.
func (s *scanner) number(i int) int {
	data, start := s.data, i
	if data[i] == '-' {
		i++
	}
	if at(data, i) == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return -1
	}
	if at(data, i) == '.' {
		if i = s.digits(i + 1); i < 0 {
			return -1
		}
	}
	exponent := at(data, i)|0x20 == 'e'
	if exponent {
		i++
		if c := at(data, i); c == '+' || c == '-' {
			i++
		}
		if i = s.digits(i); i < 0 {
			return -1
		}
	}
	if (exponent || i-start >= maxPoint) && !parseDecimal(data[start:i]).finite() {
		return s.fail(start, "number out of range")
	}
	return i
}

// digits demands one digit or more at i and returns the index after them.
func (s *scanner) digits(i int) int {
	if at(s.data, i)-'0' > 9 {
		return s.fail(i, "expected a digit")
	}
	for i++; at(s.data, i)-'0' <= 9; {
		i++
	}
	return i
}

// decimal is the exact value 0.DDD × 10^point of a number, where DDD is whole
// followed by frac, without zeros at either end; zero is the zero decimal.
type decimal struct {
	negative    bool
	whole, frac []byte
	point       int64

	// The digits of an exponent with more than 18 of them, which then is no
	// part of point, and its sign.
	exponent []byte
	tiny     bool
}

// parseDecimal takes a checked number apart.
func parseDecimal(num []byte) decimal {
	var d decimal
	if at(num, 0) == '-' {
		d.negative, num = true, num[1:]
	}
	if i := bytes.IndexAny(num, "eE"); i >= 0 {
		d.setExponent(num[i+1:])
		num = num[:i]
	}
	d.whole, d.frac, _ = bytes.Cut(num, []byte("."))
	d.whole = bytes.TrimLeft(d.whole, "0")
	d.frac = bytes.TrimRight(d.frac, "0")
	d.point += int64(len(d.whole))
	if len(d.whole) == 0 {
		zeros := len(d.frac)
		d.frac = bytes.TrimLeft(d.frac, "0")
		d.point -= int64(zeros - len(d.frac))
	}
	if len(d.frac) == 0 {
		d.whole = bytes.TrimRight(d.whole, "0")
	}
	if len(d.whole)+len(d.frac) == 0 {
		return decimal{}
	}
	return d
}

// setExponent takes what stands after the e.
func (d *decimal) setExponent(text []byte) {
	sign := at(text, 0)
	if sign == '+' || sign == '-' {
		text = text[1:]
	}
	text = bytes.TrimLeft(text, "0")
	if len(text) > 18 {
		d.exponent, d.tiny = text, sign == '-'
		return
	}
	for _, c := range text {
		d.point = d.point*10 + int64(c-'0')
	}
	if sign == '-' {
		d.point = -d.point
	}
}

// finite reports whether the nearest double is finite.
func (d decimal) finite() bool {
	if d.exponent != nil {
		return d.tiny
	}
	if d.point != maxPoint {
		return d.point < maxPoint
	}
	text := append([]byte("0."), d.whole...)
	text = append(append(text, d.frac...), "e309"...)
	f, err := strconv.ParseFloat(string(text), 64)
	return err == nil && !math.IsInf(f, 0)
}

// equal compares exactly. Exponents of more than 18 digits must agree as such,
// which no shift of a decimal point in a text of this world makes up for.
func (d decimal) equal(e decimal) bool {
	if d.negative != e.negative || d.point != e.point || d.tiny != e.tiny ||
		!bytes.Equal(d.exponent, e.exponent) || d.digits() != e.digits() {
		return false
	}
	for i := range d.digits() {
		if d.digit(i) != e.digit(i) {
			return false
		}
	}
	return true
}

func (d decimal) digits() int { return len(d.whole) + len(d.frac) }

func (d decimal) digit(i int) byte {
	if i < len(d.whole) {
		return d.whole[i]
	}
	return d.frac[i-len(d.whole)]
}
