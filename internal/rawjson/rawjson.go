// Package rawjson checks, reads and edits JSON as bytes.
//
// Check and Split accept exactly one strict I-JSON text (RFC 7493): the grammar
// of RFC 8259, valid UTF-8, no lone surrogates, no duplicate member names, and
// only numbers that are finite as an IEEE 754 double. Noncharacters such as
// U+FFFE, which RFC 7493 §2.1 forbids as well, are let through: they are valid
// UTF-8, and peers forward them.
//
// The readers and editors (Object, Array, Get, Set and so on) trust their input
// to have been checked. On anything else they neither panic nor read out of
// range and always end, but what they return is unspecified. They change no
// byte of their input, and editors return every byte they were not asked to
// change as it was. All functions may be called concurrently.
package rawjson

import (
	"errors"
	"fmt"
)

// The limits that the zero Limits stand for.
const (
	DefaultDepth   = 256
	DefaultMembers = 100_000
)

var (
	// ErrNotObject is Split's answer to a valid text that is no object.
	ErrNotObject = errors.New("json value is not an object")
	// ErrNotArray is SplitArray's answer to a valid text that is no array.
	ErrNotArray = errors.New("json value is not an array")
)

// Error says where and why a text is not strict I-JSON or exceeds a limit.
// Functions of this package return it as *Error.
type Error struct {
	Offset int // in bytes, of the offending byte; the length of the text when it ends too early
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("invalid json at byte %d: %s", e.Offset, e.Reason)
}

// Limits bounds what Check and Split accept. Zero fields mean the defaults.
type Limits struct {
	Depth   int // nested containers: 1 admits [] but not [[]]
	Members int // object members in the whole text; for SplitArray also elements of the outermost array
}

// Member is one member of an object: its unescaped name, and where in the text
// its value is, without surrounding space. Key aliases the text unless the name
// is written with escapes.
type Member struct {
	Key        []byte
	Start, End int
}

// Span is the range [Start, End) of a text.
type Span struct{ Start, End int }

// Check is Limits.Check with the default limits.
func Check(data []byte) error { return Limits{}.Check(data) }

// Check reports whether data is one strict I-JSON value with optional space
// around it. The error, if any, is an *Error.
func (l Limits) Check(data []byte) error {
	var s scanner
	s.init(data, l)
	if i := s.value(0); i >= 0 {
		s.finish(i)
	}
	return s.err()
}

// Split is Limits.Split with the default limits.
func Split(data []byte, into []Member) ([]Member, error) { return Limits{}.Split(data, into) }

// Split does what Check does and appends the members of the outermost object to
// into, in one pass. For a valid text that is no object the error is
// ErrNotObject. It does not allocate when into has room, no name of the
// outermost object is escaped, and no object is large.
func (l Limits) Split(data []byte, into []Member) ([]Member, error) {
	var s scanner
	s.init(data, l)
	i, ok := s.enter('{')
	if !ok {
		return nil, s.other(i, ErrNotObject)
	}
	for more := at(data, i) != '}'; more; {
		i = skipSpace(data, i)
		key := i + 1
		if i = s.name(i); i < 0 {
			return nil, s.err()
		}
		m := Member{Key: unescapedName(data[key:s.quote:s.quote]), Start: skipSpace(data, i)}
		if m.End = s.value(m.Start); m.End < 0 {
			return nil, s.err()
		}
		into = append(into, m)
		if i, more = s.next(m.End, '}'); i < 0 {
			return nil, s.err()
		}
	}
	s.pop()
	s.finish(i + 1)
	if err := s.err(); err != nil {
		return nil, err
	}
	return into, nil
}

// SplitArray does what Check does and appends the elements of the outermost
// array to into, in one pass. For a valid text that is no array the error is
// ErrNotArray. More than DefaultMembers elements are refused.
func SplitArray(data []byte, into []Span) ([]Span, error) {
	return Limits{}.SplitArray(data, into)
}

// SplitArray is the function of the same name with limits of one's own.
func (l Limits) SplitArray(data []byte, into []Span) ([]Span, error) {
	var s scanner
	s.init(data, l)
	i, ok := s.enter('[')
	if !ok {
		return nil, s.other(i, ErrNotArray)
	}
	for more := at(data, i) != ']'; more; {
		el := Span{Start: skipSpace(data, i)}
		if s.members--; s.members < 0 {
			s.fail(el.Start, reasonMembers)
			return nil, s.err()
		}
		if el.End = s.value(el.Start); el.End < 0 {
			return nil, s.err()
		}
		into = append(into, el)
		if i, more = s.next(el.End, ']'); i < 0 {
			return nil, s.err()
		}
	}
	s.pop()
	s.finish(i + 1)
	if err := s.err(); err != nil {
		return nil, err
	}
	return into, nil
}
