package schema

import "bytes"

// A decimal is a JSON number read exactly: 0.d₁d₂… × 10^mag with d₁ ≠ 0, the
// digits lying in the token's own bytes around the point. Zero has no digits.
type decimal struct {
	neg   bool
	whole []byte // digits before the point, without leading zeros
	frac  []byte // digits after it
	mag   int    // the place of the point before the first significant digit
	n     int    // significant digits, trailing zeros not counted
}

// parseDecimal reads a number token that is in range.
func parseDecimal(tok []byte) decimal {
	var d decimal
	if tok[0] == '-' {
		d.neg, tok = true, tok[1:]
	}
	exp := 0
	if e := bytes.IndexAny(tok, "eE"); e >= 0 {
		exp, _ = exponent(tok[e+1:])
		tok = tok[:e]
	}
	d.whole = tok
	if p := bytes.IndexByte(tok, '.'); p >= 0 {
		d.whole, d.frac = tok[:p], bytes.TrimRight(tok[p+1:], "0")
	}
	d.whole = bytes.TrimLeft(d.whole, "0")
	d.mag = len(d.whole) + exp
	if len(d.whole) == 0 {
		all := len(d.frac)
		d.frac = bytes.TrimLeft(d.frac, "0")
		d.mag -= all - len(d.frac)
	}
	if len(d.frac) == 0 {
		d.whole = bytes.TrimRight(d.whole, "0")
	}
	d.n = len(d.whole) + len(d.frac)
	if d.n == 0 {
		return decimal{}
	}
	return d
}

func (d *decimal) digit(i int) byte {
	switch {
	case i < len(d.whole):
		return d.whole[i]
	case i < d.n:
		return d.frac[i-len(d.whole)]
	}
	return '0'
}

// isInteger reports whether the value is whole, as 1.0 and 1.5e1 are.
func (d *decimal) isInteger() bool { return d.n <= d.mag || d.n == 0 }

// cmp compares two values: -1, 0 or 1.
func (d *decimal) cmp(o *decimal) int {
	if s, t := d.sign(), o.sign(); s != t {
		if s < t {
			return -1
		}
		return 1
	}
	c := 0
	if d.mag != o.mag {
		c = 1
		if d.mag < o.mag {
			c = -1
		}
	} else {
		for i := 0; c == 0 && i < max(d.n, o.n); i++ {
			c = int(d.digit(i)) - int(o.digit(i))
		}
	}
	switch {
	case d.neg:
		c = -c
	case d.n == 0:
		c = 0
	}
	return min(1, max(-1, c))
}

func (d *decimal) sign() int {
	switch {
	case d.n == 0:
		return 0
	case d.neg:
		return -1
	}
	return 1
}
